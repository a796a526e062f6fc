"""With a client that nobody here wrote: the Python SDK's own, which checks every message against its models."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import acp

from tests.gates.product import a_product
from tests.proxy.talk import Message, agent, behind_proxy, processes
from tests.proxy.test_live import BASE, until_it_can_be_found, yes

pytestmark = processes


class Person:
    """Answers permissions; offers no files."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.asked: list[str] = []

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        self.updates.append(update)

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **more: Any) -> Any:
        self.asked.append(tool_call.tool_call_id)
        chosen = {"outcome": "selected", "optionId": options[0].option_id}
        return acp.RequestPermissionResponse.model_validate({"outcome": chosen})

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"echo": params}

    def on_connect(self, conn: Any) -> None: ...


async def test_the_sdks_client_drives_a_turn(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    path = folder / "a.txt"
    path.write_text(BASE)
    option = {"optionId": "yes", "name": "Yes", "kind": "allow_once"}
    steps: list[Message] = [
        {"read": str(path), "as": "read"},
        {"ask": {"toolCall": {"toolCallId": "t7"}, "options": [option]}, "as": "asked"},
        {"request": "_vendor/x", "params": {"a": [1]}, "as": "vendor"},
        {"write": str(path), "content": "typed\n" + BASE.upper()},
        {"say": {"answer": "read"}},
        {"say": {"answer": "asked"}},
        {"say": {"answer": "vendor"}},
    ]
    program, *arguments = behind_proxy(agent({"turns": [steps]}, file=tmp_path / "script"))
    person = Person()
    async with a_product(folder, {}, answer=yes) as product:
        await until_it_can_be_found(folder)
        product.open(path)
        product.type(path, "typed\n", at=0)
        async with acp.spawn_agent_process(
            person,
            program,
            *arguments,
            env=dict(os.environ),
            cwd=folder,
        ) as (connection, _):
            await connection.initialize(protocol_version=acp.PROTOCOL_VERSION)
            session = (await connection.new_session(cwd=str(folder), mcp_servers=[])).session_id
            done = await connection.prompt(session_id=session, prompt=[acp.text_block("go")])
        assert done.stop_reason == "end_turn"
        said = " ".join(update.content.text for update in person.updates)
        assert '"typed\\none' in said
        assert '"optionId": "yes"' in said
        assert '{"echo": {"a": [1]}}' in said or '"echo"' in said
        assert person.asked == ["t7"]
        assert product.document(path).text == "typed\n" + BASE.upper()
