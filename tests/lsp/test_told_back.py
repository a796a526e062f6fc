"""ToldBack: what the editor tells back of a long edit is the edit's own text, and everything else is read as ever."""

from __future__ import annotations

import gc
import json

import pytest

from sidecar.core.coordinates import TextEdit
from sidecar.core.overlay import Modification, Notified
from sidecar.core.text import Position
from sidecar.lsp import sync
from sidecar.lsp.told_back import LONG, ToldBack

TEXT = '    return value  # remark \U0001f600 \\ "\r\n' * (LONG // 30)
AT = Position(0, 0)


def change(*texts: str, ascii: bool = False) -> bytes:
    span = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 2}}
    changes = [{"text": texts[0]}, *({"range": span, "text": text} for text in texts[1:])]
    params = {"textDocument": {"uri": "file:///a.py", "version": 3}, "contentChanges": changes}
    message = {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params}
    return json.dumps(message, ensure_ascii=ascii).encode()


@pytest.mark.parametrize("ascii", [False, True])
def test_the_text_of_an_edit_is_not_made_again(ascii: bool) -> None:
    told_back, edit = ToldBack(), TextEdit(AT, AT, TEXT)
    told_back.sent([TextEdit(AT, AT, "short"), edit])
    body = change("other", TEXT, TEXT + "x", TEXT[:-1], ascii=ascii)
    found = told_back.read(body)
    assert isinstance(found, Modification)
    assert found == sync.decode(body)
    assert found.action is Notified.CHANGE
    assert found.changes[1].text is edit.new_text


@pytest.mark.parametrize(
    "body",
    [
        change("short"),
        change(TEXT).replace(b"didChange", b"didSave"),
        change(TEXT).replace(b'"jsonrpc"', b'"id": 1, "jsonrpc"'),
        change(TEXT)[:-1],
        change(TEXT).replace(b"\\n", b"\\q"),
        b"[" * 2 * LONG,
    ],
    ids=["short", "save", "request", "cut", "no JSON", "deep"],
)
def test_everything_else_is_for_others(body: bytes) -> None:
    told_back, edit = ToldBack(), TextEdit(AT, AT, TEXT)
    told_back.sent([edit])
    assert told_back.read(body) is None


def test_an_edit_is_forgotten_with_whoever_sent_it() -> None:
    told_back, edit = ToldBack(), TextEdit(AT, AT, TEXT)
    told_back.sent([edit])
    del edit
    gc.collect()
    assert told_back.read(change(TEXT)) is None
