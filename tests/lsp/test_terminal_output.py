"""What commands say reaches clients that show it: joined while it waits, the end of what is too much; nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from sidecar.lsp.editor import LspEditor
from sidecar.lsp.updates import OUTPUT_LIMIT, Updates
from sidecar.workspace.ports.ports import EditorCapabilities
from sidecar.workspace.ports.session_ports import CommandEnd
from tests.lsp.fakes import FakeWire, Tasks


def said(wire: FakeWire) -> list[Any]:
    return [params for method, params in wire.sent if method == "sidecar/terminalOutput"]


async def test_output_is_joined_by_terminal() -> None:
    wire = FakeWire()
    updates = Updates(wire, lambda: True)
    for terminal, output in (("t1", "a"), ("t2", "x"), ("t1", "b\n")):
        updates.add_output("S", terminal, output)
    assert not said(wire)
    updates.flush()
    updates.flush()
    assert said(wire) == [
        {"sessionId": "S", "terminalId": "t1", "output": "ab\n"},
        {"sessionId": "S", "terminalId": "t2", "output": "x"},
    ]


async def test_the_end_of_what_is_too_much() -> None:
    wire = FakeWire()
    updates = Updates(wire, lambda: True)
    for _ in range(10):
        updates.add_output("S", "t1", "x" * OUTPUT_LIMIT)
    updates.add_output("S", "t1", "end")
    updates.flush()
    (params,) = said(wire)
    assert len(params["output"]) == OUTPUT_LIMIT
    assert params["output"].endswith("xend")


ENDS: dict[str, tuple[CommandEnd, dict[str, object]]] = {
    "with a code": (CommandEnd(0), {"exitCode": 0}),
    "by a signal": (CommandEnd(None, "SIGKILL"), {"signal": "SIGKILL"}),
    "by the user": (CommandEnd(None, "SIGTERM", True), {"signal": "SIGTERM", "stopped": True}),
    "never started": (CommandEnd(), {}),
}


@pytest.mark.parametrize("how", ENDS)
async def test_its_end_comes_after_the_last_of_it(how: str) -> None:
    wire = FakeWire()
    editor = LspEditor(wire, Tasks())
    end, told = ENDS[how]
    editor.terminal_ended("S", "t1", end)
    assert wire.sent == []
    editor.announce(EditorCapabilities(session_updates=True))
    editor.terminal_output("S", "t1", "last")
    editor.terminal_ended("S", "t1", end)
    assert wire.sent == [
        ("sidecar/terminalOutput", {"sessionId": "S", "terminalId": "t1", "output": "last"}),
        ("sidecar/terminalEnded", {"sessionId": "S", "terminalId": "t1", **told}),
    ]


async def test_only_for_clients_that_show_it() -> None:
    wire = FakeWire()
    editor = LspEditor(wire, Tasks())
    for announced, expected in ((False, 0), (True, 1)):
        editor.announce(EditorCapabilities(session_updates=announced))
        editor.terminal_output("S", "t1", "a")
        editor.turn_ended({"sessionId": "S", "turn": 1})
        assert len(said(wire)) == expected
