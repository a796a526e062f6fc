"""Somebody who has just installed an editor and reads docs/editors.md: does what its numbered steps say, word for word, in an empty HOME.

What a step says about files is done by `follow`; `code` gives what it says to type. Nothing else is set up: the editor starts with an
environment of a few variables, without any option of ours. On PATH are the project's own `acp-sidecar` and, as on the machine of whoever
has installed it, the agent that the page names, `fast-agent-acp`.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.e2e import sidecar
from tests.e2e.terminal import Terminal
from tests.support import tools
from tests.support.tools import ROOT
from tests.support.waiting import eventually

PAGE = ROOT / "docs" / "editors.md"
STEP = re.compile(r"^\d+\. (.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
COPY = re.compile(r"Copy \[`[^`]+`\]\(([^)]+)\) to `~/([^`]+)/`")
ADD = re.compile(r"Add to (?:your init file, )?`~/([^`]+)`:\n\n( +)```\w+\n(.*?)\n +```", re.DOTALL)
UNMARK = re.compile(r"take the `#` away from the two lines under `([^`]+)`")
AGENT = "fast-agent"


def steps(title: str) -> list[str]:
    """The numbered steps of a section of the page."""
    section = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## )", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert section is not None, title
    found = STEP.findall(section[1])
    assert len(found) > 2, f"{title}: a newcomer is told too little"
    return found


def code(step: str) -> list[str]:
    """What a step has in backquotes, links left out."""
    return re.findall(r"(?<!\[)`([^`\n]+)`", step)


class Newcomer:
    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = self.home / "project"
        self.project.mkdir(parents=True)
        programs = folder / "bin"
        programs.mkdir()
        (programs / "fast-agent-acp").symlink_to(tools.require("fast-agent").command)
        (programs / "acp-sidecar").symlink_to(sidecar.COMMAND[0])
        self._environment = {
            "HOME": str(self.home),
            "PATH": f"{programs}:/usr/bin:/bin",
            "TERM": "xterm-256color",
            "LC_ALL": "C.UTF-8",
            "SHELL": "/bin/sh",
        }
        self._folder = folder

    def follow(self, step: str) -> None:
        """Does what a step says about files; AssertionError for one that says nothing that can be done word for word."""
        if copied := COPY.search(step):
            source = (PAGE.parent / copied[1]).resolve()
            place = self.home / copied[2] / source.name
            place.parent.mkdir(parents=True)
            place.write_bytes(source.read_bytes())
        elif added := ADD.search(step):
            where, indent, block = added.groups()
            with (self.home / where).open("a") as file:
                file.write("\n".join(line.removeprefix(indent) for line in block.splitlines()) + "\n")
        elif marked := UNMARK.search(step):
            (file,) = [path for path in self.home.rglob("*") if path.is_file()]
            before, heading, after = file.read_text().partition(f"{marked[1]}\n")
            assert heading, marked[1]
            lines = after.split("\n")
            assert all(line.startswith("# ") for line in lines[:2]), lines[:2]
            file.write_text("\n".join([before + marked[1], *(line[2:] for line in lines[:2]), *lines[2:]]))
        else:
            raise AssertionError(f"this cannot be followed word for word: {step}")

    def start(self, *command: str) -> Terminal:
        """The editor, in a terminal, in the project."""
        only = [f"{name}={value}" for name, value in self._environment.items()]
        return Terminal(
            tools.require("tmux"),
            self._folder / "terminal",
            ["/usr/bin/env", "-i", *only, *command],
            {},
            self.project,
        )

    def chat(self) -> str:
        """What the one chat on the disk says."""
        chats = list(self.home.rglob("chats/*.md"))
        return chats[0].read_text() if len(chats) == 1 else ""


def line_with(terminal: Terminal, pattern: str) -> re.Match[str]:
    """The first match on the screen, once there is one."""
    return eventually(
        lambda: re.search(pattern, terminal.screen(), re.MULTILINE),
        f"{pattern!r} on the screen",
        otherwise=terminal.screen,
    )
