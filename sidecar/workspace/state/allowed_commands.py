"""AllowedCommands: commands that the user allowed when the agent itself asked, so that the user is not asked twice.

Some agents ask for permission (`session/request_permission`) and then have us run the command (`terminal/create`), which asks too.
The first answer counts for the second question if the first question showed exactly the same command in full, the command sets no
variables, and it runs in the session's own folder. It counts once, and only in the same turn.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import cast

from sidecar.core.escape import plain
from sidecar.workspace.ports.ports import Question

SHOWN_WHOLE = 400
"""The longest command, in characters, that a question shows in full (acp/permission.py)."""
MOST = 32
"""The most commands kept for one turn."""
_SHELLS = frozenset({"sh", "bash", "dash", "zsh"})


class AllowedCommands:
    """The allowed commands of one session's turn."""

    def __init__(self) -> None:
        self._once: list[tuple[str, ...]] = []

    def clear(self) -> None:
        self._once.clear()

    def answered(self, question: Question, answer: str | None) -> None:
        """Note the answer to one of the agent's questions."""
        kind = next((option.kind for option in question.options if option.id == answer), "")
        words = question.details.get("argv")
        if question.action != "execute" or not kind.startswith("allow") or not isinstance(words, list):
            return
        argv = tuple(str(word) for word in cast("list[object]", words))
        line = " ".join(argv)
        if argv and plain(line, SHOWN_WHOLE) in question.text and len(line) <= SHOWN_WHOLE:
            self._once.append(argv)
            del self._once[:-MOST]

    def take(self, argv: Sequence[str]) -> bool:
        """Whether this command was allowed. The permission is then used up."""
        for i, allowed in enumerate(self._once):
            if _is_same(allowed, tuple(argv)):
                del self._once[i]
                return True
        return False


def _is_same(allowed: tuple[str, ...], argv: tuple[str, ...]) -> bool:
    """Whether `argv` is what the user allowed: the same words, or a system shell that runs the line that was shown."""
    if argv == allowed:
        return True
    if len(allowed) != 1 or len(argv) != 3 or argv[1] not in ("-c", "-lc") or argv[2] != allowed[0]:
        return False
    folder, name = posixpath.split(argv[0])
    return name in _SHELLS and folder in ("", "/bin", "/usr/bin")
