"""Sessions over the real program and scripted agents in processes of their own: restarts, history, several at once,
choices. Each with agents that support a thing and agents that do not."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from sidecar.demo.wire import ErrorAnswer
from tests.lsp.sessions_process import PLAIN, an_editor, initialize, refused
from tests.support.agents import command, received
from tests.support.talking_editor import TalkingEditor

# the record survives


async def test_a_conversation_survives_a_restart(tmp_path: Path, folder: Path) -> None:
    async with an_editor(tmp_path) as editor:
        session = (await editor.execute("sidecar.newSession"))["sessionId"]
        assert (await editor.execute("sidecar.listSessions"))[0]["transcript"] is False
        assert "sessions without a prompt leave none" in await refused(editor, "sidecar.transcript", session)
        assert (await editor.prompt("Fix the loop.\nThen stop.", session))["stopReason"] == "end_turn"
    for path in (tmp_path / "state" / "sessions").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "state" / "sessions").stat().st_mode) == 0o700

    async with an_editor(tmp_path) as editor:
        (row,) = await editor.execute("sidecar.listSessions")
        assert row.pop("updatedAt").endswith("Z")
        assert row == {
            "sessionId": session,
            "agent": "fake",
            "cwd": str(folder),
            "title": "Fix the loop.",
            "open": False,
            "running": False,
            "turn": 1,
            "transcript": True,
            "listed": False,
            "loads": False,
            "forks": False,
        }
        record = await editor.execute("sidecar.transcript", session)
        said = [{key: entry[key] for key in entry if key != "at"} for entry in record["entries"]]
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "one two"}}
        assert said == [
            {"type": "prompt", "turn": 1, "prompt": [{"type": "text", "text": "Fix the loop.\nThen stop."}]},
            {"type": "update", "turn": 1, "update": chunk},
            {"type": "end", "turn": 1, "stopReason": "end_turn", "changes": []},
        ]
        assert (record["agent"], record["cwd"], record["title"]) == ("fake", str(folder), "Fix the loop.")

        loaded = await editor.execute("sidecar.loadSession", session)
        assert (loaded["history"], loaded["remembers"]) == ("transcript", False)
        assert "fake cannot continue earlier conversations" in loaded["note"]
        assert editor.said(session, "user_message_chunk", replay=True) == "Fix the loop.\nThen stop."
        assert editor.said(session, replay=True) == "one two"
        assert editor.said(session) == ""
        ended = await editor.prompt("go on", session)
        assert (ended["sessionId"], ended["turn"], ended["stopReason"]) == (session, 2, "end_turn")
        entries = (await editor.execute("sidecar.transcript", session))["entries"]
        assert [entry["type"] for entry in entries] == ["prompt", "update", "end"] * 2

        await editor.execute("sidecar.closeSession", session)
        deleted = await editor.execute("sidecar.deleteSession", session)
        assert deleted == {"deleted": [session], "kept": []}
        assert await editor.execute("sidecar.listSessions") == []
        assert list((tmp_path / "state" / "sessions").iterdir()) == []


async def test_records_of_other_folders_and_all_of_them(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "other").mkdir()
    async with an_editor(tmp_path) as editor:
        other = await editor.execute("sidecar.newSession", {"cwd": str(tmp_path / "other")})
        await editor.prompt("elsewhere", other["sessionId"])
        await editor.prompt("here", (await editor.execute("sidecar.newSession"))["sessionId"])
    async with an_editor(tmp_path) as editor:
        assert [row["title"] for row in await editor.execute("sidecar.listSessions")] == ["here"]
        rows = await editor.execute("sidecar.listSessions", {"all": True})
        assert [row["title"] for row in rows] == ["here", "elsewhere"]
        assert await editor.execute("sidecar.listSessions", {"agent": "demo"}) == []
        for call in ({}, {"sessionId": other["sessionId"], "all": True}):
            assert "takes a sessionId, or all" in await refused(editor, "sidecar.deleteSession", call)
        gone = await editor.execute("sidecar.deleteSession", {"all": True})
        assert len(gone["deleted"]) == 2
        assert await editor.execute("sidecar.listSessions", {"all": True}) == []
        for name in ("sidecar.loadSession", "sidecar.transcript", "sidecar.deleteSession"):
            words = await refused(editor, name, other["sessionId"])
            assert other["sessionId"] in words


# history


async def test_history_is_shown_and_never_carried_out(tmp_path: Path, folder: Path) -> None:
    file = folder / "a.py"
    file.write_text("old\n")
    diff = {"type": "diff", "path": str(file), "oldText": "old\n", "newText": "from history\n"}
    call = {
        "sessionUpdate": "tool_call",
        "toolCallId": "t1",
        "title": "Edit",
        "kind": "edit",
        "status": "completed",
    }
    history = [
        {"update": {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "change it"}}},
        {"update": {**call, "content": [diff], "locations": [{"path": str(file)}]}},
        {"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "changed"}}},
    ]
    late = {
        "sessionUpdate": "tool_call",
        "toolCallId": "t2",
        "title": "Late",
        "kind": "edit",
        "locations": [{"path": str(file)}],
    }
    listed = {
        "sessionId": "theirs",
        "cwd": str(folder),
        "title": "An earlier one",
        "updatedAt": "2020-01-01T00:00:00Z",
    }
    trace = tmp_path / "trace"
    agent = command(
        {
            "initialize": initialize(loadSession=True, sessionCapabilities={"list": {}, "delete": {}}),
            "session/list": [{"reply": {"sessions": [listed, {"sessionId": 7}, {"sessionId": "x", "cwd": "/elsewhere"}]}}],
            "session/load": [*history, {"reply": {"modes": None}}, {"update": late}],
            "turns": [[{"say": "more"}]],
        },
        trace,
    )  # fmt: skip
    async with an_editor(tmp_path, {"fake": agent}) as editor:
        buffer = editor.open(file)
        editor.type(file, "typed ", 0)
        (row,) = await editor.execute("sidecar.listSessions", "fake")
        assert (row["title"], row["listed"], row["transcript"], row["open"]) == (
            "An earlier one",
            True,
            False,
            False,
        )
        session = row["sessionId"]
        assert session != "theirs"
        loaded = await editor.execute("sidecar.loadSession", {"sessionId": session})
        assert (loaded["history"], loaded["remembers"], loaded["title"]) == ("agent", True, "An earlier one")
        assert editor.said(session, "user_message_chunk", replay=True) == "change it"
        assert editor.said(session, replay=True) == "changed"
        await editor.wait_for(lambda: any(told["update"].get("title") == "Late" for told in editor.told))
        # nothing of it happened
        assert buffer.text == "typed old\n"
        assert file.read_text() == "old\n"
        assert await editor.execute("sidecar.listChanges") == []
        assert editor.activity() == []
        ended = await editor.prompt("go on", session)
        assert (ended["turn"], ended["changes"]) == (1, [])
        assert buffer.text == "typed old\n"
        assert await editor.execute("sidecar.listChanges") == []
        record = await editor.execute("sidecar.transcript", session)
        told = [
            entry["type"] for entry in record["entries"] if entry.get("update", {}).get("title") != "Late"
        ]
        assert told == ["update"] * 3 + ["prompt", "update", "end"]

        await editor.execute("sidecar.closeSession", session)
        assert (await editor.execute("sidecar.deleteSession", session))["deleted"] == [session]
    calls = {message["method"]: message["params"] for message in received(trace) if "method" in message}
    assert calls["session/load"]["sessionId"] == "theirs"
    assert calls["session/delete"] == {"sessionId": "theirs"}
    assert calls["session/load"]["cwd"] == str(folder)


RESUMES = {"initialize": initialize(sessionCapabilities={"resume": {}}), "session/resume": [{"reply": None}]}
LOADS = {
    "initialize": initialize(loadSession=True, sessionCapabilities={"resume": {}}),
    "session/load": [{"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "again"}}}, {"reply": {}}],
    "session/resume": [{"reply": {}}],
}  # fmt: skip
LOST = {
    "initialize": initialize(loadSession=True),
    "session/load": [{"fail": {"code": -32002, "message": "no such session"}}],
}
# agent · replay wanted · what is asked of it · whose history · remembers · what is shown
LOADING: dict[str, tuple[dict[str, Any], bool, list[str], str, bool, str]] = {
    "resume only": (RESUMES, True, ["session/resume"], "transcript", True, "one two"),
    "load": (LOADS, True, ["session/load"], "agent", True, "again"),
    "no replay wanted": (LOADS, False, ["session/resume"], "none", True, ""),
    "neither": ({}, True, [], "transcript", False, "one two"),
    "it has lost it": (LOST, True, ["session/load"], "transcript", False, "one two"),
}


async def test_loading_after_a_restart(tmp_path: Path, folder: Path) -> None:
    traces = {what: tmp_path / f"trace {what}" for what in LOADING}
    agents = {what: command({**PLAIN, **script}, traces[what]) for what, (script, *_) in LOADING.items()}
    sessions: dict[str, str] = {}
    async with an_editor(tmp_path, agents) as editor:
        for what in LOADING:
            sessions[what] = (await editor.execute("sidecar.newSession", what))["sessionId"]
            await editor.prompt("hello", sessions[what])
    for trace in traces.values():
        trace.unlink()
    async with an_editor(tmp_path, agents) as editor:
        rows = {row["agent"]: row["loads"] for row in await editor.execute("sidecar.listSessions")}
        assert rows == {what: "initialize" in script for what, (script, *_) in LOADING.items()}
        for what, (_, replay, _, history, remembers, shown) in LOADING.items():
            session = sessions[what]
            loaded = await editor.execute("sidecar.loadSession", {"sessionId": session, "replay": replay})
            assert (what, loaded["history"], loaded["remembers"]) == (what, history, remembers)
            assert ("note" in loaded) is not remembers, what
            assert editor.said(session, replay=True) == shown, what
            assert (await editor.prompt("go on", session))["stopReason"] == "end_turn", what
            assert editor.said(session) == "one two", what
        kept = await editor.execute("sidecar.deleteSession", sessions["load"])
        assert kept["kept"][0]["reason"] == "load keeps its own copy: it cannot delete conversations."
    for what, (_, _, methods, _, remembers, _) in LOADING.items():
        sent = [m for m in received(traces[what]) if str(m.get("method", "")).startswith("session/")]
        new = [] if remembers else ["session/new"]
        assert [m["method"] for m in sent] == [*methods, *new, "session/prompt"], what
        assert all(m["params"]["sessionId"] == "s1" for m in sent if "sessionId" in m["params"]), what


async def test_a_session_that_is_open_is_shown_again(tmp_path: Path, folder: Path) -> None:
    async with an_editor(tmp_path) as editor:
        session = (await editor.prompt("hello"))["sessionId"]
        loaded = await editor.execute("sidecar.loadSession", session)
        assert (loaded["history"], loaded["remembers"]) == ("transcript", True)
        assert editor.said(session, replay=True) == "one two"
        assert len(await editor.execute("sidecar.listSessions")) == 1


async def test_a_fork_through_every_layer(tmp_path: Path, folder: Path) -> None:
    """Open, after a restart, and of an agent that cannot: its row says so, and the command why."""
    trace = tmp_path / "trace"
    forks = {
        **PLAIN,
        "initialize": initialize(loadSession=True, sessionCapabilities={"fork": {}}),
        "session/fork": [{"reply": {"sessionId": "fork $id", "modes": MODES}}],
    }
    agents = {"forks": command(forks, trace), "plain": command(PLAIN)}
    async with an_editor(tmp_path, agents) as editor:
        opened = await editor.execute("sidecar.newSession", "forks")
        session = opened["sessionId"]
        assert opened["forks"] is True
        await editor.prompt("hello", session)
        plain = (await editor.execute("sidecar.newSession", "plain"))["sessionId"]
        await editor.prompt("hello", plain)
        rows = {row["sessionId"]: row["forks"] for row in await editor.execute("sidecar.listSessions")}
        assert rows == {session: True, plain: False}
        assert "plain cannot fork conversations." in await refused(editor, "sidecar.forkSession", plain)
        fork = await editor.execute("sidecar.forkSession", session)
        assert (fork["forkOf"], fork["title"], fork["modes"]) == (session, "hello (fork)", MODES)
        assert (await editor.prompt("further", fork["sessionId"]))["turn"] == 2
        assert editor.said(session) == editor.said(fork["sessionId"]) == "one two"
    async with an_editor(tmp_path, agents) as editor:
        again = await editor.execute("sidecar.forkSession", session)
        record = await editor.execute("sidecar.transcript", again["sessionId"])
        said = [entry["type"] for entry in record["entries"]]
        assert said == ["prompt", "update", "end"]
        assert len([row for row in await editor.execute("sidecar.listSessions") if row["open"]]) == 1
    asked = [m["params"]["sessionId"] for m in received(trace) if m.get("method") == "session/fork"]
    assert asked == ["s1", "s1"]


def joined(updates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pieces of one text that came after one another: how many it is told in depends on when they came."""
    found: list[dict[str, Any]] = []
    for update in updates:
        last = found[-1] if found else {}
        rest = {key: value for key, value in update.items() if key != "content"}
        if "chunk" in update["sessionUpdate"] and rest == {k: v for k, v in last.items() if k != "content"}:
            text = last["content"]["text"] + update["content"]["text"]
            found[-1] = {**update, "content": {"type": "text", "text": text}}
        else:
            found.append(update)
    return found


