"""LineTransport: newline-delimited JSON between an agent and the SDK's `Connection`, hardened.

The SDK's own transport dies of a line `42`, hangs requests for ever on an `error` that is a string, buffers without limit, and hands out messages as
fast as they come. Here everything is checked before the SDK sees it, so that an agent's worst line costs only that line. Only a line beyond the
limit, or an agent that does not read, ends the connection, with a reason.

Order: `admit` is called synchronously for every request and notification in the order of arrival, before a task exists for any of them. Its decision
(a place in a document's queue, for example) travels on `Params`, the dict that reaches the handler.

Not here: processes (process.py), and the meaning of messages (client.py).
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
from sidecar.acp.messages import Message, Weighed, answer_key, decode, encode
from sidecar.acp.noise import Noise
from sidecar.core.json_limits import NotJson, Unusable
from sidecar.core.text import Text
from sidecar.workspace.ports.aside import LARGE, aside

log = logging.getLogger(__name__)

RequestId: TypeAlias = int | str | None
T = TypeVar("T")

_CHUNK = 1024 * 1024
"""The bytes that are read at once of a line longer than _SMALL: as many as a pipe holds."""
_SMALL = 64 * 1024
_LONG = 1024 * 1024
"""The bytes beyond which a line is decoded while it arrives."""
_LONGEST_NAME = 4096
"""The most characters of a request's id, which its answer repeats, and of a method's name."""
_SLICE = 0.0005
"""The seconds for which messages without a handler may be processed before other tasks run."""


_LOOKS = 4
"""How many times we check whether an agent reads, within the time for which it may read nothing."""


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


class Params(dict[str, object]):
    """The params of one incoming message, with the decision that was made about it on arrival."""

    __slots__ = ("_counted", "_transport", "decided", "large", "request_id", "size")

    def __init__(
        self,
        values: dict[str, object],
        request_id: RequestId,
        transport: LineTransport,
        size: int | None = None,
    ) -> None:
        super().__init__(values)
        self.request_id = request_id
        self.size = size
        """Bytes that the whole message takes in memory, roughly. None: nobody has found out."""
        self.decided: Decided | None = None
        """Set by `admit`. The caller that acts on it removes it with `take`."""
        self.large = False
        """Set by `admit` if the answer may be a whole file: few such messages are handled at once."""
        self._transport = transport
        self._counted = 0

    def take(self) -> Decided | None:
        """Remove and return the decision. The caller must settle it."""
        decided, self.decided = self.decided, None
        return decided

    def count(self, weight: int) -> None:
        self._counted = weight

    def park(self) -> None:
        """The handler waits for the user or a process: the message no longer keeps others from being read."""
        if self._counted:
            weight, self._counted = self._counted, 0
            self._transport.less(weight)

    def finish(self) -> None:
        """The handler is done, or will never run."""
        if self.large and self._counted:  # its answer counts until it is written
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
    """Something taken on arrival that must be given back if nobody acts on it."""

    def release(self) -> None: ...


Admit: TypeAlias = Callable[[str, Params, bool], bool]
"""(method, params, is a request) → True if the message is dealt with and no handler shall run."""


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
        """`dialect`: for this connection only, as it remembers earlier messages."""
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
        """Takes in the rest of a line beyond _LONG, in place of `_partial`."""
        self._lines: deque[bytes] = deque()
        self._messages: deque[Message] = deque()
        self._heard: deque[Message] = deque()
        """Messages that are translated already; they come before the others."""
        self._asked: dict[int, tuple[str, object]] = {}
        """Our unanswered requests: the method and the session, by id."""
        self.on_answer: Callable[[str, object], None] = lambda method, session_id: None
        """Called when the answer to one of our requests arrives, before any later message is looked at."""
        self._batch: list[bytes] = []
        self._batch_size = 0
        self._busy = 0
        self._large_answer = asyncio.Lock()
        self._rejecting: set[asyncio.Future[None]] = set()
        """The answers to malformed requests that wait for room."""
        self._answering: dict[RequestId, list[int]] = {}
        """The weights of large answers that are about to be written, by request. An agent may use an id twice."""
        self._room: asyncio.Future[None] | None = None
        self._look: asyncio.TimerHandle | None = None
        self._closed = False
        self.handed_out: dict[int, Params] = {}
        self.heard_at = self._loop.time()
        """The loop's time at which the last byte was received."""
        self.ended: asyncio.Future[str] = self._loop.create_future()
        """Why nothing more will come, in words that continue "the agent …". Never set by `close`."""

    # what the SDK calls

    async def receive(self) -> Message | None:
        """The next message for the SDK. None at the end. Other tasks run before each message, and sometimes during a long one."""
        # the task created for the last message gets to run before the next one is looked at
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
        """Write one message. Waits while the agent leaves too much unread.

        An answer that can no longer be delivered is dropped without an error, because nobody is left to be told. A request raises ConnectionError,
        so that its caller does not wait.
        """
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
        # answers that the agent does not read keep us from reading more requests
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
        """Encode and write an answer. A large answer, which may contain a whole file, is encoded in a thread. Large answers are encoded one at a
        time, each once there is room: otherwise all waiting ones would be held as bytes at once."""
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
        """The handler of that request is done and leaves a large answer, which keeps counting."""
        self._answering.setdefault(request_id, []).append(weight)

    def _answered(self, request_id: object) -> int:
        """The weight with which the answer has counted until now."""
        if not isinstance(request_id, (int, str, type(None))) or request_id not in self._answering:
            return 0
        weights = self._answering[request_id]
        weight = weights.pop()
        if not weights:
            del self._answering[request_id]
        return weight

    async def room(self) -> None:
        """Wait until the agent has read most of what was written, or the connection has ended. Raises ConnectionError if it is closed."""
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
        """End both directions without waiting for anything. Gives back what was taken for unhandled messages."""
        self._flush()
        self._closed = True
        if self._look is not None:
            self._look.cancel()
        self._sink.close()
        self._wake()
        for sending in self._rejecting:
            sending.cancel()
        for params in list(self.handed_out.values()):
            params.take_back()
        self.handed_out.clear()

    # for client.py

    def post(self, message: Message) -> None:
        """Write a small message at once, without waiting for room."""
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
        """Whether the agent leaves too much unread: answer with `send`, which waits."""
        return self._sink.full

    def answer_content(self, request_id: RequestId, content: str | Text) -> None:
        """Answer a request from within `admit` with `{content}`. The answers of a burst are written together."""
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
        """Check whether the agent has read anything: something has waited to be written. `taken`: `Sink.taken` at `since`."""
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
        """Read until there are lines or messages. False at the end."""
        while not self._lines and not self._messages:
            if self._partial_size > self._limits.line:
                self._end(f"sent a line of more than {self._limits.line} bytes")
                return False
            try:
                data = await self._reader.read(_CHUNK if self._partial_size >= _SMALL else _SMALL)
            except ConnectionError:  # a broken pipe means the same as an ended one
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
        if self._partial_size > self._limits.line:  # `_read` checks _partial_size next and ends it
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
        """Decode the part of a long line that has arrived."""
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
        """The message in a form that the SDK can handle. None if it was dropped or dealt with."""
        if message.get("method") is None:
            return self._checked_answer(message)
        method, request = message["method"], "id" in message
        request_id = message.get("id")
        if request and (isinstance(request_id, (bool, float, dict, list))):
            return self._reject(
                None, -32600, "Invalid request: the id is neither a string nor a number", message
            )
        if isinstance(request_id, str) and len(request_id) > _LONGEST_NAME:
            return self._reject(None, -32600, "Invalid request: the id is too long", message)
        if not isinstance(method, str):
            return self._reject(request_id, -32600, "Invalid request: the method is not a string", message)
        if len(method) > _LONGEST_NAME:
            return self._reject(
                request_id, -32600, "Invalid request: the name of the method is too long", message
            )
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
        size = message.size if isinstance(message, Weighed) else None
        params = Params(cast("dict[str, object]", values), request_id, self, size)
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
        if "id" not in message:
            return
        answer = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": words}}
        if not self._sink.full:
            return self.post(answer)
        sending = asyncio.ensure_future(self.send(answer))  # counts as unfinished until there is room
        self._rejecting.add(sending)
        sending.add_done_callback(self._rejecting.discard)

    def _checked_answer(self, message: Message) -> Message | None:
        key = answer_key(message.get("id"))
        if key is None or key not in self._asked:
            # this includes answers that come twice, or after we gave up waiting and the SDK forgot the
            # question
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
    """Run the work to its end and return its result. Other tasks run after each step."""
    while True:
        try:
            next(work)
        except StopIteration as done:
            return cast("T", done.value)
        finally:
            await asyncio.sleep(0)


def _size(answer: Message) -> int:
    """The characters of the texts in an answer. Those of files and terminals may be long."""
    result = answer.get("result")
    if not isinstance(result, dict):
        return 0
    return sum(len(text) for text in cast("Message", result).values() if isinstance(text, str))


def _in_words(value: object) -> str:
    """An id or a method for the log. For anything else, only its type, because it may be of any size."""
    return str(value)[:1000] if isinstance(value, (str, int, float)) else f"<{type(value).__name__}>"


def _error(value: object) -> dict[str, object]:
    """A JSON-RPC error object, whatever the agent sent."""
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
