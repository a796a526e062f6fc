"""Input: our stdin as a Source, whether it is a pipe, a socket, a terminal or a file."""

from __future__ import annotations

import asyncio

from sidecar.lsp.reader import InputReader


class Input:
    def __init__(self, fd: int) -> None:
        self._pieces: list[bytes] = []
        self._came = asyncio.Event()
        self._reader = InputReader(fd, self._on_data)

    def _on_data(self, data: bytes) -> None:
        self._pieces.append(data)
        self._reader.pause()
        self._came.set()

    async def read(self, most: int, /) -> bytes:
        """One piece as it came. It may be longer than `most`."""
        await self._came.wait()
        data = self._pieces[0]
        if data:  # the end is reported again
            self._pieces.pop(0)
            if not self._pieces:
                self._came.clear()
                self._reader.resume()
        return data

    def close(self) -> None:
        self._reader.close()
