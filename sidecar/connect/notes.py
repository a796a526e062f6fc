"""Notes: what was inserted into which file, in the state folder, so that it can be removed to the byte. Without a note it is removed all
the same, but blanks around it may remain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple, cast

from sidecar.state_folder import replace_private, state_folder

_FILE = "connections.json"


class Note(NamedTuple):
    piece: str
    made_container: bool
    made_file: bool


NOTHING = Note("", False, False)


class Notes:
    """The notes of all files. `write` raises OSError. Notes that cannot be read count as missing."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder if folder is not None else state_folder()

    def of(self, path: str) -> Note:
        match self._read().get(path):
            case {"piece": str(piece), "madeContainer": bool(container), "madeFile": bool(file)}:
                return Note(piece, container, file)
            case _:
                return NOTHING

    def write(self, path: str, note: Note | None) -> None:
        """Replace a file's note. None: the file contains nothing of ours any more."""
        rows = self._read()
        rows.pop(path, None)
        if note is not None:
            rows[path] = {
                "piece": note.piece,
                "madeContainer": note.made_container,
                "madeFile": note.made_file,
            }
        replace_private(self._folder, _FILE, json.dumps(rows).encode())

    def _read(self) -> dict[str, object]:
        try:
            value: object = json.loads((self._folder / _FILE).read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return cast("dict[str, object]", value) if isinstance(value, dict) else {}
