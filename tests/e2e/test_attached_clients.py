"""`acp-sidecar acp` with clients that nobody here wrote: acpx, and the TypeScript SDK's example client."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from pathlib import Path

import pytest

from tests.attach.attached import ATTACH, an_editor
from tests.proxy.talk import processes
from tests.support import tools

pytestmark = [processes, pytest.mark.agents]


async def test_acpx_prompts_an_agent_of_the_editors(tmp_path: Path) -> None:
    acpx = tools.require("acpx")
    folder = tmp_path / "ws"
    async with an_editor(tmp_path, [{"say": "from the editor's agent"}]) as product:
        process = await asyncio.create_subprocess_exec(
            *(acpx.command, "--cwd", str(folder), "--no-fs", "--approve-all", "--format", "json"),
            *("--agent", shlex.join(ATTACH), "exec", "go"),
            cwd=folder,
            env=dict(os.environ),
            stdout=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(120):
            out, _ = await process.communicate()
        messages = [json.loads(line) for line in out.splitlines()]
        updates = [m["params"]["update"] for m in messages if m.get("method") == "session/update"]
        said = [u["content"]["text"] for u in updates if u["sessionUpdate"] == "agent_message_chunk"]
        assert said == ["from the editor's agent"]
        assert messages[-1]["result"]["stopReason"] == "end_turn"
        assert [turn["stopReason"] for turn in product.turns] == ["end_turn"]


async def test_the_typescript_sdks_example_client_prompts_and_answers(tmp_path: Path) -> None:
    """It starts its agent by `npx`, and asks its person about permissions by number."""
    client = tools.require("typescript-client")
    (tmp_path / "bin").mkdir()
    npx = tmp_path / "bin" / "npx"
    npx.write_text(f"#!/bin/sh\nexec {shlex.join(ATTACH)}\n")
    npx.chmod(0o755)
    async with an_editor(tmp_path, [{"say": "from the editor's agent"}]) as product:
        process = await asyncio.create_subprocess_exec(
            client.command,
            cwd=tmp_path / "ws",
            env={**os.environ, "PATH": f"{npx.parent}{os.pathsep}{os.environ['PATH']}"},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(120):
            out, _ = await process.communicate(b"1\n")
        said = out.decode()
        assert "from the editor's agent" in said
        assert "Agent completed with: end_turn" in said
        assert len(product.turns) == 1
