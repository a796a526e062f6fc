"""Agents that write the disk themselves, the real ones, with a scripted model on loopback and dummy keys, through the real
sidecar: `make agents`, which installs them (scripts/install_agents.py) and names their launchers in the environment."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sidecar.approvals import Approvals
from sidecar.config import AgentCommand
from sidecar.demo.editor import ALL_CUSTOM
from tests.e2e.model_server import ModelServer, script
from tests.gates.product import COMMAND, Product
from tests.support import tools

BASE = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
Step = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """How one agent is started, and what its model calls its tools."""

    tool: str
    args: tuple[str, ...]
    environment: Callable[[Path, str], dict[str, str]]
    read: Callable[[Path], Step]
    edit: Callable[[Path, str, str], Step]


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


KINDS = {
    "opencode": Kind(
        "opencode",
        ("acp",),
        _opencode,
        lambda path: {"tool": "read", "args": {"filePath": str(path)}},
        lambda path, old, new: {
            "tool": "edit",
            "args": {"filePath": str(path), "oldString": old, "newString": new},
        },
    ),
}
every_agent = pytest.mark.parametrize("kind", list(KINDS.values()), ids=list(KINDS))
pytestmark = pytest.mark.agents


def allow(text: str, titles: Sequence[str]) -> str | None:
    return next((title for title in titles if "llow" in title or "es" in title), None)


@asynccontextmanager
async def a_scene(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer
) -> AsyncIterator[tuple[Product, Any]]:
    tool = tools.require(kind.tool)
    home = tmp_path / "home"
    home.mkdir()
    environment = {"HOME": str(home)} | {
        f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CACHE", "CONFIG", "DATA", "STATE")
    }
    environment |= kind.environment(home, model.url)
    Approvals().remember(AgentCommand(tool.command, kind.args, environment))
    agent = {"command": tool.command, "args": list(kind.args), "env": environment}
    options = {"agents": {kind.tool: agent}, "defaultAgent": kind.tool, "client": dict(ALL_CUSTOM)}
    async with Product(COMMAND, workspace, options=options, answer=allow) as product:
        session = await product.session(kind.tool)
        assert "error" not in session, session
        yield product, session
        assert await product.stop() == 0


@every_agent
async def test_an_edit_on_the_disk_beside_unsaved_lines(kind: Kind, tmp_path: Path, workspace: Path) -> None:
    """Given the unsaved text; the unsaved line survives; listed; rejected; a second prompt works."""
    path = workspace / "a.txt"
    path.write_text(BASE)
    with ModelServer() as model:
        async with a_scene(kind, tmp_path, workspace, model) as (product, session):
            product.open(path)
            product.type(path, "unsaved ", at=0)
            turn = await product.prompt(session, script(kind.read(path), kind.edit(path, "six", "SIX")))
            assert turn.get("stopReason") == "end_turn", turn
            assert any("unsaved one" in json.dumps(body) for body in model.requests), "given what is unsaved"
            assert product.document(path).text == "unsaved " + BASE.replace("six", "SIX")
            changes: Any = await product.execute("sidecar.listChanges")
            assert [(c["oldText"].strip(), c["newText"].strip()) for c in changes] == [("six", "SIX")]
            await product.execute("sidecar.reject", {"all": True})
            assert product.document(path).text == "unsaved " + BASE
            again = await product.prompt(session, script({"say": "hello"}))
            assert again.get("stopReason") == "end_turn", again


@every_agent
async def test_an_overlap_is_a_conflict_and_nothing_is_lost(
    kind: Kind, tmp_path: Path, workspace: Path
) -> None:
    path = workspace / "a.txt"
    path.write_text(BASE)
    with ModelServer() as model:
        async with a_scene(kind, tmp_path, workspace, model) as (product, session):
            product.open(path)
            product.type(path, "unsaved ", at=0)
            turn = await product.prompt(session, script(kind.read(path), kind.edit(path, "one", "ONE")))
            assert "error" not in turn, turn
            assert product.document(path).text == "unsaved " + BASE
            assert [words for words in product.boxes if "a.txt" in words and "line 1" in words], product.boxes


@every_agent
async def test_cancel_ends_the_turn(kind: Kind, tmp_path: Path, workspace: Path) -> None:
    with ModelServer() as model:
        async with a_scene(kind, tmp_path, workspace, model) as (product, session):
            started: Any = await product.execute(
                "sidecar.prompt", {"sessionId": session["sessionId"], "prompt": script({"wait": True})}
            )
            await asyncio.to_thread(model.asked.wait, 60)
            assert model.requests
            await product.execute("sidecar.cancel", {"sessionId": session["sessionId"]})
            await product.wait_for(lambda: any(turn["turn"] == started["turn"] for turn in product.turns))
            assert product.turns[-1]["stopReason"] == "cancelled"
            again = await product.prompt(session, script({"say": "hello"}))
            assert again.get("stopReason") == "end_turn", again
