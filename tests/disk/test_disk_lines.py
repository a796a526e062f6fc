"""Slices of files: whole lines, terminators byte for byte, only \\n, \\r\\n and \\r end a line."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidecar.core.refusal import Refusal
from sidecar.disk import Resolved, Roots, encode, lines, read_lines, resolve


@pytest.fixture
def file(base: Path) -> Path:
    return base / "f"


def read(file: Path, line: int | None, limit: int | None, at_most: int | None = None) -> str | Refusal:
    with Roots([str(file.parent)]) as roots:
        found = resolve(roots, str(file), access="read")
        assert isinstance(found, Resolved)
        with found:
            return read_lines(found, line, limit, at_most=at_most)


SLICES = [
    # text, line, limit, answer (a number: past the last line, there are that many)
    ("a\nb\nc\n", None, None, "a\nb\nc\n"),
    ("a\nb\nc\n", 1, None, "a\nb\nc\n"),
    ("a\nb\nc\n", 0, 1, "a\n"),
    ("a\nb\nc\n", 1, 1, "a\n"),
    ("a\nb\nc\n", 2, 1, "b\n"),
    ("a\nb\nc\n", 2, 2, "b\nc\n"),
    ("a\nb\nc\n", 3, 99, "c\n"),
    ("a\nb\nc\n", 3, 2**70, "c\n"),
    ("a\nb\nc\n", 4, None, ""),
    ("a\nb\nc\n", 5, None, 4),
    ("a\nb\nc\n", 2**70, 1, 4),
    ("a\nb\nc", 3, None, "c"),
    ("a\nb\nc", 4, None, 3),
    ("a\nb\nc", 1, 0, ""),
    ("a\nb\nc", 9, 0, 3),
    ("", 1, None, ""),
    ("", None, 5, ""),
    ("", 2, None, 1),
    ("\n", 1, 1, "\n"),
    ("\n", 2, 1, ""),
    ("a\r\nb\rc\nd", 1, 1, "a\r\n"),
    ("a\r\nb\rc\nd", 2, 1, "b\r"),
    ("a\r\nb\rc\nd", 2, 2, "b\rc\n"),
    ("a\r\n\r\n\rb", 2, 2, "\r\n\r"),
    ("a\r", 2, None, ""),
    ("a\x0b\x0c\x1c\x85\u2028b\nc", 1, 1, "a\x0b\x0c\x1c\x85\u2028b\n"),
    ("😋\nżółw\n", 2, 1, "żółw\n"),
    ("a\n", -1, None, "bad_range"),
    ("a\n", 1, -1, "bad_range"),
]


@pytest.mark.parametrize(("text", "line", "limit", "expected"), SLICES)
@pytest.mark.parametrize(
    ("encoding", "mark"), [("utf-8", b""), ("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe")]
)
def test_slices(
    file: Path,
    text: str,
    line: int | None,
    limit: int | None,
    expected: str | int,
    encoding: str,
    mark: bytes,
) -> None:
    data = encode(text, encoding, mark)
    assert isinstance(data, bytes)
    file.write_bytes(data)
    answer = read(file, line, limit)
    if isinstance(expected, int):
        assert isinstance(answer, Refusal)
        assert (answer.kind.value, answer.data["lines"]) == ("bad_range", expected)
    elif expected == "bad_range":
        assert isinstance(answer, Refusal)
        assert answer.kind.value == "bad_range"
    else:
        assert answer == expected


def split(text: str) -> list[str]:
    """The oracle: n terminators make n + 1 lines."""
    found = re.findall(r"[^\r\n]*(?:\r\n|\n|\r)", text)
    return [*found, text[len("".join(found)) :]]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(["a", "żó", "😋", "\n", "\r", "\r\n", "\x85"]), max_size=30).map("".join),
    st.integers(1, 12),
    st.none() | st.integers(0, 12),
    st.integers(1, 7),
    st.sampled_from(["utf-8", "utf-16-le"]),
)
def test_blocks_of_any_size_give_the_same_lines(
    file: Path, text: str, line: int, limit: int | None, block: int, encoding: str
) -> None:
    data = encode(text, encoding, b"" if encoding == "utf-8" else b"\xff\xfe")
    assert isinstance(data, bytes)
    file.write_bytes(data)
    expected = split(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK", block)
        answer = read(file, line, limit)
    if line > len(expected):
        assert isinstance(answer, Refusal)
        assert answer.data["lines"] == len(expected)
    else:
        assert answer == "".join(expected[line - 1 :][: len(expected) if limit is None else limit])


def test_a_slice_of_a_large_file_is_small(file: Path) -> None:
    """More lines than one block holds, and a first line longer than what is asked for."""
    with open(file, "wb") as out:
        out.write(b"first\n" + b"x" * 9000 + b"\n")
        out.write(b"y\n" * 1_000_000)
        out.write(b"last")
    assert read(file, 1_000_003, 5) == "last"
    assert read(file, 1, 1) == "first\n"
    answer = read(file, 1, None, at_most=1000)
    assert isinstance(answer, Refusal)
    assert answer.kind.value == "too_large"
    answer = read(file, 2, 1, at_most=1000)
    assert isinstance(answer, Refusal)
    assert answer.kind.value == "too_large"


def test_a_file_without_lines_is_not_looked_through_to_its_end(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Terabytes that take no room: an agent makes as many as it likes."""
    monkeypatch.setattr(lines, "LOOKED_THROUGH", 4 << 20)
    with open(file, "wb") as out:
        out.write(b"first\n" + b"text without an end " * 1000)
        out.truncate(1 << 40)
    answer = read(file, 3, 1)
    assert isinstance(answer, Refusal)
    assert answer.kind.value == "too_large"
    assert "4194304 bytes" in answer.message
    assert read(file, 1, 1) == "first\n"


