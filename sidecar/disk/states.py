"""states: what is under a name (`FileState`) as text, and as it would be without writes that were taken back. Opens nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sidecar.core.file_state import FileState, States
from sidecar.core.refusal import Refusal
from sidecar.core.taken_back import Write, without_gone
from sidecar.disk.codec import Decoded, decode, encode


def text_of(state: FileState | None) -> str | None:
    """The text that is there, raw; None: there is no file, or no text in it."""
    decoded = None if state is None or state.is_link else decode(state.data)
    return decoded.text if isinstance(decoded, Decoded) else None


def saying(state: FileState, text: str, path: str) -> FileState:
    """The file of that state with another text (raw), encoded alike; as it is if it is no text, or that text cannot be encoded so."""
    decoded = decode(state.data)
    if isinstance(decoded, Refusal):
        return state
    data = encode(text, decoded.encoding, decoded.bom, path)
    return state if isinstance(data, Refusal) else replace(state, data=data)


def less_gone(
    state: FileState | None,
    gone: Iterable[tuple[Write, States | None]],
    path: str,
) -> FileState | None:
    """What would be there without these writes of the file, newest first: of each, its texts and, where these do not say all of it, what it found and
    left as a whole. None: nothing."""
    for texts, whole in gone:
        says = text_of(state)
        if whole is not None:
            state = _less(state, *whole)
        elif state is not None and says is not None:
            before, _ = without_gone((says, None), [texts])
            state = None if before is None else saying(state, before, path)
    return state


def _less(now: FileState | None, before: FileState | None, after: FileState | None) -> FileState | None:
    """`now` without what led from `before` to `after`, where that is the last that was done there."""
    if now == after:
        return before
    if now is None or before is None or after is None or before.data != after.data or now.mode != after.mode:
        return now
    return replace(now, mode=before.mode)
