"""The whole product with real parts: Neovim 0.7 and 0.11, the sidecar, fast-agent. Nothing is imitated."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import fast_agent, sidecar
from tests.e2e.conftest import NEOVIMS
from tests.e2e.nvim import Neovim
from tests.support import tools
from tests.support.waiting import eventually

DISK = "one\ntwo\nthree\nfour\n"
KEY_EVERY = 0.08
"""Seconds between two keys of somebody who types fast. Keys without any pause would leave an editor that tells its changes 150 ms
later no moment in which its text is known."""
TYPIST = threading.Event()
"""Never set: a pace, nothing is waited for."""
TYPED = "mine one\ntwo\nthree\nfour\n"

COLLECT_UPDATES = """
Updates = {}
vim.lsp.handlers['sidecar/sessionUpdate'] = function(_, params)
  table.insert(Updates, params)
end
"""


ASKING, WITHOUT_FILES = "fast-agent that asks", "fast-agent without files"
"""Names of the agent when it asks before every tool call, and when it is not offered the editor's files."""


class Desk:
    """A person at an editor with a file open, and an agent that a conversation was begun with."""

    def __init__(self, nvim: Neovim, file: Path, session: str) -> None:
        self.nvim = nvim
        self.file = file
        self.session = session

    def order(self, prompt: str, session: str | None = None) -> dict[str, Any]:
        return {"prompt": prompt, "wait": True, "sessionId": session or self.session}

    def prompt(self, prompt: str, session: str | None = None) -> dict[str, Any]:
        """One turn to its end."""
        return dict(self.nvim.command("sidecar.prompt", self.order(prompt, session)))

    def said(self, session: str | None = None) -> str:
        """What the agent has said so far."""
        updates = self.nvim.lua("return Updates")
        return "".join(
            told["update"]["content"]["text"]
            for told in updates
            if told["update"]["sessionUpdate"] == "agent_message_chunk"
            and told["sessionId"] == (session or self.session)
        )


