"""With a client that nobody here wrote: the Python SDK's own, which checks every message against its models."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import acp

from tests.attach.attached import ATTACH, Waiting, an_editor
from tests.attach.test_attached_questions import ASKS
from tests.proxy.talk import HANGS, Message, processes
from tests.proxy.test_sdk_client import Person

pytestmark = processes
MODES = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "do", "name": "Do"}]}
COMMANDS = {
    "sessionUpdate": "available_commands_update",
    "availableCommands": [{"name": "plan", "description": "makes a plan"}],
}


def kinds_of(person: Person) -> list[str]:
    return [update.session_update for update in person.updates]


async def test_the_sdks_client_drives_and_loads_a_conversation(tmp_path: Path) -> None:
    call: Message = {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "looks", "kind": "read"}
    turn: list[Message] = [{"update": COMMANDS}, {"update": call}, *ASKS]
    opens = [{"reply": {"sessionId": "s1", "modes": MODES}}]
    folder = tmp_path / "ws"
    program, *arguments = ATTACH
    person: Any = Person()
    other: Any = Person()
    script: Message = {"session/new": opens, "session/set_mode": [{"reply": {}}]}
    async with (
        an_editor(tmp_path, turn, script=script, make=Waiting),
        acp.spawn_agent_process(
            person, program, *arguments, "--agent", "robot", env=dict(os.environ), cwd=folder
        ) as (one, _),
    ):
        hello = await one.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert hello.agent_capabilities is not None
        assert hello.agent_capabilities.load_session
        opened = await one.new_session(cwd=str(folder), mcp_servers=[])
        assert opened.modes is not None
        assert opened.modes.current_mode_id == "ask"
        session = opened.session_id
        await one.set_session_mode(session_id=session, mode_id="do")
        done = await one.prompt(session_id=session, prompt=[acp.text_block("go")])
        assert done.stop_reason == "end_turn"
        assert person.asked == ["t1"]
        assert '"yes"' in "".join(
            u.content.text for u in person.updates if hasattr(u, "content") and u.content
        )
        async with acp.spawn_agent_process(other, program, *arguments, env=dict(os.environ), cwd=folder) as (
            two,
            _,
        ):
            await two.initialize(protocol_version=acp.PROTOCOL_VERSION)
            listed = await two.list_sessions(cwd=str(folder))
            assert [row.session_id for row in listed.sessions] == [session]
            loaded = await two.load_session(cwd=str(folder), session_id=session, mcp_servers=[])
            assert loaded.modes is not None
            assert loaded.modes.current_mode_id == "do"
            async with asyncio.timeout(HANGS):
                while COMMANDS["sessionUpdate"] not in kinds_of(other):  # noqa: ASYNC110 - the SDK tells nobody
                    await asyncio.sleep(0.01)
            assert kinds_of(other)[:2] == ["user_message_chunk", "tool_call"]
