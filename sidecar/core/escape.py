"""escape: makes text from others safe to show to a person.

An agent's title may contain terminal sequences, bidi overrides, zero-width characters or five thousand blanks. All of these can hide what the
text contains. Printable characters stay; everything else is shown as `\\x1b`, `\\u202e` and so on. This is no defence against look-alike
letters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # every program logs, so it imports this module first
    from sidecar.core.change import Sliceable

_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that are letters, marks or symbols by category but are displayed as nothing (fillers, the empty braille cell)."""

_HIDES = re.compile(f"[{''.join(sorted(_INVISIBLE))}\ufe00-\ufe0d\U000e0100-\U000e01ef]")
"""One of these, or a variation selector without an honest use."""

_NO_QUOTES = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
"""A word that no shell interprets."""

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escape(text: str, *, keep_newlines: bool = False) -> str:
    """`text` with control, bidi, zero-width, unusual blank and unassigned characters written out as escapes.

    `\\n` stays a line end only with `keep_newlines`; otherwise one value could look like several."""
    if text.isprintable() and _HIDES.search(text) is None:
        return text
    return "".join(
        character if _shows(character) or (keep_newlines and character == "\n") else _written(character)
        for character in text
    )


def command_line(words: Sequence[str]) -> str:
    """A command for a person to read: each word clearly delimited and written as for a POSIX shell. VS Code's panel writes commands the
    same way (`shell.ts`)."""
    return escape(" ".join(map(_word, words)))


def _word(word: str) -> str:
    if _NO_QUOTES.fullmatch(word):
        return word
    if "'" not in word:
        return f"'{word}'"
    # four characters have a meaning in double quotes
    return "'" + word.replace("'", r"'\''") + "'" if any(c in word for c in '"$`\\') else f'"{word}"'


def shorten(text: str | Sliceable, limit: int) -> str:
    """At most about `limit` characters: the head, the number of characters left out, and the tail.

    The tail is kept because paths and command lines usually differ at their end."""
    if len(text) <= limit:
        return str(text)
    head = limit * 2 // 3
    tail = max(limit - head, 1)
    begin, end = _part(text, 0, head), _part(text, len(text) - tail, len(text))
    return f"{begin} …[{len(text) - head - tail} more characters]… {end}"


def _part(text: str | Sliceable, start: int, end: int) -> str:
    return text[start:end] if isinstance(text, str) else text.slice(start, end)


def plain(text: str | Sliceable, limit: int = 200) -> str:
    """One line of at most about `limit` characters (before escaping) that shows what `text` really contains."""
    return escape(shorten(text, limit))


def _shows(character: str) -> bool:
    # isprintable: false for Cc, Cf (bidi, zero-width), Cs, Co, Cn, Zl, Zp and every Zs except the space.
    # Variation selectors are invisible; only the two that choose between text and emoji have an honest use.
    return character.isprintable() and _HIDES.match(character) is None


def _written(character: str) -> str:
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
