"""LineTransport: newline-delimited JSON between an agent and the SDK's `Connection`, hardened.

The SDK's own transport dies of a line `42`, hangs requests for ever on an `error` that is a string, buffers without limit
and hands out messages as fast as they come. Here everything is checked before the SDK sees it, so that an agent's worst
line costs that line; only a line beyond the limit, and an agent that does not read, end the connection, with a reason.

Order: `admit` is called synchronously for every request and notification in the order of arrival, before a task exists
for any of them. What it decides (a place in a document's queue, say) travels on `Params`, the dict that reaches the handler.

Not here: processes (process.py), and what messages mean (client.py).
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Protocol, TypeAlias, TypeVar, cast

from sidecar.acp.dialect import FIRST, Dialect
from sidecar.acp.errors import INTERNAL, INVALID_PARAMS, PARSE_ERROR
from sidecar.acp.limits import WireLimits
from sidecar.acp.long_lines import LongLine
from sidecar.acp.messages import Message, answer_key, decode, encode
from sidecar.acp.noise import Noise
from sidecar.core.json_limits import NotJson, Unusable
from sidecar.core.text import Text
from sidecar.workspace.ports.aside import LARGE, aside

log = logging.getLogger(__name__)

RequestId: TypeAlias = int | str | None
T = TypeVar("T")

_CHUNK = 1024 * 1024
"""Bytes read at once of a line that is longer than _SMALL: as many as a pipe holds."""
_SMALL = 64 * 1024
_LONG = 1024 * 1024
"""Bytes beyond which a line is read while it arrives."""
_SLICE = 0.0005
"""Seconds that messages which need no handler may be dealt with before others run."""


_LOOKS = 4
"""How often it is looked whether an agent reads, in the time it may take nothing."""


class Source(Protocol):
    """The agent's output."""

    async def read(self, most: int, /) -> bytes:
        """What there is, up to `most` bytes, once there is something; b"" at the end. Raises ConnectionError like the end."""
        ...


class Sink(Protocol):
    """The agent's input. No method but `drain` waits."""

    @property
    def full(self) -> bool:
        """More is waiting to be written than is good: `drain` first."""
        ...

    @property
    def waiting(self) -> int:
        """Bytes that the system has not taken yet."""
        ...

    @property
    def taken(self) -> int:
        """Bytes that the system has taken since the beginning."""
        ...

    def write(self, *parts: bytes) -> None:
        """In order; large ones are better not joined before."""
        ...

    async def drain(self) -> None:
        """Until there is room again. Raises ConnectionError when the other end is gone."""
        ...

    def close(self) -> None:
        """Ends the agent's input at once. Anything that the agent has not yet taken is dropped."""
        ...


class Params(dict[str, object]):
    """The params of one incoming message, with what was decided about it when it arrived."""

    __slots__ = ("_counted", "_transport", "decided", "large", "request_id")

    def __init__(self, values: dict[str, object], request_id: RequestId, transport: LineTransport) -> None:
        super().__init__(values)
        self.request_id = request_id
        self.decided: Decided | None = None
        """Set by `admit`. Whoever acts on it takes it away with `take`."""
        self.large = False
        """Set by `admit` where the answer may be a whole file: few of them are handled at once."""
        self._transport = transport
        self._counted = 0

    def take(self) -> Decided | None:
        """Takes what was decided. The caller must settle it."""
        decided, self.decided = self.decided, None
        return decided

    def count(self, weight: int) -> None:
        self._counted = weight

    def park(self) -> None:
        """The handler waits for a person or a process: the message no longer keeps others from being read."""
        if self._counted:
            weight, self._counted = self._counted, 0
            self._transport.less(weight)

    def finish(self) -> None:
        """The handler is done, or will never run."""
        if self.large and self._counted:  # what it leaves is counted until it is written
            self._transport.answering(self.request_id, self._counted)
            self._counted = 0
        self.park()
        self._transport.handed_out.pop(id(self), None)
        if self.decided is not None:
            self.take_back()

    def take_back(self) -> None:
        decided = self.take()
        if decided is not None:
            decided.release()


class Decided(Protocol):
    """Something taken at receipt that has to be given back when nobody acts on it."""

    def release(self) -> None: ...


Admit: TypeAlias = Callable[[str, Params, bool], bool]
"""(method, params, is a request) → True when the message is dealt with and no handler shall run."""


