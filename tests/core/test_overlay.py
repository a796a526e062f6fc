"""The overlay: its rules as rows, then an editor that does anything, misbehaving now and then, and is still mirrored."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sidecar.core.change import Edit
from sidecar.core.overlay import Applied, ContentChange, Document, Modification, Notified, Overlay
from sidecar.core.text import Encoding, Position, Range, Text
from sidecar.core.uri import DocumentUri
from tests.support import oracle

URI = DocumentUri("file:///a.py")


def opened(text: str, version: int | None = 1) -> Modification:
    return Modification(
        URI, Notified.OPEN, version, text=text, language_id="python", client_uri="file:///A.py"
    )


def changed(version: int | None, *changes: ContentChange) -> Modification:
    return Modification(URI, Notified.CHANGE, version, changes, client_uri="file:///A.py")


def saved(text: str | None = None) -> Modification:
    return Modification(URI, Notified.SAVE, text=text)


CLOSED = Modification(URI, Notified.CLOSE)


def at(place: str, text: str = "") -> ContentChange:
    """`1:2` inserts there, `1:2-1:3` replaces."""
    start, _, end = place.partition("-")
    places = [Position(*map(int, part.split(":"))) for part in (start, end or start)]
    return ContentChange(Range(*places), text)


def whole(text: str) -> ContentChange:
    return ContentChange(None, text)


BACKWARDS = at("0:3-0:1")
NEGATIVE = ContentChange(Range(Position(0, -1), Position(0, 0)), "X")
NOWHERE = ContentChange(Range(Position(-1, -1), Position(-1, -1)), "")


@pytest.mark.parametrize(
    ("events", "text", "version", "reason", "note"),
    [
        # open
        ([opened("abc", 7)], "abc", 7, None, None),
        ([opened("abc", None)], "abc", 0, None, None),
        ([opened("abc", 7), opened("xyz", 1)], "xyz", 1, None, "opened again while open"),
        ([opened("abc"), CLOSED, opened("xyz")], "xyz", 1, None, None),
        # change
        ([opened("abc"), changed(2, at("0:1", "X"))], "aXbc", 2, None, None),
        ([opened("abc"), changed(2, at("0:1", "X"), at("0:1-0:2", "Y"))], "aYbc", 2, None, None),
        ([opened("abc"), changed(2, at("0:1", "X"), whole("z"), at("0:1", "y"))], "zy", 2, None, None),
        ([opened("abc"), changed(9, at("0:1", "X"))], "aXbc", 9, None, None),
        ([opened("abc"), changed(None, at("0:1", "X"))], "aXbc", 1, None, None),
        ([opened("abc"), changed(2)], "abc", 2, None, None),
        ([opened("a\nb"), changed(2, at("0:9", "X"), at("9:9", "Y"))], "aX\nbY", 2, None, None),
        ([opened("abc"), changed(2, whole("xyz"))], "xyz", 2, None, None),
        # versions that do not go forwards
        ([opened("abc", 5), changed(3, at("0:1", "X"))], "abc", 3, "version 3 after 5", "version 3 after 5"),
        ([opened("abc", 5), changed(5, at("0:1", "X"))], "abc", 5, "version 5 after 5", "version 5 after 5"),
        (
            [opened("abc", 5), changed(6, at("0:1", "X")), changed(6)],
            "aXbc",
            6,
            None,
            None,
        ),
        ([opened("abc", 5), changed(5), changed(6, at("0:1", "X"))], "aXbc", 6, None, None),
        ([opened("abc", 5), changed(4)], "abc", 4, "version 4 after 5", "version 4 after 5"),
        (
            [opened("abc", 5), changed(3, whole("x"))],
            "x",
            3,
            None,
            "version 3 after 5; the whole text came with it",
        ),
        (
            [opened("abc", 5), changed(5, whole("x"), at("0:1", "y"))],
            "xy",
            5,
            None,
            "version 5 after 5; the whole text came with it",
        ),
        # places that cannot be
        (
            [opened("abc"), changed(2, BACKWARDS)],
            "abc",
            2,
            "a range that ends before it starts",
            "a range that ends before it starts",
        ),
        ([opened("abc"), changed(2, NEGATIVE)], "abc", 2, "a negative position", "a negative position"),
        ([opened("abc"), changed(None, NOWHERE)], "abc", 1, "a negative position", "a negative position"),
        (
            [opened("abc"), changed(2, at("0:1", "X"), NEGATIVE)],
            "abc",
            2,
            "a negative position",
            "a negative position",
        ),
        (
            [opened("abc"), changed(2, NEGATIVE, whole("x"))],
            "x",
            2,
            None,
            "a negative position; the whole text came with it",
        ),
        (
            [opened("abc"), changed(2, whole("x"), NEGATIVE)],
            "abc",
            2,
            "a negative position",
            "a negative position",
        ),
        # not open
        ([changed(4, at("0:1", "X"))], "", 4, "changed before it was opened", "changed before it was opened"),
        ([changed(4, at("0:1", "X")), opened("abc", 0)], "aXbc", 4, None, None),
        # told twice, the second time with nothing in it (Neovim 0.7; inflight seed 9932)
        ([changed(4, at("0:1", "X")), changed(4), opened("abc", 0)], "aXbc", 4, None, None),
        ([changed(4, whole("x"))], "x", 4, None, "changed before it was opened; the whole text came with it"),
        # while desynchronised
        (
            [opened("abc"), changed(2, NEGATIVE), changed(3, at("0:1", "X"))],
            "abc",
            3,
            "a negative position",
            None,
        ),
        (
            [opened("abc"), changed(2, NEGATIVE), changed(1, at("0:1", "X"))],
            "abc",
            1,
            "a negative position",
            None,
        ),
        ([opened("abc"), changed(2, NEGATIVE), saved()], "abc", 2, "a negative position", None),
        ([opened("abc"), changed(2, NEGATIVE), changed(3, whole("x"))], "x", 3, None, None),
        ([opened("abc"), changed(2, NEGATIVE), saved("x")], "x", 2, None, None),
        ([opened("abc"), changed(2, NEGATIVE), saved("abc")], "abc", 2, None, None),
        ([opened("abc"), changed(2, NEGATIVE), opened("x", 2)], "x", 2, None, None),
        # save
        ([opened("abc"), saved()], "abc", 1, None, None),
        ([opened("abc"), saved("abc")], "abc", 1, None, None),
        (
            [opened("abc"), saved("abX")],
            "abX",
            1,
            None,
            "the saved text differs from the mirror; the saved text was taken",
        ),
    ],
)
def test_rules(
    events: list[Modification], text: str, version: int, reason: str | None, note: str | None
) -> None:
    overlay = Overlay()
    applied = [overlay.apply(event) for event in events]
    document = overlay.get(URI)
    assert document is not None
    assert applied[-1].document is document
    assert str(document.snapshot()) == text
    assert (document.version, document.desynchronised, applied[-1].note) == (version, reason, note)


@pytest.mark.parametrize(
    ("events", "note"),
    [
        ([opened("abc"), CLOSED], None),
        ([CLOSED], "closed while not open"),
        ([saved("abc")], "saved while not open"),
        ([changed(4, at("0:1", "X")), CLOSED], None),
    ],
)
def test_nothing_is_open_after(events: list[Modification], note: str | None) -> None:
    overlay = Overlay()
    documents = [overlay.apply(event) for event in events]
    assert overlay.get(URI) is None
    assert list(overlay.documents()) == []
    assert documents[-1].note == note


def test_what_somebody_keeps_of_a_document_is_there_once() -> None:
    """An editor that opens a file for each of an agent's writes tells all of its text each time."""
    kept = Text.of("".join(f"line {number}\n" for number in range(10_000)))
    overlay = Overlay()
    overlay.like = {URI: kept}.get
    for text, new in ((str(kept), 0), ("x" + str(kept), 1), ("other", 1)):
        document = overlay.apply(opened(text)).document
        assert document is not None
        assert str(document.snapshot()) == text
        ours, theirs = (
            document.snapshot().chunks,
            kept.chunks,
        )  # the tuples are kept while their pieces are compared
        assert len(set(map(id, ours)) - set(map(id, theirs))) == new
        overlay.apply(changed(2, at("0:0", "y")))
        assert str(document.snapshot()) == "y" + text
        overlay.apply(CLOSED)
    assert kept.slice(0, 7) == "line 0\n"


