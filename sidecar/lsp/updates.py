"""Updates: session updates on their way to the editor, joined while they wait so that a slow editor is not flooded.

Chunks of one text are concatenated, a tool call's later update overrides the members of an earlier one, and states (plan, mode, commands) are
replaced; the order of the rest is kept. A client without `sidecar/sessionUpdate` gets lines in its log instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from sidecar.core.json_types import Json
from sidecar.lsp import ext
from sidecar.lsp.narration import Narrator, Piece, one_line
from sidecar.lsp.wire_port import Wire

FLUSH_AFTER = 0.03
"""Seconds that an update waits for others to join: two frames, unnoticed by a reader, at most 33 messages a second per session."""
FLUSH_AT = 256
"""The number of updates of one session that may wait."""
OUTPUT_LIMIT = 64 * 1024
"""The number of characters of one command's output that may wait: 2 MB a second. The last ones are kept."""
_CHUNK_LIMIT = 256 * 1024
"""The number of characters up to which a chunk still grows by joining."""
_LOOK_BACK = 64
"""How many updates back an earlier one is searched for joining. This bounds the work for one update."""
_CHUNKS = frozenset(
    {"agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "compaction_summary_chunk"}
)
_STATES = frozenset({"plan", "available_commands_update", "current_mode_update", "config_option_update"})
_LINES = 2000
"""The number of lines of one update that are logged. Of more, the first and the last are: each line takes time, and nobody reads them."""
_LINE_LIMIT = 4000
"""The number of characters of one line in the editor's log; a longer line is split."""
_LOG_INFO, _LOG_LOG = 3, 4  # LSP MessageType


class Updates:
    """The updates of all sessions of one connection. If the editor does not read, updates are eventually dropped, oldest first (writer.py)."""

    def __init__(self, wire: Wire, announced: Callable[[], bool]) -> None:
        self._wire = wire
        self._announced = announced
        self._waiting: dict[tuple[str, bool], list[dict[str, object]]] = {}
        """Waiting updates by session, and by whether they are history."""
        self._outputs: dict[tuple[str, str], str] = {}
        self._logs: dict[str, LineLog] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._serial = 0

    def add(self, session_id: str, update: Json, *, history: bool = False) -> None:
        """Add an update. `history`: it belongs to an earlier conversation and is not logged."""
        if (session_id, not history) in self._waiting:
            self.flush()  # keeps the order between history and new updates
        waiting = self._waiting.setdefault((session_id, history), [])
        join(waiting, update)
        if len(waiting) >= FLUSH_AT:
            self.flush()
        else:
            self._flush_soon()

    def add_output(self, session_id: str, terminal_id: str, output: str) -> None:
        """Add a command's output. If there is more than anybody can read, only its end is sent."""
        output = self._outputs.get((session_id, terminal_id), "") + output
        self._outputs[session_id, terminal_id] = output[-OUTPUT_LIMIT:]
        self._flush_soon()

    def _flush_soon(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_AFTER, self.flush)

    def flush(self) -> None:
        """Send everything that waits. Called before anything that the user should see after it, and at a turn's end."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, {}
        for (session_id, history), updates in waiting.items():
            if self._announced():
                replay = {"replay": True} if history else {}
                for update in updates:
                    self._send(ext.SESSION_UPDATE, {"sessionId": session_id, "update": update, **replay})
                continue
            if history:
                continue
            log = self._logs.setdefault(session_id, LineLog())
            self._write([line for update in updates for line in log.add(update)])
        outputs, self._outputs = self._outputs, {}
        for (session_id, terminal_id), output in outputs.items():
            self._send(
                ext.TERMINAL_OUTPUT, {"sessionId": session_id, "terminalId": terminal_id, "output": output}
            )

    def end(self, session_id: str) -> None:
        """A turn ended: send everything of the session, including an unfinished line, and forget its narration."""
        self.flush()
        log = self._logs.pop(session_id, None)
        if log is not None:
            self._write(log.rest())

    def _send(self, method: str, params: dict[str, object]) -> None:
        """Send a message under a key of its own: no message replaces another, and all may be dropped."""
        self._serial += 1
        self._wire.notify(method, params, ("update", self._serial))

    def _write(self, lines: list[tuple[int, str]]) -> None:
        """Log the lines. Adjacent lines of one level become one message."""
        block: list[str] = []
        for index, (level, line) in enumerate(lines):
            block.append(line)
            if index + 1 == len(lines) or lines[index + 1][0] != level:
                self._send("window/logMessage", {"type": level, "message": "\n".join(block)})
                block = []


def join(updates: list[dict[str, object]], update: Json) -> None:
    """Add an update to a waiting list, merged into an earlier one if that loses nothing."""
    kind = update.get("sessionUpdate")
    if not isinstance(kind, str):
        kind = None  # may not even be hashable
    if kind in _CHUNKS and updates and (joined := _joined_chunk(updates[-1], update)) is not None:
        updates[-1] = joined
        return
    if kind in _STATES or kind == "tool_call_update":
        for index in range(len(updates) - 1, max(-1, len(updates) - 1 - _LOOK_BACK), -1):
            one = updates[index]
            if one.get("sessionUpdate") == kind and one.get("toolCallId") == update.get("toolCallId"):
                updates[index] = dict(update) if kind in _STATES else {**one, **update}
                return
    updates.append(dict(update))


def _joined_chunk(last: Json, update: Json) -> dict[str, object] | None:
    """Return one chunk with both texts, or None if they differ in more than their text (another message, annotations, an image)."""
    if {**last, "content": None} != {**update, "content": None}:
        return None
    first, second = last.get("content"), update.get("content")
    if not isinstance(first, dict) or not isinstance(second, dict):
        return None
    head, tail = cast("dict[str, object]", first), cast("dict[str, object]", second)
    texts = head.get("text"), tail.get("text")
    if {**head, "text": ""} != {**tail, "text": ""} or head.get("type") != "text":
        return None
    if not isinstance(texts[0], str) or not isinstance(texts[1], str) or len(texts[0]) > _CHUNK_LIMIT:
        return None
    return {**last, "content": {**head, "text": texts[0] + texts[1]}}


class LineLog:
    """Cuts one session's narration into log lines. Chunks are held until their line is complete."""

    def __init__(self) -> None:
        self._narrator = Narrator()
        self._open: Piece | None = None

    def add(self, update: Json) -> list[tuple[int, str]]:
        """Return the complete lines, with their LSP message type."""
        lines: list[tuple[int, str]] = []
        for piece in self._narrator.tell(update):
            if piece.kind == "event":
                lines += self.rest()
                lines.append((_LOG_LOG, f"tool: {one_line(piece.text, _LINE_LIMIT)}"))
                continue
            if self._open is not None and self._open.kind != piece.kind:
                lines += self.rest()
            text = piece.text if self._open is None else self._open.text + piece.text
            *whole, last = text.split("\n")
            while len(last) > _LINE_LIMIT:
                whole.append(last[:_LINE_LIMIT])
                last = last[_LINE_LIMIT:]
            if len(whole) > _LINES:
                left_out = f"… {len(whole) - _LINES} more lines"
                whole = [*whole[: _LINES // 2], left_out, *whole[-_LINES // 2 :]]
            for line in whole:
                lines += _lines(piece.kind, line)
            self._open = Piece(piece.kind, last)
        return lines

    def rest(self) -> list[tuple[int, str]]:
        """Finish and return the unfinished line."""
        piece, self._open = self._open, None
        return _lines(piece.kind, piece.text) if piece is not None else []


def _lines(kind: str, line: str) -> list[tuple[int, str]]:
    level = _LOG_INFO if kind == "agent" else _LOG_LOG
    parts = [line[at : at + _LINE_LIMIT] for at in range(0, len(line), _LINE_LIMIT)] if line.strip() else []
    return [(level, f"{kind}: {part}") for part in parts]
