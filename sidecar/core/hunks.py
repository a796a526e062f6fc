"""hunks: finds the changed lines between two texts, in bounded time for any texts.

merge.py compares `line_hunks`, which are also shown to people; diff.py turns them into edits for an editor. `scan` is the search
itself, for any `Grain` of tokens.

How it works: equal stretches are skipped 16 KiB at a time. At a difference, a window of tokens on each side is compared until
both sides match again. If the same word differs as the last time, all lines up to where this no longer explains the differences are told at once
(renamed.py). If that fails, a piece of one text is searched for in the other. If that fails, the rest is compared
token by token. A count of work, never a clock, limits each stage: the same two texts always give the same hunks. When no work is
left, the rest is one hunk.

Lines end with \\n, \\r\\n or \\r and nothing else (LSP). Offsets are code points.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from sidecar.core.align import Budget, Run, align, shortest
from sidecar.core.renamed import Guess

MAX_HUNKS = 10_000
"""More hunks than this are joined: an editor applies edits one by one while its user waits."""

_STRIDE = 1 << 14
"""Code points per step when equal stretches are skipped. Smaller steps need more calls; larger steps cost more at the end."""
_BLOCK = 1 << 16
_NEEDLE = 96
"""Code points of a piece that is searched for in the other text: long enough to be rare, and shorter than most blocks."""
_FARTHEST = 1 << 20
"""How far after a difference such a piece is taken at most, in code points."""
_MOST_LINES = 200_000
"""The most lines, of both texts together, that are compared one by one: their strings take several times the memory of their
characters."""
_LEAST = 1 << 12
"""Code points in which a word that was renamed is followed at first."""
_SPARSE = 512
"""If it stands less often than once in so many, no more of the text is looked at at once: equal stretches are skipped faster."""
_WORK = 400_000
"""The budget in align.py's steps. With _MOST_LINES it keeps hostile texts of 10 MB near half a second."""


