"""Agents' own Read and Edit led to ours, with the real agents and a scripted model: `make agents`. What the agent does must be as if its tools
worked on the text of the moment; that none of it is written to the user's folders is asserted, too."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.acp.own_tools.table import own_tools_of
from sidecar.config import AgentCommand
from tests.e2e.model_server import ModelServer, script
from tests.e2e.test_third_party import BASE, CHOSEN, ended, undone
from tests.e2e.third_party import KINDS, Kind, Step, a_scene

LIVE = [name for name in CHOSEN if own_tools_of(name, AgentCommand(f"/x/{name}")).live]
pytestmark = pytest.mark.agents
every_live_agent = pytest.mark.parametrize("kind", [KINDS[name] for name in LIVE], ids=LIVE)
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def results(model: ModelServer) -> str:
    """What the tools answered, as the model was told with its last request."""
    return json.dumps([m for m in model.requests[-1]["messages"] if m["role"] in ("tool", "user")])


def hashes(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@every_live_agent
async def test_its_own_tools_work_on_the_text_of_the_moment(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer
) -> None:
    """Typed after the prompt: read; edited, twice in one turn; nothing on the disk; one undo step each; rejected, and it goes on."""
    path = workspace / "a.txt"
    path.write_text(BASE)
    before = hashes(workspace)
    async with a_scene(kind, tmp_path, workspace, model) as (product, session):
        product.open(path)
        steps: tuple[Step, ...] = (
            {**kind.read(path), "hold": True},
            kind.edit(path, "typed later", "TYPED LATER"),
            kind.edit(path, "six", "SIX"),
        )
        turn = asyncio.ensure_future(ended(product, session, *steps))
        assert await asyncio.to_thread(model.held.wait, 60)
        product.type(path, "typed later\n", at=0)
        model.go.set()
        await turn
        assert "typed later" in results(model)
        wanted = "TYPED LATER\n" + BASE
        assert product.document(path).text == wanted.replace("six", "SIX")
        assert hashes(workspace) == before, "the user has unsaved text, so nothing is saved"
        assert undone(product, path, wanted) == 1
        await product.execute("sidecar.reject", {"all": True})
        assert product.document(path).text == "typed later\n" + BASE
        await ended(product, session, kind.read(path), kind.edit(path, "five", "FIVE"))
        assert product.document(path).text == "typed later\n" + BASE.replace("five", "FIVE")


@every_live_agent
async def test_what_is_no_text_what_is_denied_and_a_sub_agent(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer
) -> None:
    path = workspace / "a.txt"
    path.write_text(BASE)
    (workspace / "b.png").write_bytes(PNG)
    (workspace / ".env").write_text("KEY=secret\n")
    async with a_scene(kind, tmp_path, workspace, model) as (product, session):
        product.open(path)
        await ended(product, session, kind.read(workspace / "b.png"))
        assert "image" in results(model)
        assert base64.b64encode(PNG).decode()[:40] in results(model)

        allow, product.answer = product.answer, lambda text, titles: None
        await ended(product, session, kind.read(workspace / ".env"))
        assert "KEY=secret" not in results(model)
        product.answer = allow

        product.type(path, "typed\n", at=0)
        inner = script(kind.read(path), kind.edit(path, "typed", "TYPED"))
        task = {"description": "edit", "prompt": inner, "subagent_type": "general-purpose"}
        outer = script({"tool": "Agent", "args": task}, {"say": "done"})
        # the inner script must not end the outer one
        head, tail = outer.index(" "), outer.rindex(" ")
        body = outer[head:tail].replace("<<", "\\u003c\\u003c").replace(">>", "\\u003e\\u003e")
        turn: Any = await product.prompt(session, outer[:head] + body + outer[tail:])
        assert turn.get("stopReason") == "end_turn", turn
        await product.wait_for(lambda: product.document(path).text == "TYPED\n" + BASE)


@every_live_agent
async def test_an_edit_in_a_line_that_the_user_is_in_is_made_where_the_text_stands(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer
) -> None:
    """It replaces text, not lines: what the user typed beside it stays, and there is nothing to decide."""
    path = workspace / "a.txt"
    path.write_text(BASE)
    async with a_scene(kind, tmp_path, workspace, model) as (product, session):
        product.open(path)
        steps = (kind.read(path), {**kind.edit(path, "one", "ONE"), "hold": True})
        turn = asyncio.ensure_future(ended(product, session, *steps))
        assert await asyncio.to_thread(model.held.wait, 60)
        product.type(path, "unsaved ", at=0)
        model.go.set()
        await turn
        assert product.document(path).text == "unsaved " + BASE.replace("one", "ONE")
