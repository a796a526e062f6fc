"""Framing: bytes in any slices → the same messages; what is no message is named and passed over."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidecar.lsp import framing as framing_of_bodies
from sidecar.lsp.framing import MAX_HEADER, Fault, Framing, LongBody, joined

A = b'{"a":1}'
B = b'{"b":"\xc3\xa9"}'


def framed(body: bytes, header: bytes = b"Content-Length: %d\r\n\r\n") -> bytes:
    return header % len(body) + body


def read(data: bytes, step: int, max_body: int = 1000) -> list[bytes | str]:
    """Everything that comes out when the data is fed in steps; faults as their reasons."""
    framing = Framing(max_body)
    out: list[bytes | str] = []
    for start in range(0, len(data), step):
        framing.feed(data[start : start + step])
        while (item := framing.next()) is not None:
            out.append(item.reason if isinstance(item, Fault) else joined(item))
    return out


NO_LENGTH = "headers without a valid Content-Length"
CASES: list[tuple[str, bytes, list[bytes | str]]] = [
    ("one", framed(A), [A]),
    ("several", framed(A) + framed(B) + framed(A), [A, B, A]),
    ("empty body", framed(b"") + framed(A), [b"", A]),
    ("lower case", framed(A, b"content-length: %d\r\n\r\n") + framed(B), [A, B]),
    ("upper case", framed(A, b"CONTENT-LENGTH: %d\r\n\r\n"), [A]),
    ("no blank", framed(A, b"Content-Length:%d\r\n\r\n"), [A]),
    ("many blanks", framed(A, b"Content-Length \t:  \t%d  \r\n\r\n"), [A]),
    ("bare line feeds", framed(A, b"Content-Length: %d\n\n"), [A]),
    ("type after", framed(A, b"Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n"), [A]),
    ("type before", framed(A, b"Content-Type: x\r\nContent-Length: %d\r\n\r\n"), [A]),
    ("unknown headers", framed(A, b"X: y\r\nContent-Length: %d\r\nZ:\r\n\r\n"), [A]),
    ("leading zeros", b"Content-Length: 007\r\n\r\n" + A, [A]),
    ("given twice", framed(A, b"Content-Length: 3\r\nContent-Length: %d\r\n\r\n"), [A]),
    ("huge", b"Content-Length: 99999999999\r\n\r\n" + framed(A), ["a message of 99999999999 bytes is larger than the limit of 1000", A]),
    ("beyond 64 bits", b"Content-Length: 99999999999999999999999\r\n\r\n" + framed(A), ["a message of 99999999999999999999999 bytes is larger than the limit of 1000", A]),
    ("too many digits", b"Content-Length: " + b"9" * 100 + b"\r\n\r\n" + framed(A), [NO_LENGTH, A]),
    ("really too large", framed(b"x" * 5000) + framed(A), ["a message of 5000 bytes is larger than the limit of 1000", A]),
    ("negative", b"Content-Length: -5\r\n\r\n" + framed(A), [NO_LENGTH, A]),
    ("a word", b"Content-Length: many\r\n\r\n" + A + framed(B), [NO_LENGTH, B]),
    ("hexadecimal", b"Content-Length: 0x7\r\n\r\n" + A + framed(B), [NO_LENGTH, B]),
    ("no length", b"Content-Type: x\r\n\r\n" + A + framed(B), [NO_LENGTH, B]),
    ("only a blank line", b"\r\n\r\n" + framed(A), [NO_LENGTH, A]),
    ("HTTP", b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n" + framed(A), [NO_LENGTH, A]),
    ("endless header", b"x" * (2 * MAX_HEADER) + framed(A), [f"no end of headers within {MAX_HEADER} bytes", A]),
    ("a print before", b"Hello!\n" + framed(A), [A]),
    ("a print between", framed(A) + b"Hello!" + framed(B), [A, B]),
    ("length too short", b"Content-Length: 4\r\n\r\n" + A + framed(B), [b'{"a"', B]),
    ("length too long by a lot", b"Content-Length: 999\r\n\r\n" + A + framed(B) + framed(A), [A, B, A]),
    ("length too long twice", (b"Content-Length: 999\r\n\r\n" + A) * 2 + framed(B), [A, A, B]),
    ("length too long, and half a header behind", b"Content-Length: 999\r\n\r\n" + A + b"Content-Length: 7\r\n", []),
    ("UTF-16 length too short", b"Content-Length: 9\r\n\r\n" + B + framed(A), [B[:9], A]),
]  # fmt: skip


@pytest.fixture(params=[False, True], ids=["as large as they are", "all large"])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        monkeypatch.setattr(framing_of_bodies, "_LARGE", -1)


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("step", [1, 2, 3, 7, 10, 64, 10**6])
@pytest.mark.parametrize(("data", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_messages(data: bytes, expected: list[bytes | str], step: int) -> None:
    assert read(data, step) == expected


@pytest.mark.usefixtures("sizes")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=300), max_size=8), st.integers(1, 400))
def test_any_bodies_in_any_slices(bodies: list[bytes], step: int) -> None:
    assert read(b"".join(framed(body) for body in bodies), step) == bodies


@pytest.mark.usefixtures("sizes")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300), st.integers(1, 50))
def test_noise_never_raises_and_ends_at_the_next_message(noise: bytes, step: int) -> None:
    """After noise the next two messages: the first may be taken for a part of it, the second never is."""
    out = read(noise + b"\r\n\r\n" + framed(A) + framed(B), step)
    assert out[-1] == B


def test_what_follows_a_message_of_a_wrong_length_can_be_put_back() -> None:
    framing = Framing()
    framing.feed(b"Content-Length: %d\r\n\r\n" % (len(A) + 5) + A + framed(B) + framed(A))
    body = framing.next()
    assert body == A + framed(B)[:5]
    framing.unread(framed(B)[:5])
    assert [framing.next(), framing.next(), framing.next()] == [B, A, None]


def test_a_large_body_is_not_joined_at_every_read() -> None:
    framing = Framing()
    piece = b"x" * 1000
    framing.feed(b"Content-Length: 1000000\r\n\r\n")
    for _ in range(999):
        framing.feed(piece)
        assert framing.next() is None
    assert framing.pending > 999_000
    framing.feed(piece)
    assert framing.next() == piece * 1000
    assert framing.pending == 0


def test_a_long_body_is_not_joined_before_somebody_asks() -> None:
    """Its pieces are those that arrived."""
    framing, pieces = Framing(), [b"x" * 2**20, b"y" * 2**20]
    framing.feed(b"Content-Length: %d\r\n\r\n" % 2**21)
    assert framing.next() is None
    for piece in pieces:
        framing.feed(piece)
    body = framing.next()
    assert isinstance(body, LongBody)
    assert body.size == 2**21
    assert all(any(piece is one for one in body.pieces) for piece in pieces)


def test_a_body_that_is_waited_for_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only its new bytes are, whenever some come."""
    framing = Framing()
    framing.feed(b"Content-Length: 1000000\r\n\r\n")
    assert framing.next() is None
    monkeypatch.setattr(Framing, "_join", None)
    for _ in range(99):
        framing.feed(b"Content-Length: 7 " * 500)
        assert framing.next() is None
    monkeypatch.undo()
    framing.feed(b"x" + framed(A))
    body = framing.next()
    assert isinstance(body, bytes)
    assert body == b"Content-Length: 7 " * 500 * 99 + b"x"
    assert framing.next() == A


