"""Sync: the fast lane. `didOpen`, `didChange`, `didSave`, `didClose` become one `Modification` each, and nothing else.

Typed decoding by msgspec costs a tenth of json plus lsprotocol's converter; what msgspec refuses and JSON allows (lone
surrogates, `1.0` for 1) goes through `from_json`. Both give the same values.

A change that cannot be understood is an edit lost: it is passed on as an impossible change, which the overlay answers by
marking the document desynchronised until the editor sends its whole text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, cast

import msgspec

from sidecar.core.overlay import Action, ContentChange, Modification
from sidecar.core.text import Position, Range
from sidecar.core.uri import DocumentUri, normalise

DID_OPEN = "textDocument/didOpen"
DID_CHANGE = "textDocument/didChange"
DID_SAVE = "textDocument/didSave"
DID_CLOSE = "textDocument/didClose"

_NOWHERE = Position(-1, -1)
_IMPOSSIBLE = (ContentChange(Range(_NOWHERE, _NOWHERE), ""),)


_normalised = lru_cache(maxsize=256)(normalise)


def _uri(raw: str) -> DocumentUri:
    """A burst of changes is one document's; what is kept is bounded in number and in length."""
    return _normalised(raw) if len(raw) <= 1024 else normalise(raw)


class Malformed(ValueError):
    """The notification is not what LSP says; `lost` is what to pass on instead, when its document is known."""

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


class _DidOpen(msgspec.Struct, gc=False):
    textDocument: _Item


class _DidChange(msgspec.Struct, gc=False):
    textDocument: _Document
    contentChanges: list[_Change]


class _DidSave(msgspec.Struct, gc=False):
    textDocument: _Document
    text: str | None = None


class _DidClose(msgspec.Struct, gc=False):
    textDocument: _Document


def _opened(params: _DidOpen) -> Modification:
    item = params.textDocument
    return Modification(
        _uri(item.uri),
        Action.OPEN,
        item.version,
        text=item.text,
        language_id=item.languageId,
        client_uri=item.uri,
    )


def _changed(params: _DidChange) -> Modification:
    document = params.textDocument
    changes: list[ContentChange] = []
    for change in params.contentChanges:
        span = change.range
        if span is None:
            changes.append(ContentChange(None, change.text))
        else:
            start, end = span.start, span.end
            changes.append(
                ContentChange(
                    Range(Position(start.line, start.character), Position(end.line, end.character)),
                    change.text,
                )
            )
    return Modification(
        _uri(document.uri), Action.CHANGE, document.version, tuple(changes), client_uri=document.uri
    )


def _saved(params: _DidSave) -> Modification:
    uri = params.textDocument.uri
    return Modification(_uri(uri), Action.SAVE, None, text=params.text, client_uri=uri)


def _closed(params: _DidClose) -> Modification:
    uri = params.textDocument.uri
    return Modification(_uri(uri), Action.CLOSE, None, client_uri=uri)


_open_decoder = msgspec.json.Decoder(_DidOpen)
_change_decoder = msgspec.json.Decoder(_DidChange)
_save_decoder = msgspec.json.Decoder(_DidSave)
_close_decoder = msgspec.json.Decoder(_DidClose)

DECODERS: Mapping[str, Callable[[bytes | msgspec.Raw], Modification]] = {
    DID_OPEN: lambda raw: _opened(_open_decoder.decode(raw)),
    DID_CHANGE: lambda raw: _changed(_change_decoder.decode(raw)),
    DID_SAVE: lambda raw: _saved(_save_decoder.decode(raw)),
    DID_CLOSE: lambda raw: _closed(_close_decoder.decode(raw)),
}
"""By method: `params` as JSON → Modification. Raises msgspec.MsgspecError or RecursionError: then try `from_json`."""

_SHAPES: Mapping[str, type[msgspec.Struct]] = {
    DID_OPEN: _DidOpen,
    DID_CHANGE: _DidChange,
    DID_SAVE: _DidSave,
    DID_CLOSE: _DidClose,
}


def from_json(method: str, params: object) -> Modification:
    """The slow lane: the same from `params` as `json.loads` gave them. Raises Malformed."""
    try:
        shaped = cast(Any, msgspec.convert(params, _SHAPES[method], strict=False))
        match method:
            case "textDocument/didOpen":
                return _opened(shaped)
            case "textDocument/didChange":
                return _changed(shaped)
            case "textDocument/didSave":
                return _saved(shaped)
            case _:
                return _closed(shaped)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Malformed(f"{method}: {error}", lost(params)) from error


def lost(params: object) -> Modification | None:
    """The impossible change of the document that these params name."""
    try:
        return _impossible(cast(Any, params)["textDocument"]["uri"])
    except (TypeError, KeyError, ValueError, AttributeError):
        return None


_METHOD = re.compile(r'"textDocument/did(?:Open|Change|Save)"')
_URI = re.compile(r'"uri"\s*:\s*("(?:[^"\\]|\\.)*")')


def lost_in(text: str) -> Modification | None:
    """The same for a body that is not JSON, if it looks like a text event (a length counted in characters, say, cuts it)."""
    found = _URI.search(text) if _METHOD.search(text) else None
    try:
        return _impossible(json.loads(found[1])) if found else None
    except ValueError:
        return None


def _impossible(uri: str) -> Modification:
    return Modification(_uri(uri), Action.CHANGE, None, _IMPOSSIBLE, client_uri=uri)
