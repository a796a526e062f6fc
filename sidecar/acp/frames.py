"""Messages on a WebSocket: each is one text frame there, and one line on stdio."""

from __future__ import annotations


def line_of(frame: str) -> bytes:
    """The line of a frame, with its line end. JSON has line ends only between its tokens, so they become spaces."""
    return frame.replace("\r", " ").replace("\n", " ").encode() + b"\n"


def frame_of(line: bytes) -> str:
    """The frame of a line. Raises UnicodeDecodeError."""
    return line.decode().removesuffix("\n")