async def test_compaction_notices_names_and_sub_agents_are_told_and_recorded(
    tmp_path: Path, folder: Path
) -> None:
    meta = {"claudeCode": {"toolName": "Read", "parentToolUseId": "task"}}
    below = {
        "sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": "below "},
        "_meta": meta,
    }
    kept = {"sessionUpdate": "compaction_summary_chunk", "compactionId": "c"}
    said: list[dict[str, Any]] = [
        {"sessionUpdate": "tool_call", "toolCallId": "task", "title": "Look around"},
        {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Look at a file", "_meta": meta},
        below,
        below,
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "above"}},
        {"sessionUpdate": "notice", "severity": "warning", "title": "No server"},
        {"sessionUpdate": "compaction_update", "compactionId": "c", "status": "in_progress"},
        {**kept, "content": {"type": "text", "text": "What "}},
        {**kept, "content": {"type": "text", "text": "was said"}},
        {"sessionUpdate": "compaction_update", "compactionId": "c", "status": "completed"},
    ]
    trace = tmp_path / "trace"
    script = {"turns": [[{"update": update} for update in said]]}
    async with an_editor(tmp_path, {"fake": command(script, trace)}) as editor:
        session = (await editor.prompt("go"))["sessionId"]
        entries = (await editor.execute("sidecar.transcript", session))["entries"]
        live = [params["update"] for params in editor.told if params["sessionId"] == session]
        for told in (live, [entry["update"] for entry in entries if entry["type"] == "update"]):
            updates = joined(told)
            assert [update["sessionUpdate"] for update in updates] == [
                "tool_call", "tool_call", "agent_message_chunk", "agent_message_chunk", "notice",
                "compaction_update", "compaction_summary_chunk", "compaction_update",
            ]  # fmt: skip
            task, call, words, above, notice, _, summary, ended = updates
            assert call["name"] == "Read"
            assert [update.get("_meta", {}).get("parentToolCallId") for update in (task, call, words, above)] == [
                None, "task", "task", None,
            ]  # fmt: skip
            assert words["content"]["text"] == "below below "
            assert notice["title"] == "No server"
            assert summary["content"]["text"] == "What was said"
            assert ended["status"] == "completed"
    (asked,) = (m["params"] for m in received(trace) if m.get("method") == "initialize")
    session_offers = asked["clientCapabilities"]["session"]
    assert (session_offers["compaction"], session_offers["notices"]) == ({}, {}), "agents send them only then"


