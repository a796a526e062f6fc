"""DiskTexts: what files say on the disk and said before, as far as we know. An agent may have read any of it behind us.

A write cannot be based on what came to the disk only after it was sent, so the moment of a save is kept where it is known.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from sidecar.core.normal import normal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri

MAX_TEXTS = 8
"""For one file: the newest; an agent does not remember for long."""
MAX_FILES = 64


@dataclass(slots=True)
class _DiskText:
    text: Text | str
    """A Text is raw; a str is in the compared form of `core.normal`."""
    since: int
    """It was not there before that moment (of `core.belief`); 0 when nobody knows."""
    by_us: bool = False
    """The editor or we put it there last."""

    def compared(self) -> str:
        if isinstance(self.text, Text):
            self.text = normal(str(self.text))
        return self.text


class DiskTexts:
    """By document, oldest first; the last one is there now."""

    def __init__(self) -> None:
        self._texts: OrderedDict[DocumentUri, list[_DiskText]] = OrderedDict()

    def seen(self, uri: DocumentUri, text: str) -> None:
        """The disk holds `text` (compared form); it may have done so for long."""
        texts = self._of(uri)
        if not texts or texts[-1].compared() != text:
            self._add(texts, _DiskText(text, 0))

    def written(self, uri: DocumentUri, text: Text | str, moment: int) -> None:
        """The editor (`text` is raw) or we (compared form) wrote it at `moment`."""
        self._add(self._of(uri), _DiskText(text, moment, by_us=True))

    def until(self, uri: DocumentUri, moment: int) -> list[str]:
        """Every text that an agent may have read before `moment`."""
        return [known.compared() for known in self._texts.get(uri, ()) if known.since <= moment]

    def newest(self, uri: DocumentUri) -> str | None:
        """What the file says as far as we know (compared form)."""
        texts = self._texts.get(uri)
        return texts[-1].compared() if texts else None

    def is_ours(self, uri: DocumentUri, text: str) -> bool:
        """Whether the newest text is `text` (compared form) and was put there by the editor or by us. Editors end the last line."""
        texts = self._texts.get(uri)
        return bool(texts) and texts[-1].by_us and texts[-1].compared().rstrip("\n") == text.rstrip("\n")

    def knows(self, uri: DocumentUri, text: str) -> bool:
        """Whether the disk held `text` (compared form) once."""
        return any(known.compared() == text for known in self._texts.get(uri, ()))

    def renamed(self, old: DocumentUri, new: DocumentUri) -> None:
        if old in self._texts:
            self._texts[new] = self._texts.pop(old)

    def _of(self, uri: DocumentUri) -> list[_DiskText]:
        texts = self._texts.setdefault(uri, [])
        self._texts.move_to_end(uri)
        while len(self._texts) > MAX_FILES:
            self._texts.popitem(last=False)
        return texts

    def _add(self, texts: list[_DiskText], new: _DiskText) -> None:
        if texts and texts[-1].compared() == new.compared():
            texts[-1].by_us = texts[-1].by_us or new.by_us
            return  # written once more
        for known in texts:
            if known.compared() == new.compared():
                new.since = min(known.since, new.since)
        texts[:] = [*[t for t in texts if t.text != new.text][-(MAX_TEXTS - 1) :], new]
