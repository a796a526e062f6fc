"""The tools as an agent has them: the real sidecar behind a headless editor, a session whose agent is in the middle of a turn, and the
MCP server that this agent was told to start, with the official library's client."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from sidecar.bridge.finding import containing
from tests.gates.product import Product, a_product
from tests.support.agents import received

SCRIPT = {"turns": [[{"say": "begun"}, {"wait_for": "session/cancel"}, {"stop": "cancelled"}]]}


class Calls:
    """Of an MCP client."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> str:
        """The text of the answer; fails when it is an error."""
        result = await self.client.call_tool(tool, arguments)
        text = "".join(getattr(block, "text", "") for block in result.content)
        assert not result.is_error, text
        return text

    async def refused(self, tool: str, **arguments: Any) -> str:
        result = await self.client.call_tool(tool, arguments)
        text = "\n".join(getattr(block, "text", "") for block in result.content)
        assert result.is_error, text
        return text


class Live(Calls):
    def __init__(self, product: Product, session: str, client: Client, server: Mapping[str, Any]) -> None:
        super().__init__(client)
        self.product = product
        self.session = session
        self.server = server
        """As `session/new` named it."""

    async def told(self, tool: str, **arguments: Any) -> Any:
        """The structured content."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        return result.structured_content


def found(folder: Path) -> bool:
    """Whether guests find a sidecar of this folder."""
    return any(str(folder) in entry.roots for entry in containing(str(folder), os.environ))


def offered(trace: Path) -> list[dict[str, Any]]:
    """The MCP servers of each `session/new` that the agent got, in order."""
    return [
        server
        for message in received(trace)
        if message.get("method") == "session/new"
        for server in message["params"]["mcpServers"]
    ]


def parameters(server: Mapping[str, Any], **more: str) -> StdioServerParameters:
    env = {pair["name"]: pair["value"] for pair in server["env"]} | more
    return StdioServerParameters(command=server["command"], args=list(server["args"]), env=env)


@asynccontextmanager
async def a_live_agent(
    folder: Path, traces: Path, agents: Sequence[str] = ("one",), **options: Any
) -> AsyncIterator[Live]:
    """`folder` is the workspace. The agent's turn lasts until the end."""
    traces.mkdir(exist_ok=True)
    async with a_product(
        folder, dict.fromkeys(agents, SCRIPT), traces=traces, **{"ownTools": "all", **options}
    ) as product:
        opened = await product.session(agents[0])
        assert "error" not in opened, opened
        turn = asyncio.ensure_future(product.prompt(opened))
        await product.wait_for(lambda: product.said(opened) == "begun")
        (server,) = offered(traces / agents[0])
        async with Client(parameters(server)) as client:
            yield Live(product, opened["sessionId"], client, server)
        await product.execute("sidecar.cancel", {"sessionId": opened["sessionId"]})
        await turn
