"""Scenes: what is done to show a habit of `tests/support/editor_habits.py`, and what a server sees of it.

Each is named after the switch. It gives plain values; a real editor and the fake one of its name must give the same ones.
Nothing here depends on the editor, and nothing on how long something takes: where keys came too late, they are typed again.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Mapping
from typing import Any

import pytest

from tests.e2e.stands import Desk, Scene, Stand, pause, verdict
from tests.support.waiting import NeverHappened, eventually

TEXT = b"one\ntwo\nthree\n"
NOWHERE = (0, 0)


def _capabilities(stand: Stand) -> dict[str, Any]:
    params: dict[str, Any] = stand.probe.wait_for("initialize")[0]["params"]
    return params


def _create(desk: Desk, *, text: str = "") -> object:
    changes: list[dict[str, Any]] = [{"kind": "create", "uri": desk.uri}]
    if text:
        here = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
        document = {"uri": desk.uri, "version": None}
        changes.append({"textDocument": document, "edits": [{"range": here, "newText": text}]})
    return verdict(desk.request(changes))


# What it says about itself


def client(stand: Stand) -> object:
    return (_capabilities(stand).get("clientInfo") or {}).get("name")


def encodings(stand: Stand) -> object:
    return tuple(_capabilities(stand)["capabilities"].get("general", {}).get("positionEncodings") or ())


def document_changes(stand: Stand) -> object:
    workspace = _capabilities(stand)["capabilities"]["workspace"]
    return bool(workspace.get("workspaceEdit", {}).get("documentChanges"))


def create_files(stand: Stand) -> object:
    edits = _capabilities(stand)["capabilities"]["workspace"].get("workspaceEdit", {})
    return "create" in (edits.get("resourceOperations") or ())


def reopens(stand: Stand) -> object:
    """Taken from the disk because the server asks for it."""
    if not stand.ours:
        return None
    desk = stand.desk(TEXT)
    desk.path.write_bytes(b"something of another length\n")
    before = len(desk.told())
    asked = {"uri": desk.uri, "version": desk.version, "edits": []}
    stand.probe.request("sidecar/reload", asked)
    desk.settle()
    return [message["method"] for message in desk.told()[before:]]


def undo_reopens(stand: Stand) -> object:
    """That is undone."""
    if not stand.ours:
        return None
    desk = stand.desk(TEXT)
    desk.path.write_bytes(b"something of another length\n")
    stand.probe.request("sidecar/reload", {"uri": desk.uri, "version": desk.version, "edits": []})
    desk.settle()
    before = len(desk.told())
    desk.hands.undo()
    desk.settle()
    told = [message["method"] for message in desk.told()[before:]]
    return [method for method, _ in itertools.groupby(told)]


def reloaded_end(stand: Stand) -> object:
    """The disk brings a final line end, or takes it away, and that is undone and edited: what the text is."""
    if not stand.ours:
        return None
    seen: list[object] = []
    for opened, newer in ((b"one\ntwo", b"ONE\ntwo\nthree\n"), (b"one\ntwo\n", b"ONE\ntwo\nthree")):
        desk = stand.desk(opened)
        desk.path.write_bytes(newer)
        stand.probe.request("sidecar/reload", {"uri": desk.uri, "version": desk.version, "edits": []})
        desk.settle()
        reloaded = desk.text()
        desk.hands.undo()
        desk.settle()
        undone = desk.text()
        assert verdict(desk.put((0, 0), (0, 3), "own")) is True
        desk.settle()
        seen.append((reloaded, undone, desk.text(), desk.saves()))
    return seen


def messages(stand: Stand) -> object:
    """Whether it says that it asks questions for a server, and whether it does."""
    question = {"type": 3, "message": "what?", "actions": [{"title": "A"}, {"title": "B"}]}
    asked = "error" not in stand.probe.ask("window/showMessageRequest", question, within=0.7)
    if asked:
        stand.hands.dismiss()
    return "showMessage" in _capabilities(stand)["capabilities"].get("window", {}), asked


# How changes are told


def lag(stand: Stand) -> object:
    """Five keys at once, twice: how many notifications tell them?"""
    desk = stand.desk(TEXT)
    seen: list[int] = []
    for text in ("abcdeone\n", "abcdefghijone\n"):
        desk.hands.type("fghij" if "f" in text else "abcde")
        desk.wait_for_text(text + "two\nthree\n")
        seen.append(len(desk.told("change")) - sum(seen))
    return seen


def lag_restarts(stand: Stand) -> object:
    """Keys that come faster than the wait, for longer than the wait: are they told all at once? What was seen twice counts: whether keys
    reach the editor as fast as they are sent cannot be seen from here."""
    seen: list[bool] = []
    for _ in range(20):
        desk = stand.desk(TEXT)
        gaps: list[float] = []
        for number in range(7):
            before = time.monotonic()
            desk.hands.type(str(number))
            pause(0.1)
            gaps.append(time.monotonic() - before)
        desk.wait_for_text("0123456one\ntwo\nthree\n")
        if max(gaps) < (stand.habits.lag or math.inf):
            seen.append(len(desk.told("change")) == 1)
            if seen.count(seen[-1]) == 2:
                return seen[-1]
    raise NeverHappened("within 20 tries this machine never typed seven keys in time: it is too busy")


def any_order(stand: Stand) -> object:
    """Bursts of keys, until one was told in another order."""
    desk = stand.desk(TEXT)
    for _ in range(12):
        desk.types("abcdefghijklmnopqrstuvwxyz" * 3)
        versions = desk.versions()
        if versions != sorted(versions):
            return True
    return False


def first_version(stand: Stand) -> object:
    return stand.desk(TEXT).version


def version_step(stand: Stand) -> object:
    """Whether the numbers have gaps."""
    desk = stand.desk(TEXT)
    desk.types("a")
    desk.types("b")
    numbers = desk.versions()
    return any(later - earlier > 1 for earlier, later in itertools.pairwise(numbers))


def version_when_told(stand: Stand) -> object:
    """An edit for the version that the server knows, while something typed is held back (or was told long ago)."""
    desk = stand.desk(TEXT)
    desk.hands.type("typed ")
    answer = verdict(desk.put(NOWHERE, (0, 3), "ONE", version=desk.versions()[0]))
    desk.settle()
    return answer, desk.text()


def full_text(stand: Stand) -> object:
    desk = stand.desk(TEXT)
    desk.types("a")
    return ["range" in change for change in desk.told("change")[0]["params"]["contentChanges"]]


def counts(stand: Stand) -> object:
    """Where a character behind an emoji is, in what was agreed: UTF-16."""
    desk = stand.desk("🙂\n".encode())
    answer = verdict(desk.put((0, 2), (0, 2), "x"))
    desk.settle()
    return answer, desk.text(), desk.told("change")[0]["params"]["contentChanges"][0].get("range")


# How applyEdit is taken


def order(stand: Stand) -> object:
    """What came first; at longer and longer pauses, and over again, if it is said to be now one and now the other: on a machine that has much to do,
    one of the two may not come for long."""
    desk = stand.desk(TEXT)
    seen: set[str] = set()
    for number in range(56 if stand.habits.order == "either" else 2):
        count = len(desk.story())
        assert verdict(desk.put(NOWHERE, NOWHERE, f"{number}\n")) is True
        eventually(lambda n=number: len(desk.told("change")) > n, "didChange")
        seen.add(desk.story()[count])
        if len(seen) == 2:
            break
        pause(0.04 * (number % 14))
    return sorted(seen)


def stale(stand: Stand) -> object:
    """An edit for an older version, all typing told."""
    desk = stand.desk(TEXT)
    desk.types("a")
    older = desk.version
    desk.types("b")
    answer = verdict(desk.put((1, 0), (1, 3), "TWO", version=older))
    desk.settle()
    return answer, desk.text()


def unchecked(stand: Stand) -> object:
    """An edit for didOpen's version, all typing told."""
    desk = stand.desk(TEXT)
    desk.types("a")
    answer = verdict(desk.put((1, 0), (1, 3), "TWO", version=desk.versions()[0]))
    desk.settle()
    return answer, desk.text()


