"""A real Helix for these runs: keys through a terminal, buffers through `:pipe-to`, commands through `relay.py`."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e import sidecar
from tests.e2e.helix import KEYS_ONLY, Helix
from tests.hands import relay
from tests.hands.approved import agent_settings, unasked
from tests.hands.steps import WEIGHTS, Kind
from tests.support import tools
from tests.support.waiting import connect, eventually

SETTINGS: dict[str, tuple[Any, ...]] = {
    "mode": ("normal", "insert"),
    "insert-final-newline": (True, False),
    "auto-save.after-delay.enable": (False, True),
}
"""`mode`: where the hands are between two steps."""
CONFIG = """
[editor.auto-save.after-delay]
timeout = 200

[keys.normal]
F12 = "normal_mode"
F11 = ["select_all", ":pipe-to put-text"]
C-s = ":write"

[keys.insert]
F12 = "normal_mode"
F11 = ["select_all", ":pipe-to put-text"]
C-s = ":write"
"""
"""F12 leaves insert mode as Escape does, which with another key right behind it would be Alt and that key. F11 puts the buffer where these
hands read it, and leaves the mode as it is."""


class HelixHands:
    name = "helix"
    kinds: frozenset[Kind] = frozenset(WEIGHTS)
    settings: Mapping[str, tuple[Any, ...]] = SETTINGS

    def __init__(self, helix: Helix, folder: Path, socket: Path, first: Path) -> None:
        self._helix = helix
        self._put = folder / "text"
        self._socket = socket
        self._first = first
        self._shown = first
        self._open: set[Path] = set()
        self._mode = "normal"
        self._inserting = False
        self._again = "i"
        """What goes on typing where it ended."""
        self._session: str | None = None

    def begin(self, folder: Path) -> None:
        if self._session is not None:
            eventually(lambda: not self.is_working(), "the last run's turn has ended")
            self.command("sidecar.keep", {"all": True})
            self.command("sidecar.closeSession", {"sessionId": self._session})
        self._keys("F12", "C-w", "o")
        self._command("buffer-close-all!")
        self._open.clear()
        self._shown = Path()
        self.open(self._first)
        self._session = self.command("sidecar.newSession", {"cwd": str(folder)})["sessionId"]

    def open(self, path: Path) -> None:
        """Returns when it is shown, as the other hands do: nobody works on what they do not see yet."""
        if self._shown != path:
            self._command(f"open {path}")
            self._open.add(path)
            self._shown = path
            self.text(path)

    def close(self, path: Path) -> None:
        if path in self._open:
            self.open(path)
            self._command("buffer-close!")
            self._open.discard(path)
            self._shown = Path()

    def type(self, text: str, pace: float) -> None:
        if not self._inserting:
            self._keys(self._again)
            self._inserting = True
        for key in text if pace else [text]:
            self._helix.terminal.type(key.replace("\n", "\r"))
            time.sleep(pace)
        if self._mode == "normal":
            self._keys("F12")

    def place(self, line: int, at_end: bool) -> None:
        """Ends in insert mode."""
        self._keys("F12")
        self._helix.terminal.type(f"{line + 1}gg" + ("A" if at_end else "ghi"))
        self._inserting = True
        self._again = "a" if at_end else "i"

    def save(self) -> None:
        self._keys("C-s")

    def undo(self) -> None:
        self._keys("F12", "u")

    def redo(self) -> None:
        self._keys("F12", "U")

    def split(self) -> None:
        self._keys("F12", "C-w", "s")

    def set(self, name: str, value: Any) -> None:
        if name == "mode":
            self._mode = value
        else:
            self._command(f"set-option {name} {json.dumps(value)}")

    def text(self, path: Path) -> str | None:
        if path not in self._open:
            return None
        self.open(path)
        self._put.unlink(missing_ok=True)
        self._keys("F11")
        eventually(self._put.exists, f"Helix tells what {path.name} says", otherwise=self.said)
        return self._put.read_bytes().decode()

    def prompt(self, steps: list[dict[str, Any]]) -> None:
        self.command("sidecar.prompt", {"prompt": json.dumps(unasked(steps)), "sessionId": self._session})

    def is_working(self) -> bool:
        rows = self.command("sidecar.status", None)["sessions"]
        return any(row["sessionId"] == self._session and row["running"] for row in rows)

    def command(self, name: str, argument: Any) -> Any:
        with connect(self._socket, "the relay listens", otherwise=self.said) as connection:
            connection.settimeout(100)
            with connection.makefile("rwb") as file:
                file.write(json.dumps([name, [] if argument is None else [argument]]).encode() + b"\n")
                file.flush()
                answer = json.loads(file.readline())
        assert "result" in answer, answer
        return answer["result"]

    def said(self) -> str:
        return f"{self._helix.terminal.screen()}\n{self._helix.log()[-4000:]}"

    def _command(self, line: str) -> None:
        self._keys("F12")
        self._helix.terminal.type(f":{line}\r")

    def _keys(self, *names: str) -> None:
        self._helix.terminal.keys(*names)
        if "F12" in names:
            self._inserting = False


@contextmanager
def started(folder: Path, log: Path) -> Generator[HelixHands]:
    workspace = folder / "ws"
    workspace.mkdir(parents=True, exist_ok=True)
    settings = agent_settings(log)
    first = workspace / "first.txt"
    first.write_text("FIRST\n")
    home, socket = folder / "hx", folder / "relay"
    server = [sys.executable, "-S", relay.__file__, str(socket), sidecar.COMMAND[0]]
    tool, tmux = tools.require("hx"), tools.require("tmux")
    put = home / "bin" / "put-text"
    with Helix(tool, tmux, home, workspace, server, first, settings, config=KEYS_ONLY + CONFIG) as helix:
        put.write_text(f"#!/bin/sh\ncat > '{folder}/part' && mv '{folder}/part' '{folder}/text'\n")
        put.chmod(0o755)
        hands = HelixHands(helix, folder, socket, first)
        eventually(lambda: os.path.exists(socket), "the server is started", otherwise=hands.said)
        yield hands
