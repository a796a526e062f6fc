"""OpenSSH: a server that tests start on 127.0.0.1, with keys of their own, and its client."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from scripts.tools import debian
from scripts.tools.base import Entry, checked, launcher, one


def of_debian_12(root: Path) -> dict[str, Callable[[], Entry]]:
    """The server is to be started with `-r`: otherwise it would start itself again, without the loader."""

    def made(name: str, path: str) -> Path:
        return launcher(name, debian.own_loader(root, one(root, path)), {})

    return {
        "sshd": lambda: checked(made("sshd", "usr/sbin/sshd"), "-V"),
        "ssh": lambda: checked(made("ssh", "usr/bin/ssh"), "-V"),
        # it has no option that does nothing
        "ssh-keygen": lambda: {"command": str(made("ssh-keygen", "usr/bin/ssh-keygen")), "version": "as ssh"},
    }
