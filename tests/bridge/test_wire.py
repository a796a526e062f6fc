"""The bridge's lines: what goes in as a value comes out as it, whichever library makes and reads it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sidecar.bridge import wire
from sidecar.bridge.wire import Malformed, decode, encode

LONG = 20_000
TEXTS = ["a", 'é"\\\n\t\0\x7f\u2028', "\N{GRINNING FACE}", "\ud800", "\udfff\ud800x", "\\ud800"]


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
@pytest.mark.parametrize("times", [1, LONG, wire._PIECE + 1])
def test_there_and_back(text: str, times: int) -> None:
    message: dict[str, Any] = {
        "id": 1,
        "result": {"text": text * times, "rows": [{"of": text}, None, 2**70, 1e300]},
    }
    line = encode(message)
    assert line.count(b"\n") == 1
    assert json.loads(line.decode("utf-8", "surrogatepass")) == message
    assert decode(line[:-1]) == message


@pytest.mark.parametrize("line", [b"[]", b"{", b'{"a": "\xff"}', b"[" * 100_000])
@pytest.mark.parametrize("blanks", [0, LONG])
def test_what_is_no_message(line: bytes, blanks: int) -> None:
    with pytest.raises(Malformed):
        decode(b" " * blanks + line)


def test_long_texts_take_no_longer_than_they_must(monkeypatch: pytest.MonkeyPatch) -> None:
    """json takes ten times as long: 10 ms for 1 MB."""
    message = {"id": 1, "result": {"text": "é" * LONG}}
    line = encode(message)

    def fails(*_: object, **__: object) -> None:
        raise AssertionError("json is not to be used for it")

    monkeypatch.setattr(wire.json, "loads", fails)
    assert decode(line) == message
    monkeypatch.undo()
    dumps = json.dumps
    monkeypatch.setattr(
        wire.json,
        "dumps",
        lambda value, **how: fails() if isinstance(value, str) and len(value) > 99 else dumps(value, **how),
    )
    assert encode(message) == line
