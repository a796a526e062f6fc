"""Which version of ACP is spoken with a real agent that knows both, and one only where its user says so: `make agents`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.model_server import ModelServer
from tests.e2e.third_party import BASE, CHOSEN, KINDS, a_scene, ended, results

pytestmark = pytest.mark.agents
NAME = "claude-agent-acp-v2"
SPEAKS = "CLAUDE_AGENT_ACP_PROTOCOL"


@pytest.mark.skipif(NAME not in CHOSEN, reason="not chosen")
@pytest.mark.parametrize(
    ("asked", "only", "spoken"),
    [(1, "auto", 1), (2, "auto", 2), (1, "v2", 2), (2, "v1", 1)],
)
async def test_the_version_that_both_speak(
    asked: int, only: str, spoken: int, tmp_path: Path, workspace: Path, model: ModelServer
) -> None:
    """Whichever it is: what is not saved is read, and the edit is an undoable one."""
    kind = replace(KINDS[NAME], protocol=asked)
    path = workspace / "a.txt"
    path.write_text(BASE)
    async with a_scene(kind, tmp_path, workspace, model, env={SPEAKS: only}) as (product, session):
        product.open(path)
        product.type(path, "unsaved\n", at=0)
        await ended(product, session, kind.read(path), kind.edit(path, "unsaved", "UNSAVED"))
        assert "unsaved" in results(model)
        assert product.document(path).text == "UNSAVED\n" + BASE
        status: Any = await product.execute("sidecar.status")
        assert [row["protocol"] for row in status["agents"] if row["agent"] == kind.name] == [spoken]