def test_a_large_body_is_copied_once() -> None:
    """However much of what follows has come with its end."""
    framing, pieces = Framing(), [b"x" * 100_000 for _ in range(100)]
    framing.feed(b"Content-Length: 10000000\r\n\r\n")
    assert framing.next() is None
    for piece in pieces[:-1]:
        framing.feed(piece)
    framing.feed(pieces[-1] + framed(A) + framed(B))
    tracemalloc.start()
    try:
        item = framing.next()
        assert isinstance(item, LongBody)
        body = joined(item)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(body) == item.size == 10_000_000
    assert most < 10_200_000, most
    assert [framing.next(), framing.next(), framing.next()] == [A, B, None]


def test_a_large_body_is_not_kept_with_what_came_behind_it() -> None:
    framing, large = Framing(), b"x" * 4_000_000
    tracemalloc.start()
    try:
        framing.feed(framed(large) + framed(A)[:20])
        del large
        assert len(framing.next() or b"") == 4_000_000
        assert framing.next() is None
        now, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert now < 100_000, now
    framing.feed(framed(A)[20:])
    assert framing.next() == A


def test_skipped_input_is_not_kept() -> None:
    framing = Framing(max_body=10)
    framing.feed(b"Content-Length: 99999999999\r\n\r\n")
    assert isinstance(framing.next(), Fault)
    for _ in range(100):
        framing.feed(b"x" * 10_000)
        assert framing.next() is None
    assert framing.pending < 100
