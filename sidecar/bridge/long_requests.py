"""LongRequest: a long line over the bridge, decoded into the request in it.

The texts for files may be a Text: the `content` of `writeFile` and of the tool Write, and the texts of `apply`. All other text is passed
on as strings, which must be short enough to be created in one step.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from typing import Any, cast

from sidecar.bridge.wire import Malformed, Message, decode
from sidecar.core.json_limits import Unusable
from sidecar.long_json import LongJson

_WRITES = (b'"writeFile"', b'"Write"', b'"apply"')
_BEGINS = re.compile(rb'\{"id": ?(\d{1,15}),')
"""A request, as our clients write it."""


class LongRequest(LongJson):
    """`feed` it the line to its end, then take its `message`."""

    def __init__(self, text: int) -> None:
        """`text`: the most bytes of its longest text, as UTF-8. An edit has two texts."""
        super().__init__(2 * text, text, piece=text, writes=_WRITES)

    def message(self) -> Generator[None, None, Message]:
        """The request. If it cannot be used, its params are the reason. Raises Malformed. Other tasks should run whenever this yields."""
        if self.wrong is not None:
            return self._refused(self.wrong)
        message = decode(self.skeleton)
        yield
        yield from self.put_back(message)
        wrong = self.not_only(_written(message))
        return message if wrong is None else self._refused(wrong)

    def _refused(self, why: Unusable) -> Message:
        begins = _BEGINS.match(self.skeleton)
        if begins is None:
            raise Malformed(f"a line that has {why}")
        return {"id": int(begins[1]), "params": why}


def _written(message: Message) -> list[object]:
    """The texts that may go into files."""
    params = _object(message.get("params"))
    match message.get("method"):
        case "writeFile":
            return [params.get("content")]
        case "tool" if params.get("name") == "Write":
            return [_object(params.get("arguments")).get("content")]
        case "apply" if isinstance(steps := params.get("steps"), list):
            rows = [_object(step) for step in cast("list[object]", steps)]
            return [row.get(name) for row in rows for name in ("base", "wanted")]
        case _:
            return []


def _object(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}
