"""The overlay of an editor whose notifications come in another order than it sent them (Helix 25.01), and of one that counts
lines by "\\n" only."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.overlay import MAX_EARLY, ContentChange, Modification, Notified, Overlay
from sidecar.core.text import Encoding, Position, Range
from sidecar.core.uri import DocumentUri
from tests.support import oracle

URI = DocumentUri("file:///a.py")


def opened(text: str, version: int = 0) -> Modification:
    return Modification(URI, Notified.OPEN, version, text=text)


def put(version: int, character: int, text: str) -> Modification:
    place = Position(0, character)
    return Modification(URI, Notified.CHANGE, version, (ContentChange(Range(place, place), text),))


def helix() -> Overlay:
    overlay = Overlay()
    overlay.in_any_order = True
    return overlay


@pytest.mark.parametrize("name", ["helix", "any"])
@pytest.mark.parametrize(
    ("events", "text", "version"),
    [
        # didChange before didOpen, which still has the text before it
        ([put(1, 0, "X"), opened("abc")], "Xabc", 1),
        ([put(2, 0, "Y"), put(1, 0, "X"), opened("abc")], "YXabc", 2),
        # …or has the text after it
        ([put(1, 0, "X"), opened("Xabc", 1)], "Xabc", 1),
        ([put(1, 0, "X"), put(2, 0, "Y"), opened("Xabc", 1)], "YXabc", 2),
    ],
)
def test_changes_before_the_open(name: str, events: list[Modification], text: str, version: int) -> None:
    overlay = helix() if name == "helix" else Overlay()
    for event in events:
        overlay.apply(event)
    document = overlay.get(URI)
    assert document is not None
    assert (str(document.snapshot()), document.version, document.desynchronised) == (text, version, None)


def test_a_change_too_early_is_kept() -> None:
    overlay = helix()
    overlay.apply(opened("abc"))
    document = overlay.apply(put(3, 0, "3")).document
    assert document is not None
    overlay.apply(put(2, 0, "2"))
    assert (str(document.snapshot()), document.version) == ("abc", 0)
    edits = overlay.apply(put(1, 0, "1")).edits
    assert (str(document.snapshot()), document.version, len(edits)) == ("321abc", 3, 3)


def test_a_version_that_never_was() -> None:
    overlay = helix()
    overlay.apply(opened("abc"))
    document = overlay.apply(put(3, 0, "3")).document
    overlay.apply(put(7, 0, "7"))
    assert document is not None
    assert not overlay.close_gap(document, 7), "not the first that waits"
    assert len(overlay.close_gap(document, 3)) == 1
    assert (str(document.snapshot()), document.version, list(document.early)) == ("3abc", 3, [7])
    overlay.close_gap(document, 7)
    assert (str(document.snapshot()), document.desynchronised) == ("73abc", None)


def test_what_was_told_before_the_opening_is_told_apart() -> None:
    overlay = Overlay()
    overlay.apply(put(4, 0, "X"))
    applied = overlay.apply(opened("abc"))
    assert [edit.new for edit in applied.edits] == ["abc", "X"]
    assert [edit.new for edit in applied.early] == ["X"]


def test_a_save_between_does_not_take_what_is_still_to_come_twice() -> None:
    overlay = helix()
    overlay.apply(opened("abc"))
    overlay.apply(put(2, 0, "2"))
    overlay.apply(Modification(URI, Notified.SAVE, text="21abc"))
    document = overlay.apply(put(1, 0, "1")).document
    assert document is not None
    assert str(document.snapshot()) == "21abc"


def test_a_change_that_never_comes() -> None:
    overlay = helix()
    overlay.apply(opened("abc"))
    notes = [overlay.apply(put(version, 0, "x")).note for version in range(2, MAX_EARLY + 3)]
    assert notes == [None] * MAX_EARLY + ["the change after version 0 never came"]
    document = overlay.apply(opened("new", 7)).document
    assert document is not None
    assert (str(document.snapshot()), document.desynchronised) == ("new", None)


@given(
    st.text("ab\n", max_size=6),
    st.lists(st.tuples(st.integers(0, 9), st.text("xy\n", max_size=3)), max_size=12),
    st.integers(0, 99),
)
def test_in_any_order(text: str, typed: list[tuple[int, str]], seed: int) -> None:
    """didOpen and every change, each at most a few places from where it belongs."""
    sent = [opened(text)]
    for version, (offset, new) in enumerate(typed, 1):
        at = Position(*oracle.position_at(text, min(offset, len(text)), "utf-16"))
        text = oracle.replace(text, tuple(at), tuple(at), new, "utf-16")
        sent.append(Modification(URI, Notified.CHANGE, version, (ContentChange(Range(at, at), new),)))
    choose = random.Random(seed)
    overlay = helix()
    for event in sorted(enumerate(sent), key=lambda one: one[0] + choose.random() * 4):
        overlay.apply(event[1])
    document = overlay.get(URI)
    assert document is not None
    assert (str(document.snapshot()), document.desynchronised) == (text, None)


def test_lines_end_at_newlines_only() -> None:
    overlay = Overlay(Encoding.UTF_16)
    overlay.lf_lines = True
    overlay.apply(opened("one\rtwo\nthree\n"))
    place = Range(Position(1, 0), Position(1, 3))
    document = overlay.apply(Modification(URI, Notified.CHANGE, 1, (ContentChange(place, "THR"),))).document
    assert document is not None
    assert str(document.snapshot()) == "one\rtwo\nTHRee\n"
