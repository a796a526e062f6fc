"""Forms and pages of agents over the real program: what the editor is asked and what the agent hears."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.lsp.sessions_process import an_editor
from tests.support.agents import command, received

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "title": "Name"}, "deep": {"type": "boolean"}},
    "required": ["name"],
}


FORM = {"sessionId": "s1", "mode": "form", "message": "Which\u202e one?", "requestedSchema": SCHEMA}


PAGE = {
    "sessionId": "s1",
    "mode": "url",
    "message": "Sign in",
    "url": "https://x.example/a",
    "elicitationId": "e1",
}


NAMED = {"action": "accept", "content": {"name": "core", "deep": True, "other": "left out"}}


# what the agent asks · what the user does · what the agent hears
FORMS: dict[str, tuple[dict[str, Any], dict[str, Any], Any]] = {
    "filled in": (FORM, NAMED, {"action": "accept", "content": {"name": "core", "deep": True}}),
    "declined": (FORM, {"action": "decline", "content": {"name": "x"}}, {"action": "decline"}),
    "closed": (FORM, {"action": "cancel"}, {"action": "cancel"}),
    "left empty": (FORM, {"action": "accept", "content": {}}, {"action": "cancel"}),
    "of wrong types": (FORM, {"action": "accept", "content": {"name": {"a": 1}}}, {"action": "cancel"}),
    "nonsense": (FORM, {"action": "maybe"}, {"action": "cancel"}),
    "a page": (PAGE, {"action": "accept", "content": {"x": 1}}, {"action": "accept"}),
    "a page of another kind": ({**PAGE, "url": "file:///etc/passwd"}, NAMED, -32602),
    "no such session": ({**FORM, "sessionId": "s9"}, NAMED, -32602),
    "no schema": ({**FORM, "requestedSchema": None}, NAMED, -32602),
    "another mode": ({**FORM, "mode": "dance"}, NAMED, -32602),
}


async def test_forms_and_pages(tmp_path: Path, folder: Path) -> None:
    trace = tmp_path / "trace"
    async with an_editor(tmp_path, {"fake": command({"prompted": True}, trace)}) as editor:
        for what, (asked, answer, expected) in FORMS.items():
            editor.forms.clear()
            editor.told.clear()
            editor.fill = lambda params, answer=answer: answer
            steps = [
                {"request": "elicitation/create", "params": asked, "as": what},
                {"say": {"answer": what}},
            ]
            session = (await editor.prompt(json.dumps(steps)))["sessionId"]
            heard = json.loads(editor.said(session))
            if isinstance(expected, int):
                assert heard["error"]["code"] == expected, what
                assert editor.forms == [], what
                continue
            assert heard["result"] == expected, what
            (form,) = editor.forms
            assert (form["agent"], form["sessionId"], form["mode"]) == ("fake", session, asked["mode"])
            assert "\u202e" not in form["message"]
            assert form.get("requestedSchema") == asked.get("requestedSchema")
            assert form.get("url") == asked.get("url")
        done = [{"notify": "elicitation/complete", "params": {"elicitationId": "e1"}}]
        await editor.prompt(json.dumps(done))
        complete = "sidecar/elicitationComplete", {"agent": "fake", "elicitationId": "e1"}
        await editor.wait_for(lambda: complete in editor.notifications)
    capabilities = received(trace)[0]["params"]["clientCapabilities"]
    assert capabilities["elicitation"] == {"form": {}, "url": {}}
    log = (tmp_path / "state" / "audit" / "questions.jsonl").read_text()
    assert '"event": "elicitation"' in log
    assert "left out" not in log  # what was filled in is nobody else's


async def test_forms_are_not_announced_where_nobody_shows_them(tmp_path: Path, folder: Path) -> None:
    turn = [{"request": "elicitation/create", "params": FORM, "as": "it"}, {"say": {"answer": "it"}}]
    trace = tmp_path / "trace"
    agent = command({"turns": [turn]}, trace)
    async with an_editor(tmp_path, {"fake": agent}, flags={"elicitation": False}) as editor:
        session = (await editor.prompt("go"))["sessionId"]
        assert json.loads(editor.said(session))["error"]["code"] == -32601
        assert editor.forms == []
    assert "elicitation" not in received(trace)[0]["params"]["clientCapabilities"]


async def test_a_form_is_withdrawn_with_its_turn(tmp_path: Path, folder: Path) -> None:
    turn = [
        {"request": "elicitation/create", "params": FORM, "as": "it", "wait": False},
        {"wait_for": "session/cancel"},
        {"await": "it"},
        {"say": {"answer": "it"}},
        {"stop": "cancelled"},
    ]
    async with an_editor(tmp_path, {"fake": command({"turns": [turn]})}) as editor:
        editor.fill = lambda params: asyncio.get_running_loop().create_future()  # nobody answers
        session = (await editor.execute("sidecar.prompt", "go"))["sessionId"]
        await editor.wait_for(lambda: editor.forms)
        await editor.execute("sidecar.cancel", session)
        await editor.wait_for(lambda: editor.turns)
        assert editor.turns[0]["stopReason"] == "cancelled"
        assert json.loads(editor.said(session))["result"] == {"action": "cancel"}
