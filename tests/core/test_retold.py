"""The review of a file as its writes tell it: what is under review in a text to which one of them led."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from sidecar.core.ledger import Author, Hunk, Ledger
from sidecar.core.retold import Fate, Picked, Told, needed_from, retold
from sidecar.core.versions import Version

BASE = "1\n2\n3\n4\n5\n6\n"
ONE = BASE.replace("1", "one").replace("6", "six")
TWO = ONE.replace("one", "two").replace("4", "four")


def told(*steps: tuple[str | None, str | None, str], turns: bool = True) -> list[Told]:
    """Writes, each a turn's of its own or all one turn's."""
    return [
        Told(Author("s", number if turns else 1, f"w{number}", created=before is None), before, after, became)
        for number, (before, after, became) in enumerate(steps)
    ]


LESS = ONE.replace("3\n", "")


def mine(text: str) -> str:
    """With a line of the user's."""
    return text.replace("3", "mine")


FIRST, SECOND = (BASE, ONE, "open"), (ONE, TWO, "open")
CASES = [
    # name, the writes, the text, what it says without all that is under review in it
    ("the newest", [FIRST, SECOND], TWO, BASE),
    ("an earlier one", [FIRST, SECOND], ONE, BASE),
    ("the user worked in between", [FIRST, ("0\n" + ONE, "0\n" + TWO, "open")], "0\n" + TWO, "0\n" + BASE),
    ("kept", [(BASE, ONE, "kept"), SECOND], TWO, ONE),
    ("perhaps made, and it was", [FIRST, (ONE, TWO, "perhaps made")], TWO, BASE),
    ("perhaps made, and it was not", [FIRST, (ONE, TWO, "perhaps made")], ONE, BASE),
    ("perhaps made, and found by the next one", [(BASE, ONE, "perhaps made"), SECOND], TWO, BASE),
    ("perhaps made, and not found by the next one", [(BASE, "1\n", "perhaps made"), SECOND], TWO, ONE),
    ("the newest is taken back", [FIRST, (ONE, TWO, "taken back"), (TWO, ONE, "takes back")], ONE, BASE),
    ("the older is taken back", [(BASE, ONE, "taken back"), SECOND, (TWO, TWO.replace("six", "6"), "takes back")], TWO.replace("six", "6"), BASE),
    ("removed and made anew", [FIRST, (ONE, None, "open"), (None, TWO, "open")], TWO, BASE),
    ("edited, removed and made anew", [FIRST, ("0\n" + ONE, None, "open"), (None, "0\n" + TWO, "open")], "0\n" + TWO, "0\n" + BASE),
    ("removed and made anew, which is taken back", [FIRST, (ONE, None, "taken back"), (None, TWO, "taken back"), (TWO, None, "takes back"), (None, ONE, "takes back")], ONE, BASE),
    ("taken back, and with it what it had put right", [FIRST, (ONE, BASE.replace("4", "four"), "taken back"), ("0\n" + BASE.replace("4", "four"), "0\n" + ONE, "takes back")], "0\n" + ONE, "0\n" + BASE),
    ("on top of what is taken back", [FIRST, (ONE, ONE.replace("2", "zwei"), "taken back"), (ONE.replace("2", "zwei"), TWO.replace("2", "zwei"), "open"), (TWO.replace("2", "zwei"), TWO, "takes back")], TWO, BASE),
    ("the user worked in it, and then it was removed, which is taken back", [FIRST, SECOND, ("0\n" + TWO, None, "taken back"), (None, None, "takes back")], "0\n" + TWO, "0\n" + BASE),
    ("a part is put back, and the user works there", [(BASE, LESS, "open"), (LESS, ONE, "takes back"), (mine(ONE), BASE, "taken back"), (BASE, mine(ONE), "takes back")], mine(ONE), mine(BASE)),
    ("also beside what is taken back later", [(BASE, LESS, "open"), (LESS, "0\n" + LESS, "taken back"), ("0\n" + LESS, "0\n" + ONE, "takes back"), (mine("0\n" + ONE), "", "taken back"), ("", mine(ONE), "takes back")], mine(ONE), mine(BASE)),
    ("put right by another", [FIRST, (ONE, BASE, "open")], BASE, BASE),
    ("other line ends", [FIRST, SECOND], ONE.replace("\n", "\r\n"), BASE.replace("\n", "\r\n")),
]  # fmt: skip


