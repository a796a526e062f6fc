"""Pictures of the panel.

`python -m tests.panel.gallery` writes those of the documentation, docs/images/panel-*.png; `python -m tests.panel.gallery FOLDER` writes
a picture of every state (scenes.py) in every theme, to be looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path

from tests.extension.node import require_node
from tests.panel.panel import THEMES, Panel, Site, Tabs
from tests.panel.scenes import IN_THE_DOCUMENTATION, SCENES
from tests.support.tools import ROOT, require
from tests.vscode.browser import Browser


def main(folder: Path, scenes: Collection[str], themes: Collection[str], scale: int) -> None:
    """`scale`: pixels of the picture for one of CSS."""
    folder.mkdir(parents=True, exist_ok=True)
    browser, site = Browser(), Site()
    site.start(require_node())
    browser.start(require("chromium"))
    tabs = Tabs(browser.chromium)
    for theme in themes:
        for name in scenes:
            panel = Panel(tabs, site, theme, width=420, height=860, device_scale_factor=scale)
            SCENES[name](panel)
            panel.settle()
            panel.page.screenshot(path=folder / f"panel-{name}-{theme}.png")
            panel.close()
    browser.close()
    site.stop()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]), SCENES, THEMES, 1)
    else:
        main(ROOT / "docs" / "images", IN_THE_DOCUMENTATION, ("dark", "light", "hc-dark"), 2)
