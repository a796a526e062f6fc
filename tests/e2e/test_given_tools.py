"""Agents that are given our tools beside their own (`"ownTools": "all"`), with the real agents and a scripted model: `make agents`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.agents_table import Table
from tests.e2e.model_server import ModelServer
from tests.e2e.test_own_tools import Scene, a_file, hashes, kill_tools
from tests.e2e.third_party import (
    BASE,
    GIVEN,
    KINDS,
    Kind,
    Step,
    allow_its_own,
    allow_none,
    held,
    results,
    undone,
)

pytestmark = pytest.mark.agents


@pytest.fixture(params=GIVEN)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@asynccontextmanager
async def given(*parts: Any, **options: Any) -> AsyncIterator[Scene]:
    async with a_file(*parts, ownTools="all", **options) as it:
        yield it


def ours(it: Scene, tool: str, path: Path | None = None, **arguments: str) -> Step:
    assert it.kind.ours is not None
    return it.kind.ours(tool, {"file_path": str(path or it.path), **arguments})


def edit(it: Scene, old: str, new: str) -> Step:
    return ours(it, "Edit", old_string=old, new_string=new)


async def test_our_tools_work_on_the_text_of_the_moment(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """Typed after the prompt: read, and edited; nothing on the disk; one undo step each; rejected, and it goes on."""
    async with given(kind, tmp_path, workspace, model, agents_table) as it:
        before = hashes(workspace)
        first = ours(it, "Read") | {"hold": True}
        await it.typed_in_turn(
            "typed later\n", first, edit(it, "typed later", "TYPED LATER"), edit(it, "six", "SIX")
        )
        assert "typed later" in results(model)
        wanted = "TYPED LATER\n" + BASE
        assert it.text == wanted.replace("six", "SIX")
        assert hashes(workspace) == before, "the user has unsaved text, so nothing is saved"
        assert undone(it.product, it.path, wanted) == 1
        await it.product.execute("sidecar.reject", {"all": True})
        assert it.text == "typed later\n" + BASE
        await it.turn(edit(it, "five", "FIVE"))
        assert it.text == "typed later\n" + BASE.replace("five", "FIVE")
        it.yes("our Read", "our Edit", "goes on")


async def test_edits_of_one_file_in_one_answer(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    async with given(kind, tmp_path, workspace, model, agents_table) as it:
        await it.edited_at_once(ours(it, "Read"), lambda old, new: edit(it, old, new))
        it.yes("ours in parallel")


async def test_what_is_refused_is_not_done(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """By the agent's own reviewer, or where it asks its user by them, and by the sidecar's user."""
    (workspace / ".env").write_text("KEY=secret\n")
    async with given(kind, tmp_path, workspace, model, agents_table) as it:
        allow, it.product.answer = it.product.answer, it.product.answer if kind.reviewed else allow_none
        model.outcome = "deny"
        await it.turn(edit(it, "six", "SIX"))
        assert it.text == BASE
        asked = len(it.product.questions)
        assert (asked == 0) == kind.reviewed
        it.product.answer, model.outcome = allow, "allow"
        await it.turn(edit(it, "six", "SIX"))
        assert it.text == BASE.replace("six", "SIX")

        it.product.answer = allow_its_own
        await it.turn(ours(it, "Read", workspace / ".env"))
        assert "KEY=secret" not in results(model)
        assert ".env" in results(model), "it is told which file"
        it.yes("its questions", "our Read denied")


async def test_the_process_of_our_tools_is_killed(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """The agent's own tools are as good as ever."""
    async with given(kind, tmp_path, workspace, model, agents_table) as it:
        steps = ours(it, "Read"), edit(it, "six", "SIX") | {"hold": True}, it.edit("five", "FIVE")
        turn = await held(it.product, it.session, model, kill_tools, *steps)
        assert turn.get("stopReason") == "end_turn", turn
        await it.product.wait_for(lambda: "FIVE" in it.text)
        again = "SIX" in it.text
        it.yes("ours killed", how="yes: it starts them again" if again else "yes: it goes on without them")


async def test_without_the_setting_it_has_its_own_tools_only(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    async with a_file(kind, tmp_path, workspace, model, agents_table) as it:
        await it.turn(edit(it, "six", "SIX"), it.edit("five", "FIVE"))
        await it.product.wait_for(lambda: "FIVE" in it.text)
        assert it.text == BASE.replace("five", "FIVE")
        it.yes("not given")
