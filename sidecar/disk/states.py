"""states: the state under a name (`FileState`) as text, and without writes that were taken back. Opens nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sidecar.core.file_state import FileState, States
from sidecar.core.refusal import Refusal
from sidecar.core.taken_back import Write, without_gone
from sidecar.disk.codec import Decoded, decode, encode


def text_of(state: FileState | None) -> str | None:
    """Return the raw text of the state. None: there is no file, or it is not text."""
    decoded = None if state is None or state.is_link else decode(state.data)
    return decoded.text if isinstance(decoded, Decoded) else None


def saying(state: FileState, text: str, path: str) -> FileState:
    """Return the state with another text (raw), in the same encoding. The state is unchanged if it is not text, or the new text cannot be encoded that way."""
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
    """Return the state without these writes of the file (newest first), each given by its texts and, if these do not cover it, the whole states
    before and after it. None: nothing."""
    for texts, whole in gone:
        says = text_of(state)
        if whole is not None:
            state = _less(state, *whole)
        elif state is not None and says is not None:
            before, _ = without_gone((says, None), [texts])
            state = None if before is None else saying(state, before, path)
    return state


def _less(now: FileState | None, before: FileState | None, after: FileState | None) -> FileState | None:
    """Return `now` without the change from `before` to `after`, if that was the last change."""
    if now == after:
        return before
    if now is None or before is None or after is None or before.data != after.data or now.mode != after.mode:
        return now
    return replace(now, mode=before.mode)
