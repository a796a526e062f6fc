"""RecordFolder: the files of recorded sessions. `<id>.json` describes a session; `<id>.jsonl` contains its conversation, one entry per line.

Every method blocks and raises OSError; records.py runs them in a thread. A line that a crash cut off is skipped when read. Several sidecars share the
folder: entries are appended whole, and descriptions are replaced whole.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import cast

from sidecar.records.about import About
from sidecar.state_folder import make_private, open_private, state_folder

MOST_BYTES = 4 * 1024 * 1024
"""The limit for one session's entries, in bytes. Beyond that, the older half is deleted."""
MOST_SESSIONS = 200

_ID = re.compile(r"[0-9a-z]{4,64}")

Entry = dict[str, object]


class RecordFolder:
    def __init__(
        self,
        path: Path | None = None,
        *,
        most_bytes: int = MOST_BYTES,
        most_sessions: int = MOST_SESSIONS,
    ) -> None:
        self._path = path if path is not None else state_folder("sessions")
        self._most_bytes = most_bytes
        self._most_sessions = most_sessions

    def write_about(self, about: About) -> None:
        """Replace the description of a session."""
        make_private(self._path)
        self._replace(self._file(_checked(about.session_id), ".json"), json.dumps(about.to_json()).encode())

    def append(self, session_id: str, entries: Sequence[Entry]) -> None:
        make_private(self._path)
        path = self._file(_checked(session_id), ".jsonl")
        lines = b"".join(_line(entry) for entry in entries)
        descriptor = open_private(path, os.O_RDWR | os.O_APPEND)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
                if file.read(1) != b"\n":
                    lines = b"\n" + lines  # a crash cut off the last line
            file.write(lines)
        if size + len(lines) > self._most_bytes:
            self._halve(path)

    def abouts(self) -> list[About]:
        """Return all sessions, most recently used first. Unreadable ones are left out."""
        found: list[About] = []
        for session_id in self._ids():
            try:
                about = About.of_json(json.loads(Path(self._file(session_id, ".json")).read_bytes()))
            except (OSError, ValueError):
                continue
            if about is not None and about.session_id == session_id:
                found.append(about)
        return sorted(found, key=lambda about: (about.updated, about.created), reverse=True)

    def read(self, session_id: str) -> tuple[About, list[Entry]] | None:
        """Return a session's description and entries, or None if there is no such record."""
        if _ID.fullmatch(session_id) is None:
            return None
        try:
            about = About.of_json(json.loads(Path(self._file(session_id, ".json")).read_bytes()))
        except (FileNotFoundError, ValueError):
            return None
        try:
            lines = Path(self._file(session_id, ".jsonl")).read_bytes().split(b"\n")
        except FileNotFoundError:
            lines = []
        return None if about is None else (about, [entry for line in lines if (entry := _entry(line))])

    def delete(self, session_id: str) -> bool:
        """Delete a record. Returns whether there was one."""
        if _ID.fullmatch(session_id) is None:
            return False
        there = False
        for suffix in (".jsonl", ".json"):
            try:
                os.unlink(self._file(session_id, suffix))
                there = True
            except FileNotFoundError:
                pass
        return there

    def retain(self, but: Collection[str]) -> None:
        """Delete the oldest records beyond the limit. `but`: sessions that are open."""
        found = self._ids()
        if len(found) <= self._most_sessions:
            return
        for session_id in sorted(found, key=self._changed)[: len(found) - self._most_sessions]:
            if session_id not in but:
                self.delete(session_id)

    def _ids(self) -> list[str]:
        try:
            names = os.listdir(self._path)
        except FileNotFoundError:
            return []
        stems = (name.removesuffix(".json") for name in names if name.endswith(".json"))
        return [stem for stem in stems if _ID.fullmatch(stem)]

    def _changed(self, session_id: str) -> float:
        """When its description was last written, as seconds; 0 if that is not to be found."""
        try:
            return os.stat(self._file(session_id, ".json")).st_mtime
        except OSError:
            return 0.0

    def _file(self, session_id: str, suffix: str) -> str:
        return os.path.join(self._path, session_id + suffix)

    def _halve(self, path: str) -> None:
        lines = Path(path).read_bytes().splitlines(keepends=True)
        kept, size = len(lines), 0
        while kept and size + len(lines[kept - 1]) <= self._most_bytes // 2:
            kept -= 1
            size += len(lines[kept])
        at = _entry(lines[kept] if kept < len(lines) else b"").get("at", "")
        self._replace(path, b"".join([_line({"at": at, "type": "omitted"}), *lines[kept:]]))

    def _replace(self, path: str, content: bytes) -> None:
        temporary = os.path.join(self._path, f".{os.path.basename(path)}.{os.getpid()}")
        descriptor = open_private(temporary, os.O_WRONLY | os.O_TRUNC)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path)


def _line(entry: Entry) -> bytes:
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"  # ASCII, so that lone surrogates survive


def _entry(line: bytes) -> Entry:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return cast("Entry", value) if isinstance(value, dict) and "type" in value else {}


def _checked(session_id: str) -> str:
    if _ID.fullmatch(session_id) is None:
        raise ValueError(f"not the id of a session: {session_id!r}")
    return session_id
