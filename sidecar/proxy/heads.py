"""Head: what a line of ACP says about itself. Its params and its id stay bytes."""

from __future__ import annotations

import logging
from typing import Any, cast

import msgspec

from sidecar.acp.messages import decode
from sidecar.acp.noise import Noise

Key = int | str


class Head(msgspec.Struct):
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET

    @property
    def key(self) -> Key | None:
        """The id, if JSON-RPC allows it as one. None otherwise."""
        if self.id is msgspec.UNSET or len(raw(self.id)) > _LONGEST_ID:
            return None
        value = value_of(self.id)
        return value if isinstance(value, int | str) and not isinstance(value, bool) else None


_HEADS = msgspec.json.Decoder(Head)
_LONGEST_ID = 4096
"""In bytes."""


def head_of(line: bytes) -> Head | None:
    """The head of a line. None if the line is no message, or if not everybody would read it as one (a batch, half a line, deep
    nesting)."""
    try:
        return _HEADS.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def read_leniently(line: bytes) -> dict[str, Any] | None:
    """The message, with everything that JSON allows (lone surrogates), or with a stand-in for params that cannot be used
    (acp/messages.py). None for a line that is not one message."""
    found = decode(line, Noise(_QUIET, "the agent"))
    return found[0] if len(found) == 1 else None


def fields_of(value: msgspec.Raw | msgspec.UnsetType) -> dict[str, msgspec.Raw] | None:
    """An object's fields as they are written. None for another value."""
    if value is msgspec.UNSET:
        return None
    try:
        return msgspec.json.decode(value, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError):
        return None


def value_of(value: msgspec.Raw | bytes) -> object:
    """The value. None also if it cannot be decoded: JSON allows numbers that nobody can read."""
    try:
        return msgspec.json.decode(value)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def raw(value: msgspec.Raw) -> bytes:
    return bytes(cast("Any", value))


_QUIET = logging.getLogger(f"{__name__}.lines")
_QUIET.setLevel(logging.CRITICAL)
