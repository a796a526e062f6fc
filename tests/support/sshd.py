"""A real sshd on 127.0.0.1, with keys made for the test, as whoever runs it."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import tools
from tests.support.elsewhere import skip_unless_permitted
from tests.support.waiting import eventually

_AS_ROOT = """
mount -t tmpfs none /run && mkdir /run/sshd
mount --bind "$0" /etc/passwd
exec "$@"
"""
"""As root, sshd wants a user and a folder that only its package makes."""


@contextmanager
def an_sshd(folder: Path) -> Iterator[list[str]]:
    """The words that reach it (`ssh … --`). Skips the test without one."""
    sshd, ssh, keygen = (tools.require(name).command for name in ("sshd", "ssh", "ssh-keygen"))
    folder.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(
            [keygen, "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True, timeout=60
        )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "HostKey": folder / "host",
        "AuthorizedKeysFile": folder / "user.pub",
        "StrictModes": "no",
        "UsePAM": "no",
        "PasswordAuthentication": "no",
        "PermitRootLogin": "yes",
        "PidFile": "none",
        "ListenAddress": "127.0.0.1",
        "Port": port,
    }
    (folder / "config").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    argv = [sshd, "-r", "-D", "-e", "-f", str(folder / "config")]
    if os.geteuid() == 0:
        unshare = shutil.which("unshare")
        if unshare is None:
            pytest.skip("NOT TESTED HERE: no unshare")
        users = Path("/etc/passwd").read_text()
        (folder / "passwd").write_text(f"{users}\nsshd:x:65534:65534::/run/sshd:/usr/sbin/nologin\n")
        prefix = [unshare, "--mount", "sh", "-ec", _AS_ROOT, str(folder / "passwd")]
        skip_unless_permitted(prefix)
        argv = [*prefix, *argv]
    log = (folder / "log").open("wb")
    process = subprocess.Popen(argv, stderr=log, stdin=subprocess.DEVNULL)
    try:
        key, _, _ = (folder / "host.pub").read_text().rpartition(" ")
        (folder / "known").write_text(f"[127.0.0.1]:{port} {key}\n")
        eventually(lambda: answers(port), "sshd listens", otherwise=(folder / "log").read_text)
        options = {
            "UserKnownHostsFile": folder / "known",
            "IdentityFile": folder / "user",
            "IdentitiesOnly": "yes",
            "BatchMode": "yes",
            "IdentityAgent": "none",
        }
        given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        user = pwd.getpwuid(os.geteuid()).pw_name
        yield [ssh, "-F", "/dev/null", *given, "-p", str(port), f"{user}@127.0.0.1", "--"]
    finally:
        process.terminate()
        process.wait(20)
        log.close()


def answers(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