def test_what_a_document_says_of_itself() -> None:
    overlay = Overlay()
    document = overlay.apply(opened("abc")).document
    assert document is not None
    assert (document.uri, document.client_uri, document.language_id) == (URI, "file:///A.py", "python")
    assert document.is_open
    assert overlay.apply(CLOSED).document is document
    assert not document.is_open


def test_positions_are_in_the_encoding_that_was_negotiated() -> None:
    for encoding, character in ((Encoding.UTF_8, 4), (Encoding.UTF_16, 2), (Encoding.UTF_32, 1)):
        overlay = Overlay()
        overlay.encoding = encoding
        overlay.apply(opened("😀b"))
        document = overlay.apply(changed(2, at(f"0:{character}", "X"))).document
        assert document is not None
        assert str(document.rope) == "😀Xb"


@pytest.mark.parametrize(
    ("event", "edits"),
    [
        (opened("abc"), ()),
        (opened("aXc"), (Edit(1, 2, "X"),)),
        (changed(2, at("0:1", "X"), at("0:0-0:1", "")), (Edit(1, 1, "X"), Edit(0, 1, ""))),
        (changed(2, at("0:1-0:1", "")), ()),
        (changed(2, whole("abXc")), (Edit(2, 2, "X"),)),
        (changed(2, whole("abc")), ()),
        (changed(2, NEGATIVE), ()),
        (saved("ac"), (Edit(1, 2, ""),)),
        (saved("abc"), ()),
        (CLOSED, ()),
    ],
)
def test_edits_are_returned_and_told(event: Modification, edits: tuple[Edit, ...]) -> None:
    overlay = Overlay()
    document = overlay.apply(opened("abc")).document
    assert document is not None
    told: list[tuple[Edit, str, int]] = []
    document.listeners.append(
        lambda document, edit: told.append((edit, str(document.rope), document.version))
    )
    assert overlay.apply(event).edits == edits
    text = "abc"
    for edit, after, version in told:
        text = text[: edit.start] + edit.new + text[edit.end :]
        assert (after, version) == (text, event.version or 1)
    assert tuple(edit for edit, _, _ in told) == edits


