"""LineParser: bytes in any pieces → the same messages; what is no message is passed over."""

from __future__ import annotations

import json
import logging
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidecar.acp import line_parser
from sidecar.acp.limits import WireLimits
from sidecar.acp.line_parser import LineParser, Signal
from sidecar.acp.noise import Noise
from sidecar.core.text import Text

LINE = 400
LIMITS = WireLimits(line=LINE)
TOO_LONG = "too long"
MOST_STEPS = 10_000


def parser(limits: WireLimits = LIMITS) -> LineParser:
    return LineParser(limits, Noise(logging.getLogger(__name__), "fake"))


def events(parser: LineParser, *, pauses: bool = False) -> list[object]:
    """All events up to the one that comes for ever. A message as its `x`."""
    found: list[object] = []
    for _ in range(MOST_STEPS):
        match parser.next():
            case None:
                return found
            case Signal.TOO_LONG:
                assert parser.next() is Signal.TOO_LONG
                return [*found, TOO_LONG]
            case Signal.PAUSE:
                found += ["pause"] if pauses else []
            case message:
                found.append(message.get("x", message))
    raise AssertionError("it does not come to an end")


def parsed(pieces: list[bytes], *, ended: bool = False) -> list[object]:
    """The events of a stream that arrives in these pieces."""
    parsing, found = parser(), list[object]()
    for piece in pieces:
        parsing.feed(piece)
        found += events(parsing)
        if found[-1:] == [TOO_LONG]:
            return found
    if ended:
        parsing.end()
        found += events(parsing)
    return found


def x(value: object) -> bytes:
    return b'{"x":%b}' % json.dumps(value).encode()


FULL = b'{"x":1}'.ljust(LINE)
"""The longest line."""
MANY = "very long " * 30

# what arrives · what comes out of it · what the end of input adds
CASES: list[tuple[str, bytes, list[object], list[object]]] = [
    ("nothing", b"", [], []),
    ("one", x(1) + b"\n", [1], []),
    ("several", x(1) + b"\n" + x(2) + b"\n" + x(3) + b"\n", [1, 2, 3], []),
    ("empty lines", b"\n\n" + x(1) + b"\n\n\n" + x(2) + b"\n", [1, 2], []),
    ("CRLF", x(1) + b"\r\n" + x(2) + b"\r\n", [1, 2], []),
    ("no line end yet", x(1) + b"\n" + x(2), [1], [2]),
    ("half a line", x(1) + b'\n{"x', [1], []),
    ("two in one line", x(1) + x(2) + b"\n", [1, 2], []),
    ("a batch", b"[" + x(1) + b"," + x(2) + b"]\n", [1, 2], []),
    ("noise between", x(1) + b"\nLoading ...\n42\n\xff\n" + x(2) + b"\n", [1, 2], []),
    ("characters of several bytes", x("ä😀") + b"\n" + '{"x":"ä😀"}\n'.encode(), ["ä😀", "ä😀"], []),
    ("a long text", x(1) + b"\n" + x(MANY) + b"\n" + x(2) + b"\n", [1, MANY, 2], []),
    ("only long texts", (x(MANY) + b"\n") * 3, [MANY] * 3, []),
    ("a long text without its end", x(1) + b"\n" + x(MANY), [1], [MANY]),
    ("a long line of noise", b"-" * 300 + b"\n" + x(1) + b"\n", [1], []),
    ("the longest line", FULL + b"\n" + FULL + b"\n", [1, 1], []),
    ("too long", x(1) + b"\n" + FULL + b" \n" + x(2) + b"\n", [1, TOO_LONG], []),
    ("too long at once", b"x" * (LINE + 1), [TOO_LONG], []),
    ("too long after a long text", x(MANY) + b"\n" + b"x" * (LINE + 1), [MANY, TOO_LONG], []),
]


@pytest.fixture(params=[1024 * 1024, 100, 0], ids=["none long", "long from 100 bytes", "all long"])
def longs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """From how many bytes a line is decoded while it arrives."""
    monkeypatch.setattr(line_parser, "_LONG", request.param)


@pytest.mark.usefixtures("longs")
@pytest.mark.parametrize("step", [1, 2, 7, 64, 10**6])
@pytest.mark.parametrize(("data", "expected", "at_end"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_bytes_in_messages_out(data: bytes, expected: list[object], at_end: list[object], step: int) -> None:
    pieces = [data[start : start + step] for start in range(0, len(data), step)]
    assert parsed(pieces) == expected
    assert parsed(pieces, ended=True) == [*expected, *at_end]


CHUNKS = st.sampled_from(
    [x(1), x("ä😀"), x(MANY), b"{", b"noise", b"[]", b"\xff", b"\n", b"\n", b" ", b"\r\n"]
)


@pytest.mark.usefixtures("longs")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(chunks=st.lists(CHUNKS, max_size=12), cuts=st.lists(st.integers(0, 1500), max_size=12))
def test_random_pieces(chunks: list[bytes], cuts: list[int]) -> None:
    """Pieces give what the same bytes give at once."""
    data = b"".join(chunks)
    pieces = [data[start:end] for start, end in pairwise([0, *sorted(cuts), max([len(data), *cuts])])]
    assert parsed(pieces, ended=True) == parsed([data], ended=True)


def test_all_may_be_fed_before_anything_is_taken() -> None:
    parsing = parser()
    for byte in x(1) + b"\n" + x(2) + b"\n":
        parsing.feed(bytes([byte]))
    assert events(parsing) == [1, 2]


def test_it_pauses_within_a_long_line_and_not_between_short_ones() -> None:
    short, long = x(1) + b"\n", x("y" * 3 * 1024 * 1024) + b"\n"
    parsing = parser(WireLimits())
    parsing.feed(short * 1000)
    assert events(parsing, pauses=True) == [1] * 1000
    parsing.feed(long + short)
    found = events(parsing, pauses=True)
    assert found[-2:] == ["y" * 3 * 1024 * 1024, 1]
    assert len(found) > 5
    assert set(found[:-2]) == {"pause"}


def test_the_content_of_a_write_is_a_text() -> None:
    content = "z\n" * 1024 * 1024
    write = {"method": "fs/write_text_file", "params": {"path": "/a", "content": content}}
    parsing = parser(WireLimits())
    parsing.feed(json.dumps(write).encode() + b"\n")
    (message,) = events(parsing)
    assert isinstance(message, dict)
    assert str(message["params"]["content"]) == content
    assert isinstance(message["params"]["content"], (str, Text))


def test_how_much_it_wants() -> None:
    parsing = parser(WireLimits())
    assert (parsing.pending, parsing.wanted) == (0, 64 * 1024)
    parsing.feed(b"x" * 64 * 1024)
    events(parsing)
    assert (parsing.pending, parsing.wanted) == (64 * 1024, 1024 * 1024)
    parsing.feed(b"\ny")
    events(parsing)
    assert (parsing.pending, parsing.wanted) == (1, 64 * 1024)
