"""Third-party agents as their users run them, with a scripted model on loopback and dummy keys: how each is started, what its model calls
its tools, and a scene: the real sidecar behind a headless editor with one of them.

`make agents` installs them (scripts/install_agents.py; fast-agent is one of `make tools`) and names their launchers in the environment.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidecar.approvals import Approvals
from sidecar.config import AgentCommand
from sidecar.demo.editor import ALL_CUSTOM
from tests.e2e.model_server import ModelServer
from tests.gates.product import COMMAND, Product
from tests.support import tools

Step = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """One agent. The steps are for the model's script (model_server.py)."""

    tool: str
    args: tuple[str, ...]
    environment: Callable[[Path, str], dict[str, str]]
    """Beside a home of its own; of (home, the model's address)."""
    read: Callable[[Path], Step]
    edit: Callable[[Path, str, str], Step]
    """(path, old, new), of a file that was read in the step before"""
    run: Callable[[str], Step]
    """A line for a shell."""


def _opencode(home: Path, url: str) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "fake",
        "options": {"baseURL": f"{url}/v1", "apiKey": "dummy"},
        "models": {"m": {"name": "m", "tool_call": True, "limit": {"context": 100000, "output": 4096}}},
    }
    config = {
        "model": "fake/m",
        "small_model": "fake/m",
        "autoupdate": False,
        "share": "disabled",
        "provider": {"fake": provider},
        "permission": {"edit": "ask"},
    }
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _claude(home: Path, url: str) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
    }


def _fast_agent(home: Path, url: str) -> dict[str, str]:
    return {"GENERIC_BASE_URL": f"{url}/v1", "GENERIC_API_KEY": "dummy"}


KINDS = {
    "fast-agent": Kind(
        "fast-agent",
        ("--model", "generic.fake-model", "-x"),
        _fast_agent,
        lambda path: {"tool": "read_text_file", "args": {"path": str(path)}},
        lambda path, old, new: {
            "tool": "write_text_file",
            "args": {"path": str(path)},
            "fill": "content",
            "old": old,
            "new": new,
        },
        lambda line: {"tool": "execute", "args": {"command": line}},
    ),
    "opencode": Kind(
        "opencode",
        ("acp",),
        _opencode,
        lambda path: {"tool": "read", "args": {"filePath": str(path)}},
        lambda path, old, new: {
            "tool": "edit",
            "args": {"filePath": str(path), "oldString": old, "newString": new},
        },
        lambda line: {"tool": "bash", "args": {"command": line, "description": "run it"}},
    ),
    "claude-agent-acp": Kind(
        "claude-agent-acp",
        (),
        _claude,
        lambda path: {"tool": "Read", "args": {"file_path": str(path)}},
        lambda path, old, new: {
            "tool": "Edit",
            "args": {"file_path": str(path), "old_string": old, "new_string": new},
        },
        lambda line: {"tool": "Bash", "args": {"command": line, "description": "run it"}},
    ),
}


def allow(text: str, titles: Sequence[str]) -> str | None:
    """A person who lets everything happen, once."""
    once = [title for title in titles if title.lower() in ("allow once", "allow", "yes")]
    return once[0] if once else next((t for t in titles if t.startswith(("Allow", "Yes"))), None)


@asynccontextmanager
async def a_scene(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, *, session: bool = True
) -> AsyncIterator[tuple[Product, Any]]:
    """An editor, its sidecar, and (with `session`) a session of the agent's; everything ends in order."""
    tool = tools.require(kind.tool)
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)  # a second scene goes on where the first ended
    environment = {"HOME": str(home)} | {
        f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CACHE", "CONFIG", "DATA", "STATE")
    }
    environment |= kind.environment(home, model.url)
    Approvals().remember(AgentCommand(tool.command, kind.args, environment))
    agent = {"command": tool.command, "args": list(kind.args), "env": environment}
    told = {"agents": {kind.tool: agent}, "defaultAgent": kind.tool, "client": dict(ALL_CUSTOM)}
    async with Product(COMMAND, workspace, options=told, answer=allow) as product:
        opened = await product.session(kind.tool) if session else {}
        assert "error" not in opened, opened
        yield product, opened
        assert await product.stop() == 0