def test_a_listener_that_raises_costs_no_edit() -> None:
    overlay = Overlay()
    document = overlay.apply(opened("abc")).document
    assert document is not None
    told: list[Edit] = []

    def broken(document: Document, edit: Edit) -> None:
        document.listeners.remove(broken)
        raise RuntimeError("broken")

    document.listeners += [broken, lambda document, edit: told.append(edit)]
    with pytest.raises(RuntimeError, match="broken"):
        overlay.apply(changed(2, at("0:1", "X"), at("0:1", "Y")))
    assert str(document.rope) == "aYXbc"
    assert document.version == 2
    assert told == [Edit(1, 1, "X"), Edit(1, 1, "Y")]


def test_incarnations_are_never_used_twice() -> None:
    overlay = Overlay()
    seen: list[int] = []
    for event in (
        opened("a"),
        opened("a"),
        changed(0, at("0:0", "X")),
        saved("a"),
        CLOSED,
        opened("a"),
        changed(1, whole("b")),
    ):
        document = overlay.apply(event).document
        assert document is not None
        seen.append(document.incarnation)
    assert seen == [1, 2, 2, 3, 3, 4, 5]


# ---- overlay = editor ------------------------------------------------------------------------------------------------

TEXTS = st.text(alphabet="ab\n\r\f\u2028é😀", max_size=12)
PLACES = st.tuples(st.integers(0, 5), st.one_of(st.integers(0, 8), st.just(2**31 - 1)))
CHANGES = st.lists(st.one_of(TEXTS, st.tuples(PLACES, PLACES, TEXTS)), min_size=1, max_size=3)
NAMES = st.sampled_from([DocumentUri("file:///a"), DocumentUri("untitled:b"), DocumentUri("file:///%C3%A9")])


@dataclass
class Buffer:
    text: str
    version: int
    lost: bool = False
    """The editor told something impossible; the mirror may be anything until it tells the whole text."""
    replayed: str = ""
    """The first text with every edit that the overlay told."""
    stamps: list[tuple[int, int]] = field(default_factory=list)


