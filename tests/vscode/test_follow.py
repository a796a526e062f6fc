"""*Follow the agent*: the view goes where the agent works; cursors and the focus stay, and the user ends it by typing or scrolling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e import scripted
from tests.support.waiting import eventually
from tests.vscode.panel import Panel
from tests.vscode.test_panel import SIGNAL, begin, signal
from tests.vscode.window import Window

pytestmark = pytest.mark.timeout(400)

LINES = [f"line {number}" for number in range(300)]
LONG = "\n".join(LINES) + "\n"
EDITORS = """
return vscode.window.visibleTextEditors.filter((one) => one.viewColumn).map((one) => ({
  path: one.document.uri.fsPath, column: one.viewColumn, cursor: [one.selection.active.line, one.selection.active.character],
  top: one.visibleRanges[0]?.start.line, bottom: one.visibleRanges.at(-1)?.end.line,
}));
"""


def changed(*places: int) -> str:
    """LONG with another text in these lines (from 0)."""
    return "".join(f"{'changed' if at in places else line}\n" for at, line in enumerate(LINES))


def editors(window: Window) -> list[dict[str, Any]]:
    return window.js(EDITORS)


def shown(window: Window, path: Path, line: int = 0) -> dict[str, Any]:
    """Waits until this line (from 0) of the file is in view, and returns its editor."""

    def look() -> dict[str, Any] | None:
        for one in editors(window):
            if one["path"] == str(path) and one["top"] <= line <= one["bottom"]:
                return one
        return None

    return eventually(
        look,
        f"{path.name}:{line} is shown",
        within=60,
        otherwise=lambda: f"{editors(window)}\n{Panel.words(window)}",
    )


def button(panel: Panel) -> Locator:
    return panel.button("Follow the agent")


def is_followed(panel: Panel, followed: bool) -> None:
    expect(button(panel)).to_have_attribute("aria-pressed", str(followed).lower())


def follow(panel: Panel) -> None:
    if button(panel).get_attribute("aria-pressed") == "true":  # by the test before
        button(panel).click()
        is_followed(panel, False)
    button(panel).click()
    is_followed(panel, True)


def reading_and_writing(window: Window, panel: Panel, path: Path) -> None:
    """A turn that reads the file's beginning, waits for a signal, and changes its line 250."""
    panel.prompt(
        scripted.steps(
            scripted.read(path), SIGNAL, scripted.write(path, changed(250)), {"say": "It is done."}
        )
    )


def test_the_view_goes_where_the_agent_works(window: Window) -> None:
    mine, long = window.file("mine.txt", "one\ntwo\n"), window.file("long.txt", LONG)
    window.open(mine)
    window.place(1, 2)
    panel = begin(window)
    follow(panel)
    panel.box.focus()
    places = (250, 20, 130, 290, 5)
    steps = [scripted.read(long)]
    for number in range(len(places)):
        steps += [{**SIGNAL, "count": number + 2}]
        steps += [{**scripted.write(long, changed(*places[: number + 1])), "as": f"write {number}"}]
    panel.prompt(scripted.steps(*steps, {"say": "It is done."}))
    assert shown(window, long)["column"] == 1
    for line in places:
        signal(window)
        editor = shown(window, long, line)
        assert editor["cursor"] == [0, 0]
        assert panel.page.evaluate("document.hasFocus() && document.activeElement.tagName") == "TEXTAREA"
    panel.answers("It is done.")
    is_followed(panel, True)
    assert len(window.tabs()) == 2
    window.command("workbench.action.previousEditor")
    assert shown(window, mine)["cursor"] == [1, 2]


def test_it_ends_when_the_user_types(window: Window) -> None:
    long = window.file("long.txt", LONG)
    panel = begin(window)
    follow(panel)
    reading_and_writing(window, panel, long)
    shown(window, long)
    window.focus_editor()
    window.type("x")
    is_followed(panel, False)
    signal(window)
    panel.answers("It is done.")
    window.until_text(long, "x" + changed(250))
    assert shown(window, long)["top"] == 0


def test_it_ends_when_the_user_scrolls(window: Window) -> None:
    long = window.file("long.txt", LONG)
    panel = begin(window)
    follow(panel)
    reading_and_writing(window, panel, long)
    shown(window, long)
    window.page.locator(".editor-instance .view-lines").first.hover()

    def scrolled() -> bool:
        window.page.mouse.wheel(0, 300)
        return button(panel).get_attribute("aria-pressed") == "false"

    eventually(scrolled, "a scroll ends it", within=60)
    top = editors(window)[0]["top"]
    signal(window)
    panel.answers("It is done.")
    assert abs(editors(window)[0]["top"] - top) < 50


def test_keys_never_go_to_a_document_that_it_shows(window: Window) -> None:
    """While an editor has the focus, its document stays, and the agent's is shown beside it."""
    mine, long = window.file("mine.txt", "one\n"), window.file("long.txt", LONG)
    window.open(mine)
    panel = begin(window)
    reading_and_writing(window, panel, long)
    window.focus_editor()
    if button(panel).get_attribute("aria-pressed") == "false":
        window.command("acpSidecar.panel.follow")
    is_followed(panel, True)
    signal(window)
    assert shown(window, long, 250)["column"] == 2
    window.page.keyboard.type("typed ")
    window.until_text(mine, "typed one\n")
    is_followed(panel, False)
    assert window.text(long) == changed(250)


def test_what_tool_calls_name_is_shown_inside_the_workspace_only(window: Window, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text(LONG)
    new, book, last = window.folder / "new.txt", window.file("a.ipynb", "{}"), window.file("last.txt", LONG)
    panel = begin(window)
    follow(panel)

    def call(name: str, **more: Any) -> dict[str, Any]:
        kind = "tool_call_update" if more.get("status") == "completed" else "tool_call"
        return {"update": {"sessionUpdate": kind, "toolCallId": name, "title": name, "kind": "edit", **more}}

    def at(path: object, line: int | None = None) -> dict[str, Any]:
        return {"locations": [{"path": str(path), **({"line": line} if line else {})}]}

    panel.prompt(
        scripted.steps(
            call("outside", **at(outside)),
            call("up", **at(f"{window.folder}/../../../../../../../../{outside}")),
            call("book", **at(book)),
            call("folder", **at(window.folder)),
            call("new", **at(new, 200)),
            {**SIGNAL},
            {"put": str(new), "text": LONG},
            call("new", status="completed"),
            {**SIGNAL, "count": 3},
            call("last", **at(last, 100)),
            {"say": "It is done."},
        )
    )
    signal(window)
    shown(window, new, 199)
    signal(window)
    shown(window, last, 99)
    panel.answers("It is done.")
    is_followed(panel, True)
    assert {tab["label"] for tab in window.tabs()} == {"last.txt"}  # one preview tab
