"""Agents that run elsewhere, through the real program: in a mount namespace of their own, and in a folder of another name."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.config import WORKSPACE_FOLDER, AgentCommand, Transport
from tests.lsp.sessions_process import an_editor, refused
from tests.support.agents import argv, command, received
from tests.support.elsewhere import THERE, by_namespace
from tests.support.talking_editor import TalkingEditor
from tests.support.websocket_agents import at, running, served

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.skipif(sys.platform == "win32", reason="the transports of these tests are Unix programs"),
]


def by_link(project: Path, more: Mapping[str, str] | None = None) -> tuple[Transport, str]:
    """A transport wherever there are links, and the project's name there."""
    there = project.parent / "there"
    there.symlink_to(project, target_is_directory=True)
    return Transport(("/usr/bin/env",), {str(there): WORKSPACE_FOLDER, **(more or {})}), str(there)


def an_elsewhere(tmp_path: Path, by: Transport, turn: list[Any], **options: Any) -> TalkingEditor:
    agent = replace(command({"turns": [turn]}, tmp_path / "trace"), transport=by)
    return an_editor(tmp_path, {"fake": agent}, **options)


def a_command(line: str, name: str, **params: Any) -> list[Any]:
    """Steps that run it and keep what it said under `name`."""
    created = {"sessionId": "$session", "command": line, **params}
    asked = {"sessionId": "$session", "terminalId": "$taken"}
    return [
        {"request": "terminal/create", "params": created, "as": f"{name} created"},
        {"take": f"{name} created", "field": "terminalId"},
        {"request": "terminal/wait_for_exit", "params": asked, "as": f"{name} ended"},
        {"request": "terminal/output", "params": asked, "as": name},
        {"say": {"answer": name}},
    ]


def answers(editor: TalkingEditor) -> list[Any]:
    """What the agent says that it was answered: results, or the errors' data with their message."""
    texts = [
        params["update"]["content"]["text"]
        for params in editor.told
        if params["update"]["sessionUpdate"] == "agent_message_chunk"
    ]
    decoder, text, at, found = json.JSONDecoder(), "".join(texts), 0, []
    while at < len(text):
        answer, at = decoder.raw_decode(text, at)
        error = answer.get("error")
        found.append(answer["result"] if error is None else {**error["data"], "words": error["message"]})
    return found


def a_project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\n")
    return project


async def test_in_another_mount_namespace(tmp_path: Path) -> None:
    """It sees unsaved text, its change is one in the user's file, and its commands run where it is."""
    project = a_project(tmp_path)
    place = {"path": f"{THERE}/a.txt"}
    diff = {"type": "diff", **place, "oldText": "unsaved\n", "newText": "two\n"}
    call = {"toolCallId": "c", "title": "Edit", "kind": "edit", "status": "completed"}
    turn = [
        {"read": f"{THERE}/a.txt", "as": "read"},
        {"say": {"answer": "read"}},
        {"write": f"{THERE}/a.txt", "content": "two\n", "as": "write"},
        {"say": {"answer": "write"}},
        {"update": {"sessionUpdate": "tool_call", **call, "locations": [place], "content": [diff]}},
        *a_command("pwd; ls; ls '$PROJECT'; echo $A", "ran", env=[{"name": "A", "value": "b c"}]),
    ]
    turn = json.loads(json.dumps(turn).replace("$PROJECT", str(project)))
    editor = an_elsewhere(tmp_path, by_namespace(project), turn)
    async with editor:
        editor.open(project / "a.txt")
        editor.replace(project / "a.txt", "one", "unsaved")
        outcome = await editor.prompt("go")
        assert outcome["stopReason"] == "end_turn"
        read, _, ran = answers(editor)
        assert read == {"content": "unsaved\n"}
        assert (ran["output"], ran["exitStatus"]["exitCode"]) == (f"{THERE}\na.txt\nb c\n", 0)
        assert editor.document(project / "a.txt").text == "two\n"
        (told,) = (one["update"] for one in editor.told if one["update"].get("toolCallId") == "c")
        assert told["locations"] == [{"path": str(project / "a.txt")}]
        assert told["content"][0]["path"] == str(project / "a.txt")
        changes = await editor.execute("sidecar.listChanges", {})
        assert [row["uri"] for row in changes] == [(project / "a.txt").as_uri()]
    started = editor.questions[0].text
    assert "unshare --mount" in started
    assert f"{THERE} stands for {WORKSPACE_FOLDER}" in started
    asked = next(question.text for question in editor.questions if "wants to run" in question.text)
    assert f"run a command in {project}: " in asked
    assert "unshare" in asked, "where it runs is shown"
    opened, prompt = (received(tmp_path / "trace")[number]["params"] for number in (1, 2))
    assert opened["cwd"] == THERE
    uris = [block["resource"]["uri"] for block in prompt["prompt"] if block["type"] == "resource"]
    assert uris in ([], [f"file://{THERE}/a.txt"])


