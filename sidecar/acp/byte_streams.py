"""Source, Sink: an agent's output and input as streams of bytes, whatever carries them."""

from __future__ import annotations

from typing import Protocol


class Source(Protocol):
    """The agent's output."""

    async def read(self, most: int, /) -> bytes:
        """Wait for data. Returns what there is, up to `most` bytes, or b"" at the end. A ConnectionError means the same as the end."""
        ...


class Sink(Protocol):
    """The agent's input. Only `drain` waits."""

    @property
    def full(self) -> bool:
        """Whether too much is waiting to be written: `drain` first."""
        ...

    @property
    def waiting(self) -> int:
        """The bytes that the system has not accepted yet."""
        ...

    @property
    def taken(self) -> int:
        """The bytes that the system has accepted since the beginning."""
        ...

    def write(self, *parts: bytes) -> None:
        """Write the parts in order. Better not join large ones before."""
        ...

    async def drain(self) -> None:
        """Wait until there is room again. Raises ConnectionError if the other end is gone."""
        ...

    def close(self) -> None:
        """End the agent's input at once. Data that the system has not accepted yet is dropped."""
        ...
