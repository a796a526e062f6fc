"""Editor: what a driver of a real editor must be able to do, with real keys or the editor's equivalent.

One editor serves many runs. Every method returns when the editor has received its input, without waiting for the
consequences (the end of a save, the sidecar's edits): these runs are about what happens in between.
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
        """The kinds of steps that it supports."""
        ...

    @property
    def settings(self) -> Mapping[str, tuple[Any, ...]]:
        """The settings that matter here, with their possible values. A run starts with the first one."""
        ...

    def begin(self, folder: Path) -> None:
        """Starts a run with its files in `folder` (which exists): nothing is open, under review or running, and
        every setting has its first value.
        """
        ...

    def open(self, path: Path) -> None:
        """Opens the file if needed and shows it; keys go there."""
        ...

    def close(self, path: Path) -> None:
        """Closes the file, shown or not, and discards unsaved text. Does nothing if it is not open."""
        ...

    def type(self, text: str, pace: float) -> None:
        """Types key by key at the cursor, `pace` seconds apart. The text may contain "\\n"."""
        ...

    def place(self, line: int, at_end: bool) -> None:
        """Puts the cursor at the start or end of a line, counted from 0; the last line if there are fewer."""
        ...

    def save(self) -> None: ...
    def undo(self) -> None: ...
    def redo(self) -> None: ...
    def split(self) -> None: ...

    def set(self, name: str, value: Any) -> None:
        """Changes one of `settings`."""
        ...

    def text(self, path: Path) -> str | None:
        """The document's text, with "\\n" at the end of each line and nothing else that the file would have; None
        if it is not open.
        """
        ...

    def prompt(self, steps: list[dict[str, Any]]) -> None:
        """Starts a turn of the agent of `agent.py`. All turns of a run are in one session."""
        ...

    def is_working(self) -> bool:
        """Whether the turn is still running."""
        ...

    def command(self, name: str, argument: Any) -> Any:
        """Runs a command of the sidecar and returns its result."""
        ...

    def said(self) -> str:
        """Information for understanding a failure: messages, ends of logs."""
        ...
