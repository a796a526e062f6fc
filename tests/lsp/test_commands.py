"""Commands as a client calls them: argument in, answer or words out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from sidecar.lsp import ext
from sidecar.lsp.commands import EditorCommands
from sidecar.lsp.editor import LspEditor
from sidecar.lsp.transcript import Transcripts
from sidecar.lsp.transcript_folder import TranscriptFolder
from sidecar.workspace.ports.ports import AgentFailed, EditorGone
from tests.lsp.fakes import Buffers, FakeService, FakeWire, Tasks, turns_of_the_loop, until

INVALID, FAILED = -32602, -32803


@pytest.fixture
def wire() -> FakeWire:
    return FakeWire()


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
async def commands(wire: FakeWire, service: FakeService, tmp_path: Path) -> AsyncGenerator[EditorCommands]:
    tasks = Tasks()
    editor = LspEditor(wire, tasks)
    transcripts = Transcripts(
        editor, service, Buffers(wire).overlay.get, tasks, folder=TranscriptFolder(tmp_path), pace=0
    )
    editor.attach(transcripts)
    yield EditorCommands(service, transcripts, editor, tasks)
    await tasks.check()


TEXT = [{"type": "text", "text": "fix it"}]
BLOCKS = [*TEXT, {"type": "resource_link", "uri": "file:///a", "name": "a"}]
STARTED = {"sessionId": "s1", "turn": 1}
ENDED = {"sessionId": "s1", "turn": 1, "stopReason": "end_turn", "changes": []}
OPENED = {"sessionId": "s1", "modes": {"currentModeId": "code"}}
NEW = "sidecar.newSession"
PROMPT = "sidecar.prompt"

WORKING: dict[str, tuple[str, object, Sequence[tuple[Any, ...]], object]] = {
    "new, nothing": (NEW, None, [("new_session", None, None, [], [])], {**OPENED, "agent": "first"}),
    "new, an agent": (NEW, "demo", [("new_session", "demo", None, [], [])], {**OPENED, "agent": "demo"}),
    "new, everything": (
        NEW,
        {
            "agent": "demo",
            "cwd": "/w",
            "additionalDirectories": ["/x"],
            "mcpServers": [{"name": "m"}],
            "future": 1,
        },
        [("new_session", "demo", "/w", ["/x"], [{"name": "m"}])],
        {**OPENED, "agent": "demo"},
    ),
    "prompt, a string": (PROMPT, "fix it", [("start_prompt", None, TEXT)], STARTED),
    "prompt, an object": (PROMPT, {"prompt": "fix it"}, [("start_prompt", None, TEXT)], STARTED),
    "prompt, blocks": (PROMPT, {"prompt": BLOCKS}, [("start_prompt", None, BLOCKS)], STARTED),
    "prompt, a session": (
        PROMPT,
        {"prompt": "fix it", "sessionId": "s9", "wait": False},
        [("start_prompt", "s9", TEXT)],
        {"sessionId": "s9", "turn": 1},
    ),
    "prompt, waiting": (PROMPT, {"prompt": "fix it", "wait": True}, [("start_prompt", None, TEXT)], ENDED),
    "cancel": ("sidecar.cancel", None, [("cancel", None)], None),
    "stop command": (
        "sidecar.stopCommand",
        {"sessionId": "s1", "terminalId": "term-1"},
        [("stop_command", "s1", "term-1")],
        None,
    ),
    "cancel, a session": ("sidecar.cancel", {"sessionId": "s1"}, [("cancel", "s1")], None),
    "close": ("sidecar.closeSession", "s1", [("close_session", "s1")], None),
    "status": ("sidecar.status", {}, [], {"agents": [], "sessions": [], "questions": []}),
    "agents": (
        "sidecar.listAgents",
        None,
        [],
        [
            {"id": "first", "name": "First", "source": "configured", "installed": True, "version": "1.2"},
            {"id": "other", "name": "Other", "source": "registry", "installed": False, "needs": "npx"},
        ],
    ),
}


@pytest.mark.parametrize(("name", "argument", "calls", "answer"), WORKING.values(), ids=WORKING)
async def test_working(
    commands: EditorCommands,
    service: FakeService,
    name: str,
    argument: object,
    calls: Sequence[tuple[Any, ...]],
    answer: object,
) -> None:
    assert await commands.execute(name, argument) == answer
    assert service.calls == calls


NOT_UNDERSTOOD: dict[str, tuple[str, object, str]] = {
    "unknown": ("sidecar.nothing", None, "no such command: sidecar.nothing"),
    "a number": (PROMPT, 7, "sidecar.prompt takes an object or a string"),
    "a list": (NEW, ["demo"], "sidecar.newSession takes an object or a string"),
    "a string where none is taken": ("sidecar.status", "x", "sidecar.status takes an object"),
    "no prompt": (PROMPT, None, "prompt"),
    "an empty prompt": (PROMPT, " \n", "the prompt is empty"),
    "no blocks": (PROMPT, {"prompt": []}, "the prompt is empty"),
    "blocks of a wrong type": (PROMPT, {"prompt": ["x"]}, r"\$\.prompt\[0\]"),
    "wait of a wrong type": (PROMPT, {"prompt": "x", "wait": "yes"}, r"\$\.wait"),
    "a session of a wrong type": ("sidecar.cancel", {"sessionId": 1}, r"\$\.sessionId"),
    "no question": ("sidecar.answer", {}, "questionId"),
}


@pytest.mark.parametrize(("name", "argument", "words"), NOT_UNDERSTOOD.values(), ids=NOT_UNDERSTOOD)
async def test_not_understood(
    commands: EditorCommands, service: FakeService, name: str, argument: object, words: str
) -> None:
    with pytest.raises(JsonRpcException, match=words) as raised:
        await commands.execute(name, argument)
    assert raised.value.code == INVALID
    assert service.calls == []


FAILURES: dict[str, tuple[Exception, str]] = {
    "an agent": (
        AgentFailed("not_installed", "it is not installed; run npm i"),
        "it is not installed; run npm i",
    ),
    "no such session": (LookupError("there is no session s9"), "there is no session s9"),
    "a wrong value": (ValueError("cwd must be absolute"), "cwd must be absolute"),
    "the disk": (PermissionError(13, "Permission denied", "/secret/path"), "Permission denied"),
    "the editor": (EditorGone("gone"), "connection has ended"),
    "a mistake of ours": (KeyError("secret detail"), "see its log"),
    "another mistake of ours": (ZeroDivisionError("secret detail"), "see its log"),
}


@pytest.mark.parametrize("name", [NEW, PROMPT, "sidecar.closeSession", "sidecar.cancel"])
@pytest.mark.parametrize(("failure", "words"), FAILURES.values(), ids=FAILURES)
async def test_failures_have_words(
    commands: EditorCommands, service: FakeService, name: str, failure: Exception, words: str
) -> None:
    service.failure = failure
    with pytest.raises(JsonRpcException) as raised:
        await commands.execute(name, "x")
    assert raised.value.code == FAILED
    assert words in raised.value.message
    assert "Traceback" not in raised.value.message
    assert "secret" not in raised.value.message


async def test_an_agents_failure_carries_its_kind(commands: EditorCommands, service: FakeService) -> None:
    service.failure = AgentFailed("auth_required", "log in first", {"methods": ["key"]})
    with pytest.raises(JsonRpcException) as raised:
        await commands.execute(NEW)
    assert raised.value.data == {"kind": "auth_required", "methods": ["key"]}


async def test_prompt_answers_before_the_turn_ends(commands: EditorCommands, service: FakeService) -> None:
    going = asyncio.Event()

    async def turn(session_id: str, blocks: Sequence[Any]) -> Mapping[str, object]:
        await going.wait()
        return ENDED

    service.turn = turn
    assert await commands.execute(PROMPT, "fix it") == STARTED
    waiting = asyncio.ensure_future(commands.execute(PROMPT, {"prompt": "more", "wait": True}))
    await turns_of_the_loop()
    assert not waiting.done()
    going.set()
    assert await waiting == ENDED


async def test_prompt_starts_in_the_order_of_arrival(commands: EditorCommands, service: FakeService) -> None:
    answers = [commands.execute(PROMPT, "one"), commands.execute("sidecar.cancel", "s1")]
    assert [call[0] for call in service.calls] == ["start_prompt", "cancel"], "before anything is awaited"
    await asyncio.gather(*answers)


async def test_a_cancelled_wait_cancels_the_turn(commands: EditorCommands, service: FakeService) -> None:
    async def turn(session_id: str, blocks: Sequence[Any]) -> Mapping[str, object]:
        await asyncio.Event().wait()
        return ENDED

    service.turn = turn
    waiting = asyncio.ensure_future(commands.execute(PROMPT, {"prompt": "x", "wait": True}))
    await turns_of_the_loop()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert service.calls[-1] == ("cancel", "s1")


async def test_a_failed_turn_fails_the_command_that_waits(
    commands: EditorCommands, service: FakeService
) -> None:
    async def turn(session_id: str, blocks: Sequence[Any]) -> Mapping[str, object]:
        return {**ENDED, "stopReason": "failed", "error": "the agent exited; see its log"}

    service.turn = turn
    assert await commands.execute(PROMPT, "x") == STARTED
    with pytest.raises(JsonRpcException, match="the agent exited; see its log") as raised:
        await commands.execute(PROMPT, {"prompt": "x", "wait": True})
    assert raised.value.data["stopReason"] == "failed"


async def test_a_turn_that_breaks_unwatched_is_told(
    commands: EditorCommands, service: FakeService, wire: FakeWire
) -> None:
    async def turn(session_id: str, blocks: Sequence[Any]) -> Mapping[str, object]:
        raise RuntimeError("secret detail")

    service.turn = turn
    await commands.execute(PROMPT, "x")
    await until(lambda: any("see its log" in told["message"] for told in wire.params("window/showMessage")))
    assert not any("secret" in told["message"] for told in wire.params("window/showMessage"))


async def test_the_chat_without_arguments(commands: EditorCommands, wire: FakeWire) -> None:
    """Helix passes none."""
    opened = await commands.execute("sidecar.openChat")
    assert isinstance(opened, dict)
    assert opened["uri"].startswith("file:///")
    await until(lambda: wire.params("window/showMessage"))
    with pytest.raises(JsonRpcException, match="not open in the editor"):
        await commands.execute("sidecar.send")
    with pytest.raises(JsonRpcException, match="no longer open"):
        await commands.execute("sidecar.answer", {"questionId": "q", "optionId": "o"})


async def test_the_chat_of_the_session_in_use(commands: EditorCommands) -> None:
    await commands.execute(PROMPT, "fix it")
    assert (await commands.execute("sidecar.openChat"))["sessionId"] == "s1"
    await commands.execute("sidecar.closeSession", "s1")
    assert "sessionId" not in (await commands.execute("sidecar.openChat"))


async def test_commands_can_be_added(commands: EditorCommands) -> None:
    commands.add("sidecar.double", ext.OfSession, lambda given: f"{given.session_id}{given.session_id}")
    assert await commands.execute("sidecar.double", "ab") == "abab"
    assert commands.names[-1] == "sidecar.double"
