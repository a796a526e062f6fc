"""Line ends as git converts them at checkout (`eol=crlf`, `core.autocrlf`): LF in the repository, CR LF on the disk.

The conversion is in bytes, and exact: what could not be converted back to the same bytes is not converted.
"""

from __future__ import annotations


def may_be_same(stored: int, checked_out: int) -> bool:
    """Whether a file of `checked_out` bytes may be the checkout of one of `stored` bytes."""
    return stored <= checked_out <= 2 * stored


def from_crlf(data: bytes) -> bytes | None:
    """Return the data without the CRs before LFs. None if a line ends in LF alone, or there is no line end: then it was not converted."""
    lines = data.count(b"\n")
    if not lines or data.count(b"\r\n") != lines:
        return None
    return data.replace(b"\r\n", b"\n")


def to_crlf(data: bytes) -> bytes:
    """The inverse of `from_crlf`."""
    return data.replace(b"\n", b"\r\n")
