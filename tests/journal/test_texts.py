"""Texts come back as they were put in, whatever they hold, and take little room."""

from __future__ import annotations

import hashlib
import random
import zlib
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff
from sidecar.core.text import Text
from sidecar.journal import Store, recent_texts, texts
from sidecar.journal.entry import JournalFailed
from sidecar.journal.recent_texts import REMEMBERED
from sidecar.journal.retention import used_bytes
from tests.support.chunk_size import chunk_size
from tests.support.journals import entry, numbered

TEXTS = [
    "",
    "one\n",
    "one\r\ntwo\rthree\n",
    "\ufeffmark",
    "grün \U0001f600 \x00 \x0c \u2028",
    "lone \ud800 and \udc80",
    "side by side \ud83d\ude00: two, not one",
    "x" * 100_000,
]


@pytest.mark.parametrize("after", TEXTS)
@pytest.mark.parametrize("before", [None, *TEXTS])
def test_every_text_comes_back(tmp_path: Path, before: str | None, after: str) -> None:
    with Store(tmp_path / "j") as store:
        write = store.begin(entry(before, after))
    with Store(tmp_path / "j") as store:
        assert store.texts(write) == (before, after)


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 5), st.text(max_size=8)), max_size=10))
def test_changes_survive_packing(edits: list[tuple[int, int, str]]) -> None:
    changes: list[Edit] = []
    reached = 0
    for start, length, new in sorted(edits):
        if start >= reached:
            changes.append(Edit(start, min(start + length, 400), new))
            reached = start + length
    made = ChangeSet.of(400, changes)
    assert texts.unpack(400, texts.pack(made)) == made


@pytest.mark.parametrize("piece", [1, 3, 1000])
@given(before=st.text(max_size=40), after=st.text(max_size=40), other=st.text(max_size=40))
def test_in_pieces_it_is_as_a_whole(piece: int, before: str, after: str, other: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "PIECE", piece)
        with chunk_size(2):
            kept = Text.of(after)
        raw = after.encode("utf-8", "surrogatepass")
        for text in (after, kept):
            assert b"".join(texts.encoded(text)) == raw
            assert texts.digest_of(texts.encoded(text)) == hashlib.blake2b(raw, digest_size=20).digest()
            assert zlib.decompress(texts.compressed(texts.encoded(text))) == raw
        changes = diff(before, after)
        assert texts.leads_to(changes, before, after)
        for wrong in (other, after[:-1] + "~", "~" + after[1:]):
            assert texts.leads_to(changes, before, wrong) == (wrong == after)


def test_long_chains_are_cut_and_every_link_comes_back(tmp_path: Path) -> None:
    steps = [numbered(500)]
    for i in range(80):
        steps.append(steps[-1].replace(f"{i * 5} ", f"changed {i} ", 1))
    with Store(tmp_path / "j") as store:
        ids = [store.begin(entry(a, b)) for a, b in pairwise(steps)]
    with Store(tmp_path / "j") as store:
        for write, a, b in zip(ids, steps, steps[1:], strict=False):
            assert store.texts(write) == (a, b)
        depths = _column(store, "SELECT depth FROM texts")
        assert max(depths) == texts.MAX_DEPTH
        assert len(depths) == 81
        assert sum(depth == 0 for depth in depths) == 3


@pytest.mark.parametrize("megabytes", [2, pytest.param(10, marks=pytest.mark.gauntlet)])
def test_sixty_writes_of_a_large_file_take_less_room_than_two_of_it(
    tmp_path: Path, megabytes: int, record_property: Callable[[str, object], None]
) -> None:
    now = numbered(megabytes * 26_000)
    assert len(now) > megabytes * 1_000_000
    chance = random.Random(1)
    with Store(tmp_path / "j") as store:
        for i in range(60):
            at = now.index("\n", chance.randrange(len(now) - 100)) + 1
            after = f"{now[:at]}line of write {i}\n{now[at + 41 :]}"
            store.finish(store.begin(entry(now, after)), "done")
            now = after
        assert store.texts(store.entries()[0].id).after == now
        used = used_bytes(store._open.connection)
    record_property("figure", f"60 writes of {len(now) / 1e6:.1f} MB take {used / 1e6:.1f} MB")
    assert used < 2 * len(now)


