"""LongLine: a long line from an agent, decoded into the messages in it.

The content of a write may be a Text. All other text from an agent is passed on as strings, which must be short enough to be created in
one step.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import cast

from sidecar.acp import files
from sidecar.acp.messages import Message, by_head, decode, stand_in
from sidecar.acp.noise import Noise
from sidecar.core.json_limits import NotJson, Unusable
from sidecar.long_json import LongJson

_HEAD = 1000
"""The most bytes that are logged of a message that cannot be used."""


class LongLine(LongJson):
    """`feed` it the line to its end, then take its `messages`."""

    def __init__(self, texts: int) -> None:
        """`texts`: the most bytes of all its long strings together, as UTF-8."""
        super().__init__(texts, piece=texts, writes=_WRITES)

    def beginning(self, data: bytes) -> int:
        return max(0, data.find(b'{"jsonrpc"')) if not data.lstrip().startswith(b"{") else 0

    def messages(self, noise: Noise) -> Generator[None, None, list[Message]]:
        """The messages of the line, as from `messages.decode`. Other tasks should run whenever this yields."""
        if self.wrong is not None and not isinstance(self.wrong, NotJson):
            return self._refused(self.wrong, noise)
        found = decode(self.skeleton, noise)
        if self.wrong is not None:
            return [stand_in(message, self.wrong) for message in found if "id" in message]
        for message in found:
            yield
            yield from self.put_back(message)
        wrong = self.not_only(map(_written, found))
        return found if wrong is None else self._refused(wrong, noise)

    def _refused(self, why: Unusable, noise: Noise) -> list[Message]:
        skeleton = self.skeleton
        noise.say(f"sent a message that has {why}", skeleton[:_HEAD])
        told = by_head(skeleton, why)
        return [] if told is None else [told]


def _written(message: Message) -> object:
    """The content of a write."""
    params = message.get("params")
    is_write = message.get("method") == files.WRITE and isinstance(params, dict)
    return cast("Message", params).get("content") if is_write else None


_WRITES = (b'"%s"' % files.WRITE.encode(),)
