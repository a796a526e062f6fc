"""What an agent was shown that the user took back, and then makes again, is made (tests/e2e/made_again.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e import made_again
from tests.vscode.window import Window


class WindowHands:
    def __init__(self, window: Window) -> None:
        self._window = window
        self._shown = Path()
        self.undo = window.undo

    def open(self, path: Path) -> None:
        self._window.open(path)
        self._shown = path

    def text(self) -> str:
        return self._window.text(self._shown) or ""

    def is_listed(self) -> bool:
        return bool(self._window.changes(self._shown))

    def reject(self) -> None:
        self._window.command("sidecar.reject", {"uri": self._shown.as_uri()})

    def retype(self, line: int, text: str) -> None:
        self._window.place(line, 0)
        self._window.keys("Shift+End")
        self._window.type(text)

    def type_line(self, where: str) -> None:
        self._window.type(f"{made_again.LINE}\n", at=(0 if where == "above" else 5, 0))


@pytest.mark.parametrize("how", made_again.TAKEN_BACK)
def test_what_was_taken_back_is_made_again(window: Window, how: str) -> None:
    made_again.play(WindowHands(window), window.folder, window.begin, [how])