class LineHunk(NamedTuple):
    """old[old_start:old_end] became new[new_start:new_end]."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int

    @property
    def extent(self) -> int:
        """Code points of the longer side."""
        return max(self.old_end - self.old_start, self.new_end - self.new_start)

    @property
    def growth(self) -> int:
        """By how many code points the text grows; negative if it shrinks."""
        return self.new_end - self.new_start - self.old_end + self.old_start


class Grain(NamedTuple):
    """The kind of tokens that are compared."""

    cut: Callable[[str], list[str]]
    by_line: bool
    window: int
    """Code points after a difference that are compared first."""
    solid: int
    """Equal tokens in a row that end a difference."""
    dense: int
    """The longest rest, in code points, that is cut into tokens at all."""


def line_hunks(old: str, new: str) -> list[LineHunk]:
    """The changes as whole lines, sorted, with an equal line between any two hunks. Empty for equal texts.

    Both sides of a hunk start and end at a line's start or at the text's end.
    """
    if old == new:
        return []
    found = scan(old, new, LineHunk(0, len(old), 0, len(new)), _LINES, Budget(_WORK))
    return _at_most(MAX_HUNKS, found)


def places(old: str, new: str, hunks: Sequence[LineHunk]) -> list[tuple[int, int]]:
    """For each of `line_hunks`, the stretch of `old` in which it could lie.

    For a hunk that replaces lines, this is its own stretch. A hunk that only inserts or only deletes can often be moved by
    whole lines without changing the result: up until its last line differs from the line before it, and down likewise."""
    found: list[tuple[int, int]] = []
    for index, hunk in enumerate(hunks):
        up = down = 0
        if hunk.old_start == hunk.old_end or hunk.new_start == hunk.new_end:
            before = hunks[index - 1] if index else LineHunk(0, 0, 0, 0)
            end = LineHunk(len(old), len(old), len(new), len(new))
            after = hunks[index + 1] if index + 1 < len(hunks) else end
            upwards = LineHunk(before.old_end, hunk.old_end, before.new_end, hunk.new_end)
            downwards = LineHunk(hunk.old_start, after.old_start, hunk.new_start, after.new_start)
            up = hunk.old_end - _skip_equal_back(old, new, upwards, _LINES).old_end
            down = _skip_equal(old, new, downwards, _LINES).old_start - hunk.old_start
        found.append((hunk.old_start - up, hunk.old_end + down))
    return found


def lines_of(text: str) -> list[str]:
    """The lines of a text with their ends. Only \\n, \\r\\n and \\r end a line."""
    # `str.splitlines` is by far the fastest, but knows line ends that LSP does not.
    if (
        "\x0b" in text
        or "\x0c" in text
        or "\x1c" in text
        or "\x1d" in text
        or "\x1e" in text
        or (not text.isascii() and ("\x85" in text or "\u2028" in text or "\u2029" in text))
    ):
        return _LINE.findall(text)
    return text.splitlines(keepends=True)


def scan(old: str, new: str, region: LineHunk, grain: Grain, budget: Budget) -> list[LineHunk]:
    """The hunks within a region, none of which touch. With a grain of lines, they are whole lines if the region is."""
    hunks: list[LineHunk] = []
    rest = _skip_equal_back(old, new, _skip_equal(old, new, region, grain), grain)
    guess = Guess(budget, _LEAST)
    alike, growth = False, None
    while rest.old_start < rest.old_end and rest.new_start < rest.new_end:
        if grain.by_line and _is_one_line(old, *rest[:2]) and _is_one_line(new, *rest[2:]):
            break  # it may be a whole file, and there is nothing within it to look for
        step = _follow(old, new, rest, guess, grain) if alike and grain.by_line and guess.is_due() else None
        if step is None:
            step = _resync(old, new, rest, grain, budget)
        if step is None:
            step = _dense(old, new, _up_to_piece(old, new, rest, grain, budget), grain, budget)
        for hunk in step:
            add(hunks, hunk)
        rest = LineHunk(step[-1].old_end, rest.old_end, step[-1].new_end, rest.new_end)
        rest = _skip_equal(old, new, rest, grain)
        growth, before = step[-1].growth, growth
        alike = growth == before
    add(hunks, rest)
    return hunks


def _is_one_line(text: str, start: int, end: int) -> bool:
    return text.find("\n", start, end - 1) < 0 and text.find("\r", start, end - 1) < 0


def _follow(old: str, new: str, rest: LineHunk, guess: Guess, grain: Grain) -> list[LineHunk] | None:
    """The hunks at the start of `rest` that one renamed word explains, up to a place where both sides match again, if the last difference was that
    word, too."""
    i, i_end, j, j_end = rest
    equal = common_prefix(old, new, LineHunk(i, min(i_end, i + _LEAST), j, min(j_end, j + _LEAST)))
    renaming = guess.at(old, i + equal, new, j + equal, equal)
    if renaming is None:
        return None
    stop = _next_line(old, i + guess.size, i_end) if i + guess.size < i_end else i_end
    a = old[i : min(stop, i + 2 * guess.size)]
    hunks: list[LineHunk] = []
    places = renaming.places(a) if len(a) == stop - i and a.count("\r") == a.count("\r\n") else None
    guess.costs(a, places)
    if places:
        b = renaming.applied(a, places)
        known = (
            len(b) if new.startswith(b, j, j_end) else common_prefix(b, new, LineHunk(0, len(b), j, j_end))
        )
        hunks = _lines_around(a, places, renaming.growth)
        if (
            known < len(b) or stop < i_end or j + known < j_end
        ):  # the counterpart of what follows may be elsewhere
            while hunks:
                _, end, _, new_end = hunks[-1]
                if a.count("\n", end, end + max(known - new_end, 0)) >= grain.solid:
                    break
                hunks.pop()
    is_worth_more = bool(hunks) and 2 * hunks[-1].old_end > len(a) and len(a) < _SPARSE * len(hunks)
    guess.told(len(hunks), _BLOCK if is_worth_more else 0)
    return [LineHunk(i + p, i + p_end, j + q, j + q_end) for p, p_end, q, q_end in hunks] or None


def _lines_around(text: str, places: Iterable[int], growth: int) -> list[LineHunk]:
    """The lines in which these places are, if the text grows by `growth` in each. Adjacent ones are one hunk."""
    hunks: list[LineHunk] = []
    start = end = shift = before = 0
    for at in places:
        if at >= end:
            begin = text.rfind("\n", end, at) + 1 or end
            if begin > end:
                if end:
                    hunks.append(LineHunk(start, end, start + before, end + shift))
                start, before = begin, shift
            end = text.find("\n", at) + 1 or len(text)
        shift += growth
    hunks.append(LineHunk(start, end, start + before, end + shift))
    return hunks


def _resync(old: str, new: str, rest: LineHunk, grain: Grain, budget: Budget) -> list[LineHunk] | None:
    """The hunks from a difference at the start of `rest` to the place where both sides match again, if it is near."""
    for size, limit in ((grain.window, 10), (8 * grain.window, 40)):
        a, all_of_a = _window(old, rest.old_start, rest.old_end, size, grain)
        b, all_of_b = _window(new, rest.new_start, rest.new_end, size, grain)
        budget.left -= (len(a) + len(b)) >> 2
        if not grain.by_line:
            limit = min(limit, (len(a) + len(b)) // 2)
        script = shortest(a, b, limit, budget, grain.solid)
        if script is None:
            if all_of_a and all_of_b and not grain.by_line:
                return [rest]  # hardly a word in common
            continue
        runs, x, y = script
        if not (all_of_a and all_of_b):
            # The counterpart of what follows the last equal run may be outside the window.
            if not runs:
                continue
            x, y, _ = runs.pop()
        return _between(a[:x], b[:y], runs, rest.old_start, rest.new_start)
    return None


def _window(text: str, start: int, end: int, size: int, grain: Grain) -> tuple[list[str], bool]:
    """The first whole tokens of text[start:end], and whether these are all."""
    while start + size < end:
        tokens = grain.cut(text[start : start + size])
        tokens.pop()
        if len(tokens) > grain.solid or size >= _BLOCK:
            return tokens, False
        size *= 8
    return grain.cut(text[start:end]), True


def _up_to_piece(old: str, new: str, rest: LineHunk, grain: Grain, budget: Budget) -> LineHunk:
    """The part of `rest` before a place where both sides are equal; all of it if no such place is found.

    The search looks for a piece of one side in the other. It takes pieces ever farther from the start. A piece counts only if
    it occurs exactly once."""
    i, i_end, j, j_end = rest
    step = 0
    while step <= min(_FARTHEST, max(i_end - i, j_end - j)) and budget.left > 0:
        reach = 4 * step + 4 * _BLOCK
        old_reach, new_reach = min(i_end, i + reach), min(j_end, j + reach)
        budget.left -= (old_reach - i + new_reach - j) >> 9
        p = _piece_start(old, i, i_end, step, grain)
        q = _find_once(new, j, new_reach, old[p : p + _NEEDLE], grain) if p >= 0 else -1
        if q < 0:
            q = _piece_start(new, j, j_end, step, grain)
            p = _find_once(old, i, old_reach, new[q : q + _NEEDLE], grain) if q >= 0 else -1
        if p >= 0 and q >= 0 and (p, q) != (i, j):
            return _skip_equal_back(old, new, LineHunk(i, p, j, q), grain)
        step = step * 4 or 256
    return rest


def _piece_start(text: str, start: int, end: int, step: int, grain: Grain) -> int:
    at = start + step
    if step and grain.by_line:
        at = _next_line(text, at, end)
    return at if at + _NEEDLE <= end else -1


def _find_once(text: str, start: int, end: int, piece: str, grain: Grain) -> int:
    at = text.find(piece, start, end)
    if at < 0 or (grain.by_line and not _starts_line(text, at)) or text.find(piece, at + 1, end) >= 0:
        return -1
    return at


def _dense(old: str, new: str, hunk: LineHunk, grain: Grain, budget: Budget) -> list[LineHunk]:
    """The hunks within one hunk, from comparing all its tokens; the hunk itself if it has too many tokens."""
    i, i_end, j, j_end = hunk
    if i == i_end or j == j_end or i_end - i + j_end - j > grain.dense:
        return [hunk]
    if grain.by_line:
        if old.count("\n", i, i_end) + new.count("\n", j, j_end) > _MOST_LINES:
            return [hunk]
        budget = Budget(max(budget.left, _WORK // 2))
    a, b = _cut(old, i, i_end, grain), _cut(new, j, j_end, grain)
    runs = align(a, b, budget)
    if not runs:
        return [hunk]
    hunks = without_crumbs(old, _between(a, b, runs, i, j), 16, max)
    return [*hunks, LineHunk(i_end, i_end, j_end, j_end)]


def _cut(text: str, start: int, end: int, grain: Grain) -> list[str]:
    """The tokens of text[start:end]. If they are lines, the text is not copied as a whole."""
    tokens: list[str] = []
    while grain.by_line and end - start > 2 * _BLOCK:
        stop = _next_line(text, start + _BLOCK, end)
        tokens += grain.cut(text[start:stop])
        start = stop
    return tokens + grain.cut(text[start:end])


def _between(a: Sequence[str], b: Sequence[str], runs: Iterable[Run], i: int, j: int) -> list[LineHunk]:
    """The parts between the equal runs of two token sequences that start at the offsets i and j."""
    in_a = list(accumulate(map(len, a), initial=i))
    in_b = list(accumulate(map(len, b), initial=j))
    hunks: list[LineHunk] = []
    x0 = y0 = 0
    for x, y, n in (*runs, (len(a), len(b), 0)):
        hunks.append(LineHunk(in_a[x0], in_a[x], in_b[y0], in_b[y]))
        x0, y0 = x + n, y + n
    return hunks


def add(hunks: list[LineHunk], hunk: LineHunk) -> None:
    """Append a hunk unless it is empty. If it touches the last one, the two are joined."""
    i, i_end, j, j_end = hunk
    if i == i_end and j == j_end:
        return
    if hunks and hunks[-1].old_end == i and hunks[-1].new_end == j:
        i, _, j, _ = hunks.pop()
    hunks.append(LineHunk(i, i_end, j, j_end))


def without_crumbs(
    old: str, hunks: Iterable[LineHunk], weight: int, around: Callable[[int, int], int]
) -> list[LineHunk]:
    """Join hunks with too little unchanged text between them, compared with the size of their changes.

    `a, b` → `x, y` is one edit. A single `}` that a rewritten page shares with the old one is chance. Unchanged text that
    contains a line end, or is the last line without one, counts `weight` times. `around` is min or max, applied to the sizes of the two hunks."""
    joined: list[LineHunk] = []
    for hunk in hunks:
        while joined:
            last = joined[-1]
            standing = hunk.old_start - last.old_end
            if standing < _BLOCK:
                text = old[last.old_end : hunk.old_start]
                begins_line = last.old_end == 0 or old[last.old_end - 1] in "\r\n"
                is_last = begins_line and hunk.old_start == len(old)
                standing = len(text.strip()) * (weight if is_last or "\n" in text or "\r" in text else 1)
            if standing > around(last.extent, hunk.extent):
                break
            joined.pop()
            hunk = LineHunk(last.old_start, hunk.old_end, last.new_start, hunk.new_end)
        joined.append(hunk)
    return joined


def _at_most(limit: int, hunks: list[LineHunk]) -> list[LineHunk]:
    """At most `limit` hunks: the nearest ones are joined."""
    if len(hunks) <= limit:
        return hunks
    distances = sorted(b.old_start - a.old_end for a, b in pairwise(hunks))
    near = distances[len(hunks) - limit - 1]
    joined = hunks[:1]
    for hunk in hunks[1:]:
        last = joined[-1]
        if hunk.old_start - last.old_end <= near:
            joined[-1] = LineHunk(last.old_start, hunk.old_end, last.new_start, hunk.new_end)
        else:
            joined.append(hunk)
    return joined


def _skip_equal(old: str, new: str, region: LineHunk, grain: Grain) -> LineHunk:
    """The region without the equal part at its start, in whole lines or code points."""
    i, i_end, j, j_end = region
    n = common_prefix(old, new, region)
    if n and grain.by_line and not (_starts_line(old, i + n) and _starts_line(new, j + n)):
        # The last equal code point may be a \r that only one side continues with \n.
        n = max(old.rfind("\n", i, i + n), old.rfind("\r", i, i + n - 1), i - 1) + 1 - i
    return LineHunk(i + n, i_end, j + n, j_end)


def _skip_equal_back(old: str, new: str, region: LineHunk, grain: Grain) -> LineHunk:
    """The region without the equal part at its end."""
    i, i_end, j, j_end = region
    n = common_suffix(old, new, region)
    if n and grain.by_line and not (_starts_line(old, i_end - n) and _starts_line(new, j_end - n)):
        n = i_end - _next_line(old, i_end - n, i_end)
    return LineHunk(i, i_end - n, j, j_end - n)


def common_prefix(old: str, new: str, region: LineHunk) -> int:
    """The number of code points that both sides of the region have in common at the start."""
    i, i_end, j, j_end = region
    most = min(i_end - i, j_end - j)
    done, size = 0, 256
    while done < most:
        size = min(size, most - done)
        if old.startswith(new[j + done : j + done + size], i + done):
            done += size
            size = min(4 * size, _STRIDE)
            continue
        while size > 1:
            half = size // 2
            if old.startswith(new[j + done : j + done + half], i + done):
                done += half
                size -= half
            else:
                size = half
        break
    return done


def common_suffix(old: str, new: str, region: LineHunk) -> int:
    """The number of code points that both sides of the region have in common at the end."""
    i, i_end, j, j_end = region
    most = min(i_end - i, j_end - j)
    done, size = 0, 256
    while done < most:
        size = min(size, most - done)
        if old.endswith(new[j_end - done - size : j_end - done], i, i_end - done):
            done += size
            size = min(4 * size, _STRIDE)
            continue
        while size > 1:
            half = size // 2
            if old.endswith(new[j_end - done - half : j_end - done], i, i_end - done):
                done += half
                size -= half
            else:
                size = half
        break
    return done


def _next_line(text: str, start: int, end: int) -> int:
    """The start of the first line that begins behind `start`; `end` if there is none."""
    line_feed = text.find("\n", start, end)
    stop = end if line_feed < 0 else line_feed
    carriage_return = text.find("\r", start, stop)
    if 0 <= carriage_return < stop - 1 or (carriage_return >= 0 and line_feed < 0):
        return carriage_return + 1
    return min(stop + 1, end)


def _starts_line(text: str, at: int) -> bool:
    if at == 0:
        return True
    before = text[at - 1]
    return before == "\n" or (before == "\r" and text[at : at + 1] != "\n")


_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_LINES = Grain(lines_of, by_line=True, window=1024, solid=8, dense=1 << 26)
