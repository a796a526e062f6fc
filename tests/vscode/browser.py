"""Chromium under Playwright, and everything opened with it, as one thing of the whole run that is closed at once.

Playwright's synchronous interface keeps an event loop "running" in this thread between two calls. Tests of other folders have
loops of their own in the same process, so `entered` puts Playwright's aside when it is not its turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import expect, sync_playwright

from tests.support.tools import Tool, require

T = TypeVar("T")

OPTIONS = [
    "--no-sandbox",  # the tests may run as root
    "--disable-dev-shm-usage",
    # nothing but this machine, by name or by number
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]


class Browser:
    chromium: Chromium

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._loop: Any = None

    def start(self, tool: Tool) -> None:
        # Playwright's own Node needs libatomic, which minimal systems lack
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PLAYWRIGHT_NODEJS_PATH", require("node-24").command)
            playwright = self._stack.enter_context(sync_playwright())
        expect.set_options(timeout=60_000)  # its own 5 s are too few for a machine that has other work
        self.chromium = playwright.chromium.launch(executable_path=tool.command, args=OPTIONS)
        self._stack.callback(self.chromium.close)

    def keep(self, context: Any) -> Any:
        """Enters a context manager that ends with the browser, before it."""
        return self._stack.enter_context(context)

    def close(self) -> None:
        with self.entered():
            self._stack.close()
        self._loop = None

    @contextmanager
    def entered(self) -> Generator[None]:
        """Playwright may be called within, other event loops run without. May be nested."""
        before = _loop()
        if before is None and self._loop is not None:
            asyncio._set_running_loop(self._loop)
        try:
            yield
        finally:
            if before is None:
                self._loop = _loop()
                asyncio._set_running_loop(None)


def _loop() -> asyncio.AbstractEventLoop | None:
    return asyncio._get_running_loop()
