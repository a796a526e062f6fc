"""Pictures of the panel in the workbench for docs/images: *Try it*, in dark, light and high contrast.

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
from tests.support.waiting import eventually
from tests.vscode.panel import Panel
from tests.vscode.reviewing import lenses
from tests.vscode.window import Window

pytestmark = pytest.mark.timeout(400)

THEMES = {"dark": "Dark Modern", "light": "Light Modern", "hc-dark": "Default High Contrast"}


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
