"""Pictures of the panel in the workbench, in dark, light and high contrast: *Try it* for docs/images; to be looked at, conversations in
editor tabs and a command in a terminal.

`PICTURES=docs/images .venv/bin/pytest tests/vscode/test_panel_pictures.py` writes them; else they go nowhere, and the test sees only
that everything is there to be seen. The page alone is in `python -m tests.panel.gallery`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from sidecar.demo import story
from sidecar.demo.run import SAMPLE
from tests.e2e import scripted
from tests.support.waiting import eventually
from tests.vscode.panel import Panel
from tests.vscode.reviewing import lenses
from tests.vscode.test_panel import allow, begin, command
from tests.vscode.test_panel_tabs import in_editor
from tests.vscode.window import Window

pytestmark = pytest.mark.timeout(400)

THEMES = {"dark": "Dark Modern", "light": "Light Modern", "hc-dark": "Default High Contrast"}

LISTENS = "import time; print('\\x1b[32mlistening\\x1b[0m on port 8080', flush=True); time.sleep(600)"


def themed(window: Window, panel: Panel, theme: str) -> None:
    window.configure({"workbench.colorTheme": theme})
    panel.page.wait_for_function(
        "(name) => document.body.dataset.vscodeThemeId.endsWith(name)", arg=theme.removeprefix("Default ")
    )
    window.command("notifications.clearAll")
    window.page.mouse.move(640, 640)  # nothing is hovered


def test_the_panel_in_every_theme(scene: Callable[[str], Window], tmp_path: Path) -> None:
    folder = Path(os.environ.get("PICTURES", tmp_path))
    window = scene("rain")
    script = story.of_sample((SAMPLE / story.SCRIPT.file).read_text())
    window.command("workbench.action.closeSidebar")
    window.configure({"breadcrumbs.enabled": False})
    panel = Panel(window)
    window.command("acpSidecar.panel.tryIt")
    expect(panel.box).to_have_value(script.prompt, timeout=60_000)
    eventually(lambda: window.active() is not None, "the sample is shown", within=30)
    half = len(script.meanwhile.text) // 2
    window.type(script.meanwhile.text[:half])
    expect(panel.page.locator(".tour li.now")).to_contain_text("Send the message", timeout=30_000)
    themed(window, panel, THEMES["dark"])
    window.screenshot(folder / "vscode-try-it-dark.png")
    panel.button("Send", exact=True).click()
    window.type(script.meanwhile.text[half:])
    expect(panel.page.locator(".tour li.now")).to_contain_text("Take back its edit", timeout=60_000)
    panel.button("Leave the demo").click()
    expect(panel.page.locator(".tour")).to_have_count(0)
    panel.says("1 file changed")
    file = window.active()
    assert file is not None
    eventually(lambda: lenses(window, file), "the change can be rejected above it", within=60)
    for shown in (False, True):  # VS Code asks anew: it was seen to miss that there are lenses now
        window.configure({"editor.codeLens": shown})
    expect(window.page.locator(".codelens-decoration").filter(has_text="Reject").first).to_be_visible()
    for name, theme in THEMES.items():
        themed(window, panel, theme)
        window.screenshot(folder / f"vscode-panel-{name}.png")


def test_tabs_and_the_terminal_of_a_command_in_every_theme(
    scene: Callable[[str], Window], tmp_path: Path
) -> None:
    folder = Path(os.environ.get("PICTURES", tmp_path)) / "looked-at"
    window = scene("rain")
    window.configure({"terminal.integrated.gpuAcceleration": "off"})  # then its words are in the page
    one = in_editor(window, "Alpha")
    in_editor(window, "Beta")
    window.command("workbench.action.moveEditorToRightGroup")
    side = begin(window)
    side.prompt(scripted.steps(*command(LISTENS)))
    allow(side)
    side.button("Show in a terminal").click()
    expect(window.page.locator(".terminal-wrapper.active .xterm-rows")).to_contain_text("listening")
    for name, theme in THEMES.items():
        themed(window, side, theme)
        themed(window, one, theme)
        window.screenshot(folder / f"vscode-tabs-{name}.png")
    side.button("Stop this command").click()
    side.ready()
    window.command("workbench.action.terminal.killAll")
    window.command("workbench.action.closePanel")
