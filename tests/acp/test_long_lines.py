"""Lines that are read while they arrive: the same messages as when they are read at once, however they are cut."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.acp.long_lines import LongLine
from sidecar.acp.messages import Message
from sidecar.acp.noise import Noise
from sidecar.core.json_limits import NotJson, Unusable
from sidecar.core.text import Text
from sidecar.long_json import SKELETON

MOST = 100_000
NOISE = Noise(logging.getLogger(__name__), "fake")


def read(line: bytes, cuts: list[int] | None = None, texts: int = MOST) -> list[Message]:
    long = LongLine(texts)
    places = sorted({0, len(line), *(cut % (len(line) + 1) for cut in cuts or ())})
    for start, end in itertools.pairwise(places):
        for _ in long.feed(line[start:end]):
            pass
    return at_once(long.messages(NOISE))


def at_once(steps: Generator[None, None, list[Message]]) -> list[Message]:
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value


def test_others_run_while_many_texts_are_put_back() -> None:
    """As many as there may be values: 45 ms of one message of agents of version 2."""
    texts = ",".join(['{"t":"%s"}' % ("x" * 1100)] * 5000)
    long = LongLine(1 << 30)
    for _ in long.feed(b'{"jsonrpc":"2.0","method":"x","params":{"t":[' + texts.encode() + b"]}}"):
        pass
    assert sum(1 for _ in long.messages(NOISE)) > 5


UNIT = st.sampled_from(
    ["x", "é", "中", "\U0001f600", '"', "\\", "\n", "\ud800", "\udc00", "\\u", "{[,", "\x7f"]
)
TEXT = st.builds(lambda unit, times, end: unit * times + end, UNIT, st.sampled_from([0, 1, 600, 1500]), UNIT)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from("abc"), VALUE), st.booleans(), st.lists(st.integers(0), max_size=8))
def test_what_is_read_does_not_depend_on_the_pieces(values: Any, escaped: bool, cuts: list[int]) -> None:
    message = {"jsonrpc": "2.0", "id": 3, "method": "x", "params": values}
    line = json.dumps(message, ensure_ascii=escaped).encode("utf-8", "replace" if not escaped else "strict")
    assert read(line, cuts) == [json.loads(line)]


@given(st.lists(st.integers(0), min_size=30, max_size=30))
def test_pairs_and_sequences_are_never_cut(cuts: list[int]) -> None:
    text = "\U0001f600é\\\ud83d\\\\u" * 200
    for escaped in (True, False):
        line = json.dumps({"jsonrpc": "2.0", "method": "x", "params": {"t": text}}, ensure_ascii=escaped)
        if not escaped:
            line = line.replace("\ud83d", "\\ud83d")
        (message,) = read(line.encode(), cuts)
        assert message["params"]["t"] == text


@pytest.mark.parametrize(
    "text", ["x", "é", "\U0001f600", "\\u00e9", "\\ud83d\\ude00", "\\n", "\\\\", '\\"', '"']
)
def test_others_run_after_every_quarter_of_a_megabyte(text: str) -> None:
    line = b'{"jsonrpc":"2.0","method":"x","params":["' + text.encode() * (3_000_000 // len(text.encode()))
    steps = sum(1 for _ in LongLine(1 << 30).feed(line))
    assert steps >= len(line) // (256 * 1024)


@pytest.mark.parametrize("text", ["é", "\U0001f600", "\\u4e2d"])
def test_texts_are_counted_in_bytes(text: str) -> None:
    """As the file is that they would be written to."""
    one = len(json.loads(f'"{text}"').encode())
    for times in (MOST // one, MOST // one + 1):
        (message,) = read(f'{{"id":3,"method":"x","params":["{text * times}"]}}'.encode())
        assert isinstance(message["params"], Unusable) == (times * one > MOST)


def of(method: str, **params: str) -> bytes:
    message = {"jsonrpc": "2.0", "id": 3, "method": method, "params": params}
    return json.dumps(message, ensure_ascii=False).encode()


WIDE = "x" * MOST + "\U0001f600"


@pytest.fixture
def long_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidecar.core.text_parts.FROM", 2000)


@pytest.mark.usefixtures("long_soon")
def test_what_is_written_is_a_text_where_a_string_takes_more() -> None:
    for content, kind in ((WIDE, Text), ("x" * MOST, str)):
        (message,) = read(of("fs/write_text_file", content=content), texts=2 * MOST)
        assert isinstance(message["params"]["content"], kind)
        assert message["params"]["content"] == content


@pytest.mark.usefixtures("long_soon")
@pytest.mark.parametrize(
    ("line", "number"),
    [
        (of("x", t=WIDE), 3),
        (of("x", m="fs/write_text_file", t=WIDE), 3),
        (of("fs/write_text_file", path=WIDE), 3),
        (of("fs/write_text_file", path=WIDE, content=WIDE), 3),
        (b'{"method":"fs/write_text_file","params":{"content":"x"},"id":"' + WIDE.encode() + b'"}', None),
    ],
)
def test_any_other_text_has_a_bound_in_memory(line: bytes, number: int | None) -> None:
    """To make it one string, all of it is copied in one step: a single emoji makes that four times as much."""
    found = read(line, texts=2 * len(WIDE) + 3)
    assert [message.get("id") for message in found] == ([] if number is None else [number])
    assert all(isinstance(message["params"], Unusable) for message in found)


LONG = b"x" * 3000
REFUSED = [
    # name · the line · its id · a part of why
    ("too many values", b'{"jsonrpc":"2.0","id":3,"method":"x","params":[' + b"{}," * 30_000, 3, "too many values"),
    ("texts too long", b'{"jsonrpc":"2.0","id":3,"method":"x","params":["' + b"x" * (MOST + 1), 3, f"more than {MOST}"),
    ("two texts too long", b'{"id":3,"method":"x","params":["' + b'","'.join([b"x" * 60_000] * 2) + b'"]}', 3, f"more than {MOST}"),
    ("much beside its texts", b'{"id":3,"method":"x","params":[' + b" " * (SKELETON + 1), 3, "beside its texts"),
    ("a number of megabytes", b'{"id":3,"method":"x","params":[' + b"9" * (SKELETON + 1), 3, "beside its texts"),
    ("empty strings", b'{"id":3,"method":"x","params":[' + b'""' * 50_000, 3, "too many values"),
    ("too deep", b'{"id":3,"method":"x","params":["' + LONG + b'",' + b"[" * 300 + b"]" * 300 + b"]}", 3, "nested too deeply"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "number", "why"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_what_is_too_much_is_refused_by_its_id(line: bytes, number: int, why: str) -> None:
    (message,) = read(line)
    assert message["id"] == number
    assert isinstance(message["params"], Unusable)
    assert why in message["params"]


CUT = [
    ("in a text", b'{"jsonrpc":"2.0","id":3,"method":"x","params":{"t":"' + LONG, 3),
    ("in an escape", b'{"jsonrpc":"2.0","id":3,"method":"x","params":{"t":"' + LONG + b"\\ud83", 3),
    ("behind a text", b'{"jsonrpc":"2.0","id":3,"method":"x","params":{"t":"' + LONG + b'"', 3),
    (
        "a wrong escape",
        b'{"jsonrpc":"2.0","id":3,"method":"x","params":{"t":"' + LONG + b'\\uzzzzzzzzzzzz"}}',
        3,
    ),
    ("a control character", b'{"jsonrpc":"2.0","id":3,"method":"x","params":{"t":"' + LONG + b'\x01"}}', 3),
    ("no UTF-8", b'{"jsonrpc":"2.0","id":3,"method":"x","params":{"t":"' + LONG + b'\xff"}}', 3),
    ("no id", b'{"jsonrpc":"2.0","method":"x","params":{"t":"' + LONG, None),
]


@pytest.mark.parametrize(("line", "number"), [row[1:] for row in CUT], ids=[row[0] for row in CUT])
def test_what_is_no_json_is_answered_so(line: bytes, number: int | None) -> None:
    (message,) = read(line)
    assert message["id"] == number
    assert isinstance(message["params"], NotJson)


def test_words_are_noise() -> None:
    for words in (b"x" * 10_000, b"[" * 10_000, b'"' * 10_000, b"{" * 50_000, b"\n", b""):
        assert read(words) == []


def test_several_messages_and_words_before_them() -> None:
    one = b'{"jsonrpc":"2.0","method":"x","params":{"t":"' + LONG + b'"}}'
    found = read(b"Loading..." + one + one)
    assert [message["params"]["t"] for message in found] == [LONG.decode()] * 2


def test_an_agent_cannot_put_one_text_in_the_place_of_another() -> None:
    """A mark is of one line only, and nobody knows it before."""
    long = LongLine(MOST)
    guessed = f"{long._mark}0"
    line = json.dumps({"method": "x", "params": ["y" * 3000, guessed, f"{'0' * 32}0"]}).encode()
    (message,) = read(line)
    assert message["params"] == ["y" * 3000, guessed, f"{'0' * 32}0"]
