"""Messages: the text of a conversation (ACP v2, "Prompt Lifecycle"). In version 2, an agent can also send a message as a whole, which
replaces what it sent of the message before.

In version 1, messages only grow. So only the new part of a whole message is passed on. If an agent changed a message, it is passed on again,
as another message.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass

from sidecar.acp.v2.fields import id_of, joined, object_of, objects, text_of
from sidecar.core.json_types import Json

WHOLE = {
    "user_message": "user_message_chunk",
    "agent_message": "agent_message_chunk",
    "agent_thought": "agent_thought_chunk",
}
_MOST = 256
"""The most messages that are remembered for each session."""
_COMPARED = 1024 * 1024
"""The code points up to which texts are compared. For a longer message only the length counts, because a comparison would take too much of
the loop's time."""


@dataclass(slots=True)
class _Told:
    """What was passed on of a message."""

    text: hashlib.blake2b
    length: int = 0
    """In code points."""
    others: int = 0
    """The number of blocks that are not text."""
    corrected: int = 0


class Messages:
    """The messages of one session."""

    def __init__(self) -> None:
        self._told: OrderedDict[str, _Told] = OrderedDict()

    def chunk(self, update: Json) -> list[Json]:
        message = id_of(update, "messageId")
        if message is not None:
            self._add(self._of(message), object_of(update.get("content")))
        return [update]

    def whole(self, update: Json) -> list[Json]:
        """`user_message` and similar updates. Without content, there is nothing to pass on."""
        message, blocks = id_of(update, "messageId"), joined(objects(update.get("content")))
        if message is None or not blocks:
            return []
        told = self._of(message)
        if _begins_with(blocks, told):
            new = _beyond(blocks, told.length, told.others)
        else:
            self._told[message] = told = _Told(_digest(""), corrected=told.corrected + 1)
            new = blocks
        if told.corrected:
            message = f"{message}#{told.corrected}"
        for block in new:
            self._add(told, block)
        kind = WHOLE[str(update["sessionUpdate"])]
        meta = {"_meta": update["_meta"]} if isinstance(update.get("_meta"), dict) else {}
        return [{"sessionUpdate": kind, "messageId": message, "content": block, **meta} for block in new]

    def _of(self, message: str) -> _Told:
        if message not in self._told:
            self._told[message] = _Told(_digest(""))
            if len(self._told) > _MOST:
                self._told.popitem(last=False)
        return self._told[message]

    def _add(self, told: _Told, block: Json) -> None:
        text = text_of(block, "text")
        if text is None:
            told.others += 1
        else:
            told.length += len(text)
            if told.length <= _COMPARED:
                told.text.update(_bytes(text))


def _begins_with(blocks: list[Json], told: _Told) -> bool:
    """Whether the text of these blocks begins with what was passed on."""
    texts = [text_of(block, "text") or "" for block in blocks]
    if sum(map(len, texts)) < told.length:
        return False
    if told.length > _COMPARED:
        return True
    return _digest("".join(texts)[: told.length]).digest() == told.text.digest()


def _beyond(blocks: list[Json], length: int, others: int) -> list[Json]:
    """The part of these blocks after the first `length` code points of text and the first `others` blocks that are not text."""
    found: list[Json] = []
    for block in blocks:
        text = text_of(block, "text")
        if text is None:
            if others <= 0:
                found.append(block)
            others -= 1
            continue
        if len(text) > length:
            found.append({**block, "text": text[length:]} if length else block)
        length = max(0, length - len(text))
    return found


def _digest(text: str) -> hashlib.blake2b:
    return hashlib.blake2b(_bytes(text), digest_size=16)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
