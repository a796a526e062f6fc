"""Displays: output of commands that the agent runs itself (ACP v2, "Agent-owned terminal display").

Behind this it is a session update of our own, `terminal_output` or `terminal_ended`, and shown as that of a terminal of ours. Its id gets a
prefix there, so that it is never taken for one.
"""

from __future__ import annotations

import base64
import binascii
import codecs
from collections import OrderedDict
from dataclasses import dataclass, field

from sidecar.acp.dialect import OWNED
from sidecar.acp.v2.fields import id_of, object_of, text_of
from sidecar.core.json_types import Json

_LONGEST = 1024 * 1024
"""Code points of base64 that are decoded of one message; of more, the last."""
_MOST = 256
"""Terminals that are remembered for each session."""


@dataclass(slots=True)
class _Display:
    decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )
    """A character may come in two pieces."""
    shown: int = 0
    """Bytes that were told."""
    cancel: bool = False
    """The agent ends the command when it is asked to."""
    ended: bool = False


def reference(item: Json) -> Json:
    """A terminal in a tool call's content."""
    terminal = id_of(item, "terminalId")
    return {**item, "terminalId": OWNED + terminal} if terminal is not None else item


class Displays:
    """Of one session."""

    def __init__(self) -> None:
        self._displays: OrderedDict[str, _Display] = OrderedDict()

    def update(self, update: Json) -> list[Json]:
        """`terminal_update`: what is told of a terminal, and all of its output."""
        terminal = id_of(update, "terminalId")
        if terminal is None:
            return []
        display = self._of(terminal)
        if "capabilities" in update:
            display.cancel = isinstance(object_of(update["capabilities"]).get("cancel"), dict)
        told: list[Json] = []
        data = text_of(object_of(update.get("output")), "data")
        if data is not None:
            told += self._all(terminal, display, data)
        if isinstance(update.get("exitStatus"), dict) and not display.ended:
            display.ended, status = True, object_of(update["exitStatus"])
            code, signal = status.get("exitCode"), status.get("signal")
            told.append(
                {
                    "sessionUpdate": "terminal_ended",
                    "terminalId": OWNED + terminal,
                    "exitCode": code if isinstance(code, int) and not isinstance(code, bool) else None,
                    "signal": signal if isinstance(signal, str) else None,
                }
            )
        return told

    def chunk(self, update: Json) -> list[Json]:
        """`terminal_output_chunk`: more output."""
        terminal, data = id_of(update, "terminalId"), text_of(update, "data")
        if terminal is None or data is None:
            return []
        display, found = self._of(terminal), _decoded(data)
        display.shown += len(found)
        return _output(terminal, display.decoder.decode(found))

    def can_cancel(self, terminal: str) -> bool:
        return terminal in self._displays and self._displays[terminal].cancel

    def _all(self, terminal: str, display: _Display, data: str) -> list[Json]:
        """The output is this. What was told of it before is at its beginning, unless the agent has corrected it: then it is told anew."""
        found = _decoded(data)
        more = found[display.shown :] if len(found) >= display.shown else found
        display.shown = len(found)
        return _output(terminal, display.decoder.decode(more))

    def _of(self, terminal: str) -> _Display:
        if terminal not in self._displays:
            self._displays[terminal] = _Display()
            if len(self._displays) > _MOST:
                self._displays.popitem(last=False)
        return self._displays[terminal]


def _output(terminal: str, text: str) -> list[Json]:
    told = {"sessionUpdate": "terminal_output", "terminalId": OWNED + terminal, "output": text}
    return [told] if text else []


def _decoded(data: str) -> bytes:
    """What is no base64 is nothing."""
    try:
        return base64.b64decode(data[-_LONGEST:] if len(data) > _LONGEST else data)
    except (binascii.Error, ValueError):
        return b""
