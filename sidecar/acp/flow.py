"""Flow: when to read more from an agent, and when to write more to it.

In: each message that was handed to the SDK counts from its arrival until it is finished, with a weight (1, or more if its answer may be a whole
file). When the sum reaches `WireLimits.unfinished`, nothing more is read. A message that waits for the user or a process stops counting (`park`).
Out: `room` waits while the agent leaves too much unread. What waits there counts, too: answers that the agent does not read keep us from reading
more requests.

`Params` ties the two ends together: it goes with a message to its handler, and back to the Flow.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from sidecar.acp.byte_streams import Sink
from sidecar.acp.json_rpc import RequestId
from sidecar.acp.limits import WireLimits


class Reservation(Protocol):
    """Something taken on arrival that must be given back if nobody acts on it."""

    def release(self) -> None: ...


class Params(dict[str, object]):
    """The params of one incoming message, with the decision that was made about it on arrival."""

    __slots__ = ("_counted", "_flow", "decided", "large", "request_id", "size")

    def __init__(
        self,
        values: dict[str, object],
        request_id: RequestId,
        flow: Flow,
        size: int | None = None,
    ) -> None:
        super().__init__(values)
        self.request_id = request_id
        self.size = size
        """Bytes that the whole message takes in memory, roughly. None: nobody has found out."""
        self.decided: Reservation | None = None
        """Set by `admit`. The caller that acts on it removes it with `take`."""
        self.large = False
        """Set by `admit` if the answer may be a whole file: few such messages are handled at once."""
        self._flow = flow
        self._counted = 0

    def take(self) -> Reservation | None:
        """Remove and return the decision. The caller must settle it."""
        decided, self.decided = self.decided, None
        return decided

    def count(self, weight: int) -> None:
        self._counted = weight

    def park(self) -> None:
        """The handler waits for the user or a process: the message no longer keeps others from being read."""
        if self._counted:
            weight, self._counted = self._counted, 0
            self._flow.less(weight)

    def finish(self) -> None:
        """The handler is done, or will never run."""
        if self.large and self._counted:  # its answer counts until it is written
            self._flow.answering(self.request_id, self._counted)
            self._counted = 0
        self.park()
        self._flow.handed_out.pop(id(self), None)
        if self.decided is not None:
            self.take_back()

    def take_back(self) -> None:
        decided = self.take()
        if decided is not None:
            decided.release()


class Flow:
    """Both directions of one connection."""

    def __init__(self, sink: Sink, limits: WireLimits, ended: asyncio.Future[str]) -> None:
        """`ended`: done when nothing more will come from the agent; nobody waits for room then."""
        self._sink = sink
        self._limits = limits
        self._ended = ended
        self._busy = 0
        """The weights of all that counts."""
        self._fewer: asyncio.Future[None] | None = None
        """What `until_few` waits for. There is one reader."""
        self._answering: dict[RequestId, list[int]] = {}
        """The weights of large answers that are about to be written, by request. An agent may use an id twice."""
        self.handed_out: dict[int, Params] = {}
        """The messages whose handlers are not done, by the identity of their params."""
        self.stopped = False
        """Whether no more may be read: there are too many unfinished messages (wait for `until_few`), or the connection is closed."""
        self.closed = False

    # in

    async def until_few(self) -> None:
        """Wait until fewer messages are unfinished, or the connection is closed."""
        while self.stopped and not self.closed:
            self._fewer = asyncio.get_running_loop().create_future()
            await self._fewer

    def hand_out(self, params: Params) -> None:
        """The message is handed to its handler, and counts from now on."""
        weight = -(-self._limits.unfinished // self._limits.large) if params.large else 1
        self._more(weight)
        params.count(weight)
        self.handed_out[id(params)] = params

    def less(self, weight: int) -> None:
        self._busy -= weight
        if self.stopped and self._busy < self._limits.unfinished:
            self.stopped = self.closed
            self._wake()

    def answering(self, request_id: RequestId, weight: int) -> None:
        """The handler of that request is done and leaves a large answer, which keeps counting."""
        self._answering.setdefault(request_id, []).append(weight)

    # out

    def answered(self, request_id: object) -> int:
        """The answer to that request is there. Returns the weight with which it has counted until now."""
        if not isinstance(request_id, (int, str, type(None))) or request_id not in self._answering:
            return 0
        weights = self._answering[request_id]
        weight = weights.pop()
        if not weights:
            del self._answering[request_id]
        return weight

    def waits(self, weight: int) -> int:
        """A message that counts with this weight is about to wait for room. Returns the weight with which it counts until then; give that back with
        `less`."""
        if not weight and self._sink.full:
            weight = 1
            self._more(weight)
        return weight

    async def room(self) -> None:
        """Wait until the agent has read most of what was written, or the connection has ended. Raises ConnectionError if it is closed."""
        while self._sink.full and not self.closed and not self._ended.done():
            drained = asyncio.ensure_future(self._sink.drain())
            try:
                await asyncio.wait({drained, self._ended}, return_when=asyncio.FIRST_COMPLETED)
                if drained.done():
                    drained.result()
            finally:
                drained.cancel()

    # the end

    def close(self) -> None:
        """Nobody waits any more."""
        self.closed = self.stopped = True
        self._wake()

    def give_back(self) -> None:
        """Give back what was taken for messages that nobody has handled."""
        for params in list(self.handed_out.values()):
            params.take_back()
        self.handed_out.clear()

    def _more(self, weight: int) -> None:
        self._busy += weight
        if self._busy >= self._limits.unfinished:
            self.stopped = True

    def _wake(self) -> None:
        if self._fewer is not None and not self._fewer.done():
            self._fewer.set_result(None)
