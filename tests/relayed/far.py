"""An agent that runs elsewhere, in the middle of a turn, and the MCP server that it was told to start, started where it runs: by the same prefix."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from sidecar.approvals import Approvals
from sidecar.config import AgentCommand, Transport
from tests.gates.product import COMMAND, Answer, Product
from tests.mcp.live import SCRIPT, Live, offered
from tests.support.agents import command


def setting(agent: AgentCommand) -> dict[str, Any]:
    """As the settings have it; the user has approved it."""
    Approvals().remember(agent)
    by = agent.transport
    assert by is not None
    transport = {"command": list(by.command), "folders": dict(by.folders), "shell": by.shell}
    return {
        "command": agent.command,
        "args": list(agent.args),
        "env": dict(agent.env),
        "protocol": agent.protocol,
        "transport": transport | {"sidecar": by.sidecar},
    }


def there(by: Transport, server: Mapping[str, Any]) -> StdioServerParameters:
    """What starts the server where the agent runs."""
    env = [f"{pair['name']}={pair['value']}" for pair in server["env"]]
    words = ["/usr/bin/env", *env, server["command"], *server["args"]]
    argv = [*by.command, *(map(shlex.quote, words) if by.shell else words)]
    return StdioServerParameters(command=argv[0], args=argv[1:])


@asynccontextmanager
async def a_sidecar(
    project: Path,
    transports: Mapping[str, Transport],
    traces: Path,
    *,
    answer: Answer = lambda text, titles: None,
    script: dict[str, Any] = SCRIPT,
    protocol: Literal[1, 2] = 1,
    **options: Any,
) -> AsyncGenerator[Product]:
    traces.mkdir(exist_ok=True)
    agents = {
        name: setting(replace(command(script, traces / name), transport=by, protocol=protocol))
        for name, by in transports.items()
    }
    told = {"agents": agents, "client": {"sessionUpdates": True}, "ownTools": "all", **options}
    product = Product(COMMAND, project, options=told, answer=answer)
    async with product:
        yield product
        assert await product.stop(60) == 0, product.stderr
    assert "Traceback" not in "\n".join(product.stderr), product.stderr


@asynccontextmanager
async def a_turn(product: Product, agent: str) -> AsyncGenerator[Any]:
    """A session of the agent's whose turn lasts until the end."""
    opened = await product.session(agent)
    assert "error" not in opened, opened
    turn = asyncio.ensure_future(product.prompt(opened))
    await product.wait_for(lambda: product.said(opened) == "begun")
    yield opened
    await product.execute("sidecar.cancel", {"sessionId": opened["sessionId"]})
    await turn


@asynccontextmanager
async def a_far_agent(project: Path, by: Transport, traces: Path, **options: Any) -> AsyncGenerator[Live]:
    async with AsyncExitStack() as stack:
        product = await stack.enter_async_context(a_sidecar(project, {"far": by}, traces, **options))
        opened = await stack.enter_async_context(a_turn(product, "far"))
        (server,) = offered(traces / "far")
        client = await stack.enter_async_context(Client(there(by, server)))
        yield Live(product, opened["sessionId"], client, server)
