"""Texts: what files say at first, and how people and agents change lines."""

from __future__ import annotations

import re
from random import Random

from tests.inflight.tokens import Tokens, tokens

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_FILLERS = ("", "}", "    return", "# -----", "")
_WORDS = ("alpha", "beta", "grün", "naïve", "x = 1", "日本", "tab\there", "a\x0cb", "c\u2028d")
_ASTRAL = ("😀 smile", "𝒳 = 2")


def lines_of(text: str) -> list[str]:
    """Whole lines with their ends; none after a final one."""
    return _LINE.findall(text)


def first_text(random: Random, fresh: Tokens, *, astral: bool) -> str:
    """Up to two dozen lines, some of them equal, with any line ends, perhaps without a final one."""
    words = _WORDS + (_ASTRAL if astral else ())
    ends = random.choice(
        [("\n",), ("\n",), ("\n",), ("\r\n",), ("\r\n",), ("\n", "\r\n"), ("\n", "\r\n", "\r")]
    )
    count = random.choice([0, 1, 2, 5, 8, 12, 20])
    lines: list[str] = []
    for _ in range(count):
        line = (
            random.choice(_FILLERS) if random.random() < 0.25 else f"{fresh.new('L')} {random.choice(words)}"
        )
        lines.append(line + random.choice(ends))
    text = "".join(lines)
    if lines and random.random() < 0.3:
        text = text.rstrip("\r\n")
    return text


def end_of(text: str) -> str:
    """The line end that most lines have."""
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def with_line(random: Random, text: str, line: str, at: int | None = None) -> str:
    """`line` (without end) as a line of its own, somewhere or before line `at`."""
    lines, end = lines_of(text), end_of(text)
    at = random.randint(0, len(lines)) if at is None else at
    if at == len(lines) and lines and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += end
        if random.random() < 0.5:
            return "".join([*lines, line])
    return "".join([*lines[:at], line + end, *lines[at:]])


def agents_change(random: Random, text: str, token: str, lines_from: int = 0, lines_to: int = 10**6) -> str:
    """`text` with one to three changes in lines `lines_from` to `lines_to`, one of which brings `token` in."""
    for number in range(random.choice([1, 1, 1, 2, 3])):
        text = _one_change(random, text, token if not number else "", lines_from, lines_to)
    if token not in text:  # a later change took it out again
        text = with_line(random, text, token)
    if random.random() < 0.05:
        text = text.rstrip("\r\n")
    if random.random() < 0.2:
        text = text.replace("\r\n", "\n")  # many agents send LF whatever they were given
    return text


def _one_change(random: Random, text: str, token: str, low: int, high: int) -> str:
    lines = lines_of(text)
    inside = [i for i in range(len(lines)) if low <= i < high]
    word = f"{token} {random.choice(_WORDS)}" if token else random.choice(["}", "  more", "# note"])
    kind = random.choice(
        ["insert", "insert", "insert", "append", "replace", "replace", "inside", "delete", "indent", "end"]
    )
    if not inside or kind == "insert":
        return with_line(
            random, text, word, random.choice([*inside, inside[-1] + 1]) if inside else len(lines)
        )
    if kind == "end":
        return with_line(random, text, word, len(lines) if high > len(lines) else inside[-1] + 1)
    i = random.choice(inside)
    body = lines[i].rstrip("\r\n")
    end = lines[i][len(body) :]
    match kind:
        case "append":
            lines[i] = f"{body} {word}{end}"
        case "replace":
            lines[i] = word + end
        case "inside":
            lines[i] = _whole_tokens(random, body, f" {word} ") + end
        case "delete":
            last = min(i + random.choice([0, 0, 1, 3]), inside[-1])
            lines[i : last + 1] = [word + (end or "\n")] if token else []
        case _:
            for j in inside:
                lines[j] = "  " + lines[j]
            lines[i] = f"{word}{end or chr(10)}{lines[i]}"
    return "".join(lines)


def _whole_tokens(random: Random, body: str, word: str) -> str:
    """`word` somewhere in `body`, but not inside a token."""
    places = [k for k in range(len(body) + 1) if tokens(body) == tokens(body[:k]) | tokens(body[k:])]
    k = random.choice(places)
    return body[:k] + word + body[k:]
