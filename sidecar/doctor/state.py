"""The state folder: who may read it, its size, and the leftovers of earlier runs."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from sidecar.doctor.finding import Finding
from sidecar.state_folder import state_folder

_LARGE = 600 * 1024 * 1024
"""Above the journal's own limit, so something else must be in it."""


def look(folder: Path | None = None) -> Iterator[Finding]:
    area = "state"
    folder = folder or state_folder()
    if not folder.exists():
        yield Finding(area, "ok", f"{folder} will be created when it is first needed")
        return
    if not os.access(folder, os.W_OK):
        words = f"{folder} is not writable, so agents' writes will be refused (no journal)"
        yield Finding(area, "fail", words, "make it writable, or name another folder in ACP_SIDECAR_STATE")
        return
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    yield Finding(area, "ok", f"{folder}: {_megabytes(size)}")
    if size > _LARGE:
        yield Finding(
            area,
            "warn",
            "this is more than the journal's limit",
            "acp-sidecar changes --purge empties it",
        )
    if os.name == "posix":
        yield from _modes(area, folder)


def _modes(area: str, folder: Path) -> Iterator[Finding]:
    found = folder.stat()
    if found.st_uid != os.geteuid():
        yield Finding(
            area, "fail", f"{folder} belongs to another user", "name another folder in ACP_SIDECAR_STATE"
        )
    open_to_others = [
        path
        for path in (
            folder / "journal",
            folder / "audit",
            folder / "chats",
            folder / "sessions",
            folder / "approvals.json",
        )
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
    if open_to_others:
        names = ", ".join(path.name for path in open_to_others)
        yield Finding(area, "warn", f"other users can read: {names}", f"chmod -R go= {folder}")
    else:
        yield Finding(
            area, "ok", "journal, audit log, chats, sessions and approvals are readable only by you"
        )


def _megabytes(size: int) -> str:
    return f"{size / 1024 / 1024:.1f} MB"
