"""What a write is measured from, and when that is too doubtful to act upon."""

from __future__ import annotations

import pytest

from sidecar.core.belief import Candidate
from sidecar.core.merge import Conflict
from sidecar.core.writes import EditText, NoChange, base_of, plan_write

BASE = "one\ntwo\nthree\nfour\n"
TYPED = "typed\n" + BASE
INDENTED = "".join(f"  {line}\n" for line in BASE.splitlines())


def given(text: str) -> Candidate:
    return Candidate(text, 1)


def disk(text: str, serial: int = -1) -> Candidate:
    return Candidate(text, serial, from_disk=True)


def before(text: str) -> Candidate:
    """Shown, or sent by the agent itself, before what was given."""
    return Candidate(text, 0)


def read_again(text: str) -> Candidate:
    """Its program read it just before the write; the model did not see it."""
    return Candidate(text, 2, by_program=True)


MORE = BASE.replace("two", "TWO")
CASES = [
    # what it is, candidates, the text now, the text sent, the text then (None: a conflict)
    ("nobody else", [given(BASE)], BASE, BASE + "five\n", BASE + "five\n"),
    ("typed elsewhere since", [given(BASE)], TYPED, BASE + "five\n", TYPED + "five\n"),
    ("given, and taken out", [given(TYPED)], TYPED, BASE, BASE),
    ("given twice, and back to the first", [before(BASE), given(TYPED)], TYPED, BASE, BASE),
    ("its own write again, unaware of typing", [given(BASE), read_again(TYPED)], TYPED, BASE, TYPED),
    ("its own write again, taken back meanwhile", [before(MORE), given(BASE)], BASE, MORE, MORE),
    ("the same, and it was not shown that", [before(MORE), given(MORE)], BASE, MORE, BASE),
    (
        "its program read it, and the user goes on typing there",
        [given(BASE), read_again(BASE.replace("four", "fourx"))],
        BASE.replace("four", "fourxxx"),
        BASE.replace("one", "x and one"),
        BASE.replace("four", "fourxxx").replace("one", "x and one"),
    ),
    (
        "it put that on the disk, made of what the user saved again over it",
        [given(BASE), disk(MORE, -4), disk(MORE + "five\n", -3), disk(MORE, -2)],
        TYPED,
        MORE + "five\n",
        TYPED + "five\n",
    ),
    ("never seen: all of it is somebody else's", [], BASE, "new\n", None),
    ("the disk's text and an edit", [given(TYPED), disk(BASE)], TYPED, BASE + "five\n", TYPED + "five\n"),
    (
        "a line was replaced by the user, saved, and replaced by the agent, that saw the one or the other",
        [given(BASE), disk(BASE.replace("two", "2"))],
        BASE.replace("two", "2"),
        BASE.replace("two", "agent's"),
        None,
    ),
    (
        "the same, unsaved; the agent may have seen it or not",
        [given(BASE.replace("two", "unsaved")), disk(BASE)],
        BASE.replace("two", "unsaved"),
        BASE.replace("two", "agent's"),
        None,
    ),
    (
        "the same, but another line shows that it had seen the user's",
        [given(BASE), disk(BASE.replace("two", "2").replace("four", "4"))],
        BASE.replace("two", "2").replace("four", "4"),
        BASE.replace("two", "agent's").replace("four", "4"),
        BASE.replace("two", "agent's").replace("four", "4"),
    ),
    (
        "it wrote the disk itself and sends the same, where the text was brought together with the disk already",
        [given(BASE), disk(BASE, -2), disk(BASE + "five\n")],
        TYPED + "five\n",
        BASE + "five\n",
        TYPED + "five\n",
    ),
    (
        "the same, where that was not possible",
        [given(BASE), disk(BASE, -2), disk(BASE.replace("two", "agent's"))],
        BASE.replace("two", "mine"),
        BASE.replace("two", "agent's"),
        None,
    ),
    (
        "both indent everything: that proves nothing, and the line that another agent saved stays or is a conflict",
        [given(BASE), disk(BASE, -2), disk("theirs\n" + INDENTED)],
        "theirs\n" + INDENTED,
        INDENTED.replace("four", "FOUR"),
        None,
    ),
    (
        "it indents what was put on the disk and writes a line again at the end, which stood before that",
        [given(BASE + "more\n"), disk(BASE + "more\n", -2), disk(BASE + "more\ntheirs\n")],
        BASE + "more\ntheirs\n",
        INDENTED + "  more\n  theirs\nmore\n",
        INDENTED + "  more\n  theirs\nmore\n",
    ),
    (
        "two texts of the disk, as close as each other",
        [disk(BASE, -2), disk(BASE.replace("two", "2wo"))],
        BASE.replace("two", "2wo"),
        BASE.replace("two\n", "agent's\n"),
        None,
    ),
    (
        "one line of many that is there again is chance",
        [given("a b\nc d\ne f\nmore\n"), disk("")],
        "a b\nc d\ne f\nmore\n",
        "more\nnew\n",
        None,
    ),
    (
        "its own line within another, or a line of the disk and a new one",
        [given("} own\n"), disk("}\n")],
        "} own\n",
        "  more\n}\n  } own and\n",
        None,
    ),
    (
        "a line that only what it was given has, though it is more like the disk's",
        [given("  more\nold words\nsecond\n# note\nown words\n"), disk("old words\nsecond\n")],
        "  more\nold words\nsecond\n# note\nown words\n",
        "other things\nown words\n",
        None,
    ),
    (
        "a line of the disk's that the agent writes itself, twice, is no proof that it saw the disk's",
        [given("first\nsecond\n"), disk("first\n  more\ns theirs econd\n")],
        "first\n  more\ns theirs econd\n",
        "  more\nfirst\nsec own ond\n  more\n",
        None,
    ),
    (
        "nor is one that it writes elsewhere",
        [given("one\ntwo\nthree\n"), disk("one\ntwo\n# note\nthree\ntheirs\n")],
        "one\ntwo\n# note\nthree\ntheirs\n",
        "one\n# note\ntwo own\nthree\n",
        None,
    ),
    (
        "a short line of two that is there again is chance, too",
        [disk("theirs\n", -2), disk("of another agent\n  more\n")],
        "of another agent\n  more\n",
        "own words\n  more\n",
        None,
    ),
    (
        "it wrote the disk itself and sends the same, though it was shown since what the user typed there",
        [given("one\n2\nmine\n"), disk("one\ntwo\n", -3), disk("one\n2\n", -2), disk("one\n2\nmine\n")],
        "one\n2\nmine\n",
        "one\n2\n",
        None,
    ),
    (
        "the same where the user typed farther away: it stays",
        [given("one\n2\nthree\nmine\n"), disk("one\ntwo\nthree\n", -3), disk("one\n2\nthree\n", -2)],
        "one\n2\nthree\nmine\n",
        "one\n2\nthree\n",
        "one\n2\nthree\nmine\n",
    ),
    (
        "a line of the user's is not there twice because the agent happens to write the one that the user replaced",
        [given("one\n# note\ntwo\n"), disk("one\nmine\ntwo\n")],
        "one\nmine\ntwo\n",
        "one own\n# note\nown\nmine\ntwo\n",
        "one own\n# note\nown\nmine\ntwo\n",
    ),
]


