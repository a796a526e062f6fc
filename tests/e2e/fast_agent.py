"""fast-agent with its passthrough model: a real third-party agent that does what the prompt says, without any model.

The passthrough model answers with the prompt itself, and a prompt `***CALL_TOOL name {json}` makes it call that tool. The
client's fs capability is what gives it `read_text_file` and `write_text_file`; without them it says "No tools are currently
available" and the turn's stop reason is `refusal`. It asks for permission before every tool call unless started with
`--no-permissions`, and reads a file through the client before it writes it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sidecar.approvals import Approvals
from sidecar.config import AgentCommand
from tests.support.tools import Tool

NAME = "fast-agent"


def settings(tool: Tool, home: Path, *options: str) -> dict[str, object]:
    """The sidecar's settings that make it the default agent, with a home and a folder for its sessions of its own."""
    home.mkdir(parents=True, exist_ok=True)
    environment = {"HOME": str(home)} | {
        f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CACHE", "CONFIG", "DATA", "STATE")
    }
    agent: dict[str, Any] = {
        "command": tool.command,
        "args": ["--model", "passthrough", "--home", str(home / "fast-agent"), *options],
        "env": environment,
    }
    # A person said yes to it once; the question itself has tests of its own.
    Approvals().remember(AgentCommand(agent["command"], tuple(agent["args"]), environment))
    return {"agents": {NAME: agent}, "defaultAgent": NAME}


def call(tool: str, **arguments: object) -> str:
    """The prompt that makes it call a tool."""
    return f"***CALL_TOOL {tool} {json.dumps(arguments)}"


def read(path: Path, **where: int) -> str:
    """`line` (from 1) and `limit` as in fs/read_text_file."""
    return call("read_text_file", path=str(path), **where)


def write(path: Path, content: str) -> str:
    return call("write_text_file", path=str(path), content=content)
