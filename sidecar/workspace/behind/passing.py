"""PassingTexts: the texts that the file of an open document had before it was compared with the document.

A program may write a file several times before anybody compares the two. Each text that was seen meanwhile is a step
with a time of its own, and its author is decided separately. Times are those of acts.py; texts are in the compared
form.
"""

from __future__ import annotations

from collections.abc import Sequence

from sidecar.core.kept import Kept
from sidecar.core.normal import normal
from sidecar.core.uri import DocumentUri
from sidecar.disk import Decoded, Stat, decode
from sidecar.workspace.behind.glimpses import Glimpses
from sidecar.workspace.behind.whose import Known
from sidecar.workspace.state.acts import changed_at, is_before


class PassingTexts:
    def __init__(self, glimpses: Glimpses) -> None:
        self._glimpses = glimpses
        self._noted: dict[DocumentUri, tuple[str, list[tuple[str, int]]]] = {}
        """By document: the file's text when it was last compared with the document, and each text that it had after
        that, with since when."""

    def note(self, uri: DocumentUri, start: str, text: str, at: int) -> None:
        """The file says `text` since `at`. It said `start` when it was last compared with its document."""
        began, texts = self._noted.get(uri, ("", []))
        self._noted[uri] = start, [*(texts if began == start else []), (text, at)]

    def noted(self, uri: DocumentUri, before: Kept | None) -> list[tuple[str, int]]:
        """Each text that the file had after it said `before`, with since when."""
        start, texts = self._noted.get(uri, ("", []))
        return list(texts) if before is not None and str(before) == start else []

    def are(self, uri: DocumentUri, start: str, texts: Sequence[tuple[str, int]]) -> None:
        """Replaces what is noted of the file: after `start` it said `texts`, each with since when."""
        self._noted[uri] = start, list(texts)

    def come_after(self, uri: DocumentUri, start: str, texts: Sequence[tuple[str, int]]) -> None:
        """The same if there are any."""
        if texts:
            self.are(uri, start, texts)

    def take(
        self, uri: DocumentUri, path: str, before: Sequence[str], disk: str, since: Stat | None, until: int
    ) -> list[tuple[str, int]]:
        """What the file said between one of the texts `before` and `disk`, and since when, oldest first. The file had
        `before` with the stat `since`, and said `disk` at `until`.

        These notes are removed. Texts later than `until` are kept, as texts that come after `disk`.
        """
        start, noted = self._noted.pop(uri, ("", []))
        found = [one for one in noted if start in before and one[1] <= until]
        later = [one for one in noted if one[1] > until]
        if later:
            self._noted[uri] = disk, later
        for seen in self._glimpses.pop(path, until):
            decoded = decode(seen.data) if isinstance(seen.data, bytes) else None
            old = since is not None and (seen.stat == since or seen.at < changed_at(since))
            if isinstance(decoded, Decoded) and not old and decoded.text.strip("\r\n"):
                text = normal(decoded.text)
                is_ended = (
                    disk.endswith("\n") or not disk
                )  # an empty text tells nothing of the ends of others
                found.append((text if is_ended else text.removesuffix("\n"), seen.at))
        return sorted(found, key=lambda one: one[1])

    def clear(self) -> None:
        self._noted.clear()


def with_start(
    passed: Sequence[tuple[str, int]], start: Known | None, since: Stat | None
) -> list[tuple[str, int]]:
    """`passed` with the file's text at the turn's start added, if the file and its document were last compared (when it
    had the stat `since`) before it had that text. Then the change that led to it is not one of the turn's."""
    if start is None or start.text is None or since is None or not is_before(changed_at(since), start.at):
        return list(passed)
    return sorted([*passed, (start.text, start.at)], key=lambda one: one[1])
