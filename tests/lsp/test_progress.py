"""Work done progress: what the client sees, whatever the order of its answer and our calls."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from sidecar.lsp import progress as progress_module
from sidecar.lsp.editor import LspEditor
from sidecar.lsp.progress import ProgressBoard
from sidecar.workspace.ports.ports import EditorCapabilities, EditorGone, EditorRefused
from tests.lsp.fakes import SILENCE, FakeWire, Tasks, turns_of_the_loop, until

CREATE = "window/workDoneProgress/create"


@pytest.fixture
def wire() -> FakeWire:
    return FakeWire()


@pytest.fixture
async def tasks() -> AsyncGenerator[Tasks]:
    tasks = Tasks()
    yield tasks
    await tasks.check()


@pytest.fixture
async def board(wire: FakeWire, tasks: Tasks) -> ProgressBoard:
    return ProgressBoard(wire, tasks)


def values(wire: FakeWire) -> list[Any]:
    return [params["value"] for params in wire.params("$/progress")]


BEGIN = {"kind": "begin", "title": "agent", "cancellable": True}

STEPS: dict[str, tuple[str, list[Any]]] = {
    "create answered at once": (
        "ok report:one report:two end:done",
        [
            BEGIN,
            {"kind": "report", "message": "one"},
            {"kind": "report", "message": "two"},
            {"kind": "end", "message": "done"},
        ],
    ),
    "reports before the answer": (
        "report:one report:two ok end:",
        [{**BEGIN, "message": "two"}, {"kind": "end"}],
    ),
    "ended before the answer": (
        "end:done ok",
        [{**BEGIN, "cancellable": False}, {"kind": "end", "message": "done"}],
    ),
    "refused": ("refused report:one end:done", []),
    "gone": ("gone report:one end:done", []),
    "after the end": (
        "ok end:done report:late end:again",
        [BEGIN, {"kind": "end", "message": "done"}],
    ),
}


@pytest.mark.parametrize(("steps", "expected"), STEPS.values(), ids=STEPS)
async def test_steps(board: ProgressBoard, wire: FakeWire, steps: str, expected: list[Any]) -> None:
    wire.answers[CREATE] = SILENCE
    shown = board.begin("agent", lambda: None)
    await turns_of_the_loop()
    does: dict[str, Callable[[str], None]] = {
        "ok": lambda _: wire.take(CREATE).resolve(None),
        "refused": lambda _: wire.take(CREATE).fail(EditorRefused("no")),
        "gone": lambda _: wire.take(CREATE).fail(EditorGone("gone")),
        "report": shown.report,
        "end": shown.end,
    }
    for step in steps.split():
        name, _, argument = step.partition(":")
        does[name](argument)
        await turns_of_the_loop()
    assert values(wire) == expected
    tokens = {params["token"] for params in wire.params("$/progress")}
    assert tokens <= {params["token"] for params in wire.params(CREATE)}


async def test_cancel_reaches_its_own_work_once(board: ProgressBoard, wire: FakeWire) -> None:
    cancelled: list[str] = []
    first = board.begin("first", lambda: cancelled.append("first"))
    board.begin("second", lambda: cancelled.append("second"))
    await until(lambda: len(values(wire)) == 2)
    tokens = {params["value"]["title"]: params["token"] for params in wire.params("$/progress")}
    for token in (tokens["second"], tokens["second"], "unknown", 7, None):
        board.cancelled(token)
    assert cancelled == ["second"]
    first.end("done")
    board.cancelled(tokens["first"])
    assert cancelled == ["second"]


async def test_a_client_that_never_answers_create_sees_nothing(
    board: ProgressBoard, wire: FakeWire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_module, "CREATE_WITHIN", 0.01)
    wire.answers[CREATE] = SILENCE
    shown = board.begin("agent", None)
    await until(lambda: wire.withdrawn)
    shown.end("done")
    assert values(wire) == []


async def test_clients_without_progress_get_none(wire: FakeWire, tasks: Tasks) -> None:
    editor = LspEditor(wire, tasks)
    editor.announce(EditorCapabilities())
    shown = editor.progress("agent", None)
    shown.report("one")
    shown.end("done")
    await turns_of_the_loop()
    assert wire.sent == []
