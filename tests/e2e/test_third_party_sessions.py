"""Conversations with third-party agents after everything was started anew: the record, the agent's own history, what it remembers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.agents_table import Table
from tests.e2e.model_server import ModelServer, script
from tests.e2e.third_party import KINDS, Kind, a_scene

pytestmark = pytest.mark.agents


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.mark.parametrize("kind", list(KINDS.values()), ids=list(KINDS))
async def test_a_conversation_after_a_restart(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """The record is always there; whether the agent takes the conversation up is noted, and that it then knows it is asserted."""
    path = workspace / "a.txt"
    path.write_text("one\ntwo\n")
    async with a_scene(kind, tmp_path, workspace, model) as (product, session):
        turn = await product.prompt(session, "The word is marzipan. " + script(kind.read(path)))
        assert turn.get("stopReason") == "end_turn", turn
        said = product.said(session)
    name = session["sessionId"]

    async with a_scene(kind, tmp_path, workspace, model) as (product, _):
        product.open(path)
        product.type(path, "typed ", at=0)
        rows: Any = await product.execute("sidecar.listSessions")
        (row,) = [row for row in rows if row["sessionId"] == name]
        assert row["transcript"]
        assert row["title"], "the prompt's first words, or what the agent calls it"
        record: Any = await product.execute("sidecar.transcript", name)
        assert [record["entries"][0]["type"], record["entries"][-1]["type"]] == ["prompt", "end"]
        product.updates.clear()
        loaded: Any = await product.execute("sidecar.loadSession", name)
        shown = json.dumps([update for session_id, update in product.updates if session_id == name])
        assert "marzipan" in shown
        assert said.strip()[-20:] in shown.replace("\\n", "\n")
        assert product.document(path).text == "typed one\ntwo\n"
        assert path.read_text() == "one\ntwo\n"
        assert await product.execute("sidecar.listChanges") == []

        before = len(model.requests)
        turn = await product.prompt(name, "Which word? " + script())
        assert turn.get("stopReason") == "end_turn", turn
        assert turn["turn"] == 2
        asked = json.dumps(model.requests[before:])
        assert ("marzipan" in asked) is loaded["remembers"], (
            "what it says it remembers is what its model is told"
        )
        ways = {"agent": "yes", "transcript": "yes: shown from the sidecar's own record"}
        cell = ways[loaded["history"]] if loaded["remembers"] else "partly: shown, and not remembered by it"
        agents_table.note(kind.tool, "load", cell)
