"""The walkthrough: each of its steps is there to be read, and each of its buttons does what it says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Locator, expect

from tests.extension.node import EXTENSION
from tests.support.waiting import eventually
from tests.vscode.panel import Panel
from tests.vscode.reviewing import shown_settings
from tests.vscode.window import Window

WALKTHROUGH = "acp-sidecar.acp-sidecar#start"
(CONTRIBUTED,) = json.loads((EXTENSION / "package.json").read_text())["contributes"]["walkthroughs"]
STRINGS: dict[str, str] = json.loads((EXTENSION / "package.nls.json").read_text())


def asks_before_a_download(window: Window) -> None:
    dialog = window.page.locator(".monaco-dialog-box")
    expect(dialog.get_by_role("button", name="Download")).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()


def shows_the_log(window: Window) -> None:
    body = "return vscode.window.visibleTextEditors.some((e) => /output:.*ACP.*Sidecar/.test(e.document.uri.toString()))"
    window.until_js(body, "the log is shown", within=30)
    window.command("workbench.action.closePanel")


def shows_the_setting(window: Window) -> None:
    shown_settings(window, "Agents")


def shows_the_panel(window: Window) -> None:
    expect(
        window.page.locator(".part.auxiliarybar iframe.webview, .part.auxiliarybar .pane-body").first
    ).to_be_visible()
    window.command("workbench.action.closeAuxiliaryBar")


def asks_for_a_prompt(window: Window) -> None:
    box = window.page.get_by_placeholder("What should the agent do?")
    expect(box).to_be_visible()
    # not by Escape: the panel, which was opened before, may take the focus late
    window.command("workbench.action.closeQuickOpen")
    expect(box).to_be_hidden()


def offers_agents(window: Window) -> None:
    box = window.page.get_by_placeholder("Nothing is downloaded now")
    expect(box).to_be_visible()
    window.command("workbench.action.closeQuickOpen")
    expect(box).to_be_hidden()


def shows_the_demo(window: Window) -> None:
    shown = "vscode.window.visibleTextEditors.some((e) => e.document.isDirty && e.document.uri.path.endsWith('/weather.py'))"
    window.until_js(f"return {shown}", "the demo's file has unsaved text", within=60)
    expect(Panel(window).page.locator(".tour li.now")).to_be_visible(timeout=30_000)
    window.command("workbench.action.revertAndCloseActiveEditor")


BUTTONS: dict[str, dict[str, Callable[[Window], None]]] = {
    "try": {"Try It": shows_the_demo},
    "agent": {"Add Agent…": offers_agents, "Open Settings": shows_the_setting},
    "python": {"Get Python…": asks_before_a_download, "Show the log": shows_the_log},
    "prompt": {"Open the Panel": shows_the_panel, "Prompt…": asks_for_a_prompt},
    "review": {},
}
"""By step: what a button's press must lead to."""


def opened(window: Window, step: str) -> Locator:
    window.command(
        "workbench.action.openWalkthrough", {"category": WALKTHROUGH, "step": f"{WALKTHROUGH}#{step}"}
    )
    found = window.page.locator(f"[data-step-id='{WALKTHROUGH}#{step}']")
    expect(found).to_be_visible()
    if found.get_attribute("aria-expanded") != "true":
        found.locator(".step-title").click()
    expect(found).to_have_attribute("aria-expanded", "true")
    return found


def shown_beside(window: Window) -> str:
    """What the webviews show."""
    texts: list[str] = []
    for frame in window.page.frames[1:]:
        try:
            texts.append(frame.evaluate("document.body.innerText"))
        except PlaywrightError:  # it was replaced meanwhile
            continue
    return "\n".join(texts)


def test_every_step_shows_and_every_button_does_what_it_says(window: Window) -> None:
    window.command("workbench.action.openWalkthrough", WALKTHROUGH)
    shown = window.page.locator(".getting-started-step")
    expect(shown).to_have_count(len(CONTRIBUTED["steps"]) - 1)  # a Python runs, so none is offered
    expect(shown.first).to_contain_text("Try it")
    # there was one before the walkthrough was opened for the first time
    agent = shown.filter(has_text="Add an agent").get_by_role("checkbox")
    expect(agent).to_have_attribute("aria-checked", "true")
    window.command("setContext", "acpSidecar.noPython", True)
    expect(shown).to_have_count(len(CONTRIBUTED["steps"]))
    assert list(BUTTONS) == [step["id"] for step in CONTRIBUTED["steps"]]
    known = set(window.js("return await vscode.commands.getCommands(true)"))
    for contributed in CONTRIBUTED["steps"]:
        name = contributed["id"]
        description = STRINGS[contributed["description"].strip("%")]
        assert set(re.findall(r"\(command:([\w.]+)", description)) <= known
        step = opened(window, name)
        expect(step).to_contain_text(STRINGS[contributed["title"].strip("%")])
        expect(step).to_contain_text(description.split("\n", 1)[0])
        (heading,) = re.findall(
            r"^## (.*)", (EXTENSION / contributed["media"]["markdown"]).read_text(), re.MULTILINE
        )
        eventually(lambda heading=heading: heading in shown_beside(window), f"{heading} is shown", within=30)
        assert step.locator(".monaco-button").all_inner_texts() == list(BUTTONS[name])
        for words, leads in BUTTONS[name].items():
            opened(window, name).get_by_role("button", name=words, exact=True).click()
            leads(window)
    for name in ("try", "prompt"):  # both were done
        ticked = opened(window, name).get_by_role("checkbox")
        expect(ticked).to_have_attribute("aria-checked", "true")
    window.command("setContext", "acpSidecar.noPython", False)
