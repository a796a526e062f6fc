"""A server that is killed while changes are under review: another one is started, and everything is there again."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator

import pytest
from playwright.sync_api import expect

from tests.e2e import scripted
from tests.support.waiting import eventually
from tests.vscode.processes import own_server
from tests.vscode.reviewing import ASKED, agent_writes, lens, title_button, until_lenses, until_reviewed, view
from tests.vscode.test_install import errors
from tests.vscode.window import Window

BASE = "".join(f"line {i}\n" for i in range(1, 21))
CHANGED = BASE.replace("line 3\n", "line three\n")
REMOVED = CHANGED.replace("line 8\nline 9\n", "")
WANTED = REMOVED.replace("line 15\n", "line 15\nnew 1\nnew 2\n")
TYPED = "mine, not saved\n"
LENSES = {
    3: ["Keep", "Reject", "− 1 line", "Keep all 3", "Reject all 3"],
    8: ["Keep", "Reject", "− 2 lines"],
    14: ["Keep", "Reject"],
}


@pytest.fixture
def window(window: Window) -> Generator[Window]:
    yield window
    window.command("acpSidecar.restart", seconds=60)  # crashes of one test do not count in the next


def kill_the_server(window: Window) -> None:
    """Returns when another one is there, which may still be starting."""
    before = own_server(window)
    assert before is not None
    os.kill(before, signal.SIGKILL)
    eventually(
        lambda: own_server(window) not in (None, before),
        "another one runs",
        within=30,
        otherwise=window.server.last_words,
    )


def test_hunks_come_back_and_are_kept_and_rejected(window: Window) -> None:
    file, other = window.file("a.txt", BASE), window.file("b.txt", BASE)
    window.open(file)
    agent_writes(window, (file, WANTED), (other, CHANGED))
    window.type(TYPED, at=(0, 0))
    until_lenses(window, file, LENSES)
    kill_the_server(window)
    until_lenses(window, file, LENSES)
    assert window.text(file) == TYPED + WANTED
    eventually(
        lambda: len(window.changes(other)) == 1, "that of the file that is not open came back", within=30
    )
    said = f"{ASKED}, scripted · turn 1, lines: 4 added, 4 removed, 2 files"
    expect(view(window).first).to_have_attribute("aria-label", said)

    lens(window, "Keep", 0).click()
    until_lenses(window, file, {8: LENSES[8], 14: LENSES[14]})
    assert window.text(file) == TYPED + WANTED
    lens(window, "Reject", 0).click()
    rejected = TYPED + WANTED.replace("line 7\n", "line 7\nline 8\nline 9\n")
    window.until_text(file, rejected)
    until_lenses(window, file, {16: LENSES[14]})
    title_button(window, "Reject All").click()
    window.until_text(file, TYPED + CHANGED)
    window.command("sidecar.reject", {"uri": other.as_uri()})
    window.until_disk(other, BASE)
    until_reviewed(window)
    assert file.read_text() == WANTED, "what is not saved stays so"
    assert errors(window) == []


def test_in_the_middle_of_a_turn_what_it_wrote_by_then_is_under_review(window: Window) -> None:
    file = window.file("a.txt", BASE)
    window.open(file)
    window.type(TYPED, at=(0, 0))
    turn = window.begin(
        scripted.steps(
            scripted.read(file), scripted.write(file, TYPED + WANTED), {"wait_for": "session/cancel"}
        )
    )
    until_lenses(window, file, LENSES)
    kill_the_server(window)
    assert turn.result() is None, "nobody is left to tell"
    until_lenses(window, file, LENSES)
    lens(window, "Keep", 2).click()  # the second is "Keep all 3"
    until_lenses(window, file, {3: ["Keep", "Reject", "− 1 line"], 14: LENSES[14]})
    title_button(window, "Reject All").click()
    window.until_text(file, TYPED + BASE.replace("line 8\nline 9\n", ""))
    until_reviewed(window)
    # and the next prompt is answered
    agent_writes(window, (file, TYPED + BASE))
    window.until_text(file, TYPED + BASE)


def test_what_it_was_asked_for_is_answered_in_words(window: Window) -> None:
    file = window.file("a.txt", BASE)
    window.open(file)
    agent_writes(window, (file, CHANGED))
    found = {2: ["Keep", "Reject", "− 1 line"]}
    until_lenses(window, file, found)
    process = own_server(window)
    assert process is not None
    os.kill(process, signal.SIGSTOP)
    asked = window.js(
        "const kept = vscode.commands.executeCommand('acpSidecar.review.keepAll').then(() => true);\n"
        "return await Promise.race([kept, new Promise((resolve) => setImmediate(() => resolve(false)))])"
    )
    assert asked is False, "it waits for an answer"
    os.kill(process, signal.SIGKILL)
    window.notification("ended before it answered").wait_for()
    assert len(errors(window)) == 1
    until_lenses(window, file, found)
    assert window.text(file) == CHANGED
