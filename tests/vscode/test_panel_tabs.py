"""Conversations in editor tabs: several at once, each its own, back after a reload."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Frame, expect

from tests.e2e import scripted
from tests.support.waiting import eventually
from tests.vscode.panel import Panel
from tests.vscode.reviewing import title_button
from tests.vscode.test_panel import ask, begin, fresh
from tests.vscode.window import Window

pytestmark = pytest.mark.timeout(600)

HALF = re.compile("half a thought")


class Tab(Panel):
    """The editor tab that shows the conversation of this title."""

    def __init__(self, window: Window, title: str) -> None:
        self._window = window
        self._title = title

    @property
    def page(self) -> Frame:
        def look() -> Frame | None:
            for frame in self._window.page.frames:
                try:
                    head = frame.query_selector("#app .app[data-place=tab] header")
                    if head and self._title in head.inner_text():
                        return frame
                except PlaywrightError:
                    continue  # it is going away
            self._window.page.wait_for_timeout(20)  # lets the browser process its events
            return None

        return eventually(
            look, f"the tab of {self._title}", within=60, otherwise=self._window.server.last_words
        )

    def begins(self) -> Frame:
        """The page of the tab that asks with which agent a conversation begins."""

        def look() -> Frame | None:
            for frame in self._window.page.frames:
                try:
                    if frame.query_selector("#app .app[data-place=tab] .agents"):
                        return frame
                except PlaywrightError:
                    continue  # it is going away
            self._window.page.wait_for_timeout(20)
            return None

        return eventually(look, "a tab that asks for an agent", within=60)


def titled(window: Window, title: str) -> Panel:
    """A conversation of this title in the side bar, whose agent has answered once."""
    panel = begin(window)
    panel.prompt(f"{title} {scripted.steps({'say': f'this is **{title}**'})}")
    panel.answers(f"this is {title}")
    panel.ready()
    return panel


def in_editor(window: Window, title: str) -> Tab:
    panel = titled(window, title)
    panel.button("Open in an editor tab").click()
    tab = Tab(window, title)
    tab.answers(f"this is {title}")
    return tab


def test_conversations_stand_in_tabs_side_by_side_each_its_own(window: Window) -> None:
    one = in_editor(window, "Alpha")
    two = in_editor(window, "Beta")
    window.command("workbench.action.moveEditorToRightGroup")
    names = [tab["label"] for tab in window.tabs()]
    assert [any(title in name for name in names) for title in ("Alpha", "Beta")] == [True, True]
    # both can be seen, and a draft in one is not in the other
    one.box.fill("a draft of Alpha's")
    two.prompt(fresh(2, {"say": "only in **Beta**"}))
    two.answers("only in Beta")
    expect(one.box).to_have_value("a draft of Alpha's")
    expect(one.page.get_by_text("only in Beta")).to_have_count(0)
    # the side bar shows neither, and leads to the tab of one that it is asked for
    side = Panel(window)
    window.command("acpSidecar.panel.sessions")
    expect(side.page.locator(".app[data-place=side]")).to_be_visible()
    side.page.locator(".sessions li .session").filter(has_text="Alpha").first.click()
    expect(one.box).to_be_visible()
    eventually(lambda: "Alpha" in str(window.active_tab()["label"]), "its tab is turned to")


def test_a_conversation_begins_in_a_tab_and_is_exported_from_it(window: Window) -> None:
    side = titled(window, "Zeta")
    window.command("acpSidecar.panel.newInEditor")
    choice = Tab(window, "").begins()
    expect(choice.get_by_role("heading", name="New conversation with")).to_be_visible()
    choice.get_by_role("button", name=f"Start with {scripted.NAME}").click()
    tab = Tab(window, "New conversation")
    tab.ready()
    tab.box.fill(f"Eta {scripted.steps({'say': 'begun in a **tab**'})}")
    tab.box.press("Enter")
    tab = Tab(window, "Eta")
    tab.answers("begun in a tab")
    eventually(lambda: window.active_tab()["label"].startswith("Eta"), "the tab has its title")
    side.answers("this is Zeta")  # the side bar shows what it did
    # another one by the button beside the tabs
    title_button(window, "New Session in an Editor Tab").click()
    eventually(lambda: len(window.tabs()) == 2, "another tab")
    expect(tab.begins().get_by_role("button", name=f"Start with {scripted.NAME}")).to_be_visible()
    # it has no box to write in yet: what is added goes to the side bar
    file = window.file("rain.py", "x\n")
    window.js(
        "await vscode.commands.executeCommand('acpSidecar.panel.add', vscode.Uri.file(args[0]))", str(file)
    )
    expect(side.page.locator(".box .chip")).to_contain_text("rain.py")
    window.command("workbench.action.focusActiveEditorGroup")
    window.command("workbench.action.closeActiveEditor")
    # and Export is of the tab's
    eventually(lambda: window.active_tab()["label"].startswith("Eta"), "the first is at the front")
    assert window.root is not None
    title_button(window, "Export Conversation in the Tab").click()
    box = window.page.locator(".quick-input-widget input.input")
    expect(box).to_have_value(re.compile(r"/Eta .*\.md$"))
    target = window.folder / "eta.md"
    box.fill(str(target))
    window.save_there(target)
    eventually(lambda: "begun in a **tab**" in target.read_text(), "it is the tab's", within=30)


def test_a_question_is_asked_where_its_conversation_is_and_a_closed_tab_ends_no_turn(window: Window) -> None:
    tab = in_editor(window, "Gamma")
    tab.prompt(fresh(2, ask(7), {"say": "it **ran**"}))
    card = tab.page.locator(".question button.allow")
    expect(card).to_be_visible()
    side = Panel(window)
    expect(side.page.locator(".question")).to_have_count(0)
    # the key leads there, and so does the command
    window.command("acpSidecar.panel.question")
    expect(tab.page.locator("[data-row]:focus .question")).to_be_visible()
    window.command("workbench.action.closeActiveEditor")
    status = window.command("sidecar.status", {})
    assert any(one["running"] for one in status["sessions"])
    # it is asked on, in the side bar now
    window.command("acpSidecar.panel.question")
    expect(side.page.locator(".question button.allow[aria-disabled=false]")).to_be_visible()
    side.page.locator(".question button.allow").click()
    side.answers("it ran")


def test_tabs_come_back_after_a_reload_with_their_drafts_and_go_back_to_the_side_bar(window: Window) -> None:
    window.file("rain.py", "x\n")
    tab = in_editor(window, "Delta")
    tab.box.fill("half a thought")
    tab.box.blur()
    tab.box.press("End")
    tab.box.press_sequentially(" @rain")  # whoever answers this has been told the draft
    expect(tab.page.get_by_role("option", name="rain.py").first).to_be_visible()
    window.reload_by_command()
    window.until_server_runs()
    tab.answers("this is Delta")
    tab.button("Continue in new session").click()
    expect(tab.box).to_have_value(HALF)
    tab.button("Open in the side bar").click()
    side = Panel(window)
    side.answers("this is Delta")
    expect(side.box).to_have_value(HALF)
    eventually(lambda: not any("Delta" in tab["label"] for tab in window.tabs()), "the tab is closed")
