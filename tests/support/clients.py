"""ACP clients that nobody here wrote, run to their end: acpx, and the TypeScript SDK's example client."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support import tools

SECONDS = 120


class Heard(NamedTuple):
    """What acpx was told: the text of the agent's messages, and how the turn ended."""

    said: str
    stop_reason: str


async def acpx(agent: Sequence[str], prompt: str, folder: Path, env: Mapping[str, str]) -> Heard:
    """Has acpx start the agent and send one prompt; `env` is added to our own environment."""
    process = await asyncio.create_subprocess_exec(
        *(
            tools.require("acpx").command,
            "--cwd",
            str(folder),
            "--no-fs",
            "--approve-all",
            "--format",
            "json",
        ),
        *("--agent", shlex.join(agent), "exec", prompt),
        cwd=folder,
        env={**os.environ, **env},
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(SECONDS):
        out, _ = await process.communicate()
    messages = [json.loads(line) for line in out.splitlines()]
    updates = [m["params"]["update"] for m in messages if m.get("method") == "session/update"]
    said = "".join(u["content"]["text"] for u in updates if u["sessionUpdate"] == "agent_message_chunk")
    return Heard(said, messages[-1]["result"]["stopReason"])


async def typescript_client(agent: Sequence[str], folder: Path, base: Path) -> str:
    """What the example client prints. It starts its agent by `npx`, for which `base` has a program of that name, and asks its person
    about permissions by number; the answer is 1."""
    npx = base / "bin" / "npx"
    npx.parent.mkdir()
    npx.write_text(f"#!/bin/sh\nexec {shlex.join(agent)}\n")
    npx.chmod(0o755)
    process = await asyncio.create_subprocess_exec(
        tools.require("typescript-client").command,
        cwd=folder,
        env={**os.environ, "PATH": f"{npx.parent}{os.pathsep}{os.environ['PATH']}"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(SECONDS):
        out, _ = await process.communicate(b"1\n")
    return out.decode()


async def typescript_http_client(url: str, folder: Path) -> str:
    """What the SDK's example client over HTTP prints; it lies beside the other one."""
    launcher = Path(tools.require("typescript-client").command).read_text()
    process = await asyncio.create_subprocess_exec(
        "/bin/sh",
        "-c",
        launcher.replace("/examples/client.js", "/examples/http-client.js"),
        cwd=folder,
        env={**os.environ, "ACP_HTTP_URL": url},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(SECONDS):
        out, _ = await process.communicate()
    return out.decode()