def test_a_large_text_is_hashed_once_also_when_a_rejection_goes_back_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a write left and what was there before it are known: of a file larger than the room for remembered texts, the journal computes only the new
    text's hash, and nothing is read back."""
    hashed: list[int] = []

    def counted(raw: Iterable[bytes]) -> bytes:
        pieces = [*raw]
        hashed.append(sum(map(len, pieces)))
        return digest_of(pieces)

    digest_of = texts.digest_of
    monkeypatch.setattr(texts, "digest_of", counted)
    first = numbered(REMEMBERED // 40 + 1)
    second = first.replace("77 ", "seven ", 1)
    third = second.replace("999 ", "nine ", 1)
    assert len(third) > REMEMBERED
    with Store(tmp_path / "j") as store:
        for a, b in pairwise([first, second, third, second, first]):
            store.finish(store.begin(entry(a, b)), "done")
        assert hashed == [len(first), len(second), len(third)]
        assert store.texts(store.entries()[0].id).after == first


def test_a_small_text_is_not_compared_with_all_that_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is room for tens of thousands of them: comparing each with all would take minutes when an agent generates some thousands."""
    compared: list[object] = []
    equals = Text.__eq__
    monkeypatch.setattr(Text, "__eq__", lambda *two: compared.append(two) or equals(*two))
    with Store(tmp_path / "j") as store:
        for number in range(200):
            store.save_ledger(f"file:///w/{number}", f"{number:4}\n", b"")
    assert len(compared) <= 200


def test_a_stored_text_is_read_back_once_to_see_whether_it_is_sound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text that was stored before this process began is tried when it is met first, and not at each write."""
    a, b, c = (f"{name}\n" * 1000 for name in "abc")
    with Store(tmp_path / "j") as store:
        store.begin(entry(a, b))
    tried: list[int] = []
    decompressed = texts._decompressed
    monkeypatch.setattr(texts, "_decompressed", lambda data: tried.append(len(data)) or decompressed(data))
    with Store(tmp_path / "j") as store:
        for number in range(3):
            store.begin(entry(a, c, path=f"/w/{number}"))
            store._open.texts.forget()
        assert len(tried) == 2  # each of the two texts once


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30), st.text(max_size=4)), max_size=30))
def test_what_remembered_texts_share_counts_once(edits: list[tuple[int, int, str]]) -> None:
    """However texts come and go: the size is that of the different chunks they have, and the newest always stays."""
    with pytest.MonkeyPatch.context() as patch, chunk_size(4):
        patch.setattr(recent_texts, "REMEMBERED", 60)
        patch.setattr(recent_texts, "BESIDE", 20)
        patch.setattr(recent_texts, "_ENTRY", 1)
        patch.setattr(recent_texts, "LARGE", 20)
        recent, text = recent_texts.RecentTexts(), "a text of some words"
        for kind, at, new in edits:
            text = f"{text[:at]}{new}{text[at + kind :]}"
            digest = texts.digest_of(texts.encoded(text))
            recent.add(digest, text)
            assert str(recent.get(digest)) == text
            assert recent.hash_of(text) == (digest if len(text) >= 20 else None)
            assert recent._large == {one: said for one, said in recent._texts.items() if len(said) >= 20}
            chunks = [chunk for one in recent._texts.values() for chunk in one.chunks]
            sizes = {id(chunk): len(chunk) for chunk in chunks}
            assert recent.size == len(chunks) + sum(sizes.values())
            assert len(recent._texts) == 1 or recent.size <= max(60, len(text) + 20)
        recent.clear()
        assert not recent.size


def test_a_text_is_stored_once(tmp_path: Path) -> None:
    with Store(tmp_path / "j") as store:
        for i in range(5):
            store.begin(entry("one\n", "two\n", path=f"/w/{i}"))
            store.begin(entry("two\n", "one\n", path=f"/w/{i}"))
        assert len(_column(store, "SELECT id FROM texts")) == 2


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE texts SET data = x'00' WHERE depth = 1",
        "UPDATE texts SET data = (SELECT data FROM texts WHERE depth = 2) WHERE depth = 1",
        "DELETE FROM texts WHERE depth = 0",
        "UPDATE texts SET hash = zeroblob(20) WHERE depth = 2",
    ],
)
def test_a_wrong_text_is_never_handed_out(tmp_path: Path, damage: str) -> None:
    a = numbered(200)
    b, c = a.replace("7 ", "seven ", 1), a.replace("7 ", "SEVEN ", 1).replace("9 ", "nine ", 1)
    with Store(tmp_path / "j") as store:
        store.begin(entry(a, b))
        write = store.begin(entry(b, c))
        _column(store, damage)
    with Store(tmp_path / "j") as store:
        with pytest.raises(JournalFailed, match="damaged"):
            store.texts(write)
        # and the next write does not build on it
        again = store.begin(entry(c, a + "more\n"))
    with Store(tmp_path / "j") as store:
        assert store.texts(again).after == a + "more\n"


def _column(store: Store, sql: str) -> list:
    store.open()
    return [row[0] for row in store._open.connection.execute(sql).fetchall()]
