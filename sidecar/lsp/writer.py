"""Writer: sends messages to the editor through a thread of its own, so that an editor that stops reading blocks nobody.

There are two kinds of messages. Most must arrive, in order: answers, requests, `window/showMessage`. Others only report the newest state (progress,
streamed updates): they carry a `key`, and a new one replaces an unsent one with the same key, at the end of the queue. When even those pile up, huge
ones are dropped first, then the oldest.

Memory is bounded: coalescible messages by `SOFT_LIMIT`. If more than `HARD_LIMIT` of the others is unsent, the editor counts as gone (`on_broken`),
as it does when the pipe breaks.
"""

from __future__ import annotations

import logging
import os
import select
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from sidecar.lsp.long_texts import LongText, LongValue

SOFT_LIMIT = 8 * 1024 * 1024
"""Bytes of unsent coalescible messages, not counting the newest. Beyond this, the oldest of them are dropped."""

HARD_LIMIT = 128 * 1024 * 1024
"""Bytes of unsent messages that must arrive. Beyond this, the connection is given up. A single message may have any size."""

_BATCH = 256 * 1024
"""Bytes joined into one write: fewer system calls, and fewer wake-ups of the editor, in a burst."""

_log = logging.getLogger(__name__)


class _Unescaped(NamedTuple):
    """The body of a message with long texts, not yet escaped."""

    pieces: Sequence[bytes | LongText | LongValue]

    def written(self) -> Iterator[bytes]:
        """Yield the message. Each piece is released when the next one is requested."""
        body = deque(data for piece in self.pieces for data in _of(piece))
        yield b"Content-Length: %d\r\n\r\n" % sum(map(len, body))
        while body:
            yield body.popleft()


def _of(piece: bytes | LongText | LongValue) -> Iterable[bytes]:
    return (piece,) if isinstance(piece, bytes) else piece.escaped()


class _Message(NamedTuple):
    pieces: Sequence[bytes | _Unescaped]
    size: int
    coalescible: bool


class OutputWriter:
    """Owns the writing end `fd` but never closes it. `on_broken` is called at most once, from the writer's thread."""

    def __init__(
        self,
        fd: int,
        on_broken: Callable[[str], None],
        *,
        soft_limit: int = SOFT_LIMIT,
        hard_limit: int = HARD_LIMIT,
    ) -> None:
        self._fd = fd
        self._on_broken = on_broken
        self._soft_limit = soft_limit
        self._hard_limit = hard_limit
        self._changed = threading.Condition()
        self._queue: OrderedDict[Hashable, _Message] = OrderedDict()
        self._serial = 0
        self._firm = 0
        self._soft = 0
        self._closing = False
        self._broken = False
        self._done = threading.Event()
        self.dropped = 0
        """The number of coalescible messages dropped (not counting those replaced by a newer one)."""
        self._thread = threading.Thread(target=self._run, name="lsp-writer", daemon=True)
        self._thread.start()

    @property
    def unsent(self) -> int:
        """The number of waiting bytes, without the batch that is being written."""
        return self._firm + self._soft

    def send(self, body: bytes | Sequence[bytes | LongText | LongValue], key: Hashable | None = None) -> None:
        """Queue one message without joining its pieces. Never blocks. After a break it does nothing: whoever waits for an answer is told elsewhere."""
        if isinstance(body, bytes):
            pieces: Sequence[bytes | _Unescaped] = (b"Content-Length: %d\r\n\r\n%b" % (len(body), body),)
        else:
            pieces = (_Unescaped(body),)
        size = sum(map(len, pieces if isinstance(body, bytes) else body))
        overflow = False
        with self._changed:
            if self._closing or self._broken:
                return
            if key is None:
                self._serial += 1
                overflow = self._firm > self._hard_limit
                self._queue[self._serial] = _Message(pieces, size, False)
                self._firm += size
            else:
                self._put_coalescible(("key", key), _Message(pieces, size, True))
            self._changed.notify()
        if overflow:
            self._break(f"the editor has not read {self._firm} bytes")

    def _put_coalescible(self, key: Hashable, message: _Message) -> None:
        older = self._queue.pop(key, None)
        if older is not None:
            self._soft -= older.size
        self._queue[key] = message
        self._soft += message.size
        # the newest does not count: one large update must not push out the messages before it
        if self._soft - message.size <= self._soft_limit:
            return
        if not self.dropped:
            _log.warning("the editor reads too slowly: some updates are not sent")
        half = self._soft_limit // 2
        candidates = [k for k, other in self._queue.items() if other.coalescible and k != key]
        # huge ones first: otherwise all other updates would be dropped to keep one of them
        for candidate in sorted(candidates, key=lambda k: self._queue[k].size <= half):
            self._soft -= self._queue.pop(candidate).size
            self.dropped += 1
            if self._soft - message.size <= half:
                break

    def close(self) -> None:
        """Accept no more messages. The thread writes what is queued and ends; see `wait`."""
        with self._changed:
            self._closing = True
            self._changed.notify()

    def wait(self, seconds: float) -> bool:
        """After `close`: block until everything is written or given up. Returns False if the time ran out."""
        return self._done.wait(seconds)

    def _run(self) -> None:
        try:
            while (batch := self._take()) is not None:
                while batch:  # written pieces are released at once: the next message may be long in coming
                    self._write_next(batch)
        except OSError as error:
            self._break(f"writing to the editor failed: {error.strerror}")
        finally:
            self._done.set()

    def _write_next(self, batch: deque[bytes | _Unescaped]) -> None:
        piece = batch.popleft()
        for data in (piece,) if isinstance(piece, bytes) else piece.written():
            self._write(data)

    def _take(self) -> deque[bytes | _Unescaped] | None:
        with self._changed:
            while not self._queue:
                if self._closing or self._broken:
                    return None
                self._changed.wait()
            if self._broken:
                return None
            parts: deque[bytes | _Unescaped] = deque()
            size = 0
            while self._queue and size < _BATCH:
                _, message = self._queue.popitem(last=False)
                parts += message.pieces
                size += message.size
                if message.coalescible:
                    self._soft -= message.size
                else:
                    self._firm -= message.size
            small = [part for part in parts if isinstance(part, bytes)]
            return deque((b"".join(small),)) if size < 2 * _BATCH and len(small) == len(parts) else parts

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._fd, rest) :]
            except BlockingIOError:  # a process that shares the pipe made it non-blocking
                select.select([], [self._fd], [])

    def _break(self, reason: str) -> None:
        with self._changed:
            if self._broken:
                return
            self._broken = True
            self._queue.clear()
            self._firm = self._soft = 0
            self._changed.notify()
        self._done.set()
        _log.error("%s", reason)
        self._on_broken(reason)
