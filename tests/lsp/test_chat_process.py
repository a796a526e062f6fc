"""The chat, commands and questions with a real process and a headless editor on the other side."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from sidecar.demo.editor import HeadlessEditor
from sidecar.demo.wire import ErrorAnswer
from sidecar.lsp import ext

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "tests.lsp.chat_process"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


class Plain(HeadlessEditor):
    """Without message requests, as Helix 25.01; it looks at lenses and code actions."""

    message_requests = False

    def initialize_params(self) -> dict[str, Any]:
        params = super().initialize_params()
        if not self.message_requests:
            params["clientInfo"] = {"name": "helix"}
            del params["capabilities"]["window"]["showMessage"]
        return params

    async def lenses(self, uri: str) -> list[str]:
        lenses = await self.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        return [lens["command"]["title"] for lens in lenses]

    async def choose(self, uri: str, title: str) -> Any:
        """A code action of this title."""
        nowhere = {"line": 0, "character": 0}
        params = {
            "textDocument": {"uri": uri},
            "range": {"start": nowhere, "end": nowhere},
            "context": {"diagnostics": []},
        }
        actions = await self.request("textDocument/codeAction", params)
        (command,) = [action["command"] for action in actions if action["title"] == title]
        return await self.execute(command["command"], *command["arguments"])

    async def open_chat(self) -> str:
        uri = (await self.execute("sidecar.openChat"))["uri"]
        await self.wait_for(lambda: self.shown)
        assert self.shown[-1]["uri"] == uri
        self.open(uri)
        return uri

    def write_below(self, uri: str, text: str) -> None:
        buffer = self.document(uri)
        self.type(uri, text, len(buffer.text))


@pytest.fixture
async def editor(tmp_path: Path) -> AsyncGenerator[Plain]:
    environment = {**ENVIRONMENT, "XDG_STATE_HOME": str(tmp_path / "state")}
    async with Plain(COMMAND, tmp_path, environment=environment) as editor:
        yield editor


async def test_what_is_announced(editor: Plain) -> None:
    capabilities = editor.server["capabilities"]
    assert capabilities["executeCommandProvider"]["commands"] == sorted(ext.COMMANDS)
    assert capabilities["codeLensProvider"] == {"resolveProvider": False}
    assert capabilities["codeActionProvider"] == {"codeActionKinds": ["quickfix"]}


async def test_a_conversation_in_a_markdown_file(editor: Plain) -> None:
    uri = await editor.open_chat()
    assert await editor.lenses(uri) == ["Send"]
    editor.write_below(uri, "fix the loop 👩‍💻")
    await editor.choose(uri, "Send")
    await editor.wait_for(lambda: "You said: fix the loop 👩‍💻" in editor.document(uri).text)
    assert editor.document(uri).text.endswith(
        "## You\n\nfix the loop 👩‍💻\n\n## Agent\n\n- player, a new session\n\n"
        "You said: fix the loop 👩‍💻 \n\n## Prompt\n\n\n"
    )
    editor.write_below(uri, "ask")
    await editor.choose(uri, "Send")
    await editor.wait_for(lambda: "### Question 1" in editor.document(uri).text)
    assert (await editor.lenses(uri))[:2] == ["Reject", "Allow once"]
    await editor.choose(uri, "Allow once")
    await editor.wait_for(lambda: "The answer is y." in editor.document(uri).text)
    assert len(editor.turns) == 2


async def test_message_requests_and_messages(tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "XDG_STATE_HOME": str(tmp_path / "state")}
    asked: list[tuple[str, ...]] = []

    def answer(text: str, titles: Any) -> str | None:
        asked.append(tuple(titles))
        return "Reject"

    editor = Plain(COMMAND, tmp_path, environment=environment, answer=answer)
    editor.message_requests = True
    async with editor:
        assert await editor.execute("sidecar.prompt", "ask") == {"sessionId": "s1", "turn": 1}
        await editor.wait_for(lambda: editor.turns)
        assert asked == [("Reject", "Allow once")]
        assert (3, "agent: The answer is n.") in editor.messages
        assert [value["kind"] for _, value in editor.progress] == ["begin", "end"]


async def test_progress_cancels_the_turn(editor: Plain) -> None:
    await editor.execute("sidecar.prompt", {"prompt": "slow"})
    await editor.wait_for(lambda: editor.progress)
    token, begin = editor.progress[0]
    assert begin["cancellable"]
    editor.notify("window/workDoneProgress/cancel", {"token": token})
    await editor.wait_for(lambda: editor.turns)
    assert editor.turns[0]["stopReason"] == "cancelled"


async def test_odd_notifications_are_harmless(editor: Plain) -> None:
    for params in (None, {}, {"uri": 1}, {"uri": "file:///a.ipynb", "dirty": "x"}, [1], {"uri": "file:///a"}):
        editor.notify("sidecar/opaque", params)
        editor.notify("window/workDoneProgress/cancel", params)
    assert await editor.execute("sidecar.status") == {"sessions": [], "questions": []}


FAILURES = [
    (("sidecar.newSession", "missing"), "missing is not installed; install it with npm i missing"),
    (("sidecar.prompt", {"prompt": "fail", "wait": True}), "the player fell asleep; wake it"),
    (("sidecar.prompt",), "prompt"),
    (("sidecar.send",), "sidecar.openChat"),
    (("sidecar.answer", {"questionId": "q", "optionId": "y"}), "no longer open"),
]


async def test_failures_have_words(editor: Plain) -> None:
    for call, words in FAILURES:
        with pytest.raises(ErrorAnswer, match=words):
            await editor.execute(*call)
