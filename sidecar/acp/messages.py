"""Converts one line from an agent to messages, and a message to a line. Hardened: the depth and the number of values in a line are
limited.

A message that cannot be used, but expects an answer or is one, is replaced by a stand-in. The stand-in is refused, so that nobody waits
for ever.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeAlias, cast

import msgspec

from sidecar.acp.noise import Noise
from sidecar.core.json_limits import DEEPEST, NotJson, Unusable, has_too_many_values
from sidecar.core.json_size import measured

Message: TypeAlias = dict[str, Any]


class Weighed(dict[str, Any]):
    """A message whose size was found out while its depth was checked."""

    __slots__ = ("size",)

    def __init__(self, message: Message, size: int) -> None:
        super().__init__(message)
        self.size = size
        """Bytes in memory, roughly."""


_SMALL = 64 * 1024
"""Up to this many bytes, the depth of a message is checked after decoding. The values of a longer message are counted before it is
decoded."""
_IN_ONE_LINE = 100
"""The most messages taken from one line. Some agents forget a line end, but none forgets that many."""


def decode(line: bytes, noise: Noise) -> list[Message]:
    """The messages in one line, none nested too deeply. There are several if an agent forgets line ends. Anything else is logged by
    `noise`."""
    line = line.strip()
    if len(line) > _SMALL and has_too_many_values(line):
        noise.say("sent a message of too many values", line)
        told = by_head(line, "too many values")
        return [] if told is None else [told]
    if line.startswith(b"{"):
        try:
            message = msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return _decode_leniently(line, noise)
        # Checking every value of a small message, or every byte of a large one, costs more than decoding it.
        # So the brackets of a small message are counted first, and the values of a large one are always
        # checked.
        deep = len(line) > _SMALL or line.count(b"{") + line.count(b"[") > DEEPEST
        return [_shallow(message) if deep else message]
    if line.startswith(b"["):
        return _decode_batch(line, noise)
    return _decode_leniently(line, noise) if line else []


def _decode_batch(line: bytes, noise: Noise) -> list[Message]:
    """The messages of a JSON-RPC batch, which ACP adopts in version 2. Each message is answered separately."""
    try:
        found = msgspec.json.decode(line, type=list[object])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _decode_leniently(line, noise)  # such as words in brackets
    messages = [_shallow(cast("Message", entry)) for entry in found[:_IN_ONE_LINE] if isinstance(entry, dict)]
    if len(messages) < max(1, len(found)):
        noise.say("wrote something that is not a message", line)
    return messages


def _decode_leniently(line: bytes, noise: Noise) -> list[Message]:
    """Decode what msgspec refuses but JSON allows (lone surrogates), and messages with noise before, between or after them."""
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
        if start == 0 and (told := _unreadable(line)) is not None:
            found.append(told)
    if rest:
        noise.say("wrote something that is not a message", rest)
    return found


def encode(value: object) -> bytes:
    """A message, or a part of one, as JSON in UTF-8 without any kind of newline.

    Some agents split lines like JavaScript's readline or Python's splitlines, so NEL, LS and PS are escaped.
    """
    data = _json(value)
    if not data.isascii():
        for raw, escaped in _LINE_ENDS:
            if raw in data:
                data = data.replace(raw, escaped)
    return data


def _json(value: object) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # UTF-8 has no lone surrogates, but JSON can escape them
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


_LINE_ENDS = ((b"\xc2\x85", b"\\u0085"), (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


def _shallow(message: Message) -> Message:
    """The message. If it is nested too deeply, a stand-in that will be refused."""
    found = measured(message, DEEPEST)
    return stand_in(message, "nested too deeply") if found.depth > DEEPEST else Weighed(message, found.size)


def stand_in(message: Message, why: str) -> Message:
    """A replacement for a message that cannot be used. The side that waits for its answer, or for it as an answer, is told why."""
    known = {
        key: message[key] for key in ("id", "method") if not isinstance(message.get(key, []), (dict, list))
    }
    return {**known, "params": why if isinstance(why, Unusable) else Unusable(why), "error": str(why)}


def _unreadable(line: bytes) -> Message | None:
    """A stand-in for a line that is not JSON but contains an id for which somebody may be waiting."""
    try:
        value = _ANYHOW.decode(line.decode("utf-8", "replace"))
    except ValueError:
        return _cut(line)
    except RecursionError:
        return by_head(line, "nested too deeply")
    if not isinstance(value, dict) or "id" not in value:
        return None
    return stand_in(cast("Message", value), NotJson("not JSON"))


def _cut(line: bytes) -> Message | None:
    """A stand-in for half a message. None if the line was no message (words, another program's JSON).

    Its id counts only if the rest shows whether it is a request or an answer: otherwise it may be of the other kind and belong to
    another message.
    """
    head = _UP_TO_NESTED.match(line, 1)
    names = dict(_SCALARS.findall(head[0])) if head is not None else {}
    if head is None or b'"jsonrpc"' not in head[0]:
        return None
    if b"method" in names or _IS_ANSWER.search(head[0]):
        if b"id" in names:
            return by_head(line, NotJson("not JSON"))
        if b"method" not in names:
            return None
    return {"id": None, "method": "?", "params": NotJson("not JSON")}


def by_head(line: bytes, why: str | Unusable) -> Message | None:
    """A stand-in made from what precedes the first nested value."""
    head = _UP_TO_NESTED.match(line, 1)
    names: Message = {}
    for key, value in _SCALARS.findall(head[0]) if head is not None else ():
        try:
            names[key.decode()] = json.loads(value)
        except ValueError:  # only looks like a value: 01, a control character, invalid UTF-8
            continue
    return stand_in(names, why) if "id" in names else None


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


_LENIENT = json.JSONDecoder(parse_constant=_no_constant)
_ANYHOW = json.JSONDecoder(
    parse_constant=lambda _: None,
    parse_int=lambda digits: int(digits) if len(digits) < 20 else 0,
    strict=False,
)
"""For examining a line that will not be used."""
_UP_TO_NESTED = re.compile(rb"[^{\[]{0,1000}")
_IS_ANSWER = re.compile(rb'"(?:result|error)"\s*:')
_SCALARS = re.compile(rb'"(id|method)"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")\s*,')


def answer_key(value: object) -> int | None:
    """The id that we gave (a number from 0), even if the agent turned 2 into "2" or 2.0. None for anything else; True is not 1."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    return None
