"""The agent of these runs as an entry in the sidecar's settings, approved as if by the user."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

AGENT = Path(__file__).with_name("agent.py")


def agent_settings(log: Path) -> dict[str, Any]:
    from sidecar.approvals import Approvals
    from sidecar.config import AgentCommand

    os.environ["ACP_SIDECAR_STATE"] = str(log.parent / "state")  # for this process and the sidecar
    args = ("-S", str(AGENT), str(log))
    Approvals().remember(AgentCommand(sys.executable, args, {}))
    return {
        "agents": {"hand": {"command": sys.executable, "args": list(args)}},
        "defaultAgent": "hand",
    }


def unasked(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Removes commands, which the user would be asked about. The agent makes their changes to the disk itself."""
    return [
        {"put": step["run"], **{k: v for k, v in step.items() if k != "run"}} if "run" in step else step
        for step in steps
    ]
