"""Hunks in the journal's format, and the update of stored hunks after an agent changed the file while no sidecar watched."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from json.encoder import encode_basestring
from typing import Any

from sidecar.core.any_text import AnyText, narrowed
from sidecar.core.diff import diff
from sidecar.core.ledger import Author, Hunk, Ledger, Version
from sidecar.core.pieces import gathered
from sidecar.core.text import Text

IN_FILE = "acp-sidecar-in-file:"
"""The prefix of a document's URI under which the journal has what is under review in its file, beside what is under review in its unsaved text."""
_PIECE = 64 * 1024
"""Characters, or bytes."""


class AsJson:
    """Hunks for the journal, in pieces of UTF-8. Each iteration makes the pieces anew: the texts may be large and are in memory
    already. `is_gone`: of a text whose file is not there now."""

    def __init__(self, hunks: Sequence[Hunk], *, is_gone: bool = False) -> None:
        self._hunks = hunks
        self._about = ', "gone": true' if is_gone else ""

    def __iter__(self) -> Iterator[bytes]:
        return gathered(self._pieces(), _PIECE)

    def _pieces(self) -> Iterator[bytes]:
        yield b"["
        for number, h in enumerate(self._hunks):
            head = f'{{"id": {h.id}, "start": {h.start}, "end": {h.end}{self._about}, "old": '
            yield (", " * bool(number) + head).encode()
            yield from _quoted(h.was)
            yield b', "versions": ['
            for nth, v in enumerate(h.versions):
                author = [
                    v.author.session,
                    v.author.turn,
                    v.author.write,
                    v.author.tool_call,
                    v.author.created,
                    v.author.agent,
                    v.author.aftermath,
                    v.author.unknown,
                ]
                yield (", " * bool(nth) + json.dumps(author)[:-1] + ", ").encode()
                yield from _quoted(v.said)
                yield b"]"
            yield b"]}"
        yield b"]"


def _quoted(text: AnyText) -> Iterator[bytes]:
    """A JSON string in UTF-8 pieces. Lone surrogates stay as they are; `json.loads` reads them."""
    yield b'"'
    pieces = (
        (text[at : at + _PIECE] for at in range(0, len(text), _PIECE)) if isinstance(text, str) else text.runs
    )
    for piece in pieces:
        yield encode_basestring(piece)[1:-1].encode("utf-8", "surrogatepass")
    yield b'"'


def to_json(hunks: Sequence[Hunk]) -> bytes:
    """All pieces of `AsJson` as one."""
    return b"".join(AsJson(hunks))


def from_json(raw: bytes) -> list[Hunk]:
    """Hunks from the journal. Raises ValueError, KeyError or TypeError for anything else."""
    return from_json_of_file(raw)[0]


def from_json_of_file(raw: bytes) -> tuple[list[Hunk], bool]:
    """Like `from_json`, and whether their text was that of a file that is gone."""
    rows: list[dict[str, Any]] = json.loads(raw)
    hunks = [
        Hunk(
            row["id"],
            row["start"],
            row["end"],
            narrowed(row["old"]),
            tuple(Version(Author(*author), narrowed(text)) for *author, text in row["versions"]),
        )
        for row in rows
    ]
    return hunks, any("gone" in row for row in rows)


def with_edit(kept: tuple[str, Sequence[Hunk]] | None, before: str, after: str, author: Author) -> list[Hunk]:
    """The hunks in `after`, which the author made from `before`. `kept`: the text that contains the earlier hunks, and these hunks.
    Changes between that text and `before` are the user's."""
    text = Text.of(before)
    ledger = Ledger()
    if kept is not None:
        ledger = Ledger(kept[1])
        ledger.user_led(Text.of(kept[0]), text)
    ledger.agent_edit(text, diff(before, after), Text.of(after), author)
    return list(ledger.hunks)
