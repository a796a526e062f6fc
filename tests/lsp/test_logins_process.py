"""Logins over the real program: agents that want one, those that have none, and whose word counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.demo.wire import ErrorAnswer
from tests.lsp.sessions_process import PLAIN, an_editor, initialize, refused
from tests.support.agents import command, received

DENIED = {"fail": {"code": -32000, "message": "Authentication required"}}


LOGIN = {"id": "browser", "name": "Browser"}


TERMINAL = {"id": "tui", "type": "terminal", "name": "In a terminal", "args": ["login"], "env": {"TUI": "1"}}
KEY = {
    "id": "key", "type": "env_var", "name": "Key", "link": "https://keys.example/",
    "vars": [{"name": "FAKE_KEY", "label": "The key"}, {"name": "FAKE_HOST", "optional": True, "secret": False}],
}  # fmt: skip
BEFORE = [{"before": "authenticate", "steps": [DENIED]}, {"reply": {"sessionId": "s1"}}]


async def test_login_required_then_prompts_work(tmp_path: Path, folder: Path) -> None:
    trace = tmp_path / "trace"
    script = {
        **PLAIN,
        "initialize": initialize(authMethods=[LOGIN], auth={"logout": {}}),
        "session/new": BEFORE,
    }
    async with an_editor(tmp_path, {"fake": command(script, trace)}) as editor:
        with pytest.raises(ErrorAnswer) as raised:
            await editor.execute("sidecar.newSession")
        assert "wants you to log in first. It offers: Browser." in str(raised.value)
        await editor.execute("sidecar.prompt", "go")
        await editor.wait_for(lambda: editor.turns)
        assert editor.turns[0]["errorKind"] == "auth_required"
        assert editor.turns[0]["methods"] == [{"id": "browser", "name": "Browser", "type": "agent"}]
        assert await editor.execute("sidecar.listSessions") == [], "what never began leaves nothing"
        assert await editor.execute("sidecar.authenticate", "fake") == {"agent": "fake", "state": "done"}
        assert (await editor.prompt("go"))["stopReason"] == "end_turn"
        assert await editor.execute("sidecar.logout", "fake") is None
    methods = [message["method"] for message in received(trace) if "method" in message]
    assert methods[-2:] == ["session/prompt", "logout"]
    assert [m["params"] for m in received(trace) if m.get("method") == "authenticate"] == [
        {"methodId": "browser"}
    ]


async def test_other_ways_to_log_in(tmp_path: Path, folder: Path) -> None:
    trace = tmp_path / "trace"
    script = {"initialize": initialize(authMethods=[LOGIN, TERMINAL, KEY])}
    agent = command(script, trace)
    async with an_editor(tmp_path, {"fake": agent}, flags={"terminalLogin": True}) as editor:
        choose = await editor.execute("sidecar.authenticate", {"agent": "fake"})
        assert choose["state"] == "choose"
        assert [(one["id"], one["type"]) for one in choose["methods"]] == [
            ("browser", "agent"), ("tui", "terminal"), ("key", "env_var")
        ]  # fmt: skip
        login = await editor.execute("sidecar.authenticate", {"agent": "fake", "methodId": "tui"})
        assert login["state"] == "terminal"
        assert login["terminal"]["command"] == agent.command
        assert login["terminal"]["args"] == [*agent.args, "login"]
        assert login["terminal"]["env"]["TUI"] == "1"
        finished = {"agent": "fake", "methodId": "tui", "finished": True}
        assert (await editor.execute("sidecar.authenticate", finished))["state"] == "done"
        key = await editor.execute("sidecar.authenticate", {"agent": "fake", "methodId": "key"})
        assert (key["state"], key["link"]) == ("env", "https://keys.example/")
        assert key["vars"] == [
            {"name": "FAKE_KEY", "label": "The key", "secret": True, "optional": False},
            {"name": "FAKE_HOST", "secret": False, "optional": True},
        ]
        assert "set FAKE_KEY under" in key["message"]
        words = await refused(editor, "sidecar.authenticate", {"agent": "fake", "methodId": "no"})
        assert 'no login method "no" (browser, tui, key)' in words
        assert "cannot be logged out from here" in await refused(editor, "sidecar.logout", "fake")
        assert 'no agent "nobody"' in await refused(editor, "sidecar.authenticate", "nobody")
    first = received(trace)[0]["params"]["clientCapabilities"]
    assert (first["auth"], first["_meta"]) == ({"terminal": True}, {"terminal-auth": True})
    assert not [m for m in received(trace) if m.get("method") == "authenticate"]


async def test_an_agent_without_logins(tmp_path: Path, folder: Path) -> None:
    async with an_editor(tmp_path) as editor:
        assert "offers no way to log in from here" in await refused(editor, "sidecar.authenticate", "fake")