class OverlayEqualsEditor(RuleBasedStateMachine):
    """An editor with a few buffers: everything it may do, and now and then what it may not."""

    @initialize(encoding=st.sampled_from(Encoding))
    def start(self, encoding: Encoding) -> None:
        self.overlay = Overlay(encoding)
        self.buffers: dict[DocumentUri, Buffer] = {}

    def send(self, modification: Modification) -> Applied:
        known = self.overlay.get(modification.uri) is not None
        applied = self.overlay.apply(modification)
        buffer = self.buffers.get(modification.uri)
        if buffer is not None and applied.document is not None:
            if not known:
                buffer.replayed = str(applied.document.snapshot())
                applied.document.listeners.append(self.listen)
            if not buffer.lost:
                buffer.stamps.append((applied.document.incarnation, applied.document.version))
        return applied

    def listen(self, document: Document, edit: Edit) -> None:
        buffer = self.buffers[document.uri]
        buffer.replayed = buffer.replayed[: edit.start] + edit.new + buffer.replayed[edit.end :]
        assert str(document.rope) == buffer.replayed

    def edit(
        self, buffer: Buffer, changes: list[str | tuple[oracle.Place, oracle.Place, str]]
    ) -> tuple[ContentChange, ...]:
        """What the editor sends for these changes, made to its own text."""
        sent: list[ContentChange] = []
        for change in changes:
            if isinstance(change, str):
                buffer.text = change
                sent.append(ContentChange(None, change))
            else:
                start, end = sorted(change[:2])
                buffer.text = oracle.replace(buffer.text, start, end, change[2], self.overlay.encoding)
                sent.append(ContentChange(Range(Position(*start), Position(*end)), change[2]))
        return tuple(sent)

    @rule(uri=NAMES, text=TEXTS, version=st.integers(-1, 5))
    def open(self, uri: DocumentUri, text: str, version: int) -> None:
        known = self.buffers.get(uri)
        self.buffers[uri] = Buffer(
            text, version, False, known.replayed if known else "", known.stamps if known else []
        )
        self.send(Modification(uri, Notified.OPEN, version, text=text, client_uri=uri))

    @rule(uri=NAMES, changes=CHANGES, step=st.integers(1, 3))
    def change(
        self, uri: DocumentUri, changes: list[str | tuple[oracle.Place, oracle.Place, str]], step: int
    ) -> None:
        if buffer := self.buffers.get(uri):
            buffer.version += step
            sent = self.edit(buffer, changes)
            buffer.lost = buffer.lost and all(change.range for change in sent)
            assert self.send(Modification(uri, Notified.CHANGE, buffer.version, sent)).note is None

    @rule(uri=NAMES, changes=CHANGES, step=st.integers(0, 2))
    def change_with_an_old_version(
        self, uri: DocumentUri, changes: list[str | tuple[oracle.Place, oracle.Place, str]], step: int
    ) -> None:
        if buffer := self.buffers.get(uri):
            buffer.version -= step
            sent = self.edit(buffer, changes)
            buffer.lost = all(change.range for change in sent)
            self.send(Modification(uri, Notified.CHANGE, buffer.version, sent))

    @rule(uri=NAMES, before=CHANGES, after=CHANGES, wrong=st.sampled_from([BACKWARDS, NEGATIVE, NOWHERE]))
    def change_something_impossible(
        self,
        uri: DocumentUri,
        before: list[str | tuple[oracle.Place, oracle.Place, str]],
        after: list[str | tuple[oracle.Place, oracle.Place, str]],
        wrong: ContentChange,
    ) -> None:
        if buffer := self.buffers.get(uri):
            buffer.version += 1
            early, late = self.edit(buffer, before), self.edit(buffer, after)
            buffer.lost = all(change.range for change in late)
            self.send(Modification(uri, Notified.CHANGE, buffer.version, (*early, wrong, *late)))

    @rule(uri=NAMES, with_text=st.booleans())
    def save(self, uri: DocumentUri, with_text: bool) -> None:
        buffer = self.buffers.get(uri)
        if buffer and with_text:
            buffer.lost = False
        applied = self.send(
            Modification(uri, Notified.SAVE, text=buffer.text if buffer and with_text else None)
        )
        assert (applied.note is None) == (buffer is not None)

    @rule(uri=NAMES, text=TEXTS)
    def participant_changes_what_is_saved(self, uri: DocumentUri, text: str) -> None:
        if buffer := self.buffers.get(uri):
            buffer.text, buffer.lost = text, False
            self.send(Modification(uri, Notified.SAVE, text=text))

    @rule(uri=NAMES)
    def close(self, uri: DocumentUri) -> None:
        applied = self.send(Modification(uri, Notified.CLOSE))
        assert (applied.note is None) == (self.buffers.pop(uri, None) is not None)

    @precondition(lambda self: hasattr(self, "overlay"))
    @invariant()
    def equal(self) -> None:
        assert {document.uri for document in self.overlay.documents()} == set(self.buffers)
        for uri, buffer in self.buffers.items():
            document = self.overlay.get(uri)
            assert document is not None
            assert (document.desynchronised is not None) == buffer.lost
            assert document.version == buffer.version
            assert str(document.snapshot()) == buffer.replayed
            assert buffer.stamps == sorted(buffer.stamps)
            if not buffer.lost:
                assert str(document.snapshot()) == buffer.text


TestOverlayEqualsEditor = OverlayEqualsEditor.TestCase
