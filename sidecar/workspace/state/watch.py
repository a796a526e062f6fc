"""Watch: what the mirror receives between a request to the editor and its outcome (core/inflight.py says why)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import anyio

from sidecar.core.change import Edit
from sidecar.core.inflight import Story
from sidecar.core.led_to import text_after
from sidecar.core.overlay import Document
from sidecar.core.text import Text

_LARGE = 64 * 1024
"""Texts of more characters than this are not kept twice."""


class News:
    """A signal that something happened: whoever waits looks again."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def ring(self) -> None:
        self._event.set()
        self._event = anyio.Event()

    async def wait(self) -> None:
        await self._event.wait()


class Watch(Story):
    """A story that continues while it is open. Synchronous except for `wait`."""

    def __init__(
        self,
        document: Document,
        expected: Text,
        before: Text | None = None,
        edits: Sequence[Edit] = (),
        news: News | None = None,
        sent: Sequence[str] = (),
        said: str | None = None,
    ) -> None:
        """`sent`: the texts that were sent to the editor. The editor sends them back, and equal texts are kept once. `said`: the one of them
        that is the whole expected text."""
        super().__init__(document, expected, before, edits)
        self._sent = [text for text in sent if len(text) > _LARGE]
        self._versions = [document.version] * len(self.edits)
        """The document's version with each of `edits`. For edits received before this watch: no lower than the real one."""
        self.news = news or News()
        self._closed = False
        if len(expected) > _LARGE:
            document.rope.foresees(expected, said)
        document.listeners.append(self._on_edit)

    async def wait(self, seconds: float, is_enough: Callable[[], bool] = lambda: False) -> bool:
        """Wait until the expected text was seen, at most `seconds`, until closed, or until `is_enough` (called for each news). Returns
        whether the text was seen."""
        with anyio.move_on_after(seconds):
            while not (self.is_matched() or self._closed or is_enough()):
                await self.news.wait()
        return self.matched

    def close(self) -> None:
        if self._on_edit in self.document.listeners:
            self.document.listeners.remove(self._on_edit)
            self.document.rope.foresees(None)
        self._closed = True
        self.news.ring()

    def text_before(self, version: int) -> Text | None:
        """The text that the change with this version was made on. None if it was not received, or is the first one."""
        if version not in self._versions[1:] or version == self._versions[0]:
            return None
        return text_after(self.before, self.edits[: self._versions.index(version)])

    def text_at(self, version: int) -> Text | None:
        """The document's text with this version. None if it was not received."""
        if version == self.version:
            return self.before
        if version not in self._versions:
            return None
        last = len(self._versions) - self._versions[::-1].index(version)
        return text_after(self.before, self.edits[:last])

    def _on_edit(self, document: Document, edit: Edit) -> None:
        self._versions.append(document.version)
        same = next((text for text in self._sent if text == edit.new), None)
        if same is not None:
            edit = replace(edit, new=same)
        was_matched = self.matched
        self.received(edit)
        if self.matched and not was_matched:
            document.rope.adopt(self.reached)
        self.news.ring()
