"""A real Helix with the project's languages.toml, in a terminal: keys in, screen and files out (Helix tells nothing else)."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sidecar.state_folder import state_folder
from tests.e2e.terminal import Terminal
from tests.support.tools import ROOT, Tool
from tests.support.waiting import eventually

LANGUAGES = ROOT / "editor-extension" / "helix" / "languages.toml"
DEFAULT_AGENT = '# defaultAgent = "fast-agent"\n'
"""A line of it that people take the mark off."""
KEYS_ONLY = """[editor]
auto-pairs = false
auto-completion = false
path-completion = false
"""
"""What is typed is what is in the buffer."""


def languages(settings: Mapping[str, Any] | None) -> str:
    """The very file that people copy, with the agents of these settings named in it."""
    text = LANGUAGES.read_text()
    if settings is None:
        return text
    assert DEFAULT_AGENT in text
    text = text.replace(DEFAULT_AGENT, f"defaultAgent = {json.dumps(settings['defaultAgent'])}\n")
    for name, agent in settings["agents"].items():
        # strings and lists of strings are written alike in TOML and in JSON
        keys = [f"{key} = {json.dumps(value)}" for key, value in agent.items()]
        text += "\n".join([f"\n[language-server.acp-sidecar.config.agents.{name}]", *keys, ""])
    return text


def chats() -> set[Path]:
    """Those of every editor that the tests of this process have started."""
    return set(state_folder("chats").glob("*.md"))


def on_disk(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:  # Helix moves the old file away before it writes the new one
        return None


class Helix:
    def __init__(
        self,
        tool: Tool,
        tmux: Tool,
        folder: Path,
        cwd: Path,
        server: Sequence[str],
        file: Path,
        settings: Mapping[str, Any] | None = None,
        config: str = KEYS_ONLY,
    ) -> None:
        home = folder / "config" / "helix"
        home.mkdir(parents=True, exist_ok=True)
        # What it calls acp-sidecar is found on PATH
        (home / "languages.toml").write_text(languages(settings))
        (home / "config.toml").write_text(config)
        command = folder / "bin" / "acp-sidecar"
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec {shlex.join(server)} "$@"\n')
        command.chmod(0o755)
        env = {"HOME": str(folder), "PATH": f"{command.parent}:/usr/bin:/bin"}
        env |= {
            f"XDG_{name.upper()}_HOME": str(folder / name) for name in ("config", "cache", "data", "state")
        }
        self._folder = folder
        self._others_chats = chats()
        self.terminal = Terminal(tmux, folder, [tool.command, str(file)], env, cwd)
        self.terminal.wait_for(file.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.terminal.close()

    def log(self) -> str:
        path = self._folder / "cache" / "helix" / "helix.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def command(self, line: str) -> None:
        """A line of Helix' command mode, without the colon."""
        self._normal_mode()
        self.terminal.type(f":{line}")
        self.terminal.wait_for(f":{line}"[:60])
        self.terminal.keys("Enter")

    def type(self, text: str, *begin: str) -> None:
        """Text typed in insert mode, which these keys begin (before the cursor, without any); ends in normal mode."""
        self._normal_mode()
        self.terminal.keys(*(begin or "i"))
        self.terminal.wait_for("INS")
        self.terminal.type(text)
        self._normal_mode()

    def paste(self, text: str) -> None:
        """Text pasted in insert mode before the cursor; ends in normal mode."""
        self._normal_mode()
        self.terminal.keys("i")
        self.terminal.wait_for("INS")
        self.terminal.paste(text)
        self._normal_mode()

    def prompt(self, text: str) -> None:
        """By the chat, as Helix passes no arguments to commands. Returns when it was sent."""

        def own() -> list[Path]:
            # Helix opens nothing for a server, and has no command before that is ready
            self.command("lsp-workspace-command sidecar.openChat")
            return sorted(chats() - self._others_chats)

        self.command(f"open {eventually(own, 'there is a chat', otherwise=self.log)[0]}")
        self.terminal.wait_for("## Prompt")
        self.terminal.keys("g", "e")
        self.paste(text)
        self.terminal.keys("Space", "a")
        self.terminal.wait_for("Send")
        self.terminal.keys("Enter")

    def reject(self) -> None:
        """All that is under review in the file that is shown, from its first line: the last code action but the chat's."""
        self._normal_mode()
        self.terminal.keys("g", "g", "Space", "a")
        self.terminal.wait_for("Reject ")
        self.terminal.keys("Up", "Up", "Enter")

    def _normal_mode(self) -> None:
        """Escape only out of another mode, where its end can be seen: with another key right behind it, it is Alt and that key. A screen
        that is just being drawn shows no mode at all."""
        shown = eventually(self._mode, "a mode is shown", otherwise=self.terminal.screen)
        if shown != "NOR":
            self.terminal.keys("Escape")
            self.terminal.wait_for("NOR")

    def _mode(self) -> str | None:
        screen = self.terminal.screen()
        return next((mode for mode in ("NOR", "INS", "SEL") if f" {mode} " in screen), None)

    def undo(self) -> None:
        self.terminal.keys("u")

    def write(self, path: Path, text: str) -> None:
        """:write until the file holds the text: how a test reads the buffer."""

        def same() -> bool:
            self.command("write")
            return on_disk(path) == text

        eventually(same, f"{path.name} is {text!r}", otherwise=lambda: f"{on_disk(path)!r}\n{self.log()}")
