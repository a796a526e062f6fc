"""files: from an entry of the journal to the one file it is about, opened as safely as an agent's own write was."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

from sidecar import disk
from sidecar.core.policy import Access
from sidecar.core.refusal import Kind, Refusal
from sidecar.disk import Decoded, Missing, Resolved, Roots

AT_MOST = 256 * 1024 * 1024
"""Bytes of a file that are looked at; far above what agents may write."""


@contextmanager
def at(root: str, path: str, access: Access) -> Generator[Resolved | Missing | Refusal]:
    """The file at the canonical `path`: beneath the session's folder `root`, or in the folder it was in, if that was another one."""
    if not os.path.isabs(path):
        yield Refusal(Kind.BAD_PATH, f"it is not a file on this disk: {path}")
        return
    folder = root if os.path.isabs(root) and is_below(path, root) else os.path.dirname(path)
    if folder != root and os.path.realpath(folder) != folder:
        # Not a link when the agent wrote there: what it leads to now is another file.
        yield Refusal(Kind.SYMLINK_ESCAPE, f"its folder is gone or leads elsewhere now: {path}")
        return
    with Roots([folder]) as roots:
        if roots.unusable:
            yield Refusal(Kind.NOT_FOUND, f"the folder {folder} does not exist or cannot be opened")
            return
        found = disk.resolve(roots, path, access=access)
        try:
            yield found
        finally:
            if isinstance(found, Resolved):
                found.close()


def read(file: Resolved) -> tuple[bytes, Decoded] | Refusal:
    """The exact bytes and what they say."""
    data = file.read_bytes(AT_MOST)
    if isinstance(data, Refusal):
        return data
    decoded = disk.decode(data, file.requested)
    return decoded if isinstance(decoded, Refusal) else (data, decoded)


def is_below(path: str, folder: str) -> bool:
    """By whole components, as texts."""
    prefix = folder if folder.endswith(os.sep) else folder + os.sep
    return path.startswith(prefix)


def shown(path: str, folder: str | None = None) -> str:
    """The path as a person (in `folder`) would write it."""
    if folder is not None and is_below(path, folder):
        return path[len(folder.rstrip(os.sep)) + 1 :]
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if home != os.sep and is_below(path, home) else path