@pytest.mark.parametrize(
    ("candidates", "now", "sent", "then"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_plan_write(candidates: list[Candidate], now: str, sent: str, then: str | None) -> None:
    plan = plan_write(candidates, now, sent)
    match plan:
        case NoChange():
            found: str | None = now
        case EditText():
            found = plan.changes.apply(now)
            assert plan.after in (None, found)
        case Conflict():
            found = None
    assert found == then


def test_what_others_did_after_the_agent_had_it_on_the_disk_is_not_taken_back() -> None:
    old, mine, theirs = "one\n", "one\nmine\n", "one t\nmine\n"
    disk = [Candidate(text, i - 10, from_disk=True) for i, text in enumerate([old, mine, theirs])]
    plan = plan_write(disk, theirs, mine)
    assert isinstance(plan, NoChange | Conflict)


MARKED = BASE.replace("four", "FOUR")


@pytest.mark.parametrize(
    ("texts", "sent", "base"),
    [
        ([BASE, TYPED], MARKED, BASE),
        ([BASE, TYPED], TYPED.replace("four", "FOUR"), TYPED),
        ([BASE, TYPED], TYPED.replace("typed", "typed ").replace("four", "FOUR"), TYPED),
        ([BASE, BASE.replace("four", "4")], MARKED, BASE),
        ([TYPED, BASE], MARKED, BASE),
        (["one green\n", "two blue\n"], "new blue\ntwo blue", "two blue\n"),
    ],
    ids=[
        "made of the older one",
        "made of the newer one",
        "blanks do not count",
        "a conflict with the newer one",
        "made of what is there, which the older one had more than",
        "made of the newer one, whose last line lost its end",
    ],
)
def test_what_was_read_on_the_disk(texts: list[str], sent: str, base: str) -> None:
    """The last text is the one that it was written over."""
    assert base_of([disk(text, i - 9) for i, text in enumerate(texts)], texts[-1], sent) == base
