"""LongLine: a long line of an agent's wire, as the messages in it."""

from __future__ import annotations

from sidecar.acp.messages import Message, by_head, decode, stand_in
from sidecar.acp.noise import Noise
from sidecar.core.json_limits import NotJson
from sidecar.long_json import LongJson

_HEAD = 1000
"""Bytes of what cannot be used that are told."""


class LongLine(LongJson):
    """`feed` it until its end, then take its `messages`."""

    def beginning(self, data: bytes) -> int:
        return max(0, data.find(b'{"jsonrpc"')) if not data.lstrip().startswith(b"{") else 0

    def messages(self, noise: Noise) -> list[Message]:
        """What the line says, as `messages.decode`."""
        if self.wrong is not None and not isinstance(self.wrong, NotJson):
            skeleton = self.skeleton
            noise.say(f"sent a message that has {self.wrong}", skeleton[:_HEAD])
            told = by_head(skeleton, self.wrong)
            return [] if told is None else [told]
        found = decode(self.skeleton, noise)
        if self.wrong is not None:
            return [stand_in(message, self.wrong) for message in found if "id" in message]
        for message in found:
            self.put_back(message)
        return found