# several at once


async def test_two_agents_and_three_sessions_at_once(tmp_path: Path, folder: Path) -> None:
    """All three turns run together; ids of the agents' own collide on purpose."""
    (tmp_path / "extra").mkdir()
    (tmp_path / "extra" / "x.txt").write_text("extra\n")
    (folder / "f.txt").write_text("file\n")
    extra = str(tmp_path / "extra" / "x.txt")
    turn = [
        {"say": "$session begins "},
        {"wait_for": "session/prompt", "count": 2},
        {"read": extra, "as": "$session"},
        {"say": {"answer": "$session"}},
    ]
    traces = tmp_path / "trace1", tmp_path / "trace2"
    first = command({"turns": [turn]}, traces[0])
    alone = [{"say": "$session alone "}, {"write": str(folder / "f.txt"), "content": "file\nmore\n"}]
    second = command({"turns": [alone]}, traces[1])
    async with an_editor(tmp_path, {"first": first, "second": second}) as editor:
        one = await editor.execute(
            "sidecar.newSession", {"agent": "first", "additionalDirectories": [str(tmp_path / "extra")]}
        )
        two = await editor.execute("sidecar.newSession", {"agent": "first"})
        three = await editor.execute("sidecar.newSession", {"agent": "second"})
        ids = [session["sessionId"] for session in (one, two, three)]
        ended = await asyncio.gather(*(editor.prompt("go", session) for session in ids))
        assert [outcome["sessionId"] for outcome in ended] == ids
        assert [outcome["stopReason"] for outcome in ended] == ["end_turn"] * 3
        # the roots of a session are its own
        assert '"content": "extra\\n"' in editor.said(ids[0])
        assert editor.said(ids[0]).startswith("s1 begins ")
        assert "path_outside_workspace" in editor.said(ids[1])
        assert editor.said(ids[2]) == "s1 alone "
        assert [len(outcome["changes"]) for outcome in ended] == [0, 0, 1]
        (change,) = await editor.execute("sidecar.listChanges")
        assert change["sessionId"] == ids[2]
        assert {row["sessionId"]: row["agent"] for row in await editor.execute("sidecar.listSessions")} == {
            ids[0]: "first", ids[1]: "first", ids[2]: "second"
        }  # fmt: skip
        read = [seen for seen in editor.activity() if seen["sessionId"] == ids[0]]
        assert [(seen["kind"], seen["outcome"], seen["turn"]) for seen in read] == [("read", "ok", 1)]
        assert read[0]["uri"].endswith("/extra/x.txt")
        outcomes = {seen["sessionId"]: (seen["kind"], seen["outcome"]) for seen in editor.activity()}
        assert outcomes[ids[1]] == ("read", "path_outside_workspace")
        assert outcomes[ids[2]] == ("write", "ok")
        # one ends, the others go on
        await editor.execute("sidecar.closeSession", ids[0])
        assert (await editor.prompt("again", ids[2]))["stopReason"] == "end_turn"
        assert editor.states("first") == ["starting", "running"]
        await editor.execute("sidecar.closeSession", ids[1])
        await editor.wait_for(lambda: editor.states("first") == ["starting", "running", "stopped"])
        for session in (ids[0], ids[2]):
            record = await editor.execute("sidecar.transcript", session)
            assert ("s1 alone" in json.dumps(record)) is (session == ids[2])


