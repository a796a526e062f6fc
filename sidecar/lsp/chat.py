"""Chat: writes one transcript into its file or buffer. It collects the text of the conversation and appends it above the prompt at a limited rate.

Everything is synchronous except the writing, which runs in background tasks, one edit at a time. transcript.py decides what is said.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sidecar.core.change import Edit
from sidecar.core.json_types import Json
from sidecar.core.uri import DocumentUri
from sidecar.lsp.narration import Narrator, Piece, one_line, visible
from sidecar.lsp.questions import rejections_first
from sidecar.lsp.transcript_edit import PlanEdits, TranscriptEditor
from sidecar.lsp.transcript_text import AGENT, YOU, Stream, appended, question_block, sent
from sidecar.lsp.workspace_port import TaskStarter
from sidecar.workspace.ports.ports import EditorGone, EditorRefused, EditorTimeout, Question

_log = logging.getLogger(__name__)

PACE = 0.25
"""Seconds between two appends. Text that arrives meanwhile is appended together, to keep undo steps and didChange few."""
AGAIN = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds before each retry when the editor did not accept an append, because the user types without a pause or the editor is busy."""
TURN_LIMIT = 512 * 1024
"""The number of characters that one turn may add to a transcript; the editor's log has the rest."""


@dataclass(slots=True)
class ShownQuestion:
    """An open question, and the number that its heading shows."""

    number: int
    question: Question
    answer: asyncio.Future[str | None]


class Chat:
    """One transcript. `session_id` is None until its first prompt, and again when the session is gone."""

    def __init__(
        self,
        uri: DocumentUri,
        path: Path,
        session_id: str | None,
        writing: TranscriptEditor,
        tasks: TaskStarter,
        pace: float = PACE,
    ) -> None:
        self.uri = uri
        self.path = path
        self.session_id = session_id
        self.turn: Literal["none", "starting", "running"] = "none"
        """The state of the turn whose prompt was sent from this transcript."""
        self.asked: dict[str, ShownQuestion] = {}
        self._writing = writing
        self._tasks = tasks
        self._pace = pace
        self._narrator = Narrator()
        self._stream = Stream()
        self._pending: list[str] = []
        self._size = 0
        self._pumping = False
        self._refused = 0
        """The number of times in a row that the editor did not accept an append."""
        self._on_written: list[Callable[[], None]] = []
        self._save_later = False
        self.lane = asyncio.Lock()
        """Held during a write, and while the editor opens the file: what was written then would be on the disk only, behind the buffer."""

    def tell(self, update: Json) -> None:
        """Add a session update from the agent."""
        for piece in self._narrator.tell(update):
            self._say(self._stream.add(piece))

    def note(self, line: str) -> None:
        """Add a line of our own to the list of events."""
        self._say(self._stream.add(Piece("event", line)))

    def prompted(self, prompt: str) -> None:
        """Add a prompt that was sent by another way than this file."""
        asked = self._stream.add(Piece("agent", visible(prompt))) + self._stream.flush()
        self._say(f"\n\n{YOU}{asked}\n\n{AGENT}")
        self._stream = Stream()

    def end_turn(self, notes: Sequence[str]) -> None:
        """Append the rest of the answer, then the notes, and save the transcript if the client can."""
        self._say(self._stream.flush())
        for line in notes:
            self.note(line)
        self._size = 0
        self._tasks.start_soon(self._write_and_save)

    def ask(self, asked: ShownQuestion, on_written: Callable[[], None]) -> None:
        """Show a question, whatever the turn's size. `on_written` is called when its lenses can be placed."""
        self.asked[asked.question.id] = asked
        question = asked.question
        labels = [one_line(option.label) for option in rejections_first(question.options)]
        block = question_block(
            asked.number, visible(question.text), visible(question.reason), labels, question.whole
        )
        self._pending.append(self._stream.block(block))
        self._tasks.start_soon(self._write_now, on_written)

    def answered(self, asked: ShownQuestion, said: str, on_written: Callable[[], None]) -> None:
        self.asked.pop(asked.question.id, None)
        line = f"question {asked.number}: {one_line(said)}"
        self._pending.append(self._stream.add(Piece("event", line)))
        self._tasks.start_soon(self._write_now, on_written)

    def restore_heading(self) -> None:
        """Restore a lost prompt heading: appending nothing does that."""
        self._pending.append("")
        self._tasks.start_soon(self._write_now, lambda: None)

    async def take_prompt(self) -> str | None:
        """Move the prompt into the history. Returns None if the editor does not accept the edit. Raises EditorGone, OSError."""
        prompt: str | None = None

        def plan(text: str) -> Sequence[Edit]:
            nonlocal prompt
            taken = sent(text)
            if taken is None:
                return ()
            prompt = taken[0]
            return taken[1]

        taken = await self._write(plan)
        self._stream = Stream()
        return prompt if taken else None

    def _say(self, text: str) -> None:
        if not text or self._size > TURN_LIMIT:
            return
        self._size += len(text)
        if self._size > TURN_LIMIT:
            text = text[: TURN_LIMIT // 8] + "\n\n[the rest of this turn is only in the editor's log]"
        self._pending.append(text)
        self._pump_soon()

    def _pump_soon(self) -> None:
        if self._pending and not self._pumping and not self._refused:
            self._pumping = True
            self._tasks.start_soon(self._pump)

    async def _pump(self) -> None:
        """Append pending text until there is none. Never raises: it is the top of a task, like the two methods below."""
        try:
            while self._pending and not self._refused:
                await asyncio.sleep(self._pace)
                if not await self._drain():
                    return
        finally:
            self._pumping = False

    async def _write_now(self, on_written: Callable[[], None]) -> None:
        """Append at once: the user is waiting for this."""
        self._on_written.append(on_written)
        await self._drain()

    async def _write_and_save(self) -> None:
        if not await self._drain():
            return
        self._save_later = self._refused > 0
        if self._save_later:
            return
        try:
            await self._writing.save(self.uri)
        except (EditorGone, EditorRefused, EditorTimeout) as error:
            _log.info("transcript %s: %s", self.path.name, error)

    async def _drain(self) -> bool:
        """Write what is pending. Returns False if the editor is gone. Never raises: a transcript must not end the tasks beside it."""
        try:
            await self._write(None)
        except EditorGone:
            return False
        except OSError as error:
            _log.warning("transcript %s: %s", self.path.name, error.strerror)
        except Exception:  # noqa: BLE001 - see above
            _log.exception("transcript %s could not be written", self.path.name)
        return True

    async def _write(self, plan: PlanEdits | None) -> bool:
        """Append pending text, then make `plan`'s edit. Return whether that edit was made."""
        async with self.lane:
            if self._pending:
                addition = "".join(self._pending)
                self._pending.clear()
                if await self._writing.edit(self.uri, self.path, lambda text: appended(text, addition)):
                    self._refused = 0
                elif self._refused < len(AGAIN):
                    self._pending.insert(0, addition)
                    self._tasks.start_soon(self._later, AGAIN[self._refused])
                    self._refused += 1
                    return False
                else:
                    _log.warning("transcript %s: an answer is left out", self.path.name)
                    self._refused = 0
            written, self._on_written = self._on_written, []
            for told in written:
                told()
            return plan is None or await self._writing.edit(self.uri, self.path, plan)

    async def _later(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await (self._write_and_save() if self._save_later else self._drain())
        self._pump_soon()  # append what was added during that write