def newer_is_fine(stand: Stand) -> object:
    desk = stand.desk(TEXT)
    answer = verdict(desk.put((1, 0), (1, 3), "TWO", version=desk.version + 40))
    desk.settle()
    return answer, desk.text()


def refuses(stand: Stand) -> object:
    desk = stand.desk(TEXT)
    answer = verdict(desk.put((1, 0), (1, 3), "TWO"))
    desk.settle()
    return answer, desk.text()


def thinks(stand: Stand) -> object:
    """An editor that asks before every edit, where there is such a thing: is there an answer before somebody has agreed?"""
    desk = stand.desk(TEXT)
    stand.hands.confirms(True)
    try:
        at_once = verdict(desk.put((1, 0), (1, 3), "TWO", within=0.5))
        stand.hands.agree()
        eventually(lambda: "answer" in desk.story(), "the answer")
    finally:
        stand.hands.confirms(False)
    desk.settle()
    return at_once, desk.text()


def noop_told(stand: Stand) -> object:
    """An edit that changes nothing."""
    desk = stand.desk(TEXT)
    answer = verdict(desk.put((1, 0), (1, 3), "two"))
    desk.settle()
    return answer, [kind for kind in desk.story() if kind != "answer"]


def undo_joins(stand: Stand) -> object:
    """Typed, edited, typed: what one undo leaves, and the next."""
    desk = stand.desk(TEXT)
    desk.types("early ")
    assert verdict(desk.put((1, 0), (1, 3), "TWO")) is True
    desk.settle()
    desk.types("late ")
    seen = [desk.text()]
    for _ in range(2):
        if seen[-1] == TEXT.decode():
            break  # one took all of it: Emacs says then that there is nothing to undo
        desk.hands.undo()
        desk.settle()
        seen.append(desk.text())
    return seen


