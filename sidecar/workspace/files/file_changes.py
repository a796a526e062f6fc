"""FileChanges: waits until the text of a file, as the user sees it, has changed. It never returns the text itself."""

from __future__ import annotations

from hashlib import sha256

import anyio

from sidecar.core.json_types import Json
from sidecar.core.normal import normal
from sidecar.core.refusal import Kind, Refusal
from sidecar.disk import Decoded, Missing
from sidecar.workspace.consent.consent import Consent
from sidecar.workspace.state.places import Place, locate
from sidecar.workspace.state.state import State

EVERY = 0.2
"""Seconds between two looks: files that are not open can only be polled."""
MISSING = "missing"
"""The version of a file that does not exist."""


class FileChanges:
    def __init__(self, state: State, consent: Consent) -> None:
        self._state = state
        self._consent = consent

    async def wait(self, session_id: str, path: str, since: str | None, seconds: float) -> Json | Refusal:
        """Returns `{file_path, version, changed}` as soon as the version is not `since`, or after so many seconds; at
        once without `since`. A version stands for a text: equal texts have equal versions. `path`: absolute."""
        session = self._state.sessions.get(session_id)
        if session is None:
            return Refusal(Kind.UNKNOWN_SESSION, "this session is closed or was never opened")
        seen: object = None
        version: str | Refusal | None = None
        until = anyio.current_time() + seconds
        while session.alive:
            found = locate(self._state.storage, self._state.documents, session.roots, path, "read")
            if isinstance(found, Refusal):
                return found
            with found as place:
                refused = await self._consent.to_read(session, place) if version is None else None
                if refused is not None:
                    return refused
                state = _state(place)
                if state != seen or version is None:
                    seen, version = state, await self._version(place)
            if isinstance(version, Refusal):
                return version
            if since is None or version != since or anyio.current_time() >= until:
                return {"file_path": path, "version": version, "changed": since not in (None, version)}
            await anyio.sleep(EVERY)
        return Refusal(Kind.WITHDRAWN, "the session was closed meanwhile")

    async def _version(self, place: Place) -> str | Refusal:
        if place.tracked is not None:
            return _of(str(place.tracked.document.snapshot()))
        if isinstance(place.on_disk, Missing):
            return MISSING
        decoded = await self._state.storage.read(place.on_disk)
        return _of(decoded.text) if isinstance(decoded, Decoded) else decoded


def _state(place: Place) -> object:
    """A value that changes whenever the text may have changed."""
    if place.tracked is not None:
        document = place.tracked.document
        return document.incarnation, document.version
    return MISSING if isinstance(place.on_disk, Missing) else place.on_disk.look()


def _of(text: str) -> str:
    return sha256(normal(text).encode("utf-8", "surrogatepass")).hexdigest()[:16]
