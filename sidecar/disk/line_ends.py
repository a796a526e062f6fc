"""Line ends as git converts them at checkout (`eol=crlf`, `core.autocrlf`): LF in the repository, CR LF on the disk. In bytes, and exact: what cannot
be led back to the same bytes is not converted.
"""

from __future__ import annotations


def may_be_same(stored: int, checked_out: int) -> bool:
    """Whether a file of `checked_out` bytes may be what one of `stored` bytes is checked out as."""
    return stored <= checked_out <= 2 * stored


def from_crlf(data: bytes) -> bytes | None:
    """Without the CRs before LFs. None if a line ends in LF alone, or there is no line end: then it was not converted."""
    lines = data.count(b"\n")
    if not lines or data.count(b"\r\n") != lines:
        return None
    return data.replace(b"\r\n", b"\n")


def to_crlf(data: bytes) -> bytes:
    """The inverse of `from_crlf`."""
    return data.replace(b"\n", b"\r\n")
