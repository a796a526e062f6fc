"""`acp-sidecar proxy` between a client and an agent that nobody here wrote. fast-agent's tools for files are its client's: without the proxy, a client
without files leaves it without any tools (test_fast_agent.py).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import fast_agent
from tests.e2e.acp_client import AcpClient
from tests.gates.product import Product, a_product
from tests.proxy.talk import agent, behind_proxy
from tests.proxy.test_live import until_it_can_be_found, yes
from tests.support import tools
from tests.support.clients import acpx, typescript_client

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no bridge on Windows yet")
BASE = "one\ntwo\nthree\n"


@asynccontextmanager
async def an_editor(folder: Path) -> AsyncGenerator[tuple[Product, Path]]:
    """With a file whose first line is not on the disk."""
    path = folder / "a.txt"
    path.write_text(BASE)
    async with a_product(folder, {}, answer=yes) as product:
        await until_it_can_be_found(folder)
        product.open(path)
        product.type(path, "typed\n", at=0)
        yield product, path


def proxied(home: Path) -> tuple[list[str], dict[str, str]]:
    """fast-agent behind the proxy, and what it needs in its environment."""
    settings: Any = fast_agent.settings(tools.require("fast-agent"), home, "--no-permissions")["agents"]
    one = settings[fast_agent.NAME]
    return behind_proxy([one["command"], *one["args"]]), {"HOME": one["env"]["HOME"]}


async def test_fast_agent_reads_and_writes_the_live_text_for_a_client_without_files(
    tmp_path: Path, workspace: Path
) -> None:
    command, env = proxied(tmp_path / "home")

    def drive(path: Path) -> str:
        with AcpClient(command, env, workspace, fs=False) as client:
            assert client.prompt(fast_agent.read(path)) == "end_turn"
            assert client.prompt(fast_agent.write(path, "typed\n" + BASE.upper())) == "end_turn"
            assert client.requests("fs/read_text_file") == []
            return client.said()

    async with an_editor(workspace) as (product, path):
        assert "typed\none" in await asyncio.to_thread(drive, path)
        assert product.document(path).text == "typed\n" + BASE.upper()
        assert path.read_text() == BASE
        changes = await product.execute("sidecar.listChanges", {})
        assert {change["agent"] for change in changes} == {"fast-agent-acp (proxy)"}


@pytest.mark.agents
async def test_acpx_drives_fast_agent_behind_the_proxy(tmp_path: Path, workspace: Path) -> None:
    command, env = proxied(tmp_path / "home")
    async with an_editor(workspace) as (product, path):
        for prompt, wanted in (
            (fast_agent.read(path), "typed\none"),
            (fast_agent.write(path, "typed\n" + BASE.upper()), ""),
        ):
            heard = await acpx(command, prompt, workspace, env)
            assert wanted in heard.said
            assert heard.stop_reason == "end_turn"
        assert product.document(path).text == "typed\n" + BASE.upper()
        assert path.read_text() == BASE


@pytest.mark.agents
async def test_the_typescript_sdks_example_client_gets_the_live_text(tmp_path: Path, workspace: Path) -> None:
    """It answers reads with "Mock file content": the proxy answers them in its place."""
    async with an_editor(workspace) as (product, path):
        option = {"optionId": "yes", "name": "Yes", "kind": "allow_once"}
        steps: list[dict[str, Any]] = [
            {"read": str(path), "as": "read"},
            {"ask": {"toolCall": {"toolCallId": "t", "title": "asks"}, "options": [option]}, "as": "asked"},
            {"write": str(path), "content": "typed\n" + BASE.upper()},
            {"say": {"answer": "read"}},
            {"say": {"answer": "asked"}},
        ]
        command = behind_proxy(agent({"turns": [steps]}, file=tmp_path / "script"))
        said = await typescript_client(command, workspace, tmp_path)
        assert "Agent completed with: end_turn" in said
        assert "Read text file called" not in said
        assert '{"content": "typed\\none\\ntwo\\nthree\\n"}' in said
        assert '"optionId": "yes"' in said
        assert product.document(path).text == "typed\n" + BASE.upper()
