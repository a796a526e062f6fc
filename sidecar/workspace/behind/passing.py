"""What the files of open documents said in between, before that was brought into the documents.

A program may write a file several times before anybody compares the two. Each text that was seen meanwhile is a step of its own, with a time of its
own: who made it is asked of each. Times are those of acts.py; texts are in the compared form.
"""

from __future__ import annotations

from collections.abc import Sequence

from sidecar.core.normal import normal
from sidecar.core.uri import DocumentUri
from sidecar.disk import Decoded, Stat, decode
from sidecar.workspace.behind.glimpses import Glimpses
from sidecar.workspace.behind.whose import Known
from sidecar.workspace.state.acts import changed_at, is_before


class Passing:
    def __init__(self, glimpses: Glimpses) -> None:
        self._glimpses = glimpses
        self._noted: dict[DocumentUri, tuple[str, list[tuple[str, int]]]] = {}
        """From what text on, what the file said after it, and since when."""

    def note(self, uri: DocumentUri, start: str, text: str, at: int) -> None:
        """The file, which said `start` when it was last compared with its document, says `text` since `at`."""
        began, texts = self._noted.get(uri, ("", []))
        self._noted[uri] = start, [*(texts if began == start else []), (text, at)]

    def are(self, uri: DocumentUri, start: str, texts: Sequence[tuple[str, int]]) -> None:
        """What is noted of the file, instead of what was: the `texts` it said after `start`, and since when."""
        self._noted[uri] = start, list(texts)

    def take(
        self, uri: DocumentUri, path: str, before: Sequence[str], disk: str, since: Stat | None, until: int
    ) -> list[tuple[str, int]]:
        """What the file said between one of the texts `before`, which it had with the stat `since`, and `disk`, which it said `until`, and when it
        had become so. That is forgotten; what it said later stays, as what comes after `disk`."""
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
                found.append((text if disk.endswith("\n") else text.removesuffix("\n"), seen.at))
        return sorted(found, key=lambda one: one[1])

    def clear(self) -> None:
        self._noted.clear()


def with_start(
    passed: Sequence[tuple[str, int]], start: Known | None, since: Stat | None
) -> list[tuple[str, int]]:
    """What the file of an open document said when the turn began is one of the texts that it `passed`, where the two were compared before that (with
    the stat `since`): what led there is none of the turn's."""
    if start is None or start.text is None or since is None or not is_before(changed_at(since), start.at):
        return list(passed)
    return sorted([*passed, (start.text, start.at)], key=lambda one: one[1])
