"""Keys pressed while a save is on its way: VS Code tells the save, and "not dirty", for a version newer than the bytes on the disk."""

from __future__ import annotations

import time
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.e2e import scripted
from tests.support.waiting import eventually
from tests.vscode.conftest import Configure
from tests.vscode.window import Turn, Window

TRIES = 8
DELAYS = (0.01, 0.02, 0.03, 0.04)
"""Seconds from the save to the key: where most were lost."""
LOOKED_AT = 1.0
"""Seconds in which the sidecar has looked at what was saved, twice (`disk_watch.POLL_SECONDS`): what it takes away is gone by then."""


@pytest.fixture
def file(window: Window) -> Path:
    file = window.file("mine.txt", "one\ntwo\nthree\n")
    window.open(file)
    return file


@pytest.fixture
def turn(window: Window, file: Path) -> Generator[Turn]:
    """One that runs all the time and touches no file."""
    turn = window.begin(scripted.steps({"wait_for": "session/cancel"}))
    yield turn
    window.command("sidecar.cancel", {})
    turn.result()


def saves_and_types(window: Window, file: Path, tries: int) -> None:
    """A key while each save runs."""
    typed = ""
    for number in range(tries):
        word, key = f"u{number}x", "abcdefgh"[number]
        window.type(word)
        window.keys("Control+s")
        time.sleep(DELAYS[number % len(DELAYS)])
        window.page.keyboard.press(key)
        typed += word + key
        time.sleep(LOOKED_AT)
        assert window.text(file) == f"{typed}one\ntwo\nthree\n"
    window.save()
    window.until_disk(file, f"{typed}one\ntwo\nthree\n")


def test_a_key_pressed_while_a_save_runs_stays(window: Window, file: Path, turn: Turn) -> None:
    saves_and_types(window, file, TRIES)


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_key_pressed_while_a_save_runs_stays_right_after_a_turn(
    window: Window, file: Path, cancelled: bool
) -> None:
    """While what changes on the disk may still be the agent's (`evidence.GRACE_SECONDS`)."""
    turn = window.begin(scripted.steps({"wait_for": "session/cancel"} if cancelled else {"say": "done"}))
    if cancelled:
        window.command("sidecar.cancel", {})
    turn.result()
    saves_and_types(window, file, len(DELAYS))


def test_what_is_typed_over_the_automatic_saves_stays(window: Window, file: Path, turn: Turn) -> None:
    window.configure({"files.autoSave": "afterDelay", "files.autoSaveDelay": 50})
    words = "".join(f"u{number}x" for number in range(25))
    for at, character in enumerate(words):
        window.page.keyboard.press(character)
        time.sleep((0.03, 0.07, 0.09, 0.15)[at % 4])
    window.until_disk(file, f"{words}one\ntwo\nthree\n")
    assert window.text(file) == f"{words}one\ntwo\nthree\n"


def test_keys_pressed_while_an_agents_write_is_saved_stay(window: Window, file: Path) -> None:
    text = file.read_text()
    for number in range(6):
        known = len(window.answers())
        wanted = f"{text}agent {number}\n"
        names = ({"as": f"read {number}"}, {"as": f"write {number}"})  # answers of earlier turns are known
        steps = [
            scripted.read(file) | names[0],
            {"sleep": 0.1},
            scripted.write(file, wanted) | names[1],
        ]
        turn = window.begin(scripted.steps(*steps))
        # what is typed before it is shown to the agent, the agent would take out again
        eventually(lambda known=known: len(window.answers()) > known, "the agent has read")
        for key in f"u{number}xyz":
            window.page.keyboard.press(key)
            time.sleep((0.03, 0.05, 0.07)[number % 3])
        turn.result()
        time.sleep(LOOKED_AT)
        now = window.text(file)
        assert now == wanted.replace("one", f"u{number}xyzone", 1), window.answers()
        window.save()
        window.until_disk(file, now)
        text = now


def test_a_key_that_the_workbench_does_not_call_unsaved_is_saved_before_a_prompt(
    window: Window, configure: Configure
) -> None:
    """Until the next key, the document says that it has nothing unsaved; its tab knows better."""
    configure({"acpSidecar.beforePrompt": "save"})
    file = window.file("mine.txt", "one\n")
    window.open(file)

    def is_reached() -> bool:
        window.type("word")
        window.keys("Control+s")
        time.sleep(0.01)
        window.page.keyboard.press("x")
        on_disk = file.read_text()
        document, tab = window.document(file), window.active_tab()
        return bool(document and not document["dirty"] and tab["dirty"] and on_disk != document["text"])

    eventually(is_reached, "the document is unsaved and does not say so")
    window.prompt(scripted.steps(scripted.read(file)))
    window.until_disk(file, window.text(file) or "")