@pytest.mark.parametrize("turns", [True, False], ids=["two turns", "one turn"])
@pytest.mark.parametrize(
    ("steps", "text", "base"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_what_is_under_review(steps: list, text: str, base: str, turns: bool) -> None:
    hunks = retold(told(*steps, turns=turns), text)
    assert hunks is not None
    assert all(text[hunk.start : hunk.end] == hunk.text for hunk in hunks)
    assert Ledger(hunks).base(text) == base


@pytest.mark.parametrize(
    "text",
    ["else\n", TWO.replace("\n", "\r\n", 1), BASE],
    ids=["another text", "mixed line ends", "as the first one found it"],
)
def test_a_text_to_which_no_write_led(text: str) -> None:
    assert retold(told(FIRST, SECOND), text) is None


@pytest.mark.parametrize("text", [ONE, TWO, ONE.replace("\n", "\r\n")], ids=["", "later", "other line ends"])
@pytest.mark.parametrize("when", [0, 1], ids=["before the second write", "after it"])
def test_what_was_kept_one_by_one(text: str, when: int) -> None:
    """It stays the user's, whatever the text comes back to, and what an agent does on top of it is that agent's alone."""
    writes = told(FIRST, SECOND)
    kept_in, line = (ONE, "six") if when == 0 else ("0\n" + TWO, "six")
    start = kept_in.index(line)
    kept = Hunk(7, start, start + 3, "6", (Version(writes[0].author, line),))
    writes[when] = replace(writes[when], picked=[Picked(kept_in, [kept])])
    hunks = retold(writes, text)
    assert hunks is not None
    assert Ledger(hunks).base(text).replace("\r\n", "\n") == BASE.replace("6", "six")


def test_what_is_not_there_any_more_was_not_kept_there() -> None:
    (write,) = told((BASE, ONE, "open"))
    kept = Hunk(7, 0, 3, "1", (Version(write.author, "uno"),))
    picked = [Picked(ONE.replace("one", "uno"), [kept])]
    hunks = retold([replace(write, picked=picked)], ONE)
    assert hunks is not None
    assert Ledger(hunks).base(ONE) == BASE


UNSAVED, ON_DISK, BOTH = (
    BASE.replace("1", "one"),
    BASE.replace("6", "six"),
    ONE,
)
LATER, BOTH_LATER = ON_DISK.replace("six", "sixth"), BOTH.replace("six", "sixth")
BESIDE_UNSAVED = [
    # name, the writes after the editor's, which it has not saved, and whether each is the editor's, the text
    ("the editor has both", [(BASE, ON_DISK, False)], BOTH),
    ("only its own", [(BASE, ON_DISK, False)], UNSAVED),
    ("the file has only the other", [(BASE, ON_DISK, False)], ON_DISK),
    ("two on the disk, and the editor has all", [(BASE, ON_DISK, False), (ON_DISK, LATER, False)], BOTH_LATER),
    ("and only the first of them", [(BASE, ON_DISK, False), (ON_DISK, LATER, False)], BOTH),
    ("on top of both", [(BASE, ON_DISK, False), (BOTH, BOTH + "7\n", True)], BOTH + "7\n"),
    ("the user worked on top of both", [(BASE, ON_DISK, False), (mine(BOTH), mine(BOTH) + "7\n", True)], mine(BOTH) + "7\n"),
    ("the editor has thrown its own away", [(BASE, ON_DISK, False), (ON_DISK, LATER, True)], LATER),
]  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "text"), [case[1:] for case in BESIDE_UNSAVED], ids=[case[0] for case in BESIDE_UNSAVED]
)
def test_what_an_editor_has_unsaved_while_the_file_is_written(
    steps: list[tuple[str, str, bool]], text: str
) -> None:
    """It brings what is written there into its own text, sooner or later."""
    writes = told((BASE, UNSAVED, "open"), *((before, after, "open") for before, after, _ in steps))
    editors = [True, *(is_editors for *_, is_editors in steps)]
    both = [replace(one, in_editor=is_editors) for one, is_editors in zip(writes, editors, strict=True)]
    hunks = retold(both, text)
    assert hunks is not None
    assert Ledger(hunks).base(text) == (mine(BASE) if "mine" in text else BASE)


