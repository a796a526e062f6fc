"""Saves that an editor tells of."""

from __future__ import annotations

from sidecar.core.change import Edit
from sidecar.core.rope import Rope
from sidecar.core.text import Text
from sidecar.core.units import Encoding
from sidecar.workspace.state.save_history import SaveHistory


def edited(history: SaveHistory, rope: Rope, text: str) -> None:
    edit = Edit(0, len(rope), text)
    rope.apply(None, text, Encoding.UTF_16)
    history.edited(rope, edit, history.newest + 1)


def test_a_save_that_was_not_carried_out_is_nowhere_taken_for_one() -> None:
    """Nobody wrote over what it would have saved."""
    history, rope = SaveHistory(Text.of("one\n")), Rope("one\n")
    edited(history, rope, "mine\n")
    history.told()
    edited(history, rope, "theirs\n")
    assert history.saved_before(history.newest) == "mine\n"
    history.untold()
    assert history.saved_before(history.newest) is None


def test_of_texts_that_are_equally_far_from_the_disks_the_save_is_of_the_oldest() -> None:
    """What was typed while the save ran is else taken for saved, and goes with the change on the disk."""
    history, rope = SaveHistory(Text.of("one\n")), Rope("one\n")
    edited(history, rope, "two\n")
    history.told()
    assert history.base("new\n  one }\n", "two\n") == "one\n"


MINE = ("one\nfirst\n", "one\nsecond\n")
"""What the user saves, one after the other."""
THEIRS = "ONE\nfirs\n"
"""Is closer to the first of them."""


def saved_once(*, by_editor: bool = True) -> tuple[SaveHistory, Rope]:
    """The first save is found on the disk, `by_editor`: after it was reported; and the user types the second text."""
    history, rope = SaveHistory(Text.of("one\ntwo\n")), Rope("one\ntwo\n")
    edited(history, rope, MINE[0])
    if by_editor:
        history.told()
    history.is_on_disk(1, by_editor=by_editor)
    edited(history, rope, MINE[1])
    return history, rope


def test_what_is_reported_after_a_save_was_found_is_not_that_save() -> None:
    """Though the disk's text is nearer to it: an agent wrote that, which had read no more."""
    history, _ = saved_once()
    assert history.base(THEIRS, MINE[0]) == MINE[0]
    history.told()
    assert history.base(THEIRS, MINE[0]) == MINE[1]


def test_nor_is_it_what_was_typed_while_that_ran() -> None:
    history, rope = saved_once()
    edited(history, rope, "typed\n" + MINE[1])
    history.told()
    assert history.base(THEIRS, MINE[0]) == MINE[1]


def test_what_was_found_before_its_save_was_reported_may_be_what_is_reported_then() -> None:
    """What was typed meanwhile is in the document when it is reported."""
    history, _ = saved_once(by_editor=False)
    history.told()
    assert history.base(THEIRS, MINE[0]) == MINE[0]


def test_what_was_saved_once_may_be_saved_again() -> None:
    """The user takes back what they typed; or saves over what somebody else wrote, which the editor does not take."""
    history, rope = saved_once()
    edited(history, rope, MINE[0])
    history.told()
    assert history.base(THEIRS, MINE[0]) == MINE[0]
    history.written_over(None)
    history.told()
    assert history.base(THEIRS, "something else altogether\n") == MINE[0]


def test_what_is_saved_again_as_it_is_was_on_the_disk() -> None:
    history, rope = SaveHistory(Text.of("one\ntwo\n")), Rope("one\ntwo\n")
    edited(history, rope, MINE[0])
    history.told()
    history.is_on_disk(1, by_editor=True)
    history.told()
    assert history.base(THEIRS, MINE[0]) == MINE[0]


def test_what_the_user_had_taken_back_by_then_was_not_saved() -> None:
    """Even if the disk's text is nearer to one that had it. (turns seed 1885052957)"""
    history, rope = SaveHistory(Text.of("agent 1\none\n")), Rope("agent 1\none\n")
    edited(history, rope, "agent 1\nwhat I typed\n")
    edited(history, rope, "base\nwhat I typed\n")
    history.taken_back(history.newest)
    history.told()
    assert history.base("agent 2\nwhat I typed\n", "agent 1\none\n") == "base\nwhat I typed\n"


def test_what_was_typed_after_that_was_perhaps_not_saved() -> None:
    history, rope = SaveHistory(Text.of("agent 1\none\n")), Rope("agent 1\none\n")
    edited(history, rope, "base\none\n")
    history.taken_back(history.newest)
    edited(history, rope, "base\none and typed\n")
    history.told()
    assert history.base("base\none\nagent 2\n", "agent 1\none\n") == "base\none\n"


def test_what_an_editor_takes_over_by_itself_is_in_place_of_what_it_had_saved() -> None:
    """Whatever else is nearer to it, and even if the user had typed more when the save was reported, and has taken that back."""
    history, rope = SaveHistory(Text.of("one\ntwo\n")), Rope("one\ntwo\n")
    edited(history, rope, "mine\ntwo\n")
    edited(history, rope, "mine, too\ntwo\n")
    history.told()
    edited(history, rope, "mine\ntwo\n")
    edited(history, rope, "one\nTWO\n")
    assert history.saved_before(history.newest) == "mine\ntwo\n"


def test_it_may_take_that_over_in_several_changes() -> None:
    """None of the texts in between was ever saved."""
    history, rope = SaveHistory(Text.of("one\ntwo\n")), Rope("one\ntwo\n")
    edited(history, rope, "mine\ntwo\n")
    history.told()
    for edit in (Edit(0, 4, "one"), Edit(4, 7, "TWO")):
        rope.splice(edit.start, edit.end, edit.new)
        history.edited(rope, edit, 2)
    assert str(rope.snapshot()) == "one\nTWO\n"
    assert history.saved_before(history.newest) == "mine\ntwo\n"


def test_what_the_user_typed_since_and_threw_away_was_not_saved() -> None:
    history, rope = SaveHistory(Text.of("one\ntwo\n")), Rope("one\ntwo\n")
    edited(history, rope, "mine\ntwo\n")
    history.told()
    edited(history, rope, "not this\ntwo\n")
    edited(history, rope, "one\nTWO\n")
    assert history.saved_before(history.newest) == "mine\ntwo\n"


def test_what_was_taken_over_in_between_was_not_saved() -> None:
    """Even if the document had the same text once, and that was perhaps saved."""
    history, rope = SaveHistory(Text.of("one\ntwo\n")), Rope("one\ntwo\n")
    edited(history, rope, "")
    edited(history, rope, "mine\ntwo\n")
    history.told()
    edited(history, rope, "")
    edited(history, rope, "one\nTWO\n")
    assert history.saved_before(history.newest) == "mine\ntwo\n"
    history.told()
    edited(history, rope, "one\ntwo\n")
    edited(history, rope, "one\n2\n")
    assert history.saved_before(history.newest) == "one\nTWO\n"