async def test_what_a_hostile_one_gets(tmp_path: Path) -> None:
    """Nothing but the files that stand for something in the session's folders, and no path or token of this machine."""
    project = a_project(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("SECRET")
    (project / "link").symlink_to(outside / "secret")
    by, there = by_link(project, {"/outside": str(outside)})
    tried = [
        str(outside / "secret"),
        f"{there}/../outside/secret",
        f"{there}/link",
        "/outside/secret",
        "/outside/../outside/secret",
        f"{there}2/../outside/secret",
        str(project / "a.txt"),
        "/etc/passwd",
    ]
    turn: list[Any] = []
    for number, path in enumerate(tried):
        turn += [{"read": path, "as": f"r{number}"}, {"say": {"answer": f"r{number}"}}]
        turn += [{"write": path, "content": "x", "as": f"w{number}"}, {"say": {"answer": f"w{number}"}}]
    for number, cwd in enumerate(("/outside", "/etc", f"{there}/../outside")):
        params = {"sessionId": "$session", "command": "pwd", "cwd": cwd}
        turn += [
            {"request": "terminal/create", "params": params, "as": f"t{number}"},
            {"say": {"answer": f"t{number}"}},
        ]
    users = {"docs": {"command": "/bin/docs"}}
    by = replace(by, sidecar="/no/acp-sidecar")  # the tools' own way is tests/relayed'
    async with an_elsewhere(tmp_path, by, turn, ownTools="all", mcpServers=users) as editor:
        editor.open(project / "a.txt")
        await editor.prompt("go")
        found = answers(editor)
        text = json.dumps(found)
    assert len(found) == 2 * len(tried) + 3
    assert all("errorKind" in answer for answer in found), found
    assert "SECRET" not in text
    named = [path for path in tried if path.startswith(str(tmp_path)) and not path.startswith(there)]
    for answer in found:
        told = json.dumps(answer)
        for path in named:
            told = told.replace(path, "")
        assert str(outside) not in told, "only paths that it named itself"
    assert (outside / "secret").read_text() == "SECRET"
    assert (project / "a.txt").read_text() == "one\n"
    opened = received(tmp_path / "trace")[1]["params"]
    docs = {"name": "docs", "command": "/bin/docs", "args": [], "env": []}
    assert opened == {"cwd": there, "mcpServers": [docs]}, (
        "no server of ours, whose token could be used again"
    )
    asked = [question.text for question in editor.questions]
    assert any("docs to fake? It runs /usr/bin/env /bin/docs." in text for text in asked), asked


async def test_a_connection_that_drops_in_the_middle_of_a_write(tmp_path: Path) -> None:
    project = a_project(tmp_path)
    by, there = by_link(project)
    half = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 9,
            "method": "fs/write_text_file",
            "params": {"sessionId": "s", "path": f"{there}/a.txt", "content": "x" * 1000},
        }
    )[:200]
    drop = [{"raw": half}, {"stderr": "Connection to host closed by remote host.\n"}, {"exit": 255}]
    whole = [{"read": f"{there}/a.txt"}, {"write": f"{there}/a.txt", "content": "mine and\ntwo\n", "as": "w"}]
    agent = command({"turns": [drop]}, tmp_path / "trace")
    second = command({"turns": [whole]}, tmp_path / "trace")
    agents = {"fake": replace(agent, transport=by), "again": replace(second, transport=by)}
    async with an_editor(tmp_path, agents) as editor:
        editor.open(project / "a.txt")
        editor.replace(project / "a.txt", "one", "mine")
        session = (await editor.execute("sidecar.newSession", {"agent": "fake"}))["sessionId"]
        words = await refused(editor, "sidecar.prompt", {"prompt": "go", "wait": True, "sessionId": session})
        assert "fake (elsewhere, by /usr/bin/env) exited with code 255 during the turn." in words
        assert "Connection to host closed by remote host." in words
        assert "The next prompt starts it again" in words
        assert editor.document(project / "a.txt").text == "mine\n"
        assert (project / "a.txt").read_text() == "one\n"
        session = (await editor.execute("sidecar.newSession", {"agent": "again"}))["sessionId"]
        await editor.prompt("go", session)
        assert editor.document(project / "a.txt").text == "mine and\ntwo\n"


WS_THERE = "/far/project"


