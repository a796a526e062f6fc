"""Pictures of the workbench in light, dark and high contrast."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from tests.vscode.window import Window

THEMES = {
    "light": ("Light Modern", "vs"),
    "dark": ("Dark Modern", "vs-dark"),
    "hc-dark": ("Default High Contrast", "hc-black"),
    "hc-light": ("Default High Contrast Light", "hc-light"),
}
"""Each one's name, and its kind as the workbench says it to its style sheets."""
Picture = Callable[..., None]


def set_theme(window: Window, theme: str | None) -> None:
    window.js(
        "await vscode.workspace.getConfiguration('workbench').update('colorTheme', args[0] ?? undefined, "
        "vscode.ConfigurationTarget.Global)",
        theme,
    )


def takes_pictures(otherwise: Path) -> Picture:
    """`picture(window, name, *seen, first=…)`: what the window shows in each theme; `seen` selects what must be visible. `first` is done in
    each theme before. The pictures go into the folder PICTURES, or to `otherwise`."""
    folder = Path(os.environ.get("PICTURES", otherwise))

    def take(window: Window, name: str, *seen: str, first: Callable[[], object] = lambda: None) -> None:
        try:
            for theme, (label, kind) in THEMES.items():
                set_theme(window, label)
                window.page.locator(f".monaco-workbench.{kind}").wait_for()
                first()
                for selector in seen:
                    expect(window.page.locator(selector).first).to_be_visible()
                window.page.mouse.move(700, 790)
                window.screenshot(folder / f"scene-{name}-{theme}.png")
        finally:
            set_theme(window, None)

    return take
