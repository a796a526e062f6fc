"""Watch: what the mirror receives between asking the editor for something and knowing how it ended (core/inflight.py says why)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import anyio

from sidecar.core.change import Edit
from sidecar.core.inflight import Story
from sidecar.core.overlay import Document
from sidecar.core.rope import Rope
from sidecar.core.text import Text

_LARGE = 64 * 1024
"""Characters of a text of which there should not be two."""


class News:
    """Something happened: whoever waits looks again."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def ring(self) -> None:
        self._event.set()
        self._event = anyio.Event()

    async def wait(self) -> None:
        await self._event.wait()


class Watch(Story):
    """A story that is told as long as it is open. Synchronous but for `wait`."""

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
        """`sent`: the texts that were sent to the editor. It tells them back: what is equal is kept once. `said`: the one that is all of what is
        expected."""
        super().__init__(document, expected, before, edits)
        self._sent = [text for text in sent if len(text) > _LARGE]
        self._versions = [document.version] * len(self.edits)
        """Of the document with each of `edits`; with those received before, at most."""
        self.news = news or News()
        self._closed = False
        if len(expected) > _LARGE:
            document.rope.foresees(expected, said)
        document.listeners.append(self._on_edit)

    async def wait(self, seconds: float, is_enough: Callable[[], bool] = lambda: False) -> bool:
        """Whether the expected text was seen, waiting for it at most that long, or until closed, or `is_enough` (asked at each news)."""
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
        """The text that the change with this version was made on; None if it was not received, or is the first one."""
        if version not in self._versions[1:] or version == self._versions[0]:
            return None
        return self._after(self._versions.index(version))

    def text_at(self, version: int) -> Text | None:
        """What the document said with this version; None if nothing of that was received."""
        if version == self.version:
            return self.before
        if version not in self._versions:
            return None
        last = len(self._versions) - self._versions[::-1].index(version)
        return self._after(last)

    def _after(self, edits: int) -> Text:
        """The text after so many of the edits."""
        rope = Rope.of(self.before)
        for edit in self.edits[:edits]:
            rope.splice(edit.start, edit.end, edit.new)
        return rope.snapshot()

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
