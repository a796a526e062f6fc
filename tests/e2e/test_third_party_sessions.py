"""Conversations with third-party agents after everything was started anew: the record, the agent's own history, what it remembers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from sidecar.demo.editor import ALL_CUSTOM
from tests.e2e.model_server import ModelServer, script
from tests.e2e.test_own_tools import kill_tools
from tests.e2e.third_party import CHOSEN, KINDS, Kind, a_scene

pytestmark = pytest.mark.agents


@pytest.mark.parametrize("kind", [KINDS[name] for name in CHOSEN], ids=CHOSEN)
async def test_a_conversation_after_a_restart(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer
) -> None:
    """The record is always there; history touches nothing; what the agent says it remembers its model is told."""
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
        kinds = [entry["type"] for entry in record["entries"]]
        assert kinds[0] == "prompt"
        assert "end" in kinds, "and perhaps an update: Claude may send its title after the turn"
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


async def test_claude_goes_on_when_the_process_behind_it_has_died(
    tmp_path: Path, workspace: Path, model: ModelServer
) -> None:
    """It refuses every prompt of that conversation then. Started again, it remembers it: at once, if it noticed the death before the next prompt."""
    kind = KINDS["claude-agent-acp"]
    async with a_scene(kind, tmp_path, workspace, model) as (product, session):
        turn = await product.prompt(session, "The word is marzipan. " + script())
        assert turn.get("stopReason") == "end_turn", turn
        kill_tools(b"stream-json")
        dead = await product.prompt(session, "Are you there? " + script())
        noticed = dead.get("stopReason") == "end_turn"
        assert noticed or "exited unexpectedly" in str(dead.get("error")), f"in its own words: {dead}"
        before = len(model.requests)
        turn = await product.prompt(session, "Which word? " + script())
        assert turn.get("stopReason") == "end_turn", turn
        assert "marzipan" in json.dumps(model.requests[before:])
        notices = [
            params["message"] for method, params in product.notifications if method == "sidecar/notice"
        ]
        told = "claude-agent-acp had lost this conversation. It was started again and continues it."
        assert told in [*notices, *(words for _, words in product.messages)]
        loaded: Any = await product.execute("sidecar.loadSession", session["sessionId"])
        assert loaded["remembers"]


async def test_claude_asks_with_a_form(
    tmp_path: Path, workspace: Path, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its AskUserQuestion is a form where the editor shows forms; what is filled in reaches its model."""
    options = [{"label": "Tabs", "description": "t"}, {"label": "Spaces", "description": "s"}]
    question = {"question": "Tabs or spaces?", "header": "Indent", "options": options, "multiSelect": False}
    ask = {"tool": "AskUserQuestion", "args": {"questions": [question]}}
    monkeypatch.setitem(cast("dict[str, bool]", ALL_CUSTOM), "elicitation", True)
    async with a_scene(KINDS["claude-agent-acp"], tmp_path, workspace, model) as (product, session):
        forms: list[Any] = []
        handle = product.handle

        def fill(method: str, params: Any) -> object:
            if method != "sidecar/elicitation":
                return handle(method, params)
            forms.append(params)
            field, shape = next(iter(params["requestedSchema"]["properties"].items()))
            choices = [one["const"] for one in shape["oneOf"]]
            return {"action": "accept", "content": {field: choices[1]}}

        product.handle = fill
        turn = await product.prompt(session, script(ask))
        assert turn.get("stopReason") == "end_turn", turn
        (form,) = forms
        assert (form["sessionId"], form["mode"]) == (session["sessionId"], "form")
        assert "Tabs or spaces?" in json.dumps(form)
        assert "Spaces" in json.dumps(model.requests[-1]["messages"][-1])
