"""Editor: what a driver of a real editor must be able to do. Real keys, or what that editor has for them.

One editor serves many runs. Every method returns when the editor has taken in what it was told, without waiting for what follows from it
(a save's end, the sidecar's edits): what happens in between is what these runs are about.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from tests.hands.steps import Kind


class Editor(Protocol):
    name: str

    @property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of steps that it can do."""
        ...

    @property
    def settings(self) -> Mapping[str, tuple[Any, ...]]:
        """Its settings that matter here, with the values that they may have; the first one is where a run begins."""
        ...

    def begin(self, folder: Path) -> None:
        """A new run, with its files in `folder` (which exists): nothing is open, under review or at work, and every setting is back."""
        ...

    def open(self, path: Path) -> None:
        """Opens it if need be, and shows it: keys go there."""
        ...

    def close(self, path: Path) -> None:
        """Closes it, shown or not; what is unsaved is thrown away. Nothing when it is not open."""
        ...

    def type(self, text: str, pace: float) -> None:
        """Key by key where the cursor is, `pace` seconds apart; may hold "\\n"."""
        ...

    def place(self, line: int, at_end: bool) -> None:
        """Puts the cursor at the start or end of a line, counted from 0; the last one when there are fewer."""
        ...

    def save(self) -> None: ...
    def undo(self) -> None: ...
    def redo(self) -> None: ...
    def split(self) -> None: ...

    def set(self, name: str, value: Any) -> None:
        """One of `settings`."""
        ...

    def text(self, path: Path) -> str | None:
        """What the document says, with "\\n" at the end of each line, and nothing else that the file would have; None when it is not open."""
        ...

    def is_dirty(self, path: Path) -> bool: ...

    def prompt(self, steps: list[dict[str, Any]]) -> None:
        """Begins a turn of the agent of `agent.py`, in one session for the whole run."""
        ...

    def is_working(self) -> bool:
        """Whether the turn is not at its end yet."""
        ...

    def command(self, name: str, argument: Any) -> Any:
        """A command of the sidecar's and its result."""
        ...

    def said(self) -> str:
        """What helps to understand a failure: messages, ends of logs."""
        ...