@pytest.fixture(scope="module", params=NEOVIMS)
def station(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[tuple[Neovim, Path]]:
    """A Neovim with the sidecar and its workspace, for all tests of this file: an agent takes seconds to start."""
    folder = tmp_path_factory.mktemp("station")
    tool = tools.require("fast-agent")
    settings: dict[str, Any] = fast_agent.settings(tool, folder / "agent", "--no-permissions")
    asking: dict[str, Any] = fast_agent.settings(tool, folder / "asking")
    agent = settings["agents"][fast_agent.NAME]
    settings["beforePrompt"] = (
        "nothing"  # its model is shown only what it reads: what is sent was written before the prompt
    )
    settings["agents"] |= {ASKING: asking["agents"][fast_agent.NAME], WITHOUT_FILES: agent | {"fs": False}}
    (folder / "ws").mkdir()
    with Neovim(tools.require(request.param), folder / "nvim") as nvim:
        nvim.lua(COLLECT_UPDATES)
        nvim.setup(sidecar.COMMAND, settings | {"client": {"sessionUpdates": True}}, folder / "ws")
        yield nvim, folder / "ws"


@pytest.fixture
def sit_down(station: tuple[Neovim, Path], request: pytest.FixtureRequest) -> Callable[..., Desk]:
    """`sit_down(agent)`: in a folder of this test's own a file is open, nothing typed; a conversation is begun."""
    nvim, root = station

    def start(agent: str = fast_agent.NAME) -> Desk:
        folder = root / re.sub(r"\W+", "_", request.node.name)
        folder.mkdir()
        file = folder / "a.txt"
        file.write_text(DISK)
        nvim.ex("messages clear")
        nvim.lua("Updates, Ended = {}, nil")
        nvim.open(file)
        nvim.wait_until_ready()
        return Desk(nvim, file, nvim.command("sidecar.newSession", {"agent": agent})["sessionId"])

    return start


@pytest.fixture
def desk(sit_down: Callable[..., Desk]) -> Desk:
    desk = sit_down()
    desk.nvim.type("mine ")
    return desk


def test_the_agent_reads_what_was_typed_and_not_saved(desk: Desk) -> None:
    assert desk.prompt(fast_agent.read(desk.file))["stopReason"] == "end_turn"
    assert TYPED in desk.said()
    assert desk.file.read_text() == DISK
    assert desk.nvim.modified()


def test_the_agent_reads_a_part_of_it(desk: Desk) -> None:
    desk.prompt(fast_agent.read(desk.file, line=1, limit=2))
    assert desk.said().endswith("mine one\ntwo\n")


def test_a_file_that_is_not_open_is_read_from_the_disk(desk: Desk) -> None:
    other = desk.file.with_name("b.txt")
    other.write_text("on disk\n")
    desk.prompt(fast_agent.read(other))
    assert "on disk\n" in desk.said()


def test_what_the_agent_writes_is_one_undo_step(desk: Desk) -> None:
    written = "mine one\nTWO\nthree\nfour\nfive\n"
    turn = desk.prompt(fast_agent.write(desk.file, written))
    assert turn["stopReason"] == "end_turn"
    assert [change["uri"] for change in turn["changes"]] == [desk.file.as_uri()]
    desk.nvim.wait_for_text(written)
    assert desk.file.read_text() == DISK, "it was dirty, so it stays the user's to save"
    desk.nvim.undo()
    assert desk.nvim.text() == TYPED
    desk.nvim.undo()
    assert desk.nvim.text() == DISK


def test_a_file_that_was_clean_is_saved(sit_down: Callable[..., Desk]) -> None:
    desk = sit_down()
    desk.prompt(fast_agent.write(desk.file, "new\n"))
    desk.nvim.wait_for_text("new\n")
    eventually(lambda: desk.file.read_text() == "new\n", "it is on disk", otherwise=desk.nvim.server_log)
    assert not desk.nvim.modified()
    desk.nvim.undo()
    assert desk.nvim.text() == DISK


def test_typing_during_the_turn_survives(desk: Desk) -> None:
    nvim = desk.nvim
    desk.prompt(
        fast_agent.read(desk.file)
    )  # what its model saw; it reads once more by itself before it writes
    nvim.lua("TurnEnded = vim.lsp.handlers['sidecar/turnEnded']; vim.lsp.handlers['sidecar/turnEnded'] = nil")
    nvim.lua(
        "Acp.command('sidecar.prompt', ..., function(problem, result) Ended = problem or result end)",
        desk.order(fast_agent.write(desk.file, TYPED.replace("two", "TWO"))),
    )
    nvim.keys("GA")
    count = 0
    while not nvim.lua("return Ended"):
        nvim.keys("x")
        count += 1
        TYPIST.wait(KEY_EVERY)
        assert count < 5000, nvim.server_log()
    nvim.keys("<Esc>")
    nvim.lua("vim.lsp.handlers['sidecar/turnEnded'] = TurnEnded")
    told = f"{nvim.lua('return Ended')}\n{desk.said()}"
    assert nvim.lua("return Ended.stopReason") == "end_turn", told
    assert [change["uri"] for change in nvim.lua("return Ended.changes")] == [desk.file.as_uri()], told
    nvim.wait_for_text("mine one\nTWO\nthree\nfour" + "x" * count + "\n", within=5)


def test_a_new_file_appears_on_disk(desk: Desk) -> None:
    path = desk.file.parent / "deep" / "er" / "new.py"
    desk.prompt(fast_agent.write(path, "print('hello')\n"))
    assert path.read_text() == "print('hello')\n"
    assert desk.nvim.text() == TYPED, "the user still looks at the same file"


def test_without_the_capability_the_agent_has_no_such_tool(sit_down: Callable[..., Desk]) -> None:
    desk = sit_down(WITHOUT_FILES)
    assert desk.prompt(fast_agent.read(desk.file))["stopReason"] == "refusal"
    assert "No tools are currently available" in desk.said()
    assert desk.prompt(fast_agent.write(desk.file, "theirs\n"))["changes"] == []
    assert desk.file.read_text() == DISK


def test_two_sessions_stay_apart(desk: Desk) -> None:
    other = desk.file.with_name("b.txt")
    other.write_text("b\n")
    first = desk.nvim.command("sidecar.newSession", {})["sessionId"]
    second = desk.nvim.command("sidecar.newSession", {})["sessionId"]
    assert first != second
    turn_a = desk.prompt(fast_agent.write(desk.file, "from the first\n"), first)
    turn_b = desk.prompt(fast_agent.write(other, "from the second\n"), second)
    assert [turn_a["sessionId"], turn_b["sessionId"]] == [first, second]
    assert [change["uri"] for change in turn_a["changes"]] == [desk.file.as_uri()]
    assert [change["uri"] for change in turn_b["changes"]] == [other.as_uri()]
    desk.prompt(fast_agent.read(desk.file), second)
    assert "from the first\n" in desk.said(second)
    assert "from the first\n" not in desk.said(first)


def test_outside_the_workspace_nothing_is_read_or_written(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("private\n")
    desk.prompt(fast_agent.read(outside))
    desk.prompt(fast_agent.write(outside, "x\n"))
    assert "private" not in desk.said()
    assert outside.read_text() == "private\n"


# How the person answers: in 0.11 a list that :AcpAnswer shows, in 0.7 a number (typed keys: test_nvim_snippet.py)
ANSWER = """
vim.ui.select = function(actions, _, done)
  for _, action in ipairs(actions) do
    if action.title:find(Word) then
      return done(action)
    end
  end
end
vim.fn.input = function(prompt)
  return prompt:match('(%d+)%. [^\\n]*' .. Word)
end
"""


@pytest.mark.parametrize(("word", "text"), [("Reject Once", DISK), ("Allow Once", "allowed\n")])
def test_a_question_of_the_agent_reaches_the_person(
    sit_down: Callable[..., Desk], word: str, text: str
) -> None:
    desk = sit_down(ASKING)
    nvim = desk.nvim
    nvim.lua(f"Word = ...; {ANSWER}", word)
    nvim.lua(
        "Acp.command('sidecar.prompt', ..., function(problem, result) Ended = problem or result end)",
        desk.order(fast_agent.write(desk.file, "allowed\n")),
    )
    if nvim.version >= (0, 8):
        eventually(lambda: "AcpAnswer" in nvim.messages(), "the question is shown", otherwise=nvim.server_log)
        nvim.ex("AcpAnswer")
    eventually(lambda: nvim.lua("return Ended"), "the turn ends", otherwise=nvim.server_log)
    nvim.wait_for_text(text)