@contextmanager
def by_websocket(tmp_path: Path, turns: list[list[Any]]) -> Generator[AgentCommand]:
    """An agent that runs already, where the project has another name."""
    handler = running(argv({"turns": turns}, tmp_path / "trace"), str(tmp_path))
    with served(handler, token="mine") as url:
        yield at(url, {WS_THERE: WORKSPACE_FOLDER}, {"Authorization": "${env:TEST_TOKEN}"})


async def test_at_a_websocket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_TOKEN", "Bearer mine")
    project = a_project(tmp_path)
    create = {"sessionId": "$session", "command": "pwd"}
    turn = [
        {"read": f"{WS_THERE}/a.txt", "as": "read"},
        {"say": {"answer": "read"}},
        {"write": f"{WS_THERE}/a.txt", "content": "two\n", "as": "write"},
        {"request": "terminal/create", "params": create, "as": "ran"},
        {"say": {"answer": "ran"}},
    ]
    with by_websocket(tmp_path, [turn]) as agent:
        async with an_editor(tmp_path, {"far": agent}, ownTools="all") as editor:
            editor.open(project / "a.txt")
            editor.replace(project / "a.txt", "one", "unsaved")
            assert (await editor.prompt("go"))["stopReason"] == "end_turn"
            assert editor.document(project / "a.txt").text == "two\n"
            heard = "".join(
                one["update"]["content"]["text"] for one in editor.told if "content" in one["update"]
            )
        told = [words for _, words in editor.messages]
    assert len([words for words in told if "far runs elsewhere, at an address" in words]) == 1, told
    assert '"unsaved\\n"' in heard
    assert "Method not found" in heard, "no command of it can be run there"
    asked = editor.questions[0]
    assert asked.text == (
        f"Connect to the agent far? It was never reached from here at this address: {agent.address}. It runs elsewhere; there,"
        f" {WS_THERE} stands for {WORKSPACE_FOLDER}. It is sent the headers Authorization.\nWhy you are asked: never reached before."
    )
    first, opened = (received(tmp_path / "trace")[number]["params"] for number in (0, 1))
    assert first["clientCapabilities"].get("terminal", False) is False
    assert (opened["cwd"], opened["mcpServers"]) == (WS_THERE, [])


async def test_a_websocket_that_breaks_in_the_middle_of_a_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_TOKEN", "Bearer mine")
    project = a_project(tmp_path)
    half = '{"jsonrpc": "2.0", "id": 9, "method": "fs/write_text_file", "params": {"path": "/far/proj'
    with by_websocket(tmp_path, [[{"raw": half}, {"exit": 3}]]) as agent:
        async with an_editor(tmp_path, {"far": agent}) as editor:
            editor.open(project / "a.txt")
            editor.replace(project / "a.txt", "one", "mine")
            session = (await editor.execute("sidecar.newSession", {"agent": "far"}))["sessionId"]
            words = await refused(
                editor, "sidecar.prompt", {"prompt": "go", "wait": True, "sessionId": session}
            )
            assert f"far (elsewhere, by {agent.address}) exited with code 1 during the turn." in words
            assert f"{agent.address} ended the connection: the agent exited with code 3 (1011)" in words
            assert "The next prompt starts it again" in words
            assert editor.document(project / "a.txt").text == "mine\n"
            assert (project / "a.txt").read_text() == "one\n"


async def test_a_websocket_that_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_project(tmp_path)
    with by_websocket(tmp_path, []) as agent:
        monkeypatch.delenv("TEST_TOKEN", raising=False)
        async with an_editor(tmp_path, {"far": agent}) as editor:
            words = await refused(editor, "sidecar.newSession", {"agent": "far"})
        assert "its header Authorization is ${env:TEST_TOKEN}, and the editor was started without" in words
        monkeypatch.setenv("TEST_TOKEN", "Bearer yours")
        async with an_editor(tmp_path, {"far": agent}) as editor:
            words = await refused(editor, "sidecar.newSession", {"agent": "far"})
        assert f"{agent.address} answered 401 Unauthorized instead of opening a WebSocket" in words
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize(
    ("url", "overheard"),
    [
        ("ws://far.invalid/acp", True),
        ("WS://10.0.0.1:1/", True),
        ("wss://far.invalid", False),
        ("ws://localhost:1", False),
    ],
)
async def test_the_question_says_when_others_can_listen(tmp_path: Path, url: str, overheard: bool) -> None:
    a_project(tmp_path)
    async with an_editor(tmp_path, {"far": at(url, {WS_THERE: WORKSPACE_FOLDER})}) as editor:
        editor.answer = lambda text, titles: "Do not connect"
        await refused(editor, "sidecar.newSession", {"agent": "far"})
        assert ("not encrypted" in editor.questions[0].text) is overheard
