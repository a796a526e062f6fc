"""Claude, unchanged, where the user's folder has another name (a mount namespace of its own), with a scripted model: `make agents`. Its own Read and Edit
work on the text of the moment, through a relay there; with no acp-sidecar there, it works as it would without."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.config import AgentCommand
from sidecar.demo.editor import ALL_CUSTOM
from tests.e2e.model_server import ModelServer
from tests.e2e.third_party import BASE, KINDS, allow, ended, held, results
from tests.gates.product import COMMAND, Product
from tests.relayed.far import setting
from tests.support import tools
from tests.support.elsewhere import THERE, by_namespace

pytestmark = [pytest.mark.agents, pytest.mark.timeout(200)]
CLAUDE = KINDS["claude-agent-acp"]
READ, EDIT = CLAUDE.read(Path(THERE, "a.txt")), CLAUDE.edit


@asynccontextmanager
async def claude(
    tmp_path: Path, workspace: Path, model: ModelServer, sidecar: str, **options: Any
) -> AsyncGenerator[tuple[Product, Any]]:
    (workspace / "a.txt").write_text(BASE)
    home = tmp_path / "home"
    home.mkdir()
    env = {"HOME": str(home), **CLAUDE.environment(home, model.url)}
    by = replace(by_namespace(workspace), sidecar=sidecar)
    agent = AgentCommand(tools.require(CLAUDE.tool).command, CLAUDE.args, env, transport=by)
    told = {"agents": {CLAUDE.name: setting(agent)}, "client": dict(ALL_CUSTOM), **options}
    async with Product(COMMAND, workspace, options=told, answer=allow) as product:
        product.open(workspace / "a.txt")
        session = await product.session(CLAUDE.name)
        assert "error" not in session, session
        yield product, session
        assert await product.stop() == 0


async def test_its_own_tools_are_live_there(tmp_path: Path, workspace: Path, model: ModelServer) -> None:
    """Typed after the prompt: read, and edited in one undo step; nothing on the disk."""
    path = workspace / "a.txt"
    async with claude(tmp_path, workspace, model, COMMAND[0]) as (product, session):
        edit = EDIT(Path(THERE, "a.txt"), "typed later", "TYPED LATER")
        turn = await held(
            product,
            session,
            model,
            lambda: product.type(path, "typed later\n", at=0),
            {**READ, "hold": True},
            edit,
        )
        assert turn.get("stopReason") == "end_turn", turn
        assert "typed later" in results(model)
        assert f"The file {THERE}/a.txt has been updated" in results(model)
        assert product.document(path).text == "TYPED LATER\n" + BASE
        assert path.read_text() == BASE
        changes = await product.execute("sidecar.listChanges", {})
        assert [row["uri"] for row in changes] == [path.as_uri()]
        kinds = ("tool_call", "tool_call_update")
        calls = [update for _, update in product.updates if update.get("sessionUpdate") in kinds]
        located = [place["path"] for call in calls for place in call.get("locations") or []]
        assert str(path) in located
        product.undo(path)
        assert product.document(path).text == "typed later\n" + BASE
        assert [box for box in product.boxes if "live" in box] == []


async def test_what_lies_outside_is_refused_there(
    tmp_path: Path, workspace: Path, model: ModelServer
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("SECRET")
    async with claude(tmp_path, workspace, model, COMMAND[0]) as (product, session):
        await ended(product, session, CLAUDE.read(secret), EDIT(secret, "SECRET", "x"))
        assert "SECRET" not in results(model).replace(json.dumps("SECRET"), "")
        assert "is in no mapped folder" in results(model)
    assert secret.read_text() == "SECRET"


async def test_without_acp_sidecar_there_it_keeps_its_own(
    tmp_path: Path, workspace: Path, model: ModelServer
) -> None:
    path = workspace / "a.txt"
    async with claude(tmp_path, workspace, model, "/no/acp-sidecar") as (product, session):
        await ended(product, session, READ, EDIT(Path(THERE, "a.txt"), "six", "SIX"))
        assert path.read_text() == BASE.replace("six", "SIX")
        (words,) = [box for box in product.boxes if "not live there" in box]
        assert "Install acp-sidecar" in words
