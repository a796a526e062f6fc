"""serve: selects the part of a text that a read with `line` and `limit` returns."""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.core.refusal import Kind, Refusal
from sidecar.core.text import Text


@dataclass(frozen=True, slots=True)
class Served:
    """The part that the agent gets: `count` whole lines from line `first` (from 0). `whole`: this is the entire
    text."""

    text: str
    first: int
    count: int
    whole: bool


def first_line(line: int | None, limit: int | None) -> int | Refusal:
    """The first line to serve, from 0. ACP counts from 1; 0 is accepted as 1, because agents send it."""
    if line is not None and line < 0:
        return Refusal(Kind.BAD_RANGE, f"line must not be negative, it was {line}", {"line": line})
    if limit is not None and limit < 0:
        return Refusal(Kind.BAD_RANGE, f"limit must not be negative, it was {limit}", {"limit": limit})
    return max((line or 1) - 1, 0)


def serve(text: Text, line: int | None, limit: int | None) -> Served | Refusal:
    """Whole lines of `text`, with their terminators: `limit` lines from `line` (from 1) on, or all that follow.

    The empty line after a final terminator counts as a line. A `line` beyond it is refused, with the number of
    lines."""
    first = first_line(line, limit)
    if isinstance(first, Refusal):
        return first
    if first == 0 and limit is None:
        return Served(str(text), 0, text.line_count, whole=True)
    if first >= text.line_count:
        return past_end(first + 1, text.line_count)
    left = text.line_count - first
    count = left if limit is None else min(limit, left)
    return Served(text.lines(first, count), first, count, whole=first == 0 and count == text.line_count)


def past_end(line: int, lines: int) -> Refusal:
    """The refusal for a `line` (from 1) beyond a text of `lines` lines."""
    return Refusal(
        Kind.BAD_RANGE,
        f"line {line} is past the end, the file has {lines} lines",
        {"line": line, "lines": lines},
    )
