"""The Editor port against an editor that answers by script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest

from sidecar.core.coordinates import TextEdit
from sidecar.core.text import Position
from sidecar.lsp import editor as editor_module
from sidecar.lsp.editor import LspEditor
from sidecar.workspace.ports.ports import (
    DocumentEdit,
    EditAnswer,
    EditorCapabilities,
    EditorGone,
    EditorRefused,
    EditorTimeout,
    Reloaded,
    Saved,
)
from tests.lsp.fakes import SILENCE, FakeWire, Tasks, turns_of_the_loop, until

ALL = EditorCapabilities(
    name="some editor",
    apply_edit=True,
    document_changes=True,
    create_files=True,
    show_message_request=True,
    show_document=True,
    work_done_progress=True,
    code_lens_refresh=True,
    diagnostics_refresh=True,
    save=True,
    open=True,
    reload=True,
    session_updates=True,
    changes=True,
)
URI = "file:///w/a.py"
EDIT = DocumentEdit(URI, 3, (TextEdit(Position(0, 1), Position(2, 0), "x\n"),))
JSON_EDIT = {
    "range": {"start": {"line": 0, "character": 1}, "end": {"line": 2, "character": 0}},
    "newText": "x\n",
}


@pytest.fixture
def wire() -> FakeWire:
    return FakeWire()


@pytest.fixture
async def tasks() -> AsyncGenerator[Tasks]:
    tasks = Tasks()
    yield tasks
    await tasks.check()


@pytest.fixture
async def editor(wire: FakeWire, tasks: Tasks) -> LspEditor:
    editor = LspEditor(wire, tasks)
    editor.announce(ALL)
    return editor


def document_changes(uri: str, version: int | None) -> dict[str, Any]:
    return {"textDocument": {"uri": uri, "version": version}, "edits": [JSON_EDIT]}


CREATION = replace(EDIT, version=None, create=True)

SENT = {
    "an edit": (ALL, EDIT, [document_changes(URI, 3)]),
    "documentChanges not announced": (replace(ALL, document_changes=False), EDIT, [document_changes(URI, 3)]),
    "version 0": (ALL, replace(EDIT, version=0), [document_changes(URI, 0)]),
    "version 0 in Neovim": (
        replace(ALL, ignores_version_zero=True),
        replace(EDIT, version=0),
        [document_changes(URI, 1)],
    ),
    "a new file": (ALL, CREATION, [{"kind": "create", "uri": URI}, document_changes(URI, None)]),
    "a new empty file": (ALL, replace(CREATION, edits=()), [{"kind": "create", "uri": URI}]),
}


@pytest.mark.parametrize(("capabilities", "edit", "changes"), SENT.values(), ids=SENT)
async def test_apply_edit_is_sent_before_it_returns(
    editor: LspEditor,
    wire: FakeWire,
    capabilities: EditorCapabilities,
    edit: DocumentEdit,
    changes: list[Any],
) -> None:
    editor.announce(capabilities)
    wire.answers["workspace/applyEdit"] = {"applied": True}
    answer = editor.apply_edit("fix the loop", edit)
    assert wire.sent == [
        ("workspace/applyEdit", {"label": "Agent: fix the loop", "edit": {"documentChanges": changes}})
    ]
    assert await answer == EditAnswer(True)
    assert await answer == EditAnswer(True), "it can be awaited again"


NEVER_SENT = {
    "no edits at all": (replace(ALL, apply_edit=False), EDIT, "does not take edits"),
    "no creation": (replace(ALL, create_files=False), CREATION, "create files"),
}


@pytest.mark.parametrize(("capabilities", "edit", "reason"), NEVER_SENT.values(), ids=NEVER_SENT)
async def test_what_the_editor_cannot_do_is_not_sent(
    editor: LspEditor, wire: FakeWire, capabilities: EditorCapabilities, edit: DocumentEdit, reason: str
) -> None:
    editor.announce(capabilities)
    answer = await editor.apply_edit("x", edit)
    assert not answer.applied
    assert reason in answer.reason
    assert wire.sent == []


@pytest.mark.parametrize("edit", [replace(EDIT, edits=()), replace(EDIT, version=None)])
async def test_an_edit_without_changes_or_version_is_a_mistake_of_ours(
    editor: LspEditor, edit: DocumentEdit
) -> None:
    with pytest.raises(ValueError, match="edit"):
        editor.apply_edit("x", edit)


ANSWERS = {
    "true": ({"applied": True}, EditAnswer(True)),
    "true, more said": ({"applied": True, "failedChange": 0}, EditAnswer(True)),
    "false": ({"applied": False}, EditAnswer(False)),
    "reason": ({"applied": False, "failureReason": "stale"}, EditAnswer(False, "stale")),
    "reason of a wrong type": ({"applied": False, "failureReason": 7}, EditAnswer(False)),
    "a word for true": ({"applied": "yes"}, EditAnswer(False)),
    "null": (None, EditAnswer(False, "the editor's answer is not understood")),
    "a list": ([], EditAnswer(False, "the editor's answer is not understood")),
    "-32603": (EditorRefused("Internal error", -32603), EditAnswer(False, "Internal error")),
    "32603": (EditorRefused("", 32603), EditAnswer(False, "the editor answered with an error")),
}


@pytest.mark.parametrize(("answer", "expected"), ANSWERS.values(), ids=ANSWERS)
async def test_answers_to_apply_edit(
    editor: LspEditor, wire: FakeWire, answer: object, expected: EditAnswer
) -> None:
    wire.answers["workspace/applyEdit"] = answer
    assert await editor.apply_edit("x", EDIT) == expected


async def test_apply_edit_of_a_vanished_editor(editor: LspEditor, wire: FakeWire) -> None:
    wire.answers["workspace/applyEdit"] = EditorGone("gone")
    with pytest.raises(EditorGone):
        await editor.apply_edit("x", EDIT)


async def test_giving_up_an_edit_does_not_withdraw_it(editor: LspEditor, wire: FakeWire) -> None:
    wire.answers["workspace/applyEdit"] = SILENCE
    answer = editor.apply_edit("x", EDIT)
    waiting = asyncio.ensure_future(answer)
    await turns_of_the_loop()
    waiting.cancel()
    await turns_of_the_loop()
    assert wire.withdrawn == []
    wire.take("workspace/applyEdit").resolve({"applied": True})
    assert await answer == EditAnswer(True)


async def test_save(editor: LspEditor, wire: FakeWire) -> None:
    wire.answers["sidecar/save"] = {"saved": True}
    assert await editor.save(URI, 4) == Saved(True)
    assert wire.sent == [("sidecar/save", {"uri": URI, "version": 4})]
    wire.answers["sidecar/save"] = {}
    assert await editor.save(URI, 4) == Saved(False)
    wire.answers["sidecar/save"] = {"saved": True, "typed": True}
    assert await editor.save(URI, 4, exact=True) == Saved(True, typed=True)
    assert wire.sent[-1] == ("sidecar/save", {"uri": URI, "version": 4, "exact": True})


async def test_open_and_close(editor: LspEditor, wire: FakeWire) -> None:
    wire.answers["sidecar/open"] = {"version": 1}
    assert await editor.open(URI) == 1
    await editor.close(URI)
    assert wire.sent == [("sidecar/open", {"uri": URI}), ("sidecar/close", {"uri": URI})]


RELOADS = [
    ({"version": 9}, Reloaded(9)),
    ({"version": 9, "taken": 6, "read": 8, "made": [JSON_EDIT]}, Reloaded(9, 6, 8, EDIT.edits)),
    ({"refused": "version"}, "version"),
    ({}, "not-active"),
]


@pytest.mark.parametrize(("answer", "expected"), RELOADS)
async def test_reload(editor: LspEditor, wire: FakeWire, answer: object, expected: object) -> None:
    wire.answers["sidecar/reload"] = answer
    assert await editor.reload(URI, 8, EDIT.edits, EDIT.edits) == expected
    assert wire.sent == [
        ("sidecar/reload", {"uri": URI, "version": 8, "edits": [JSON_EDIT], "changes": [JSON_EDIT]})
    ]


async def test_custom_requests_are_not_sent_unannounced(editor: LspEditor, wire: FakeWire) -> None:
    editor.announce(replace(ALL, save=False, open=False, reload=False, show_document=False))
    assert await editor.save(URI, 1) == Saved(False)
    with pytest.raises(EditorRefused):
        await editor.open(URI)
    with pytest.raises(EditorRefused):
        await editor.reload(URI, 1, ())
    await editor.close(URI)
    assert not await editor.show_document(URI, take_focus=False)
    assert wire.sent == []


@pytest.mark.parametrize("answer", [{"version": "one"}, None, 3])
async def test_a_nonsensical_answer_is_a_refusal(editor: LspEditor, wire: FakeWire, answer: object) -> None:
    wire.answers["sidecar/open"] = answer
    with pytest.raises(EditorRefused, match="sidecar/open"):
        await editor.open(URI)


async def test_a_silent_editor_is_not_waited_for_for_ever(
    editor: LspEditor, wire: FakeWire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(editor_module, "ANSWER_WITHIN", 0.01)
    wire.answers["sidecar/save"] = SILENCE
    with pytest.raises(EditorTimeout):
        await editor.save(URI, 1)
    assert wire.withdrawn == ["sidecar/save"]


SHOWN = [({"success": True}, True), ({"success": False}, False), (None, False), (EditorRefused("no"), False)]


@pytest.mark.parametrize(("answer", "expected"), SHOWN)
async def test_show_document(editor: LspEditor, wire: FakeWire, answer: object, expected: bool) -> None:
    wire.answers["window/showDocument"] = answer
    assert await editor.show_document(URI, take_focus=True) is expected
    assert wire.sent == [("window/showDocument", {"uri": URI, "external": False, "takeFocus": True})]


async def test_messages(editor: LspEditor, wire: FakeWire) -> None:
    editor.show("error", "broken")
    editor.log("log", "quiet")
    editor.show("info", "x" * 100_000)
    assert wire.sent[0] == ("window/showMessage", {"type": 1, "message": "broken"})
    assert wire.sent[1] == ("window/logMessage", {"type": 4, "message": "quiet"})
    assert len(wire.sent[2][1]["message"]) < 5000


async def test_refreshes_are_sent_one_at_a_time(editor: LspEditor, wire: FakeWire) -> None:
    editor.announce(replace(ALL, changes=False, diagnostics_refresh=False))
    wire.answers["workspace/codeLens/refresh"] = SILENCE
    for _ in range(100):
        editor.changes_moved([URI])
    await turns_of_the_loop()
    assert wire.methods() == ["workspace/codeLens/refresh"]
    editor.changes_moved([URI])
    wire.take("workspace/codeLens/refresh").resolve(None)
    await turns_of_the_loop()
    assert wire.methods() == ["workspace/codeLens/refresh"] * 2
    wire.take("workspace/codeLens/refresh").fail(EditorRefused("no"))
    await turns_of_the_loop()
    assert len(wire.sent) == 2


async def test_changes_are_told_where_announced(editor: LspEditor, wire: FakeWire) -> None:
    editor.announce(EditorCapabilities(changes=True))
    editor.changes_moved([URI])
    editor.announce(EditorCapabilities())
    editor.changes_moved([URI])
    assert wire.sent == [("sidecar/changes", {"uris": [URI]})]


def chunk(text: str, kind: str = "agent_message_chunk") -> dict[str, object]:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


async def test_updates_are_joined_and_all_sent_before_the_turns_end(
    editor: LspEditor, wire: FakeWire
) -> None:
    for text in ("Hel", "lo ", "you"):
        editor.session_update("s1", chunk(text))
    editor.session_update("s1", {"sessionUpdate": "plan", "entries": []})
    assert wire.sent == []
    outcome = {"sessionId": "s1", "turn": 1, "stopReason": "end_turn", "changes": []}
    editor.turn_ended(outcome)
    assert wire.sent == [
        ("sidecar/sessionUpdate", {"sessionId": "s1", "update": chunk("Hello you")}),
        ("sidecar/sessionUpdate", {"sessionId": "s1", "update": {"sessionUpdate": "plan", "entries": []}}),
        ("sidecar/turnEnded", outcome),
    ]


async def test_updates_go_out_by_themselves(editor: LspEditor, wire: FakeWire) -> None:
    editor.session_update("s1", chunk("hello"))
    await until(lambda: wire.sent)
    assert wire.methods() == ["sidecar/sessionUpdate"]


async def test_updates_become_log_lines_elsewhere(editor: LspEditor, wire: FakeWire) -> None:
    editor.announce(EditorCapabilities())
    for text in ("first li", "ne\nsecond", " line\n", "third"):
        editor.session_update("s1", chunk(text))
    editor.session_update("s1", {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "read a.py"})
    editor.turn_ended({"sessionId": "s1"})
    assert wire.params("window/logMessage") == [
        {"type": 3, "message": "agent: first line\nagent: second line\nagent: third"},
        {"type": 4, "message": "tool: read a.py"},
    ]
    assert "sidecar/sessionUpdate" not in wire.methods()
    assert wire.methods()[-1] == "sidecar/turnEnded"
