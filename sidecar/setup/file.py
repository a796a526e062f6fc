"""Reads a set-up file. The wheel has them in `files/` beside this module (pyproject.toml puts them there); a checkout keeps them in
editor-extension/."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def read(file: str) -> bytes:
    """`file` is below editor-extension/, with `/`. Raises FileNotFoundError where neither has it, as in the VS Code extension."""
    for folder in (_PACKAGE / "files", _PACKAGE.parents[1] / "editor-extension"):
        if (path := folder / file).is_file():
            return path.read_bytes()
    raise FileNotFoundError(file)
