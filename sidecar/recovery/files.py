"""files: opens the one file that a journal entry is about, as safely as for the agent's own write."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

from sidecar import disk
from sidecar.core.policy import Access
from sidecar.core.refusal import Kind, Refusal
from sidecar.disk import Decoded, Missing, Resolved, Roots

AT_MOST = 256 * 1024 * 1024
"""The largest file that is read, in bytes: far more than agents may write."""


@contextmanager
def at(root: str, path: str, access: Access) -> Generator[Resolved | Missing | Refusal]:
    """Open the file at the canonical `path`: beneath the session's folder `root`, or beneath its own folder if `root` does not contain it."""
    if not os.path.isabs(path):
        yield Refusal(Kind.BAD_PATH, f"it is not a file on this disk: {path}")
        return
    folder = root if os.path.isabs(root) and is_below(path, root) else os.path.dirname(path)
    if folder != root and os.path.realpath(folder) != folder:
        # It was not a link when the agent wrote to it. If it is one now, it leads to another file.
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
    """Return the file's exact bytes and their decoded text, or a refusal."""
    data = file.read_bytes(AT_MOST)
    if isinstance(data, Refusal):
        return data
    decoded = disk.decode(data, file.requested)
    return decoded if isinstance(decoded, Refusal) else (data, decoded)


def folder_of(root: str, path: str) -> str:
    """Return the folder beneath which the file at the canonical `path` is opened: the session's (`root`), or its own."""
    return root if is_below(path, root) else os.path.dirname(path)


def is_below(path: str, folder: str) -> bool:
    """Whether `path` is beneath `folder`, compared as text by whole components."""
    prefix = folder if folder.endswith(os.sep) else folder + os.sep
    return path.startswith(prefix)


def shown(path: str, folder: str | None = None) -> str:
    """Return the path as a user in `folder` would write it."""
    if folder is not None and is_below(path, folder):
        return path[len(folder.rstrip(os.sep)) + 1 :]
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if home != os.sep and is_below(path, home) else path