async def test_an_agent_that_dies_is_told(tmp_path: Path, folder: Path) -> None:
    dies = command({"turns": [[{"stderr": "out of memory\n"}, {"exit": 3}]]})
    async with an_editor(tmp_path, {"fake": dies}) as editor:
        session = (await editor.execute("sidecar.newSession"))["sessionId"]
        with pytest.raises(ErrorAnswer, match="exited with code 3"):
            await editor.prompt("go", session)
        await editor.wait_for(lambda: editor.states("fake")[-1] == "failed")
        state = [params for method, params in editor.notifications if method == "sidecar/agentState"][-1]
        assert (state["sessions"], state["name"]) == ([session], "fake")
        assert "out of memory" in state["message"]
        assert editor.turns[-1]["errorKind"] == "exited"


# choices

MODES = {
    "currentModeId": "ask",
    "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
}
EFFORT = {
    "id": "effort", "name": "Effort", "type": "select", "currentValue": "low",
    "options": [{"group": "g", "name": "G", "options": [{"value": "low", "name": "L"}, {"value": "high", "name": "H"}]}],
}  # fmt: skip
LOUD = {"id": "loud", "name": "Loud", "type": "boolean", "currentValue": False}
MODELS = {
    "currentModelId": "small",
    "availableModels": [{"modelId": "small", "name": "Small"}, {"modelId": "big", "name": "Big"}],
}