def undo(stand: Stand) -> object:
    """An edit of two places, undone."""
    desk = stand.desk(TEXT)
    assert verdict(desk.put((1, 0), (1, 3), "TWO\nand")) is True
    desk.settle()
    desk.hands.undo()
    desk.settle()
    return desk.text()


def blank_line_past_end(stand: Stand) -> object:
    """Text put behind the final line end, where LSP has a last, empty line."""
    desk = stand.desk(TEXT)
    assert verdict(desk.put((3, 0), (3, 0), "four\n")) is True
    desk.settle()
    return desk.text(), desk.saves()


# Documents that are not open


def unopened(stand: Stand) -> object:
    stand.desk(TEXT)
    desk = stand.desk(TEXT, shown=False)
    answer = verdict(desk.put((1, 0), (1, 3), "TWO", version=0))
    if answer is True:
        eventually(lambda: desk.told("change"), "the edit is told")
        desk.settle()  # Helix tells the opening after it
    kinds = [kind for kind in desk.story() if kind != "answer"]
    kinds = sorted(kinds) if stand.habits.any_order else kinds
    return answer, kinds, desk.text(), desk.path.read_bytes()


def creates(stand: Stand) -> object:
    """CreateFile with text, in a folder that is there and in one that is not: taken, and is there a file?"""
    stand.desk(TEXT)
    seen: list[object] = []
    for folder in (stand.folder, stand.folder / f"new{len(list(stand.folder.iterdir()))}"):
        desk = Desk(stand, folder / f"new{len(list(stand.folder.iterdir()))}.txt")
        answer = _create(desk, text="text\n")
        seen.append((answer is True, desk.path.exists() and desk.path.read_bytes()))
    return seen


# Text and disk


def line_ends(stand: Stand) -> object:
    """Opened, edited by CRLF and by LF, saved: what the server holds, and the bytes."""
    seen: list[object] = []
    for data in (b"one\r\ntwo\r\n", b"one\r\ntwo\nthree\r\n", b"one\ntwo\r\n"):
        desk = stand.desk(data)
        opened = desk.text()
        assert verdict(desk.put((0, 0), (0, 3), "1\r\n2")) is True
        desk.settle()
        assert verdict(desk.put((0, 0), (0, 0), "0\n")) is True
        desk.settle()
        seen.append((opened, desk.text(), desk.saves()))
    return seen