def test_what_is_after_the_slice_need_not_decode(file: Path) -> None:
    file.write_bytes(b"a\nb\n" + b"c" * 400_000 + b"\n\xff\n")
    assert read(file, 2, 1) == "b\n"
    answer = read(file, 1, None)
    assert isinstance(answer, Refusal)
    assert answer.kind.value == "undecodable"


def test_binary_files_have_no_lines(file: Path) -> None:
    file.write_bytes(b"a\n\0")
    answer = read(file, 1, 1)
    assert isinstance(answer, Refusal)
    assert answer.kind.value == "binary"


def test_a_file_that_changes_while_it_is_read_is_read_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One moment's bytes: never the head of one text with the tail of another."""
    old, new = b"old\n" * 50_000, b"NEW\n" * 50_000
    file.write_bytes(old)
    real = os.pread
    reads = 0

    def pread(descriptor: int, size: int, offset: int) -> bytes:
        nonlocal reads
        reads += 1
        data = real(descriptor, min(size, 4096), offset)
        if reads == 5:
            file.write_bytes(new)
            os.utime(file, ns=(1, 1))
        return data

    with Roots([str(file.parent)]) as roots:
        found = resolve(roots, str(file), access="read")
        assert isinstance(found, Resolved)
        with found:
            monkeypatch.setattr(os, "pread", pread)
            assert found.read_bytes() == new
            assert found.stat.mtime_ns == 1
            file.write_bytes(old)
            reads = 0
            assert read_lines(found, 1, None) == new.decode()


def test_the_cap_holds_for_a_file_that_grew(file: Path) -> None:
    file.write_bytes(b"x" * 100)
    with Roots([str(file.parent)]) as roots:
        found = resolve(roots, str(file), access="read")
        assert isinstance(found, Resolved)
        with found:
            assert found.size == 100
            assert found.read_bytes(100) == b"x" * 100
            file.write_bytes(b"x" * 101)
            answer = found.read_bytes(100)
            assert isinstance(answer, Refusal)
            assert (answer.kind.value, answer.data) == ("too_large", {"size": 101, "limit": 100})
