"""The commands of the real program, with its demo agent and a headless editor: what a person without an extension has."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from sidecar.demo.wire import ErrorAnswer
from tests.lsp.test_chat_process import ROOT, Plain

COMMAND = [sys.executable, "-m", "sidecar", "lsp"]


@pytest.fixture
async def editor(tmp_path: Path) -> AsyncGenerator[Plain]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(tmp_path / "state")}
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("def one():\n    return 1\n")
    options = {"defaultAgent": "demo", "client": {"save": True, "open": True}}
    async with Plain(COMMAND, folder, environment=environment, options=options) as editor:
        yield editor


async def test_a_chat_edits_what_was_typed_and_not_saved(editor: Plain) -> None:
    file = Path(editor.folder) / "a.py"
    buffer = editor.open(file)
    editor.type(file, "# typed, not saved\n", 0)
    before = buffer.text
    chat = await editor.open_chat()
    editor.write_below(chat, f"please change {file}")
    await editor.choose(chat, "Send")
    await editor.wait_for(lambda: editor.turns)
    assert editor.turns[0]["stopReason"] == "end_turn"
    assert buffer.text != before
    assert "# typed, not saved" in buffer.text
    await editor.wait_for(lambda: "changed" in editor.document(chat).text)
    assert str(file) in editor.document(chat).text.rpartition("## Prompt")[0]
    editor.undo(file)
    assert buffer.text == before


async def test_sessions_and_prompts(editor: Plain) -> None:
    assert "demo" in [agent["id"] for agent in await editor.execute("sidecar.listAgents")]
    session = await editor.execute("sidecar.newSession", {"agent": "demo"})
    assert session["agent"] == "demo"
    outcome = await editor.execute("sidecar.prompt", {"prompt": "hello", "wait": True})
    assert (outcome["sessionId"], outcome["stopReason"]) == (session["sessionId"], "end_turn")
    assert editor.turns == [outcome]
    status = await editor.execute("sidecar.status")
    assert [row["sessionId"] for row in status["sessions"]] == [session["sessionId"]]
    chat = await editor.execute("sidecar.openChat")
    assert chat["sessionId"] == session["sessionId"]
    assert await editor.execute("sidecar.cancel") is None
    assert await editor.execute("sidecar.closeSession", session["sessionId"]) is None
    assert (await editor.execute("sidecar.status"))["sessions"] == []


async def test_failures_have_words(editor: Plain) -> None:
    for call in (
        ("sidecar.newSession", {"agent": "no-such-agent"}),
        ("sidecar.prompt", {"prompt": "x", "sessionId": "no-such-session"}),
    ):
        with pytest.raises(ErrorAnswer) as raised:
            await editor.execute(*call)
        assert "no-such" in str(raised.value)
        assert "Traceback" not in str(raised.value)
