"""Terminals through the real process: commands are asked about, run, are heard and seen, and leave no process behind."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.json_types import JsonDict
from tests.gates.product import Answer, Product, a_product, in_folder
from tests.support.agents import until_gone, until_written

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no terminals there")

HANGS = 30.0
"""Bound on hanging, generous for slow machines."""


def allow(text: str, options: Sequence[str]) -> str | None:
    """Answers message boxes."""
    return next((option for option in options if "once" in option), None)


def call(method: str, name: str, **params: Any) -> JsonDict:
    return {"request": f"terminal/{method}", "params": {"sessionId": "$session", **params}, "as": name}


STAYS = "for i in 1 2; do (trap '' TERM; echo $$ >> $folder/pids; sleep 600) & done; echo $$ >> $folder/pids; wait"


@asynccontextmanager
async def running(
    folder: Path, *steps: JsonDict, answer: Answer = allow, **more: Any
) -> AsyncIterator[tuple[Product, JsonDict, Path]]:
    """The product, a session, and the trace of what its agent received."""
    traces = folder.parent / "traces"
    traces.mkdir()
    script = in_folder({"turns": [list(steps)]}, folder)
    async with a_product(folder, {"fake": script}, traces=traces, answer=answer, **more) as product:
        yield product, await product.session("fake"), traces / "fake"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "ws"
    made.mkdir()
    return made


async def test_a_command_runs_when_allowed(folder: Path) -> None:
    steps = [
        call("create", "made", command="pwd; echo seen >&2; exit 3", cwd=str(folder)),
        {"say": {"answer": "made"}},
    ]
    texts: list[str] = []

    def answer(text: str, options: Sequence[str]) -> str | None:
        texts.append(text)
        return allow(text, options)

    async with running(folder, *steps, {"wait_for": "session/cancel"}, answer=answer) as (
        product,
        session,
        _,
    ):
        turn = asyncio.ensure_future(product.prompt(session))

        def output() -> str:
            return "".join(
                params["output"]
                for method, params in product.notifications
                if method == "sidecar/terminalOutput" and params["sessionId"] == session["sessionId"]
            )

        await product.wait_for(lambda: "seen" in output())
        assert output() == f"{folder.resolve()}\nseen\n"
        await product.wait_for(lambda: "terminalId" in product.said(session))
        assert len(texts) == 1
        assert "/bin/sh -c 'pwd; echo seen >&2; exit 3'" in texts[0]
        await product.execute("sidecar.cancel", {"sessionId": session["sessionId"]})
        await turn


async def test_no_command_runs_unless_allowed(folder: Path) -> None:
    step = call("create", "made", command="touch", args=["$folder/made"])
    async with running(folder, step, {"say": {"answer": "made"}}, answer=lambda *_: None) as (
        product,
        session,
        _,
    ):
        await product.prompt(session)
        assert "denied_by_user" in product.said(session)
    assert not (folder / "made").exists()


@pytest.mark.parametrize("how", ["cancel", "close", "turn end", "death", "shutdown"])
async def test_nothing_is_left(folder: Path, how: str) -> None:
    last: JsonDict = {"sleep": 0} if how == "turn end" else {"exit": 3} if how == "death" else {"never": True}
    steps = [
        call("create", "made", command=STAYS),
        call("create", "other", command="until [ $(wc -l < $folder/pids) = 3 ]; do sleep 0.05; done"),
        call("wait_for_exit", "three", terminalId="term-2"),
        last,
    ]
    async with running(folder, *steps) as (product, session, _):
        turn = asyncio.ensure_future(product.prompt(session))
        pids = await until_written(folder / "pids", 3)
        if how == "cancel":
            await product.execute("sidecar.cancel", {"sessionId": session["sessionId"]})
        elif how == "close":
            await product.execute("sidecar.closeSession", {"sessionId": session["sessionId"]})
        if how != "shutdown":
            assert not await until_gone(pids, HANGS)
        if how in ("turn end", "death"):
            await turn
        elif how != "shutdown":
            turn.cancel()
    assert not await until_gone(pids, HANGS)
    turn.cancel()
    await asyncio.wait({turn})
