"""Reads a set-up file. In the wheel they are in `files/` beside this module (pyproject.toml puts them there); in a
checkout they are in editor-extension/.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def read(file: str) -> bytes:
    """Reads `file`, a path below editor-extension/ with `/`. Raises FileNotFoundError if neither place has it, as in
    the VS Code extension.
    """
    for folder in (_PACKAGE / "files", _PACKAGE.parents[1] / "editor-extension"):
        if (path := folder / file).is_file():
            return path.read_bytes()
    raise FileNotFoundError(file)
