"""LiveSidecars: implements `recovery.live.Live` over the bridge. Files that are open in a running editor are reverted there."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Self

from sidecar.bridge.client import BridgeError, Client, Lost
from sidecar.bridge.finding import find_all
from sidecar.core.taken_back import Write, joined
from sidecar.journal.entry import Recorded, Texts
from sidecar.recovery.revert import AGENT

OPEN_SECONDS = 10.0
"""For asking whether a file is open."""
MAX_TEXT = 1024 * 1024
"""The most code points of the texts of a file's writes that are sent one by one. The other side merges this much in a few milliseconds."""
LOOK_SECONDS = 30.0
"""For updating a document from its file."""


class LiveSidecars:
    """All of the user's running sidecars. Connects at the first question. Close it at the end."""

    def __init__(self, cwd: str, env: Mapping[str, str]) -> None:
        self._cwd = cwd
        self._env = env
        self._clients: list[Client] | None = None
        self._having: dict[str, Client] = {}

    def has_open(self, path: str) -> bool:
        if self._clients is None:
            self._clients = list(find_all(self._cwd, self._env))
        for client in list(self._clients):
            try:
                answer = client.call("isOpen", {"path": path}, OPEN_SECONDS)
            except Lost:
                self._clients.remove(client)
                continue
            except BridgeError:
                continue  # a sidecar of another version
            if answer == {"open": True}:
                self._having[path] = client
                return True
        return False

    def revert(
        self, path: str, writes: Sequence[Recorded], texts: Sequence[Texts], session: str
    ) -> str | None:
        client = self._having[path]
        steps: list[dict[str, str]] = []
        for before, after in _runs(writes, texts):
            if before is None or after is None:
                did = "made" if before is None else "removed"
                return f"the agent {did} it, and an editor has it open; close it there and try again"
            steps.append({"base": after, "wanted": before})
        params = {
            "path": path,
            "steps": steps,
            "label": AGENT,
            "session": session,
            "takesBack": [write.id for write in writes],
        }
        try:
            answer = client.call("apply", params)
        except BridgeError as error:
            return str(error)
        match answer:
            case {"result": "applied"}:
                return None
            case {"result": "not_open"}:
                return "it was closed in the editor meanwhile; try again"
            case {"reason": str(reason)}:
                return reason
            case _:
                return "the sidecar's answer was not understood; its version may be different"

    def look(self, path: str) -> None:
        with suppress(BridgeError):  # a sidecar of another version, or gone
            self._having[path].call("look", {"path": path}, LOOK_SECONDS)

    def close(self) -> None:
        for client in self._clients or ():
            client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _runs(writes: Sequence[Recorded], texts: Sequence[Texts]) -> list[Write]:
    """The texts of the writes, newest first, each write separately: the other side, which knows the editor's text, leaves out what is not in it. If
    the texts are too long, consecutive writes are joined, except the newest ones whose outcome is unknown."""
    if sum(len(text or "") for pair in texts for text in pair) <= MAX_TEXT:
        return list(texts)
    unclear = len(list(itertools.takewhile(lambda write: write.state == "unknown", writes)))
    return joined(texts, apart=unclear)
