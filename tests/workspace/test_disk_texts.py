"""What a file held when: what an agent may have read behind us."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from sidecar.core.belief import Own
from sidecar.core.kept import Kept
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.workspace.state.disk_texts import MAX_TEXTS, DiskTexts

URI = DocumentUri("file:///a")


def texts() -> DiskTexts:
    moments = itertools.count(1)
    return DiskTexts(lambda: next(moments))


def test_what_was_gone_before_and_what_came_later_cannot_have_been_read() -> None:
    disk = texts()
    disk.seen(URI, "one\n")  # noticed at 1, there since nobody knows when
    disk.written(URI, "two\n", 10)
    disk.written(URI, "three\n", 20)
    for since, until, found in [
        (0, 5, ["one\n"]),
        (0, 15, ["one\n", "two\n"]),
        (5, 15, ["one\n", "two\n"]),
        (12, 15, ["two\n"]),
        (12, 25, ["two\n", "three\n"]),
        (25, 30, ["three\n"]),
    ]:
        assert disk.between(URI, since, until) == found, (since, until)


def test_what_an_agent_has_written_over_itself_is_nothing_it_goes_back_to() -> None:
    disk = texts()
    disk.seen(URI, "one\n")
    disk.seen(URI, "two\n")  # noticed at 2
    disk.seen(URI, "three\n")
    for own, found in [
        (Own(Kept.of("two\n"), 2), ["two\n", "three\n"]),
        (Own(Kept.of("two\n"), 1), ["one\n", "two\n", "three\n"]),  # put there later, perhaps by others
        (Own(Kept.of("other\n"), 9), ["one\n", "two\n", "three\n"]),
        (None, ["one\n", "two\n", "three\n"]),
    ]:
        assert disk.between(URI, 0, 9, own) == found, own
    disk.written(URI, "four\n", 9)
    for own, first in [("four\n", "four\n"), ("FOUR\n", "one\n")]:
        found = disk.between(URI, 0, 9, Own(Kept.of(own), 9))
        assert found[0] == first, (
            "only if what we saved for it is just what it sent, it knows that nothing else was left"
        )


def test_what_an_agent_read_before_its_own_write_came_to_the_disk_may_be_what_it_changes() -> None:
    """It sent one write, read the file on the disk while that waited, and sent the next."""
    disk = texts()
    disk.seen(URI, "one\n")
    disk.written(URI, "own\n", 20)
    own = Own(Kept.of("own\n"), 21)
    assert disk.between(URI, 0, 15, own) == ["one\n"]
    assert disk.between(URI, 0, 25, own) == ["own\n"]


@pytest.mark.parametrize(
    "known",
    [
        lambda disk: disk.guessed(URI, Text.of("one\n")),
        lambda disk: disk.seen(URI, "one\n"),
        lambda disk: (disk.written(URI, Text.of("one\n"), 1, by_editor=True), disk.seen(URI, "one\n")),
        lambda disk: (disk.seen(URI, "one\n"), disk.seen(URI, "two\n")),
    ],
    ids=["opened", "found", "saved", "found before"],
)
def test_a_save_that_was_not_made_leaves_known_what_was_known(known: Callable[[DiskTexts], object]) -> None:
    """Also of the same text: the editor tells a save where nothing had to be written."""
    disk = texts()
    known(disk)
    before = disk.between(URI, 0, 99), disk.newest(URI), disk.knows(URI, "one\n")
    disk.written(URI, Text.of("one\n"), 10, by_editor=True)
    disk.unwritten(URI, Text.of("one\n"))
    assert (disk.between(URI, 0, 99), disk.newest(URI), disk.knows(URI, "one\n")) == before


@pytest.mark.parametrize("ended", ["it saved less", "nothing was saved"])
def test_what_was_told_as_saved_and_never_written_was_on_the_disk_at_no_time(ended: str) -> None:
    """What the user typed while the editor saved is told before the save. The file may be looked at before anybody knows what was saved."""
    disk, moment = texts(), 10
    disk.seen(URI, "one\n")
    disk.written(URI, Text.of("one\ntyped\n"), moment, by_editor=True)
    disk.seen(URI, "one\n")
    if ended == "it saved less":
        disk.saved_was(URI, "one\n")
    else:
        disk.unwritten(URI, Text.of("one\ntyped\n"))
    assert not disk.knows(URI, "one\ntyped\n")
    assert disk.between(URI, 0, 99) == ["one\n"]


def test_a_save_that_was_found_is_none_that_was_told_only() -> None:
    disk = texts()
    disk.written(URI, Text.of("one\n"), 10, by_editor=True)  # not found there by anybody
    disk.written(URI, Text.of("two\n"), 20, by_editor=True)
    disk.seen(URI, "two\n")
    disk.saved_was(URI, "three\n")
    assert disk.between(URI, 0, 99) == ["one\n", "two\n", "three\n"]


def test_whose_the_newest_text_is() -> None:
    disk = texts()
    disk.seen(URI, "one\n")
    assert not disk.was_put_after(URI, "one\n", 0), "it may have been there for ever"
    disk.written(URI, Text.of("two\r\n"), disk.moment(), by_editor=True)
    assert disk.is_editors(URI, "two\n")
    assert disk.is_editors(URI, "two"), "some end the last line without a word"
    assert disk.is_ours(URI, "two\n")
    assert not disk.was_put_after(URI, "two\n", 0)
    before = disk.moment()
    disk.seen(URI, "three\n")
    assert not disk.is_editors(URI, "two\n")
    assert disk.was_put_after(URI, "three\n", before)
    assert not disk.was_put_after(URI, "three\n", disk.moment())


def test_the_text_of_an_opening_is_only_a_guess() -> None:
    disk = texts()
    disk.guessed(URI, Text.of("one\n"))
    assert disk.between(URI, 0, 9) == ["one\n"]
    assert not disk.knows(URI, "one\n")
    disk.seen(URI, "one\n")
    assert disk.knows(URI, "one\n")


def test_opened_again_with_another_text_that_is_a_guess_too() -> None:
    """A program wrote it, and nobody had looked; or it is unsaved text that the editor kept."""
    disk = texts()
    disk.written(URI, Text.of("one\n"), disk.moment(), by_editor=True)
    disk.guessed(URI, Text.of("two\n"))
    disk.guessed(URI, Text.of("one\n"))
    assert disk.between(URI, 0, 9) == ["one\n", "two\n"]
    assert not disk.knows(URI, "two\n")
    assert disk.is_editors(URI, "one\n"), "what is known to have been there last is still that"
    disk.seen(URI, "two\n")
    assert disk.knows(URI, "two\n")
    assert not disk.is_editors(URI, "one\n")


def test_what_is_found_was_not_there_while_something_else_was() -> None:
    disk = texts()
    disk.seen(URI, "one\n")
    disk.written(URI, "two\n", 10, by_editor=True)
    disk.seen(URI, "two, and what a save adds\n")
    assert disk.between(URI, 0, 9) == ["one\n"]
    assert disk.between(URI, 0, 10) == ["one\n", "two\n", "two, and what a save adds\n"]


def test_what_came_there_again_was_there_before_too() -> None:
    """The user saved it over what an agent had made of it: for a write that the agent sent before, or sends then, it is the older one of both."""
    disk = texts()
    disk.written(URI, "one\n", 10)
    disk.written(URI, "two\n", 20)
    disk.written(URI, "one\n", 30)
    assert disk.between(URI, 0, 25) == ["one\n", "two\n"]
    assert disk.between(URI, 0, 35) == ["one\n", "two\n", "one\n"]
    assert disk.between(URI, 32, 35) == ["one\n"]
    for i in range(40, 60, 2):
        disk.written(URI, "two\n", i)
        disk.written(URI, "one\n", i + 1)
    assert disk.between(URI, 0, 99) == ["one\n", "two\n", "two\n", "one\n"]
    for i in range(MAX_TEXTS - 1):
        disk.written(URI, f"{i}\n", 100 + i)
    assert disk.between(URI, 0, 999) == ["one\n", *(f"{i}\n" for i in range(MAX_TEXTS - 1))]
