"""Exact bytes to text and back: by mark, else strict UTF-8, never lossy, no line end touched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.refusal import Refusal
from sidecar.disk import Decoded, Encoded, codec, decode, encode

TEXTS = [
    # bytes, what they are
    (b"", ("", "utf-8", b"")),
    (b"\n", ("\n", "utf-8", b"")),
    (b"a\r\nb\r\n", ("a\r\nb\r\n", "utf-8", b"")),
    (b"a\rb", ("a\rb", "utf-8", b"")),
    (b"a\nb\r\nc\rd", ("a\nb\r\nc\rd", "utf-8", b"")),
    (b"no newline", ("no newline", "utf-8", b"")),
    ("żółw 😋\x0b\x0c\u2028\x85".encode(), ("żółw 😋\x0b\x0c\u2028\x85", "utf-8", b"")),
    (b"\xef\xbb\xbf", ("", "utf-8", b"\xef\xbb\xbf")),
    (b"\xef\xbb\xbfa\r\n", ("a\r\n", "utf-8", b"\xef\xbb\xbf")),
    (b"\xef\xbb\xbf\xef\xbb\xbfa", ("\ufeffa", "utf-8", b"\xef\xbb\xbf")),
    (b"\xff\xfea\0\r\0\n\0", ("a\r\n", "utf-16-le", b"\xff\xfe")),
    (b"\xfe\xff\0a\0\n", ("a\n", "utf-16-be", b"\xfe\xff")),
    (b"\xff\xfe", ("", "utf-16-le", b"\xff\xfe")),
    ("\ufeff😋\n".encode("utf-16-le"), ("😋\n", "utf-16-le", b"\xff\xfe")),
    # the NUL is past the first 8 KiB
    (b"a" * 8192 + b"\0", ("a" * 8192 + "\0", "utf-8", b"")),
]


@pytest.mark.parametrize(("data", "expected"), TEXTS)
def test_texts(data: bytes, expected: tuple[str, str, bytes]) -> None:
    decoded = decode(data)
    assert isinstance(decoded, Decoded)
    assert tuple(decoded) == expected
    if "\0" not in decoded.text:
        assert encode(*decoded) == data


NO_TEXTS = [
    (b"a\0b", "binary: The file is binary (it has NUL bytes and no UTF-16 mark): /ws/f"),
    (b"a" * 8191 + b"\0", "binary: The file is binary (it has NUL bytes and no UTF-16 mark): /ws/f"),
    (b"\xef\xbb\xbfa\0b", "binary: The file is binary (it has NUL bytes and no UTF-16 mark): /ws/f"),
    (b"h\0i\0", "binary: The file is binary (it has NUL bytes and no UTF-16 mark): /ws/f"),
    (
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        "binary: The file is binary (it has NUL bytes and no UTF-16 mark): /ws/f",
    ),
    (b"caf\xe9", "undecodable: The file is not valid utf-8: /ws/f"),
    (b"\xc0\xaf", "undecodable: The file is not valid utf-8: /ws/f"),
    (b"\xed\xa0\x80", "undecodable: The file is not valid utf-8: /ws/f"),
    (b"ok\n" * 9000 + b"\xe2\x82", "undecodable: The file is not valid utf-8: /ws/f"),
    (b"\xff\xfea", "undecodable: The file is not valid utf-16-le: /ws/f"),
    (b"\xff\xfe\x00\xd8", "undecodable: The file is not valid utf-16-le: /ws/f"),
    (b"\xfe\xff\xdc\x00", "undecodable: The file is not valid utf-16-be: /ws/f"),
    (b"\xff\xfe\0\0a\0\0\0", "undecodable: The file is not valid utf-32: /ws/f"),
    (b"\0\0\xfe\xff\0\0\0a", "undecodable: The file is not valid utf-32: /ws/f"),
]


@pytest.mark.parametrize(("data", "expected"), NO_TEXTS)
def test_what_is_no_text_is_refused_and_never_replaced(data: bytes, expected: str) -> None:
    refusal = decode(data, "/ws/f")
    assert isinstance(refusal, Refusal)
    assert f"{refusal.kind.value}: {refusal.message}" == expected


@pytest.mark.parametrize("text", ["\ud800", "a\udfff", "a\0b"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_what_no_file_can_hold_is_not_encoded(text: str, encoding: str) -> None:
    refusal = encode(text, encoding, requested="/ws/f")
    assert isinstance(refusal, Refusal)
    assert refusal.kind.value == "unencodable"


@pytest.mark.parametrize("piece", [1, 2, 1000])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-99"])
@pytest.mark.parametrize("text", ["", "grün\r\n\U0001f600", "a\udfff", "a\0b"])
def test_in_pieces_it_is_the_same(
    text: str, encoding: str, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codec, "_PIECE", piece)
    whole, pieces = encode(text, encoding, b"mark"), Encoded.of(text, encoding, b"mark")
    if isinstance(pieces, Refusal) or isinstance(whole, Refusal):
        assert (isinstance(whole, Refusal) and isinstance(pieces, Refusal)) or not text
    else:
        assert b"".join(pieces) == whole
        assert len(pieces) == len(whole)


def test_an_encoding_nobody_knows_is_refused() -> None:
    assert isinstance(encode("a", "utf-99"), Refusal)


@given(st.binary(max_size=200), st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"]))
def test_whatever_decodes_encodes_to_the_same_bytes(data: bytes, mark: bytes) -> None:
    decoded = decode(mark + data)
    if isinstance(decoded, Decoded) and "\0" not in decoded.text:
        assert encode(*decoded) == mark + data


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    st.sampled_from([("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")]),
)
def test_whatever_is_encoded_with_its_mark_decodes_to_the_same_text(
    text: str, how: tuple[str, bytes]
) -> None:
    data = encode(text, *how)
    assert isinstance(data, bytes)
    assert decode(data) == (text, *how)
