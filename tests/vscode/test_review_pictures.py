"""Pictures of the review for docs/images, in a light, a dark and two high-contrast themes.

`PICTURES=docs/images .venv/bin/pytest tests/vscode/test_review_pictures.py` writes them; else they go nowhere, and the
test sees only that everything is there to be seen in each theme.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from tests.support.waiting import eventually
from tests.vscode.pictures import THEMES, set_theme
from tests.vscode.reviewing import agent_writes, expand, lens, lenses, title_button, until_lenses, view
from tests.vscode.window import Window

BASE = '''\
"""Prices, in cents."""

from shop.tax import rate


def net(items):
    total = 0
    for item in items:
        total += item.price * item.count
    return total


def gross(items, country):
    return net(items) * (1 + rate(country))


def receipt(items, country):
    for item in items:
        print(item.name, item.price)
    print("Total:", gross(items, country))
'''
SHORTER = (
    "    total = 0\n    for item in items:\n        total += item.price * item.count\n    return total\n",
    "    return sum(item.price * item.count for item in items)\n",
)
WANTED = (
    BASE.replace(*SHORTER)
    .replace("return net(items) * (1 + rate(country))", "return round(net(items) * (1 + rate(country)))")
    .replace(
        "        print(item.name, item.price)\n",
        '        print(f"{item.count} x {item.name:<20} {item.price:>8}")\n    print("-" * 33)\n',
    )
)
TAX = 'RATES = {"AT": 0.20, "DE": 0.19}\n\n\ndef rate(country):\n    return RATES[country]\n'


def reviewed(window: Window) -> Path:
    file, tax = window.file("prices.py", BASE), window.file("tax.py", TAX)
    window.open(file)
    agent_writes(
        window,
        (file, WANTED),
        (tax, TAX.replace('"DE": 0.19', '"DE": 0.19, "FR": 0.20')),
        (window.folder / "tests/test_prices.py", "from shop.prices import gross\n"),
    )
    eventually(lambda: len({c["uri"] for c in window.changes()}) == 3, "three files are under review")
    return file


def test_the_review_in_every_theme(scene: Callable[[str], Window], tmp_path: Path) -> None:
    folder = Path(os.environ.get("PICTURES", tmp_path))
    window = scene("shop")
    file = reviewed(window)
    eventually(lambda: len(lenses(window, file)) >= 3, "the lenses are there")
    window.type("# for all countries\n", at=(2, 0))
    rows = view(window)
    expect(rows.first).to_be_visible()
    expand(rows.nth(1))
    try:
        for name, (theme, kind) in THEMES.items():
            set_theme(window, theme)
            window.page.locator(f".monaco-workbench.{kind}").wait_for()
            expect(rows.first).to_be_visible()
            until_lenses(window, file, lenses(window, file))
            expect(title_button(window, "Keep All")).to_be_visible()
            window.page.mouse.move(700, 780)
            window.screenshot(folder / f"review-vscode-{name}.png")
        theme, kind = THEMES["dark"]
        set_theme(window, theme)
        window.page.locator(f".monaco-workbench.{kind}").wait_for()
        lens(window, "−", 0).click()
        expect(window.page.locator(".monaco-diff-editor").first).to_be_visible()
        window.command("workbench.action.closeSidebar")
        window.screenshot(folder / "review-vscode-diff.png")
    finally:
        set_theme(window, None)
