"""An agent that nobody here wrote, unchanged, in a mount namespace of its own and behind a WebSocket: its files are those of the user's folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.config import WORKSPACE_FOLDER, AgentCommand
from tests.e2e import fast_agent
from tests.gates.product import COMMAND
from tests.support import tools
from tests.support.elsewhere import THERE, by_namespace
from tests.support.talking_editor import TalkingEditor
from tests.support.websocket_agents import at, running, served

pytestmark = pytest.mark.timeout(200)


async def test_it_reads_and_writes_what_the_user_sees(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    path, new = project / "a.txt", project / "new.txt"
    path.write_text("one\n")
    options: Any = fast_agent.settings(
        tools.require("fast-agent"), tmp_path / "home", "--no-permissions", "-x"
    )
    agent = options["agents"][fast_agent.NAME]
    command = AgentCommand(
        agent["command"], tuple(agent["args"]), agent["env"], transport=by_namespace(project)
    )
    async with TalkingEditor(tmp_path / "state", project, {fast_agent.NAME: command}) as editor:
        editor.open(path)
        editor.replace(path, "one", "unsaved")
        session = (await editor.execute("sidecar.newSession", {"agent": fast_agent.NAME}))["sessionId"]
        await editor.prompt(fast_agent.read(Path(THERE, "a.txt")), session)
        assert "unsaved" in editor.said(session)
        outcome = await editor.prompt(fast_agent.write(Path(THERE, "new.txt"), "hello\n"), session)
        assert [change["uri"] for change in outcome["changes"]] == [new.as_uri()]
        assert new.read_text() == "hello\n"
        await editor.prompt(fast_agent.read(path), session)
        assert f"The user's file of that name is {THERE}/a.txt there." in editor.said(session)
        await editor.prompt(fast_agent.call("execute", command="pwd; ls"), session)
        assert f"{THERE}\na.txt\nnew.txt" in editor.said(session)


async def test_it_is_given_our_tools_there(tmp_path: Path) -> None:
    """It starts `acp-sidecar mcp` where it runs; what that reads and edits is the text in the editor."""
    project = tmp_path / "project"
    project.mkdir()
    path = project / "a.txt"
    path.write_text("one\n")
    options: Any = fast_agent.settings(tools.require("fast-agent"), tmp_path / "home", "--no-permissions")
    agent = options["agents"][fast_agent.NAME]
    by = replace(by_namespace(project), sidecar=COMMAND[0])
    command = AgentCommand(agent["command"], tuple(agent["args"]), agent["env"], transport=by)
    agents = {fast_agent.NAME: command}
    async with TalkingEditor(tmp_path / "state", project, agents, ownTools="all") as editor:
        editor.open(path)
        session = (await editor.execute("sidecar.newSession", {"agent": fast_agent.NAME}))["sessionId"]
        editor.replace(path, "one", "typed")
        await editor.prompt(fast_agent.call("sidecar__Read", file_path=f"{THERE}/a.txt"), session)
        assert "typed" in editor.said(session)
        edit = {"file_path": "a.txt", "old_string": "typed", "new_string": "edited"}
        await editor.prompt(fast_agent.call("sidecar__Edit", **edit), session)
        assert f"The file {THERE}/a.txt has been updated" in editor.said(session)
        assert editor.document(path).text == "edited\n"
        assert [row["uri"] for row in await editor.execute("sidecar.listChanges", {})] == [path.as_uri()]
        await editor.prompt(fast_agent.call("sidecar__Read", file_path=str(path)), session)
        assert f'{{"errorKind":"path_outside_workspace","path":"{path}"}}' in editor.said(session)
        editor.undo(path)
        assert editor.document(path).text == "typed\n"


async def test_it_is_reached_by_a_websocket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same agent, where somebody serves it and the user's folder has another name."""
    monkeypatch.setenv("TEST_TOKEN", "Bearer mine")
    project, far = tmp_path / "project", tmp_path / "far"
    for folder in (project, far):
        folder.mkdir()
    (project / "a.txt").write_text("one\n")
    options: Any = fast_agent.settings(
        tools.require("fast-agent"), tmp_path / "home", "--no-permissions", "-x"
    )
    agent = options["agents"][fast_agent.NAME]
    served_there = running([agent["command"], *agent["args"]], str(far), agent["env"])
    with served(served_there, token="mine") as url:
        command = at(url, {str(far): WORKSPACE_FOLDER}, {"Authorization": "${env:TEST_TOKEN}"})
        async with TalkingEditor(tmp_path / "state", project, {fast_agent.NAME: command}) as editor:
            editor.open(project / "a.txt")
            editor.replace(project / "a.txt", "one", "unsaved")
            session = (await editor.execute("sidecar.newSession", {"agent": fast_agent.NAME}))["sessionId"]
            await editor.prompt(fast_agent.read(far / "a.txt"), session)
            assert "unsaved" in editor.said(session)
            outcome = await editor.prompt(fast_agent.write(far / "new.txt", "hello\n"), session)
            assert [change["uri"] for change in outcome["changes"]] == [(project / "new.txt").as_uri()]
            assert (project / "new.txt").read_text() == "hello\n"
    assert list(far.iterdir()) == []
