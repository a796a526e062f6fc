"""Our MCP server as Copilot CLI starts it: from a file that its command line names, for all of its sessions. The real agent is tests/e2e/test_given_tools.py's."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.gates.product import Product, a_product
from tests.mcp.live import SCRIPT, Calls

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at an agent's command line in /proc")


async def begun(product: Product) -> tuple[Any, asyncio.Task[Any]]:
    """A session whose turn lasts until it is cancelled."""
    session = await product.session("copilot")
    turn = asyncio.ensure_future(product.prompt(session))
    await product.wait_for(lambda: product.said(session) == "begun")
    return session, turn


async def test_it_works_in_the_session_that_has_a_turn(tmp_path: Path) -> None:
    """With two at once, it is nobody's call."""
    workspace, traces = tmp_path / "ws", tmp_path / "traces"
    for folder in (workspace, traces):
        folder.mkdir()
    path = workspace / "a.txt"
    path.write_text("one\n")
    async with a_product(workspace, {"copilot": SCRIPT}, traces=traces, ownTools="all") as product:
        session, turn = await begun(product)
        status: Any = await product.execute("sidecar.status")
        (agent,) = (row for row in status["agents"] if row["agent"] == "copilot")
        words = Path(f"/proc/{agent['pid']}/cmdline").read_text().split("\0")
        file = Path(words[words.index("--additional-mcp-config") + 1].removeprefix("@"))
        told = json.loads(file.read_text())["mcpServers"]["sidecar"]
        assert told["env"]["ACP_SIDECAR_TOKEN"] not in " ".join(words)
        product.open(path)
        product.type(path, "typed\n", at=0)
        started = StdioServerParameters(command=told["command"], args=told["args"], env=told["env"])
        async with Client(started) as client:
            calls = Calls(client)
            assert "typed" in await calls.call("Read", file_path=str(path))
            await calls.call("Edit", file_path=str(path), old_string="typed", new_string="TYPED")
            assert product.document(path).text == "TYPED\none\n"
            another, its_turn = await begun(product)
            await calls.refused("Read", file_path=str(path))
        for one in (session, another):
            await product.execute("sidecar.cancel", {"sessionId": one["sessionId"]})
        await asyncio.gather(turn, its_turn)
        rows: Any = await product.execute("sidecar.listChanges")
        assert [row["agent"] for row in rows] == ["copilot"]
    assert not file.exists()
