"""Shown: the parts of a question's words that may be long, and what the words leave out of them.

Paths, commands and names that an agent chose may have any length, and a message box has little room. What a question shows
only in part must be seen whole before it is allowed (`Question.whole`). All parts are escaped already.
"""

from __future__ import annotations

from collections.abc import Iterable

from sidecar.core.escape import escape, shorten

SHOWN_WHOLE = 600
"""Characters of a command or a path that a question shows whole. VS Code cuts a message at 1,000, which also has to hold
the reason and the less important parts."""

SHOWN_BESIDE = 300
"""The same for what stands beside a command: its folder, and the names of variables."""


class Shown:
    """One question's."""

    def __init__(self) -> None:
        self._whole: list[str] = []

    def part(self, text: str, limit: int = SHOWN_WHOLE) -> str:
        """The text as the question's words show it."""
        if len(text) > limit:
            self._whole.append(text)
        return shorten(text, limit)

    def names(self, names: Iterable[str], limit: int = SHOWN_BESIDE) -> str:
        """Names or paths, in one part."""
        return self.part(", ".join(map(quoted, names)), limit)

    @property
    def whole(self) -> str:
        """All parts that are shortened, whole, a line each, in the order of the words. Empty if none is."""
        return "\n".join(self._whole)


def quoted(word: str) -> str:
    """A name, clearly separated from its neighbours: blanks in it must not look like its end."""
    shown = escape(word)
    return (
        shown
        if shown and not any(c in shown for c in " '\"\\")
        else "'" + shown.replace("'", "'\"'\"'") + "'"
    )