def lf_lines(stand: Stand) -> object:
    """Lines behind a "\\r" of its own, and the end of a line in a file with both kinds of line ends: what becomes of the bytes."""
    seen: list[object] = []
    for data, start, end in (
        (b"one\rtwo\nthree\n", (1, 0), (1, 3)),
        (b"one\r\ntwo\nthree\n", (0, 3), (0, 4)),
    ):
        desk = stand.desk(data)
        seen.append((verdict(desk.put(start, end, "PUT")), desk.saves()))
    return seen


def final_end(stand: Stand) -> object:
    """Files without a final line end, edits that take it away or add it, an empty file: what is told, and the bytes."""
    seen: list[object] = []
    for data, start, end, new in (
        (b"one\ntwo", (0, 0), (0, 3), "ONE"),
        (b"one\ntwo", (1, 3), (1, 3), "\n"),
        (b"one\ntwo\n", (1, 0), (2, 0), "TWO"),
        (b"", (0, 0), (0, 0), "one"),
    ):
        desk = stand.desk(data)
        opened = desk.text()
        assert verdict(desk.put(start, end, new)) is True
        desk.settle()
        seen.append((opened, desk.text(), desk.saves(), desk.text()))
    return seen


def keeps_bom(stand: Stand) -> object:
    desk = stand.desk(b"\xef\xbb\xbfone\n")
    opened = desk.text()
    assert verdict(desk.put((0, 1), (0, 3), "NE")) is True
    desk.settle()
    return opened, desk.saves()


def save_fails(stand: Stand) -> object:
    """The user saves, or the sidecar through our snippet, over a file that changed on disk."""
    desk = stand.desk(TEXT)
    desk.types("typed ")
    desk.path.write_bytes(b"something of another length\n")
    if stand.ours:
        stand.probe.request("sidecar/save", {"uri": desk.uri, "version": desk.version})
    else:
        desk.hands.save()
    desk.settle()
    return desk.path.read_bytes()


def refused_save_told(stand: Stand) -> object:
    """The user saves over a file that changed on disk, and does not when asked."""
    desk = stand.desk(TEXT)
    desk.types("typed ")
    desk.path.write_bytes(b"something of another length\n")
    desk.hands.save()
    desk.settle()
    return desk.path.read_bytes(), [message["params"].get("text") for message in desk.told("save")]


def reloads(stand: Stand) -> object:
    """Whether a clean document that changed on disk is taken from there by itself, while nobody does anything else."""
    desk = stand.desk(TEXT)
    desk.path.write_bytes(b"something of another length\n")
    other = stand.desk(TEXT)  # time passes
    other.types("a")
    return len(desk.told("change"))


SCENES: dict[str, Scene] = {
    scene.__name__: scene
    for scene in (
        client,
        encodings,
        document_changes,
        create_files,
        lag,
        lag_restarts,
        any_order,
        first_version,
        version_step,
        version_when_told,
        full_text,
        counts,
        order,
        stale,
        unchecked,
        newer_is_fine,
        refuses,
        thinks,
        noop_told,
        undo_joins,
        undo,
        blank_line_past_end,
        unopened,
        creates,
        line_ends,
        lf_lines,
        final_end,
        keeps_bom,
        save_fails,
        refused_save_told,
        reloads,
        reopens,
        undo_reopens,
        reloaded_end,
        messages,
    )
}


def compared(differs: Mapping[str, str] = {}) -> list[Any]:
    """Every scene by name, as a test's parameters. `differs`: scene → in what the fake is known to differ. Such a scene has to fail."""
    return [
        pytest.param(name, marks=pytest.mark.xfail(reason=differs[name], raises=AssertionError, strict=True))
        if name in differs
        else pytest.param(name)
        for name in SCENES
    ]