ABLE = {"modes": MODES, "models": MODELS}
# how the agent takes up a conversation of an earlier run of the sidecar
TAKES_UP: dict[str, dict[str, Any]] = {
    "loads": {"initialize": initialize(loadSession=True), "session/load": [{"reply": ABLE}]},
    "resumes": {
        "initialize": initialize(sessionCapabilities={"resume": {}}),
        "session/resume": [{"reply": ABLE}],
    },
    "forgets": {},
}


async def test_pickers_however_the_session_was_made(tmp_path: Path, folder: Path) -> None:
    """New, by a prompt, after a restart of the server, after the agent's death: the client is told once, with all of it."""
    new = {"session/new": [{"reply": {"sessionId": "s1", **ABLE}}], "turns": [[]]}
    agents = {what: command({**new, **script}) for what, script in TAKES_UP.items()}
    agents["dies"] = command({**new, "turns": [[], [{"exit": 3}], []]})

    def told(editor: TalkingEditor, session: str) -> list[Any]:
        found = [params for method, params in editor.notifications if method == "sidecar/sessionOpened"]
        mine = [params for params in found if params["sessionId"] == session]
        assert all(params["modes"] == MODES for params in mine)
        assert all([o["id"] for o in params["configOptions"]] == ["sidecar.model"] for params in mine)
        return [params["agent"] for params in mine]

    sessions: dict[str, str] = {}
    async with an_editor(tmp_path, agents, defaultAgent="dies") as editor:
        for what in TAKES_UP:
            sessions[what] = (await editor.execute("sidecar.newSession", what))["sessionId"]
            await editor.prompt("hello", sessions[what])
            assert told(editor, sessions[what]) == [what]
        dies = (await editor.prompt("hello"))["sessionId"]
        assert told(editor, dies) == ["dies"], "a prompt made it"
        with pytest.raises(ErrorAnswer):
            await editor.prompt("die", dies)
        await editor.prompt("again", dies)
        assert told(editor, dies) == ["dies", "dies"], "the agent was started again"
    async with an_editor(tmp_path, agents) as editor:
        for what, session in sessions.items():
            loaded = await editor.execute("sidecar.loadSession", session)
            assert ("modes" in loaded, "configOptions" in loaded) == (what != "forgets",) * 2, what
            await editor.prompt("go on", session)
            assert told(editor, session) == [what]
            row = next(
                row for row in await editor.execute("sidecar.listSessions") if row["sessionId"] == session
            )
            assert row["modes"] == MODES, what


