"""Messages with a button that opens what they tell of, where the client shows such beside the text; the words alone elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from sidecar.lsp.editor import LspEditor
from sidecar.lsp.message_buttons import MOST, Button
from sidecar.workspace.ports.ports import EditorCapabilities, EditorGone, EditorRefused, Opens
from tests.lsp.fakes import SILENCE, FakeWire, Tasks, turns_of_the_loop

CAN = EditorCapabilities(message_buttons=True, show_document=True)
OPENS = Opens.file("file:///a.txt", 4)
MESSAGE = {"type": 2, "message": "Compare it before you save."}
PLAIN = [("window/showMessage", MESSAGE)]


async def shown(wire: FakeWire, capabilities: EditorCapabilities = CAN, times: int = 1) -> None:
    tasks = Tasks()
    editor = LspEditor(wire, tasks)
    editor.announce(capabilities)
    for _ in range(times):
        editor.show("warning", MESSAGE["message"], OPENS)
    await turns_of_the_loop()
    await tasks.check()


async def test_pressed() -> None:
    wire = FakeWire({"window/showMessageRequest": {"title": OPENS.label}})
    await shown(wire)
    place = {"line": 4, "character": 0}
    assert wire.sent == [
        ("window/showMessageRequest", {**MESSAGE, "actions": [{"title": OPENS.label}]}),
        (
            "window/showDocument",
            {
                "uri": OPENS.uri,
                "external": False,
                "takeFocus": True,
                "selection": {"start": place, "end": place},
            },
        ),
    ]


async def test_of_two_the_one_that_was_pressed() -> None:
    pressed: list[str] = []

    async def undo() -> None:
        pressed.append("undo")

    wire, tasks = FakeWire({"window/showMessageRequest": {"title": "Undo"}}), Tasks()
    editor = LspEditor(wire, tasks)
    editor.announce(CAN)
    editor.show("warning", MESSAGE["message"], OPENS, Button("Undo", undo))
    await turns_of_the_loop()
    await tasks.check()
    actions = [{"title": OPENS.label}, {"title": "Undo"}]
    assert wire.sent == [("window/showMessageRequest", {**MESSAGE, "actions": actions})]
    assert pressed == ["undo"]


@pytest.mark.parametrize("answer", [None, {"title": "another"}, "text", EditorGone()])
async def test_nothing_is_opened_that_was_not_asked_for(answer: Any) -> None:
    wire = FakeWire({"window/showMessageRequest": answer})
    await shown(wire)
    assert wire.methods() == ["window/showMessageRequest"]


async def test_a_client_that_refuses_them_shows_the_words() -> None:
    wire = FakeWire({"window/showMessageRequest": EditorRefused("no")})
    await shown(wire)
    assert wire.sent[1:] == PLAIN


@pytest.mark.parametrize(
    "capabilities",
    [
        EditorCapabilities(show_message_request=True, show_document=True),
        EditorCapabilities(message_buttons=True),
    ],
    ids=["a prompt that takes the keys", "nothing can be opened"],
)
async def test_elsewhere_the_words_alone(capabilities: EditorCapabilities) -> None:
    wire = FakeWire()
    await shown(wire, capabilities)
    assert wire.sent == PLAIN


async def test_not_too_many_wait() -> None:
    wire = FakeWire({"window/showMessageRequest": SILENCE})
    await shown(wire, times=MOST + 2)
    assert wire.methods() == ["window/showMessageRequest"] * MOST + ["window/showMessage"] * 2
