"""Messages: what is said (ACP v2, "Prompt Lifecycle"). There, a message can also be told as a whole, in place of what was told of it.

In version 1, messages only grow. So of a whole message only what is new is told; one that was changed is told once more, as another message.
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
"""Messages that are remembered for each session."""
_COMPARED = 1024 * 1024
"""Code points up to which texts are compared: of a longer message only the length counts, as to compare it takes too much of the loop's time."""


@dataclass(slots=True)
class _Told:
    """What was told of a message."""

    text: hashlib.blake2b
    length: int = 0
    """Code points."""
    others: int = 0
    """Blocks that are no text."""
    corrected: int = 0


class Messages:
    """Of one session."""

    def __init__(self) -> None:
        self._told: OrderedDict[str, _Told] = OrderedDict()

    def chunk(self, update: Json) -> list[Json]:
        message = id_of(update, "messageId")
        if message is not None:
            self._add(self._of(message), object_of(update.get("content")))
        return [update]

    def whole(self, update: Json) -> list[Json]:
        """`user_message` and its kin. Without content, or with none, there is nothing that could be told."""
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
    """Whether what was told is where their text begins."""
    texts = [text_of(block, "text") or "" for block in blocks]
    if sum(map(len, texts)) < told.length:
        return False
    if told.length > _COMPARED:
        return True
    return _digest("".join(texts)[: told.length]).digest() == told.text.digest()


def _beyond(blocks: list[Json], length: int, others: int) -> list[Json]:
    """What is in these blocks beyond so many code points of text, and beyond so many others."""
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
