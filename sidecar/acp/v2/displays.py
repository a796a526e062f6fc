"""Displays: output of commands that the agent runs itself (ACP v2, "Agent-owned terminal display").

Inside, this is a session update of our own, `terminal_output` or `terminal_ended`, and is shown like the output of a terminal of ours.
The id gets a prefix, so that it is never taken for one of ours.
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
"""The most code points of base64 that are decoded in one message: the last ones."""
_MOST = 256
"""The most terminals that are remembered for each session."""


@dataclass(slots=True)
class _Display:
    decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )
    """A character may be split between two pieces."""
    shown: int = 0
    """The bytes that were reported."""
    cancel: bool = False
    """Whether the agent can cancel the command."""
    ended: bool = False


def reference(item: Json) -> Json:
    """A terminal in a tool call's content."""
    terminal = id_of(item, "terminalId")
    return {**item, "terminalId": OWNED + terminal} if terminal is not None else item


class Displays:
    """The displays of one session."""

    def __init__(self) -> None:
        self._displays: OrderedDict[str, _Display] = OrderedDict()

    def update(self, update: Json) -> list[Json]:
        """`terminal_update`: the state of a terminal, and all of its output."""
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
        """All output so far. Reports what follows the part that was reported before. If the output has become shorter, the agent has
        corrected it, and all of it is reported again."""
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
    """The bytes of base64. Empty if the text is not base64."""
    try:
        return base64.b64decode(data[-_LONGEST:] if len(data) > _LONGEST else data)
    except (binascii.Error, ValueError):
        return b""