async def test_modes_options_and_models(tmp_path: Path, folder: Path) -> None:
    trace = tmp_path / "trace"
    now = {"sessionUpdate": "current_mode_update", "currentModeId": "ask"}
    script = {
        "session/new": [{"reply": {"sessionId": "s1", "modes": MODES, "configOptions": [EFFORT, LOUD], "models": MODELS}}],
        "session/set_config_option": [{"reply": {"configOptions": [{**EFFORT, "currentValue": "high"}, LOUD]}}],
        "turns": [[{"update": now}]],
    }  # fmt: skip
    async with an_editor(tmp_path, {"fake": command(script, trace)}) as editor:
        opened = await editor.execute("sidecar.newSession")
        session = opened["sessionId"]
        assert opened["modes"] == MODES
        assert [option["id"] for option in opened["configOptions"]] == ["effort", "loud", "sidecar.model"]
        assert [option["currentValue"] for option in opened["configOptions"]] == ["low", False, "small"]
        assert opened["configOptions"][2]["category"] == "model"

        mode = await editor.execute("sidecar.setMode", {"sessionId": session, "modeId": "code"})
        assert mode == {"modes": {**MODES, "currentModeId": "code"}}
        choices = [("effort", "high"), ("sidecar.model", "big")]
        for config, value in choices:
            argument = {"sessionId": session, "configId": config, "value": value}
            options = (await editor.execute("sidecar.setConfigOption", argument))["configOptions"]
        assert [option["currentValue"] for option in options] == ["high", False, "big"]
        (row,) = await editor.execute("sidecar.listSessions")
        assert row["modes"]["currentModeId"] == "code"
        assert [option["currentValue"] for option in row["configOptions"]] == ["high", False, "big"]
        await editor.prompt("go", session)  # the agent goes back by itself
        (row,) = await editor.execute("sidecar.listSessions")
        assert row["modes"]["currentModeId"] == "ask"

        for name, wrong, words in (
            ("sidecar.setMode", {"modeId": "no"}, 'no mode "no" here (ask, code)'),
            ("sidecar.setConfigOption", {"configId": "no", "value": "x"}, 'no option "no" here (effort, loud, sidecar.model)'),
            ("sidecar.setConfigOption", {"configId": "effort", "value": "x"}, 'no value "x" here (low, high)'),
            ("sidecar.setConfigOption", {"configId": "effort", "value": True}, "must be a text"),
            ("sidecar.setConfigOption", {"configId": "loud", "value": "x"}, "true or false"),
            ("sidecar.setConfigOption", {"configId": "sidecar.model", "value": "x"}, 'no value "x" here (small, big)'),
        ):  # fmt: skip
            assert words in await refused(editor, name, {"sessionId": session, **wrong})
        assert "no session" in await refused(editor, "sidecar.setMode", {"sessionId": "nope", "modeId": "x"})
    sent = [
        (m["method"], m["params"]) for m in received(trace) if str(m.get("method")).startswith("session/set")
    ]
    assert sent == [
        ("session/set_mode", {"sessionId": "s1", "modeId": "code"}),
        ("session/set_config_option", {"sessionId": "s1", "configId": "effort", "value": "high"}),
        ("session/set_model", {"sessionId": "s1", "modelId": "big"}),
    ]