def test_a_file_that_was_moved_here_came_with_its_review() -> None:
    made = Told(Author("s", 2, "w2"), None, ONE, "open", whole=True)
    assert retold([made], ONE) is None


def history(chance: random.Random) -> tuple[list[Told], list[str]]:
    """Writes of one file, oldest first, most of them decided, and all texts that the file had. The user types between some of them."""
    writes: list[Told] = []
    texts = ["".join(f"{n}\n" for n in range(6))]

    def edited(text: str) -> str:
        lines = text.splitlines(keepends=True) or ["\n"]
        at = chance.randrange(len(lines))
        lines[at : at + chance.choice((0, 1, 1))] = [chance.choice("abc") + "\n"] * chance.choice((0, 1, 1))
        return "".join(lines)

    for number in range(chance.randint(1, 7)):
        now = texts[-1]
        if chance.random() < 0.3:
            texts.append(now := edited(now))
        author = Author("s", number, f"w{number}")
        still_in = [one for one in writes if one.became == "taken back" and one.after == now]
        if still_in and chance.random() < 0.7:
            taken = still_in[-1]
            named = [taken.author.write] if chance.random() < 0.5 else []
            writes.append(Told(author, now, taken.before, "takes back", took_back=named))
        else:
            became = chance.choice(("kept", "kept", "taken back", "taken back", "open", "perhaps made"))
            whole = chance.random() < 0.05
            writes.append(Told(author, now, edited(now), became, whole, in_editor=chance.random() < 0.3))
        texts.append(writes[-1].after or "")
    return writes, texts


@pytest.mark.parametrize("seed", range(300))
def test_a_review_depends_on_no_write_that_was_decided_before(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    writes, texts = history(chance)
    text = chance.choice(texts)

    def review() -> list[tuple[object, ...]] | None:
        hunks = retold(writes, text)
        return None if hunks is None else [(one.start, one.end, one.old, one.versions) for one in hunks]

    found = review()
    monkeypatch.setattr("sidecar.core.retold.needed_from", lambda *_: 0)
    assert found == review()


@pytest.mark.parametrize(
    ("fates", "first"),
    [
        (["kept", "kept", "open"], 2),
        (["kept", "kept", "kept"], 2),
        (["open", "kept", "kept"], 0),
        (["kept", "taken back", "takes back", "kept"], 3),
        (["kept", "taken back", "kept", "kept"], 1),
        (["kept", "perhaps made", "kept"], 1),
    ],
)
def test_which_writes_a_review_depends_on(fates: list[Fate], first: int) -> None:
    writes = told(*((BASE, ONE, fate) for fate in fates))
    assert needed_from(writes, len(writes) - 1) == first


def test_what_is_taken_back_later_was_not_out_before() -> None:
    """Its taker is named: what another took back in between does not count."""
    writes = told(*((BASE, ONE, fate) for fate in ("taken back", "takes back", "kept", "takes back", "kept")))
    writes[3] = replace(writes[3], took_back=["w0"])
    assert [needed_from(writes, last) for last in range(5)] == [0, 0, 0, 0, 4]
