"""Messages on a WebSocket: each is one text frame, and one line where it is read and written as on stdio."""

from __future__ import annotations


def line_of(frame: str) -> bytes:
    """With its end. JSON has line ends between its tokens only, so they are spaces in the line."""
    return frame.replace("\r", " ").replace("\n", " ").encode() + b"\n"


def frame_of(line: bytes) -> str:
    """Raises UnicodeDecodeError."""
    return line.decode().removesuffix("\n")
