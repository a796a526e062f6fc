"""Keys pressed while a save is on its way: VS Code tells the save, and "not dirty", for a version newer than the bytes on the disk."""

from __future__ import annotations

import time
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.e2e import scripted
from tests.vscode.window import Turn, Window

TRIES = 10
DELAYS = (0.01, 0.02, 0.03, 0.04)
"""Seconds from Ctrl+S to the key: where most were lost."""
LOOKS = [{"sleep": 0.2}]


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


def test_a_key_pressed_while_a_save_runs_stays(window: Window, file: Path, turn: Turn) -> None:
    expected = file.read_text()
    for number in range(TRIES):
        word, key = f"u{number}x", "abcdefghij"[number]
        window.type(word)
        window.keys("Control+s")
        time.sleep(DELAYS[number % len(DELAYS)])
        window.page.keyboard.press(key)
        expected = expected.replace("one", f"{word}{key}one")
        time.sleep(1.5)
        window.until_text(file, expected, within=5)
    window.save()
    window.until_disk(file, expected)
