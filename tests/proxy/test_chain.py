"""A link of a conductor's chain: the test is the conductor, with a client and an agent in one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sidecar.proxy.chain import Chain
from sidecar.proxy.passing import Passing
from tests.gates.product import COMMAND
from tests.proxy.talk import Message, Talk, processes
from tests.proxy.test_passing import Nobody


@asynccontextmanager
async def a_link(folder: Path, prefix: str) -> AsyncIterator[Talk]:
    """After the handshake, with a session `s`."""
    async with Talk([COMMAND[0], "proxy", "--name", "robot"], folder) as talk:

        def agent(message: Message) -> Message | None:
            assert message["method"] == f"{prefix}successor"
            match message["params"]["method"]:
                case "initialize":
                    files = message["params"]["params"]["clientCapabilities"]["fs"]
                    assert files == {"readTextFile": True, "writeTextFile": True}
                    return {"result": {"protocolVersion": 1, "agentCapabilities": {"x": 1}, "n": 1.0}}
                case "session/new":
                    return {"result": {"sessionId": "s"}}
                case "session/prompt":
                    return None
                case method:
                    return {"result": {"asked": method, "params": message["params"].get("params")}}

        talk.answer = agent
        hello = await talk.ask(f"{prefix}initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        assert hello["result"]["agentCapabilities"] == {"x": 1, "mcpCapabilities": {"acp": True}}
        await talk.ask("session/new", {"cwd": str(folder), "mcpServers": []})
        yield talk


@processes
@pytest.mark.parametrize("prefix", ["proxy/", "_proxy/"])
async def test_a_link_passes_on_and_serves_files(tmp_path: Path, prefix: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\n")
    async with a_link(tmp_path, prefix) as talk:
        params = {"deep": [1.5, {"_meta": {}}]}
        assert (await talk.ask("_vendor/x", params))["result"] == {"asked": "_vendor/x", "params": params}
        talk.tell("session/cancel", {"sessionId": "s"})
        await talk.until(lambda: talk.asked[-1]["params"].get("method") == "session/cancel")
        assert "id" not in talk.asked[-1]
        prompt: Any = {"jsonrpc": "2.0", "id": "p", "method": "session/prompt", "params": {"sessionId": "s"}}
        talk.write(json.dumps(prompt).encode() + b"\n")
        await talk.until(lambda: talk.asked[-1].get("id") == "p")

        async def of_agent(method: str, params: Message) -> Message:
            return await talk.ask(f"{prefix}successor", {"method": method, "params": params})

        wrote = await of_agent(
            "fs/write_text_file", {"sessionId": "s", "path": str(path), "content": "two\n"}
        )
        assert wrote["result"] == {"_meta": {"saved": True}}
        read = await of_agent("fs/read_text_file", {"sessionId": "s", "path": str(path)})
        assert read["result"] == {"content": "two\n"}
        talk.answer = lambda message: {"result": {"client": message["method"]}}
        assert (await of_agent("session/request_permission", {"sessionId": "s"}))["result"] == {
            "client": "session/request_permission"
        }
        update = {"sessionId": "s", "update": {"sessionUpdate": "x"}}
        talk.tell(f"{prefix}successor", {"method": "session/update", "params": update})
        await talk.until(lambda: talk.asked[-1]["method"] == "session/update")
        assert talk.asked[-1]["params"] == update
        assert await talk.hang_up() == 0
    assert path.read_text() == "two\n"


@processes
async def test_without_an_agent_and_a_conductor_it_says_what_to_do(tmp_path: Path) -> None:
    async with Talk([COMMAND[0], "proxy"], tmp_path) as talk:
        answer = await talk.ask("initialize", {"protocolVersion": 1})
        assert "name one after --" in answer["error"]["message"]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (
            b'{"method":"x","id":1}',
            b'{"jsonrpc":"2.0","id":1,"method":"proxy/successor","params":{"method":"x"}}',
        ),
        (
            b'{"method":"x\\u0001","params":{"n": 1.0}}',
            b'{"jsonrpc":"2.0","method":"proxy/successor","params":{"method":"x\\u0001","params":{"n": 1.0}}}',
        ),
        (
            b'{"method":"proxy/successor","id":"a","params":{"method":"y"}}',
            b'{"jsonrpc":"2.0","id":"a","method":"y"}',
        ),
        (
            b'{"method":"proxy/successor","id":2,"params":{"method":7}}',
            b'{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"Invalid params: there is no method"}}',
        ),
        (b'{"method":"proxy/successor","params":[]}', None),
        (b'{"id":5, "result":1e5}', b'{"id":5, "result":1e5}'),
        (b"junk", None),
        (b"[" * 100_000, None),
    ],
)
async def test_lines_of_a_chain(line: bytes, wanted: bytes | None) -> None:
    nobody = Nobody()
    chain = Chain(Passing(nobody, nobody))
    await chain.passes(b'{"id":0,"method":"proxy/initialize"}')
    assert await chain.passes(line) == wanted
