"""A client that is attached, as a process of its own, to a sidecar with a scripted agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sidecar.core.json_types import JsonDict
from tests.gates.product import COMMAND, Answer, Product, a_product
from tests.proxy.talk import Message, Talk
from tests.proxy.test_live import until_it_can_be_found, yes

ATTACH = [COMMAND[0], "acp"]


class Client(Talk):
    """With the messages of the agent in the order in which they came."""

    def __init__(self, folder: Path, *options: str) -> None:
        super().__init__([*ATTACH, *options], folder)

    async def hello(self, name: str = "tester", capabilities: Message | None = None) -> Message:
        info = {"name": name, "version": "1"}
        can = capabilities or {}
        return await self.ask(
            "initialize", {"protocolVersion": 1, "clientCapabilities": can, "clientInfo": info}
        )

    async def new(self) -> str:
        answer = await self.ask("session/new", {"cwd": str(self.cwd), "mcpServers": []})
        return str(answer["result"]["sessionId"])

    async def load(self, session: str) -> Message:
        return await self.ask("session/load", {"sessionId": session, "cwd": str(self.cwd), "mcpServers": []})

    def updates(self) -> list[Message]:
        return [m["params"]["update"] for m in self.asked if m["method"] == "session/update"]

    def texts(self, kind: str = "agent") -> str:
        """What was said by the agent, or the user."""
        return "".join(
            u["content"]["text"] for u in self.updates() if u["sessionUpdate"] == f"{kind}_message_chunk"
        )

    def requests(self, method: str) -> list[Message]:
        return [m for m in self.asked if m["method"] == method]


@asynccontextmanager
async def an_editor(
    tmp_path: Path,
    *turns: Sequence[Message],
    answer: Answer = yes,
    script: Message | None = None,
    **options: Any,
) -> AsyncGenerator[Product]:
    """With an agent "robot" that does these steps, one list for each prompt, in `tmp_path/ws`. `script`: what else it does."""
    folder = tmp_path / "ws"
    folder.mkdir(exist_ok=True)
    scripts = {"robot": {**(script or {}), "turns": [list(turn) for turn in turns]}}
    async with a_product(folder, scripts, answer=answer, scripts_in=tmp_path, **options) as product:
        await until_it_can_be_found(folder)
        yield product


@asynccontextmanager
async def clients(folder: Path, count: int, *options: str) -> AsyncGenerator[list[Client]]:
    """That have said hello."""
    made = [Client(folder, *options) for _ in range(count)]
    async with asyncio.timeout(240):
        try:
            for client in made:
                await client.__aenter__()
            await asyncio.gather(*(client.hello(f"client {n}") for n, client in enumerate(made)))
            yield made
        finally:
            for client in made:
                await client.__aexit__()


class Waiting(Product):
    """Its user lets clients attach at once, and answers other questions when told to."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.asked: list[asyncio.Future[object]] = []
        """Questions of agents, as they came: done when answered, cancelled when withdrawn."""

    def ask(self, params: JsonDict) -> object:
        if "(attached)" in params["message"]:
            return super().ask(params)
        self.asked.append(asyncio.get_running_loop().create_future())
        return self.asked[-1]
