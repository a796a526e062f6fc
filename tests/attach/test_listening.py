"""What a client that loads a conversation hears: all that was said, once, however much is said meanwhile; and what the inbox does with it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sidecar.attach import inbox
from sidecar.attach.attached import Attached
from sidecar.attach.inbox import Inbox
from sidecar.records import Records
from sidecar.records.folder import RecordFolder
from tests.support.workspaces import a_workspace
from tests.workspace.test_conversations import Editor, text


async def test_nothing_is_missed_or_heard_twice_while_a_conversation_is_loaded(tmp_path: Path) -> None:
    """A number is said in each step of the loop, before, while and after the record is read."""
    records = Records(RecordFolder(tmp_path / "records"))
    async with a_workspace(tmp_path, editor=Editor(), records=records) as bench:
        workspace, session = bench.workspace, bench.session
        _, _, outcome = workspace.start_prompt(session, [text("count")["content"]])
        agents: Any = workspace._agents
        while agents.stop is None:  # noqa: ASYNC110 - the agent has its prompt; no event says so
            await asyncio.sleep(0)
        client = Attached(workspace)
        methods = client.methods()
        await methods["attach"]({"client": "c", "folder": str(tmp_path)})
        loading = asyncio.ensure_future(methods["loadSession"]({"sessionId": session, "tag": 7}))
        said = 0
        while not loading.done() or said < 100:
            workspace.session_update(session, text(f"{said},"))
            said += 1
            await asyncio.sleep(0)
        assert await loading == {}
        events: list[Any] = []
        while not events or events[-1].get("update") != text(f"{said - 1},"):
            answer: Any = await methods["events"]({})
            events += answer["events"]
        updates = [event["update"] for event in events if "update" in event]
        chunks = [u for u in updates if u["sessionUpdate"] == "agent_message_chunk"]
        assert "".join(u["content"]["text"] for u in chunks) == "".join(f"{n}," for n in range(said))
        assert updates[0] == text("count", "user_message_chunk")
        assert [event["answer"] for event in events if "answer" in event] == [7]
        agents.stop.set_result("end_turn")
        assert (await outcome)["stopReason"] == "end_turn"
        client.gone()
    await records.aclose()


async def test_a_gate_holds_back_what_comes_behind_it() -> None:
    box = Inbox(lambda: None)
    box.put({"n": 1})
    gate = box.gate()
    box.put({"n": 4})
    assert await box.take(1) == [{"n": 1}]
    assert await box.take(0.01) == []
    gate.open([{"n": 2}, {"n": 3}])
    assert await box.take(1) == [{"n": 2}, {"n": 3}, {"n": 4}]
    assert box._size == box._count == 0


async def test_a_full_inbox_says_so_once_and_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "MOST_EVENTS", 3)
    full: list[int] = []
    box = Inbox(lambda: full.append(1))
    for n in range(10):
        box.put({"n": n})
    assert full == [1]
    assert await box.take(0.01) == []
