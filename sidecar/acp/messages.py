"""One line of an agent's wire as messages, and a message as a line. JSON, hardened: what a line may hold is bounded in depth and number.

What cannot be used and yet asks for an answer, or is one, becomes a stand-in: a message that will be refused, so that nobody waits.
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal, TypeAlias, cast

import msgspec

from sidecar.acp.noise import Noise

Message: TypeAlias = dict[str, Any]


class Unusable(str):
    """In place of the params of a message that cannot be used: why, in words."""

    __slots__ = ()


class NotJson(Unusable):
    """In place of the params of what is no JSON, such as half a message: JSON-RPC has a code of its own for that."""

    __slots__ = ()


_DEEPEST = 200
"""Arrays and objects within each other."""
_SMALL = 64 * 1024
"""Bytes up to which the brackets of a message are counted; the values of a longer one are counted before it is read."""
_LARGE = 2 * 1024 * 1024
"""Bytes of a message that is most likely the write of a whole file."""
_VALUES = 20_000
"""Of one message: a whole file is one. Everybody who gets a message looks at each of its values, and all of that is to take less than 20 ms."""
_IN_ONE_LINE = 100
"""Messages that are taken from one line; some agents forget a line end, none forgets so many."""


def decode(line: bytes, noise: Noise) -> list[Message]:
    """The messages in one line, none of them nested too deeply; several where an agent forgets line ends. What is none goes to `noise`."""
    line = line.strip()
    if len(line) > _SMALL:
        write = _large_write(line) if len(line) > _LARGE else None
        if write is not None:
            return [write]
        if _has_too_many_values(line):
            noise.say("sent a message of too many values", line)
            stand_in = _by_head(line, "too many values")
            return [] if stand_in is None else [stand_in]
    if line.startswith(b"{"):
        try:
            message = msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return _decode_leniently(line, noise)
        # a look at every value of a small message, or at every byte of a large one, costs more than reading it
        deep = len(line) > _SMALL or line.count(b"{") + line.count(b"[") > _DEEPEST
        return [_shallow(message) if deep else message]
    return _decode_leniently(line, noise) if line else []


def _decode_leniently(line: bytes, noise: Noise) -> list[Message]:
    """What msgspec refuses but JSON allows (lone surrogates), and messages with noise before, between or behind."""
    found: list[Message] = []
    start = 0 if line.startswith(b"{") else line.find(b'{"jsonrpc"')
    try:
        text = line[start:].decode() if start >= 0 else ""
        at = 0
        for _ in range(_IN_ONE_LINE):
            if not text.startswith("{", at):
                break
            value, at = _LENIENT.raw_decode(text, at)
            found.append(_shallow(value))
            while at < len(text) and text[at] in " \t\r":
                at += 1
        rest: str | bytes = text[at:] if start == 0 else line
    except (ValueError, RecursionError):
        rest = line
        if start == 0 and (stand_in := _unreadable(line)) is not None:
            found.append(stand_in)
    if rest:
        noise.say("wrote something that is not a message", rest)
    return found


def encode(value: object) -> bytes:
    """A message, or a part of one, as JSON in UTF-8 without a newline of any kind in it.

    Some agents split lines as JavaScript's readline or Python's splitlines do, so NEL, LS and PS are written as escapes."""
    data = _json(value)
    if not data.isascii():
        for raw, escaped in _LINE_ENDS:
            if raw in data:
                data = data.replace(raw, escaped)
    return data


def _json(value: object) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # lone surrogates have no UTF-8, but JSON can escape them
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


_LINE_ENDS = ((b"\xc2\x85", b"\\u0085"), (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


def _shallow(message: Message) -> Message:
    """The message, or when it is nested too deeply a stand-in for it that will be refused.

    How deep json, msgspec and those we hand it to can go differs by Python version; none manages a thousand everywhere."""
    level: list[object] = [message]
    for _ in range(_DEEPEST):
        inner: list[object] = []
        for value in level:
            if isinstance(value, dict):
                inner += cast("dict[str, object]", value).values()
            elif isinstance(value, list):
                inner += cast("list[object]", value)
        level = inner
        if not level:
            return message
    return _stand_in(message, "nested too deeply")


def _stand_in(message: Message, why: str) -> Message:
    """What takes the place of a message that cannot be used: whoever waits for its answer, or for this answer, is told why."""
    known = {
        key: message[key] for key in ("id", "method") if not isinstance(message.get(key, []), (dict, list))
    }
    return {**known, "params": why if isinstance(why, Unusable) else Unusable(why), "error": str(why)}


def _unreadable(line: bytes) -> Message | None:
    """A stand-in for a line that is an object of no JSON, when it shows an id that somebody waits for."""
    try:
        value = _ANYHOW.decode(line.decode("utf-8", "replace"))
    except ValueError:
        return _cut(line)
    except RecursionError:
        return _by_head(line, "nested too deeply")
    if not isinstance(value, dict) or "id" not in value:
        return None
    return _stand_in(cast("Message", value), NotJson("not JSON"))


def _cut(line: bytes) -> Message | None:
    """A stand-in for half a message; None when it was none (words, another program's JSON).

    Its id counts only where what is left says whether it is a request or an answer: else it may be of the other kind, and of another's."""
    head = _UP_TO_NESTED.match(line, 1)
    names = dict(_SCALARS.findall(head[0])) if head is not None else {}
    if head is None or b'"jsonrpc"' not in head[0]:
        return None
    if b"method" in names or _IS_ANSWER.search(head[0]):
        if b"id" in names:
            return _by_head(line, NotJson("not JSON"))
        if b"method" not in names:
            return None
    return {"id": None, "method": "?", "params": NotJson("not JSON")}


def _by_head(line: bytes, why: str | Unusable) -> Message | None:
    """A stand-in by what stands before the first nested value."""
    head = _UP_TO_NESTED.match(line, 1)
    names = dict(_SCALARS.findall(head[0])) if head is not None else {}
    if b"id" not in names:
        return None
    return _stand_in({key.decode(): json.loads(value) for key, value in names.items()}, why)


class _WriteParams(msgspec.Struct):
    sessionId: str
    path: str
    content: str


class _Write(msgspec.Struct):
    jsonrpc: Literal["2.0"]
    id: int | str
    method: Literal["fs/write_text_file"]
    params: _WriteParams


def _large_write(line: bytes) -> Message | None:
    """A write of a large text, which is what most large messages are. Only what it needs is made of it, whatever else it holds is passed
    over: so no value has to be counted, which takes longer than reading it."""
    try:
        write = msgspec.json.decode(line, type=_Write)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return {**msgspec.structs.asdict(write), "params": msgspec.structs.asdict(write.params)}


def _has_too_many_values(line: bytes) -> bool:
    """Whether it would become a hundred times as large in memory, and take seconds: `[{},{},…`. Punctuation in texts does not count."""
    if _separators(line) <= _VALUES:
        return False
    # Escapes first, each in one pass: a pattern that knows them tries every quotation mark again where a string does not end, and
    # keeps a place for each of them where it does (minutes, gigabytes).
    bare = _STRINGS.sub(b"", line.replace(b"\\\\", b"").replace(b'\\"', b""))
    return _separators(bare) > _VALUES


def _separators(line: bytes) -> int:
    """In one pass, however many there are; `count` takes a step for each."""
    return len(line) - len(line.translate(None, b",[{"))


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


_LENIENT = json.JSONDecoder(parse_constant=_no_constant)
_ANYHOW = json.JSONDecoder(
    parse_constant=lambda _: None,
    parse_int=lambda digits: int(digits) if len(digits) < 20 else 0,
    strict=False,
)
"""For looking at what is not to be used."""
_STRINGS = re.compile(rb'"[^"]*"?')
_UP_TO_NESTED = re.compile(rb"[^{\[]{0,1000}")
_IS_ANSWER = re.compile(rb'"(?:result|error)"\s*:')
_SCALARS = re.compile(rb'"(id|method)"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")\s*,')
