"""The text alone, in the process: load, read lines, insert, type, a hundred cursors, whole text.

vscode-languageserver-textdocument measures itself inside Node, pygls's store is called here. Every side types the same words
into the same lines (the slower ones fewer of them), and its text is compared afterwards with one made from the lines.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.workspace import TextDocument

from benchmarks._common import Case, Missing, Seconds, node
from benchmarks._common.keystrokes import Key, Keystrokes, hash_of
from benchmarks._common.measure import Run
from benchmarks._common.texts import MB, code
from sidecar.core.rope import Rope
from sidecar.core.text import Encoding

NODE = "vscode-languageserver-textdocument"
PYGLS = "pygls"
LINES = 50
CURSORS = 100


def cases() -> Iterator[Case]:
    with ExitStack() as stack:
        start = node.command("text_store.mjs")
        script = start if isinstance(start, Missing) else stack.enter_context(node.Script(start))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        text = code(10 * MB)
        stores = _Stores(text, script, folder / "ascii")
        yield _load(stores)
        yield _read(stores)
        yield from _insert("10 MB, insert at random places", stores, 1, (5000, 50, 2), "≥ 1,000 × vscode's")
        yield from _insert("10 MB, typing", stores, 20, (500, 3, 0))
        yield from _insert(
            f"10 MB, {CURSORS} cursors in one change", stores, 1, (CURSORS, CURSORS, 0), batch=True
        )
        yield _whole(stores)
        # every third line has characters outside of ASCII, so that units and code points differ
        lines = text.splitlines(keepends=True)
        lines[::3] = [line.replace("value", "würde😀") for line in lines[::3]]
        mixed = _Stores("".join(lines), script, folder / "mixed")
        yield from _insert("10 MB, not only ASCII, insert at random places", mixed, 1, (5000, 30, 2))
        small = _Stores(code(MB // 10), script, folder / "small")
        yield from _insert("100 KB, insert at random places", small, 1, (5000, 2000, 200))


class _Stores:
    """One text in every store."""

    def __init__(self, text: str, script: node.Script | Missing, path: Path) -> None:
        self.text = text
        self.path = path
        self.script = script
        path.write_bytes(text.encode())
        self.reset()

    def reset(self) -> None:
        self.rope = Rope(self.text)
        self.pygls = TextDocument("file:///text", self.text, 1, "plaintext")
        if isinstance(self.script, node.Script):
            self.script("load", path=str(self.path), repeat=1)

    def peers(
        self, by_node: Callable[[node.Script], object], by_pygls: Run | None = None
    ) -> dict[str, Run | Missing]:
        script = self.script
        theirs: Run | Missing = script if isinstance(script, Missing) else lambda: by_node(script)
        return {NODE: theirs} if by_pygls is None else {NODE: theirs, PYGLS: by_pygls}


def _load(stores: _Stores) -> Case:
    def by_node(script: node.Script) -> Seconds:
        return Seconds(script("load", path=str(stores.path), repeat=3)["seconds"] / 3)

    facts = {"vscode's": "until its first position is known"}
    return Case("10 MB, load", lambda: Rope(stores.text), stores.peers(by_node), facts=facts)


def _read(stores: _Stores) -> Case:
    lines = stores.text.splitlines(keepends=True)
    places = [(number * 7919) % max(1, len(lines) - LINES) for number in range(1000)]
    wanted = hash_of("".join(lines[at : at + LINES]) for at in places)
    snapshot = stores.rope.snapshot()
    assert hash_of(snapshot.lines(at, LINES) for at in places) == wanted

    def ours() -> Seconds:
        start = time.perf_counter()
        for at in places:
            snapshot.lines(at, LINES)
        return Seconds((time.perf_counter() - start) / len(places))

    def by_node(script: node.Script) -> Seconds:
        answer = script("read", places=places, count=LINES)
        assert answer["hash"] == wanted, f"{NODE} read something else"
        return Seconds(answer["seconds"] / len(places))

    def by_pygls() -> object:
        return "".join(stores.pygls.lines[places[1] : places[1] + LINES])

    assert by_pygls() == "".join(lines[places[1] : places[1] + LINES])
    return Case(f"10 MB, read {LINES} lines", ours, stores.peers(by_node, by_pygls))


def _insert(
    name: str,
    stores: _Stores,
    length: int,
    counts: tuple[int, int, int],
    target: str = "",
    *,
    batch: bool = False,
) -> Iterator[Case]:
    """Words of `length`; in a round so many of them by us, by Node, by pygls (0: not at all). Time is by the key, or the batch."""
    stores.reset()
    keystrokes = Keystrokes(stores.text, length)
    us, they, pygls = (keystrokes.typist() for _ in range(3))

    def each(taken: float, keys: list[Key]) -> Seconds:
        return Seconds(taken if batch else taken / len(keys))

    def ours() -> Seconds:
        keys = us.keys(counts[0])
        edits = [(key.range, key.text) for key in keys]
        apply = stores.rope.apply
        start = time.perf_counter()
        for place, text in edits:
            apply(place, text, Encoding.UTF_16)
        return each(time.perf_counter() - start, keys)

    def by_node(script: node.Script) -> Seconds:
        keys = they.keys(counts[1])
        changes = [(key.line, key.character, key.text) for key in keys]
        return each(script("edit", changes=changes, batch=batch)["seconds"], keys)

    def by_pygls() -> Seconds:
        keys = pygls.keys(counts[2])
        changes = [_pygls_change(key) for key in keys]
        start = time.perf_counter()
        for change in changes:
            stores.pygls.apply_change(change)
        return each(time.perf_counter() - start, keys)

    yield Case(name, ours, stores.peers(by_node, by_pygls if counts[2] else None), target)
    us.check("ours", str(stores.rope.snapshot()))
    if they.words:
        assert isinstance(stores.script, node.Script)
        they.check(NODE, stores.script("check"))
    if pygls.words:
        pygls.check(PYGLS, stores.pygls.source)


def _whole(stores: _Stores) -> Case:
    stores.reset()
    length = len(stores.text)
    place = Key(LINES, 0, "x").range
    grown = {"ours": 0, NODE: 0}

    def ours() -> None:
        stores.rope.apply(place, "x", Encoding.UTF_16)
        grown["ours"] += 1
        assert len(str(stores.rope.snapshot())) == length + grown["ours"]

    def by_node(script: node.Script) -> Seconds:
        answer = script("whole", line=LINES)
        grown[NODE] += 1
        assert answer["length"] == length + grown[NODE], f"{NODE} lost something"
        return Seconds(answer["seconds"])

    return Case("10 MB, an insertion and then the whole text", ours, stores.peers(by_node))


def _pygls_change(key: Key) -> Any:
    place = types.Position(key.line, key.character)
    return types.TextDocumentContentChangePartial(types.Range(place, place), key.text)
