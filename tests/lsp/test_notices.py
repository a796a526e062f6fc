"""The sidecar's own words about a conversation: in it where the client has it, as a message where not."""

from __future__ import annotations

from sidecar.lsp.editor import LspEditor
from sidecar.workspace.ports.ports import EditorCapabilities
from tests.lsp.fakes import FakeWire, Tasks

SAID = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hello"}}


async def test_a_line_in_the_conversation_below_what_was_said_before() -> None:
    wire = FakeWire()
    editor = LspEditor(wire, Tasks())
    editor.announce(EditorCapabilities(session_updates=True))
    editor.session_update("S", SAID)
    editor.notice("S", "words")
    assert wire.sent == [
        ("sidecar/sessionUpdate", {"sessionId": "S", "update": SAID}),
        ("sidecar/notice", {"sessionId": "S", "message": "words"}),
    ]


async def test_a_message_where_there_is_no_conversation() -> None:
    wire = FakeWire()
    LspEditor(wire, Tasks()).notice("S", "words")
    assert wire.sent == [("window/showMessage", {"type": 3, "message": "words"})]


async def test_what_the_user_decided_is_for_clients_that_show_conversations() -> None:
    wire = FakeWire()
    editor = LspEditor(wire, Tasks())
    editor.reviewed("S", 1, "kept", 2)
    editor.announce(EditorCapabilities(session_updates=True))
    editor.reviewed("S", 1, "rejected", 3)
    assert wire.sent == [
        ("sidecar/reviewed", {"sessionId": "S", "turn": 1, "verdict": "rejected", "changes": 3})
    ]
