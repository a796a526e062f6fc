"""Sync: the fast lane. `didOpen`, `didChange`, `didSave`, `didClose` become one `Modification` each, and nothing else.

Typed decoding by msgspec costs a tenth of json plus lsprotocol's converter. JSON that msgspec refuses (lone surrogates, `1.0` for 1) goes through
`from_json`. Both give the same values.

A change that cannot be understood is a lost edit. It is passed on as an impossible change, and the overlay then marks the document desynchronised
until the editor sends its whole text.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, cast

import msgspec

from sidecar.core.overlay import ContentChange, Modification, Notified
from sidecar.core.text import Position, Range
from sidecar.core.uri import DocumentUri, normalise

DID_OPEN = "textDocument/didOpen"
DID_CHANGE = "textDocument/didChange"
DID_SAVE = "textDocument/didSave"
DID_CLOSE = "textDocument/didClose"

_CHANGE = Notified.CHANGE
_NOWHERE = Position(-1, -1)
_IMPOSSIBLE = (ContentChange(Range(_NOWHERE, _NOWHERE), ""),)


_normalised = lru_cache(maxsize=256)(normalise)


def _uri(raw: str) -> DocumentUri:
    """Return the normalised URI. The cache helps in a burst of changes to one document; it is bounded in number and in length."""
    return _normalised(raw) if len(raw) <= 1024 else normalise(raw)


class InvalidNotification(ValueError):
    """The notification is not valid LSP. `lost`: the change to pass on instead, if its document is known."""

    def __init__(self, reason: str, lost: Modification | None) -> None:
        super().__init__(reason)
        self.lost = lost


class _Position(msgspec.Struct, gc=False):
    line: int
    character: int


class _Range(msgspec.Struct, gc=False):
    start: _Position
    end: _Position


class _Change(msgspec.Struct, gc=False):
    text: str
    range: _Range | None = None


class _Document(msgspec.Struct, gc=False):
    uri: str
    version: int | None = None


class _Item(msgspec.Struct, gc=False):
    uri: str
    text: str
    version: int | None = None
    languageId: str = ""


class _OpenParams(msgspec.Struct, gc=False):
    textDocument: _Item


class _ChangeParams(msgspec.Struct, gc=False):
    textDocument: _Document
    contentChanges: list[_Change]


class _SaveParams(msgspec.Struct, gc=False):
    textDocument: _Document
    text: str | None = None


class _CloseParams(msgspec.Struct, gc=False):
    textDocument: _Document


class _Event(msgspec.Struct, gc=False, tag_field="method"):
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _DidOpen(_Event, tag=DID_OPEN, kw_only=True):
    params: _OpenParams


class _DidChange(_Event, tag=DID_CHANGE, kw_only=True):
    params: _ChangeParams


class _DidSave(_Event, tag=DID_SAVE, kw_only=True):
    params: _SaveParams


class _DidClose(_Event, tag=DID_CLOSE, kw_only=True):
    params: _CloseParams


_AnyEvent = _DidOpen | _DidChange | _DidSave | _DidClose
_decode = msgspec.json.Decoder(_AnyEvent).decode

METHODS = frozenset({DID_OPEN, DID_CHANGE, DID_SAVE, DID_CLOSE})


def decode(body: bytes) -> Modification | None:
    """Decode a message's body from bytes (the fast lane). Returns None for other kinds of messages. Raises msgspec.MsgspecError, ValueError or
    RecursionError; then use `json.loads` and `from_json`."""
    event = _decode(body)
    return _modification(event) if event.id is msgspec.UNSET else None


def from_json(method: str, params: object) -> Modification:
    """Decode `params` from `json.loads` (the slow lane), with the same result. Raises InvalidNotification."""
    try:
        return _modification(msgspec.convert({"method": method, "params": params}, _AnyEvent, strict=False))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InvalidNotification(f"{method}: {error}", lost(params)) from error


def _modification(event: _AnyEvent) -> Modification:
    # Plain and positional for what runs at every keystroke: pattern matching and helpers cost twice as much.
    if type(event) is _DidChange:
        document = event.params.textDocument
        changes: list[ContentChange] = []
        for change in event.params.contentChanges:
            span = change.range
            if span is None:
                changes.append(ContentChange(None, change.text))
                continue
            start, end = span.start, span.end
            first = last = Position(start.line, start.character)
            if start != end:
                last = Position(end.line, end.character)
            changes.append(ContentChange(Range(first, last), change.text))
        uri = document.uri
        return Modification(_uri(uri), _CHANGE, document.version, tuple(changes), None, "", uri)
    if isinstance(event, _DidOpen):
        item = event.params.textDocument
        return Modification(
            _uri(item.uri),
            Notified.OPEN,
            item.version,
            text=item.text,
            language_id=item.languageId,
            client_uri=item.uri,
        )
    if isinstance(event, _DidSave):
        uri = event.params.textDocument.uri
        return Modification(_uri(uri), Notified.SAVE, text=event.params.text, client_uri=uri)
    uri = event.params.textDocument.uri
    return Modification(_uri(uri), Notified.CLOSE, client_uri=uri)


def lost(params: object) -> Modification | None:
    """Return an impossible change of the document that these params name, or None."""
    try:
        return _impossible(cast(Any, params)["textDocument"]["uri"])
    except (TypeError, KeyError, ValueError, AttributeError):
        return None


_METHOD = re.compile(r'"textDocument/did(?:Open|Change|Save)"')
_URI = re.compile(r'"uri"\s*:\s*("(?:[^"\\]|\\.)*")')


def lost_in(text: str) -> Modification | None:
    """Like `lost`, for a body that is not JSON but looks like a text event (cut, for example, by a length counted in characters)."""
    found = _URI.search(text) if _METHOD.search(text) else None
    try:
        return _impossible(json.loads(found[1])) if found else None
    except ValueError:
        return None


def _impossible(uri: str) -> Modification:
    return Modification(_uri(uri), Notified.CHANGE, None, _IMPOSSIBLE, client_uri=uri)
