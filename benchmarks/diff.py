"""Two texts in, edits out, on friendly and on hostile texts.

"edit size" counts the characters deleted and inserted; "of xdiff's" is it divided by the size of xdiff's lines without
context.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from benchmarks._common import Case, Missing, have
from benchmarks._common.measure import Run
from benchmarks._common.texts import MB, code, edited, indented, repeated
from sidecar.core.diff import diff


def cases() -> Iterator[Case]:
    text = code(MB)
    yield _case("1 MB, 100 edits", text, edited(text, 100), "", difflib=True, dmp=True)
    yield _case("1 MB, one word renamed everywhere", text, text.replace("index", "place"), "")
    text = code(10 * MB)
    yield _case("10 MB, 1 edit", text, edited(text, 1), "")
    yield _case("10 MB, 100 edits", text, edited(text, 100), "≈ 3 ms; edit size ≤ 1.0 × xdiff's", dmp=True)
    yield _case("10 MB, 1000 edits", text, edited(text, 1000), "")
    yield _case("10 MB, reindented", text, indented(text), "≤ 0.5 s")
    yield _case("10 MB, rewritten", text, code(10 * MB, seed=9), "≤ 0.5 s")
    same = repeated(10 * MB, 10)
    yield _case("10 MB of 10 lines, 1000 edits", same, edited(same, 1000), "≤ 0.5 s")
    yield _case("10 MB of 10 lines, all moved", same, repeated(10 * MB, 10, seed=8), "≤ 0.5 s", xdiff=False)
    line = text.replace("\n", ";")
    spots = [line[at : at + 100_000] for at in range(0, len(line), 100_000)]
    yield _case("10 MB in one line, 100 edits", line, "X".join(spots), "")


def _case(
    name: str,
    old: str,
    new: str,
    target: str,
    *,
    xdiff: bool = True,
    difflib: bool = False,
    dmp: bool = False,
) -> Case:
    change = diff(old, new)
    assert change.apply(old) == new
    size = sum(edit.end - edit.start + len(edit.new) for edit in change.edits)
    facts: dict[str, float | str] = {"edits": len(change.edits), "edit size": size}
    peers: dict[str, Run | Missing] = {}
    if xdiff:
        pygit2 = have("pygit2")
        if isinstance(pygit2, Missing):
            peers["libgit2 xdiff"] = pygit2
        else:
            old_bytes, new_bytes = old.encode(), new.encode()
            create = pygit2.Patch.create_from
            patch = create(old_bytes, new_bytes, context_lines=0, interhunk_lines=0)
            lines = (line for hunk in patch.hunks for line in hunk.lines if line.origin in "+-")
            facts["of xdiff's"] = round(size / max(1, sum(len(line.content) for line in lines)), 3)
            peers["libgit2 xdiff"] = lambda: create(old_bytes, new_bytes, context_lines=0, interhunk_lines=0)
    if dmp:
        module = have("fast_diff_match_patch")
        peers["fast-diff-match-patch"] = (
            module if isinstance(module, Missing) else lambda: module.diff(old, new, counts_only=True)
        )
    if difflib:

        def by_difflib() -> object:
            a, b = old.splitlines(keepends=True), new.splitlines(keepends=True)
            return SequenceMatcher(None, a, b, autojunk=False).get_opcodes()

        peers["difflib, lines"] = by_difflib
    return Case(name, lambda: diff(old, new), peers, target, facts)