async def test_an_agent_without_choices(tmp_path: Path, folder: Path) -> None:
    async with an_editor(tmp_path) as editor:
        session = (await editor.execute("sidecar.newSession"))["sessionId"]
        words = await refused(editor, "sidecar.setMode", {"sessionId": session, "modeId": "x"})
        assert words.endswith("fake has no modes in this session.")
        wrong = {"sessionId": session, "configId": "x", "value": "y"}
        assert "fake has no options" in await refused(editor, "sidecar.setConfigOption", wrong)


async def test_whether_an_agent_takes_pictures(tmp_path: Path, folder: Path) -> None:
    """Three agents of one sidecar: one takes them, one does not, and one says it in a way that does not count."""
    said: dict[str, object] = {"does": True, "does not": False, "says yes": "yes"}
    agents = {
        name: command(
            {**PLAIN, "initialize": initialize(promptCapabilities={"image": image}, loadSession=True)}
        )
        for name, image in said.items()
    }
    expected = {"does": {"image": True}, "does not": None, "says yes": None}
    opened: dict[str, str] = {}
    async with an_editor(tmp_path, agents) as editor:
        for name in said:
            new = await editor.execute("sidecar.newSession", name)
            assert new.get("promptCapabilities") == expected[name], name
            await editor.prompt("go", new["sessionId"])
            opened[name] = new["sessionId"]
        rows = {row["agent"]: row for row in await editor.execute("sidecar.listSessions")}
        assert {name: row.get("promptCapabilities") for name, row in rows.items()} == expected
    async with an_editor(tmp_path, agents) as editor:
        for name, session in opened.items():
            loaded = await editor.execute("sidecar.loadSession", session)
            assert loaded.get("promptCapabilities") == expected[name], name


