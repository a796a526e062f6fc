"""Fixtures of the page's tests (README.md): one browser, one site; a page each, loaded anew."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.extension.node import require_node
from tests.panel.panel import Panel, Site, Tabs
from tests.support import tools
from tests.vscode.browser import Browser

HERE = Path(__file__).parent
_BROWSER = Browser()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if item.path.parent != HERE:
        return (yield)
    with _BROWSER.entered():
        return (yield)


@pytest.fixture(scope="session")
def _site() -> Generator[tuple[Tabs, Site]]:
    chromium, node = tools.require("chromium"), require_node()
    site = Site()
    site.start(node)
    _BROWSER.start(chromium)
    yield Tabs(_BROWSER.chromium), site
    _BROWSER.close()
    site.stop()


@pytest.fixture
def open_panel(_site: tuple[Tabs, Site]) -> Generator[Callable[..., Panel]]:
    """`open_panel(theme="light", width=…)`; other options are the browser context's."""
    tabs, site = _site
    with ExitStack() as stack:

        def open_one(theme: str = "dark", **how: Any) -> Panel:
            panel = Panel(tabs, site, theme, **how)
            stack.callback(panel.close)
            return panel

        yield open_one


@pytest.fixture
def panel(open_panel: Callable[..., Panel]) -> Panel:
    return open_panel()