class LineTransport:
    """The SDK's `Transport` over a stream of bytes. One event loop, one reader (the SDK's receive loop)."""

    def __init__(
        self,
        reader: Source,
        sink: Sink,
        admit: Admit,
        *,
        name: str,
        limits: WireLimits = WireLimits(),  # noqa: B008  # frozen
        dialect: Dialect = FIRST,
    ) -> None:
        """`dialect`: of this connection alone, as it remembers what was said."""
        self._dialect = dialect
        self._reader = reader
        self._sink = sink
        self._admit = admit
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._noise = Noise(log, name)
        self._partial: list[bytes] = []
        self._partial_size = 0
        self._long: LongLine | None = None
        """Takes in what is beyond _LONG, in place of `_partial`."""
        self._lines: deque[bytes] = deque()
        self._messages: deque[Message] = deque()
        self._heard: deque[Message] = deque()
        """Translated ones, in front of the others."""
        self._asked: dict[int, tuple[str, object]] = {}
        """Requests of ours that are not answered: method and session by id."""
        self.on_answer: Callable[[str, object], None] = lambda method, session_id: None
        """Called when the answer to one of them arrives, before anything that comes behind it is looked at."""
        self._batch: list[bytes] = []
        self._batch_size = 0
        self._busy = 0
        self._large_answer = asyncio.Lock()
        self._answering: dict[RequestId, list[int]] = {}
        """The sizes of large answers that are about to be written, by request. An agent may use an id twice."""
        self._room: asyncio.Future[None] | None = None
        self._look: asyncio.TimerHandle | None = None
        self._closed = False
        self.handed_out: dict[int, Params] = {}
        self.heard_at = self._loop.time()
        """Loop time of the last byte received."""
        self.ended: asyncio.Future[str] = self._loop.create_future()
        """Why nothing more will come, in words that continue "the agent …". Never set by `close`."""

    # what the SDK calls

    async def receive(self) -> Message | None:
        """The next message for the SDK; None at the end. Other tasks run before each message, and sometimes during a long one."""
        # the task made for the last message gets to run before the next one is looked at
        await asyncio.sleep(0)
        until = self._loop.time() + _SLICE
        while True:
            while self._busy >= self._limits.unfinished and not self._closed:
                self._flush()
                self._room = self._loop.create_future()
                await self._room
            if self._closed:
                return None
            if not self._heard and not self._messages:
                if not self._lines:
                    self._flush()
                    if not await self._read():
                        return None
                    until = self._loop.time() + _SLICE
                if self._lines:
                    self._messages.extend(decode(self._lines.popleft(), self._noise))
                continue
            if not self._heard:
                self._heard.extend(self._translated(self._messages.popleft()))
            elif (message := self._checked(self._heard.popleft())) is not None:
                self._flush()
                return message
            if self._loop.time() > until:
                self._flush()
                await asyncio.sleep(0)
                until = self._loop.time() + _SLICE

    async def send(self, message: Message) -> None:
        """Writes one message; waits while the agent leaves too much unread.

        An answer that can no longer be delivered is dropped without an error (nobody is left to be told); a request
        raises ConnectionError, so that whoever asked does not wait."""
        answer = "method" not in message
        if self._closed:
            if answer:
                return
            raise ConnectionError("the connection is closed")
        if not answer and isinstance(message.get("id"), int):
            session_id = cast("Message", message.get("params") or {}).get("sessionId")
            self._asked[cast("int", message["id"])] = str(message["method"]), session_id
        if not answer:
            self.post(message)  # nothing that comes later may overtake it
        # answers nobody reads keep us from taking more questions
        weight = self._answered(message.get("id")) if answer else 0
        if not weight and self._sink.full:
            weight = 1
            self._busy += weight
        try:
            await self.room()
            if answer:
                await self._post_answer(message)
        except ConnectionError:
            if not answer:
                raise
        finally:
            self.less(weight)

    async def _post_answer(self, message: Message) -> None:
        """Only now it is made into bytes: a whole file may be in it, and then a thread does it. One waits for the other, and sees whether there is room
        after it: else all that wait would be bytes at once."""
        size = _size(message)
        if size <= LARGE:
            return self.post(message)
        async with self._large_answer:
            await self.room()
            for told in self._dialect.told(message):
                data = await aside(size, functools.partial(self._encoded, told))
                if not self._closed:
                    self._flush()
                    self._write(data, b"\n")

    def answering(self, request_id: RequestId, weight: int) -> None:
        """The handler of that request is done and leaves a large answer, which goes on counting."""
        self._answering.setdefault(request_id, []).append(weight)

    def _answered(self, request_id: object) -> int:
        """What the answer has counted for until now."""
        if not isinstance(request_id, (int, str, type(None))) or request_id not in self._answering:
            return 0
        weights = self._answering[request_id]
        weight = weights.pop()
        if not weights:
            del self._answering[request_id]
        return weight

    async def room(self) -> None:
        """Until the agent has read most of what was written, or the connection has ended. Raises ConnectionError when it is closed."""
        self._watch_input()
        while self._sink.full and not self._closed and not self.ended.done():
            drained = asyncio.ensure_future(self._sink.drain())
            try:
                await asyncio.wait({drained, self.ended}, return_when=asyncio.FIRST_COMPLETED)
                if drained.done():
                    drained.result()
            finally:
                drained.cancel()

    async def close(self) -> None:
        """Ends both directions without waiting for anything; gives back what was decided for unhandled messages."""
        self._flush()
        self._closed = True
        if self._look is not None:
            self._look.cancel()
        self._sink.close()
        self._wake()
        for params in list(self.handed_out.values()):
            params.take_back()
        self.handed_out.clear()

    # for client.py

    def post(self, message: Message) -> None:
        """Writes a small message at once, without waiting for room."""
        if self._closed:
            return
        for told in self._dialect.told(message):
            data = self._encoded(told)
            self._flush()
            if len(data) < _SMALL:
                self._write(data + b"\n")
            else:
                self._write(data, b"\n")

    @property
    def full(self) -> bool:
        """The agent leaves too much unread: answer by `send`, which waits."""
        return self._sink.full

    def answer_content(self, request_id: RequestId, content: str | Text) -> None:
        """Answers a request from within `admit` with `{content}`. Answers of a burst are written together."""
        quoted = content.json_pieces() if isinstance(content, Text) else [encode(content)[1:-1]]
        batch = self._batch
        batch.append(b'{"jsonrpc":"2.0","id":%b,"result":{"content":"' % encode(request_id))
        batch += quoted
        batch.append(b'"}}\n')
        self._batch_size += sum(map(len, quoted))
        if self._batch_size > _SMALL:
            self._flush()

    def _flush(self) -> None:
        if not self._batch:
            return
        batch, size = self._batch, self._batch_size
        self._batch, self._batch_size = [], 0
        if size <= 2 * _SMALL:
            self._write(b"".join(batch))
        else:
            self._write(*batch)

    def _write(self, *parts: bytes) -> None:
        self._sink.write(*parts)
        self._watch_input()

    def _watch_input(self) -> None:
        if self._look is None and self._sink.waiting:
            self._look_later(self._sink.taken, self._loop.time())

    def _look_later(self, taken: int, since: float) -> None:
        self._look = self._loop.call_later(self._limits.stalled / _LOOKS, self._look_at_input, taken, since)

    def _look_at_input(self, taken: int, since: float) -> None:
        """Something has waited to be written. `taken`: as much as at `since`."""
        self._look = None
        if self._closed or not self._sink.waiting:
            return
        now = self._loop.time()
        if self._sink.taken != taken:  # slow is not dead
            taken, since = self._sink.taken, now
        if now - since < self._limits.stalled:
            self._look_later(taken, since)
        else:
            self._end(f"has not read its input for {self._limits.stalled:.0f} s")

    def less(self, weight: int) -> None:
        self._busy -= weight
        if self._busy < self._limits.unfinished:
            self._wake()

    # bytes to lines

    async def _read(self) -> bool:
        """Reads until there are lines or messages; False at the end."""
        while not self._lines and not self._messages:
            if self._partial_size > self._limits.line:
                self._end(f"sent a line of more than {self._limits.line} bytes")
                return False
            try:
                data = await self._reader.read(_CHUNK if self._partial_size >= _SMALL else _SMALL)
            except ConnectionError:  # a pipe that broke says the same as one that ended
                data = b""
            if data:
                self.heard_at = self._loop.time()
                await self._split(data)
            elif self._partial_size:
                await self._split(b"\n")  # a last frame without its newline
            else:
                self._end("closed its output")
                return False
        return True

    async def _split(self, data: bytes) -> None:
        end = data.find(b"\n")  # finds the end of a long line ten times as fast as `split` does
        first = data if end < 0 else data[:end]
        self._partial_size += len(first)
        if self._partial_size > self._limits.line:  # the next look at _partial_size ends it
            return
        self._partial.append(first)
        if self._partial_size > _LONG:
            self._long = self._long or LongLine(self._limits.texts)
            await self._take_in(self._long)
        if end < 0:
            return
        if self._long is not None:
            long, self._long = self._long, None
            self._messages.extend(await _in_steps(long.messages(self._noise)))
        else:
            self._lines.append(b"".join(self._partial))
        *lines, last = data[end + 1 :].split(b"\n")
        self._lines.extend(lines)
        self._partial, self._partial_size = [last], len(last)

    async def _take_in(self, long: LongLine) -> None:
        """What is there of a long line."""
        data, self._partial = b"".join(self._partial), []
        await _in_steps(long.feed(data))

    def _end(self, reason: str) -> None:
        if not self.ended.done():
            self.ended.set_result(reason)

    def _wake(self) -> None:
        if self._room is not None and not self._room.done():
            self._room.set_result(None)

    # messages

    def _translated(self, message: Message) -> Sequence[Message]:
        try:
            return self._dialect.heard(message)
        except Exception:
            log.exception("a message could not be translated")
            return (message,)

    def _checked(self, message: Message) -> Message | None:
        """The message as the SDK can bear it; None when it is dropped or dealt with."""
        if message.get("method") is None:
            return self._checked_answer(message)
        method, request = message["method"], "id" in message
        request_id = message.get("id")
        if request and (isinstance(request_id, (bool, float, dict, list))):
            return self._reject(
                None, -32600, "Invalid request: the id is neither a string nor a number", message
            )
        if not isinstance(method, str):
            return self._reject(request_id, -32600, "Invalid request: the method is not a string", message)
        values = message.get("params")
        if values is None:
            values = {}
        if not isinstance(values, dict):
            if not request:
                self._noise.say("sent params that are not an object", method)
                return None
            if isinstance(values, NotJson):
                return self._reject(request_id, PARSE_ERROR, f"Parse error: {values}", message)
            why = values if isinstance(values, Unusable) else "not an object"
            return self._reject(request_id, INVALID_PARAMS, f"Invalid params: {why}", message)
        params = Params(cast("dict[str, object]", values), request_id, self)
        message["params"] = params
        try:
            if self._admit(method, params, request):
                return None
        except Exception:
            log.exception("%s could not be taken", method)
            params.take_back()
            if request:
                self.post({"jsonrpc": "2.0", "id": request_id, "error": INTERNAL._asdict()})
            return None
        weight = -(-self._limits.unfinished // self._limits.large) if params.large else 1
        self._busy += weight
        params.count(weight)
        self.handed_out[id(params)] = params
        return message

    def _reject(self, request_id: RequestId, code: int, words: str, message: Message) -> None:
        self._noise.say(words, _in_words(message.get("method")))
        if "id" in message:
            self.post({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": words}})

    def _checked_answer(self, message: Message) -> Message | None:
        key = answer_key(message.get("id"))
        if key is None or key not in self._asked:
            # also an answer that came twice, or after we gave up waiting and the SDK forgot the question
            self._noise.say("answered something it was not asked", _in_words(message.get("id")))
            return None
        self.on_answer(*self._asked.pop(key))
        message["id"] = key
        error = message.get("error")
        if error is None:
            message.pop("error", None)
        else:
            message.pop("result", None)
            message["error"] = _error(error)
        return message

    # messages to bytes

    def _encoded(self, message: Message) -> bytes:
        try:
            return encode(message)
        except (TypeError, ValueError, RecursionError):
            if "method" in message:
                raise
            log.exception("an answer could not be written as JSON")
            return encode({"jsonrpc": "2.0", "id": message.get("id"), "error": INTERNAL._asdict()})


async def _in_steps(work: Generator[None, None, T]) -> T:
    """What it returns. Others run before each step, and after the last one."""
    while True:
        try:
            next(work)
        except StopIteration as done:
            return cast("T", done.value)
        finally:
            await asyncio.sleep(0)


def _size(answer: Message) -> int:
    """Characters of the texts in it, of which those of files and terminals may be long."""
    result = answer.get("result")
    if not isinstance(result, dict):
        return 0
    return sum(len(text) for text in cast("Message", result).values() if isinstance(text, str))


def _in_words(value: object) -> str:
    """An id or a method for the log; of what is neither, its type: it may be of any size."""
    return str(value)[:1000] if isinstance(value, (str, int, float)) else f"<{type(value).__name__}>"


def _error(value: object) -> dict[str, object]:
    """An error object of JSON-RPC, whatever the agent made of it."""
    if isinstance(value, dict):
        given = cast("dict[str, object]", value)
        code, message = given.get("code"), given.get("message")
        return {
            "code": code if isinstance(code, int) and not isinstance(code, bool) else INTERNAL.code,
            "message": message if isinstance(message, str) and message else "Error",
            "data": given.get("data"),
        }
    return {
        "code": INTERNAL.code,
        "message": value if isinstance(value, str) and value else "Error",
        "data": None,
    }