# agents and servers


async def test_agents_on_path_are_found_and_ask_before_they_start(tmp_path: Path, folder: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    agent = command(PLAIN)
    program = programs / "opencode"
    quoted = " ".join("'" + word.replace("'", "'\"'\"'") + "'" for word in (agent.command, *agent.args))
    program.write_text(f"#!/bin/sh\nexec {quoted}\n")
    program.chmod(0o755)
    path = {"PATH": f"{programs}:/usr/bin:/bin"}
    async with TalkingEditor(tmp_path / "state", folder, {}, environment=path) as editor:
        rows = {row["id"]: row for row in await editor.execute("sidecar.listAgents")}
        assert rows["opencode"] == {
            "id": "opencode",
            "name": "opencode",
            "source": "found",
            "installed": True,
        }
        assert rows["demo"]["source"] == "demo"
        assert "opencode" in await refused(editor, "sidecar.newSession", None)  # named, never the default
        opened = await editor.execute("sidecar.newSession", "opencode")
        assert (await editor.prompt("go", opened["sessionId"]))["stopReason"] == "end_turn"
        (question,) = editor.questions
        assert f"{program} acp" in question.text
        rows = {row["id"]: row for row in await editor.execute("sidecar.listAgents")}
        assert (rows["opencode"]["name"], rows["opencode"]["version"]) == ("fake", "1")
    async with TalkingEditor(tmp_path / "state", folder, {}, environment=path) as editor:
        await editor.execute("sidecar.newSession", "opencode")
        assert editor.questions == []  # it was approved for good


async def test_mcp_servers_of_the_settings_go_along(tmp_path: Path, folder: Path) -> None:
    trace = tmp_path / "trace"
    servers = {
        "files": {"command": "/bin/files-mcp", "args": ["-v"], "env": {"A": "1"}},
        "web": {"type": "http", "url": "https://mcp.example/", "headers": {"X": "y"}},
        "given": {"command": "/bin/never"},
        "wrong": {"args": []},
    }
    script = {"initialize": initialize(mcpCapabilities={"http": True})}
    given = {"name": "given", "command": "/bin/given", "args": [], "env": []}
    async with an_editor(
        tmp_path, {"fake": command(script, trace)}, mcpServers=servers, ownTools="off"
    ) as editor:
        await editor.execute("sidecar.newSession", {"mcpServers": [given]})
        asked = [question.text for question in editor.questions if "MCP server" in question.text]
        assert len(asked) == 2
        assert "/bin/files-mcp -v" in asked[0]
        assert "https://mcp.example/" in asked[1]
        await editor.execute("sidecar.newSession")
        assert any('MCP server "wrong" needs either' in text for _, text in editor.messages)
    (first, second) = [m["params"]["mcpServers"] for m in received(trace) if m.get("method") == "session/new"]
    files = {
        "name": "files",
        "command": "/bin/files-mcp",
        "args": ["-v"],
        "env": [{"name": "A", "value": "1"}],
    }
    web = {
        "type": "http",
        "name": "web",
        "url": "https://mcp.example/",
        "headers": [{"name": "X", "value": "y"}],
    }
    assert first == [given, files, web]
    never = {"name": "given", "command": "/bin/never", "args": [], "env": []}
    assert second == [files, web, never]


async def test_an_mcp_server_that_is_refused_is_left_out(tmp_path: Path, folder: Path) -> None:
    trace = tmp_path / "trace"
    servers = {"files": {"command": "/bin/files-mcp"}}
    async with an_editor(
        tmp_path, {"fake": command(PLAIN, trace)}, mcpServers=servers, ownTools="off"
    ) as editor:
        editor.answer = lambda text, titles: None if "MCP" in text else titles[-1]
        await editor.execute("sidecar.newSession")
        assert any("was not given the MCP server files" in text for _, text in editor.messages)
    (params,) = [m["params"] for m in received(trace) if m.get("method") == "session/new"]
    assert params["mcpServers"] == []
