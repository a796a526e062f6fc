"""Acts: what tool calls say that they made of a text."""

from __future__ import annotations

import pytest

from sidecar.core.uri import DocumentUri
from sidecar.workspace.state.acts import Acts

FILE = DocumentUri("file:///w/a.txt")


def told(*calls: tuple[str, str]) -> Acts:
    """A turn in which calls tell these diffs of the file, each its own."""
    acts = Acts(0, lambda: 1)
    for number, edit in enumerate(calls):
        acts.names(acts.told(f"c{number}", 0), FILE, [edit])
    return acts


@pytest.mark.parametrize("often", [1, 2])
def test_a_change_that_two_calls_tell_is_made_as_often_as_the_file_has_it(often: int) -> None:
    """The agent's program tells the call that the user is asked about, and then the one that it carries out."""
    acts = told(("x\n", "x\ny\n"), ("x\n", "x\ny\n"))
    after = "a\nx\n" + "y\n" * often
    explained = acts.explained(FILE, "a\nx\n", after)
    assert explained is not None
    assert explained[0] == after


def test_what_was_made_twice_is_so_whatever_follows() -> None:
    acts = told(("- a\n", "- a\n- b\n"), ("- a\n", "- a\n- b\n"), ("end\n", "END\n"))
    explained = acts.explained(FILE, "- a\nend\n", "- a\n- b\n- b\nEND\n")
    assert explained is not None
    assert explained[0] == "- a\n- b\n- b\nEND\n"


def test_what_somebody_else_did_with_it_is_not_made_again() -> None:
    acts = told(("x\n", "x\ny\n"), ("x\n", "x\ny\n"))
    explained = acts.explained(FILE, "a\nx\n", "mine\na\nx\ny\n")
    assert explained is not None
    assert explained[0] == "a\nx\ny\n"


def test_changes_in_several_places_are_all_made() -> None:
    acts = told(("x\n", "x\ny\n"), ("a\n", "b\na\n"))
    explained = acts.explained(FILE, "a\nx\n", "b\na\nx\ny\n")
    assert explained is not None
    assert explained[0] == "b\na\nx\ny\n"
