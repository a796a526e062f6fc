"""json_escape: encodes a text as the inside of a JSON string."""

from __future__ import annotations

from json.encoder import encode_basestring, encode_basestring_ascii


def json_escape(text: str) -> bytes:
    """The text in UTF-8, without the quotes. Line ends of any kind are escaped, including Unicode's, and so are lone
    surrogates."""
    try:
        escaped = encode_basestring(text)[1:-1]
        if not text.isascii():
            for separator in "\x85\u2028\u2029":  # some readers of lines take these as line ends
                escaped = escaped.replace(separator, f"\\u{ord(separator):04x}")
        return escaped.encode()
    except UnicodeEncodeError:  # lone surrogates have no UTF-8, but JSON can escape them
        return encode_basestring_ascii(text)[1:-1].encode()
