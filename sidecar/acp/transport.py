"""LineTransport: newline-delimited JSON between an agent and the SDK's `Connection`, hardened.

The SDK's own transport dies of a line `42`, hangs requests for ever on an `error` that is a string, buffers without limit, and hands out messages as
fast as they come. Here everything is checked before the SDK sees it, so that an agent's worst line costs only that line. Only a line beyond the
limit, or an agent that does not read, ends the connection, with a reason.

This module puts the parts together and does all the waiting: `LineParser` makes messages of bytes, json_rpc.py checks them, `Flow` decides when to
read and when to write, and `Watchdog` notices an agent that does not read.

Order: `admit` is called synchronously for every request and notification in the order of arrival, before a task exists for any of them. Its decision
(a place in a document's queue, for example) travels on `Params`, the dict that reaches the handler.

Not here: processes (process.py), and the meaning of messages (client.py).
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

from sidecar.acp.byte_streams import Sink, Source
from sidecar.acp.dialect import FIRST, Dialect
from sidecar.acp.errors import INTERNAL
from sidecar.acp.flow import Flow, Params
from sidecar.acp.json_rpc import MessageFault, RequestId, answer_for_sdk, fault_in, in_words
from sidecar.acp.limits import WireLimits
from sidecar.acp.line_parser import LineParser, Signal
from sidecar.acp.messages import Message, Weighed, answer_key, encode
from sidecar.acp.noise import Noise
from sidecar.acp.watchdog import Watchdog
from sidecar.core.text import Text
from sidecar.workspace.ports.aside import LARGE, aside

log = logging.getLogger(__name__)

_SMALL = 64 * 1024
"""The bytes up to which what is written is joined before."""
_SLICE = 0.0005
"""The seconds for which messages without a handler may be processed before other tasks run."""

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
        self._parser = LineParser(limits, self._noise)
        self._parsed: Message | None = None
        """The message that was waited for. It comes before those that the parser still has."""
        self._heard: deque[Message] = deque()
        """Messages that are translated already; they come before the others."""
        self._asked: dict[int, tuple[str, object]] = {}
        """Our unanswered requests: the method and the session, by id."""
        self.on_answer: Callable[[str, object], None] = lambda method, session_id: None
        """Called when the answer to one of our requests arrives, before any later message is looked at."""
        self._batch: list[bytes] = []
        self._batch_size = 0
        self._large_answer = asyncio.Lock()
        self._rejecting: set[asyncio.Future[None]] = set()
        """The answers to malformed requests that wait for room."""
        self.heard_at = self._loop.time()
        """The loop's time at which the last byte was received."""
        self.ended: asyncio.Future[str] = self._loop.create_future()
        """Why nothing more will come, in words that continue "the agent …". Never set by `close`."""
        self._flow = Flow(sink, limits, self.ended)
        self._watchdog = Watchdog(sink, limits.stalled, self.ended)

    # what the SDK calls

    async def receive(self) -> Message | None:
        """The next message for the SDK. None at the end. Other tasks run before each message, and sometimes during a long one."""
        # the task created for the last message gets to run before the next one is looked at
        await asyncio.sleep(0)
        until = self._loop.time() + _SLICE
        flow, heard = self._flow, self._heard
        while True:
            if flow.stopped:
                self._flush()
                await flow.until_few()
                if flow.closed:
                    return None
            if heard:
                if (message := self._checked(heard.popleft())) is not None:
                    self._flush()
                    return message
            else:
                if self._parsed is None:
                    event = self._parser.next()
                else:
                    event, self._parsed = self._parsed, None
                if not isinstance(event, dict):
                    self._flush()
                    if not await self._read(event):
                        return None
                    until = self._loop.time() + _SLICE
                    continue
                heard.extend(self._translated(event))
            if self._loop.time() > until:
                self._flush()
                await asyncio.sleep(0)
                until = self._loop.time() + _SLICE

    async def _read(self, event: Message | Signal | None) -> bool:
        """Read until there is a message, which becomes `_parsed`. `event`: what the parser said. False at the end."""
        while not isinstance(event, dict):
            if event is Signal.PAUSE:
                await asyncio.sleep(0)
            elif event is Signal.TOO_LONG:
                self._end(f"sent a line of more than {self._limits.line} bytes")
                return False
            elif not await self._feed():
                self._end("closed its output")
                return False
            event = self._parser.next()
        self._parsed = event
        return True

    async def _feed(self) -> bool:
        """Read once. False at the end of the agent's output."""
        try:
            data = await self._reader.read(self._parser.wanted)
        except ConnectionError:  # a broken pipe means the same as an ended one
            data = b""
        if data:
            self.heard_at = self._loop.time()
            self._parser.feed(data)
        elif self._parser.pending:
            self._parser.end()
        else:
            return False
        return True

    async def send(self, message: Message) -> None:
        """Write one message. Waits while the agent leaves too much unread.

        An answer that can no longer be delivered is dropped without an error, because nobody is left to be told. A request raises ConnectionError,
        so that its caller does not wait.
        """
        answer = "method" not in message
        if self._flow.closed:
            if answer:
                return
            raise ConnectionError("the connection is closed")
        if not answer and isinstance(message.get("id"), int):
            session_id = cast("Message", message.get("params") or {}).get("sessionId")
            self._asked[cast("int", message["id"])] = str(message["method"]), session_id
        if not answer:
            self.post(message)  # nothing that comes later may overtake it
        # answers that the agent does not read keep us from reading more requests
        weight = self._flow.waits(self._flow.answered(message.get("id")) if answer else 0)
        try:
            await self.room()
            if answer:
                await self._post_answer(message)
        except ConnectionError:
            if not answer:
                raise
        finally:
            self._flow.less(weight)

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
                if not self._flow.closed:
                    self._flush()
                    self._write(data, b"\n")

    async def room(self) -> None:
        """Wait until the agent has read most of what was written, or the connection has ended. Raises ConnectionError if it is closed."""
        self._watchdog.watch()
        await self._flow.room()

    async def close(self) -> None:
        """End both directions without waiting for anything. Gives back what was taken for unhandled messages."""
        self._flush()
        self._flow.close()
        self._watchdog.close()
        self._sink.close()
        for sending in self._rejecting:
            sending.cancel()
        self._flow.give_back()

    # for client.py

    def post(self, message: Message) -> None:
        """Write a small message at once, without waiting for room."""
        if self._flow.closed:
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

    @property
    def handed_out(self) -> Mapping[int, Params]:
        """See `Flow.handed_out`."""
        return self._flow.handed_out

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
        self._watchdog.watch()

    def _end(self, reason: str) -> None:
        if not self.ended.done():
            self.ended.set_result(reason)

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
        if (fault := fault_in(message)) is not None:
            return self._reject(fault, message)
        method, request, request_id = message["method"], "id" in message, message.get("id")
        size = message.size if isinstance(message, Weighed) else None
        params = Params(message.get("params") or {}, request_id, self._flow, size)
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
        self._flow.hand_out(params)
        return message

    def _reject(self, fault: MessageFault, message: Message) -> None:
        self._noise.say(fault.words, in_words(message["method"]))
        if "id" not in message:
            return
        error = {"code": fault.code, "message": fault.words}
        answer = {"jsonrpc": "2.0", "id": fault.request_id, "error": error}
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
            self._noise.say("answered something it was not asked", in_words(message.get("id")))
            return None
        self.on_answer(*self._asked.pop(key))
        return answer_for_sdk(message, key)

    # messages to bytes

    def _encoded(self, message: Message) -> bytes:
        try:
            return encode(message)
        except (TypeError, ValueError, RecursionError):
            if "method" in message:
                raise
            log.exception("an answer could not be written as JSON")
            return encode({"jsonrpc": "2.0", "id": message.get("id"), "error": INTERNAL._asdict()})


def _size(answer: Message) -> int:
    """The characters of the texts in an answer. Those of files and terminals may be long."""
    result = answer.get("result")
    if not isinstance(result, dict):
        return 0
    return sum(len(text) for text in cast("Message", result).values() if isinstance(text, str))
