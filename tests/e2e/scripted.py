"""An agent that does what its prompt says, step by step (tests/support/fake_agent.py): starts quickly, needs no model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sidecar.approvals import Approvals
from tests.support import agents

NAME = "scripted"


def settings(**more: Any) -> dict[str, Any]:
    """The sidecar's settings that make it the default agent."""
    command = agents.command({"prompted": True})
    Approvals().remember(command)  # a person said yes to it once; the question itself has tests of its own
    return {
        "agents": {NAME: {"command": command.command, "args": list(command.args)}},
        "defaultAgent": NAME,
        **more,
    }


def steps(*all_of: dict[str, Any]) -> str:
    return json.dumps(all_of)


def read(path: Path) -> dict[str, Any]:
    return {"read": str(path), "as": f"read {path}", "wait": True}


def write(path: Path, content: str) -> dict[str, Any]:
    return {"write": str(path), "content": content, "as": f"write {path}", "wait": True}
