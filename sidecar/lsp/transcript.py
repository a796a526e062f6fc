"""Transcripts: a conversation with an agent in a markdown file that any editor can show. This is the whole product without an extension.

`sidecar.openChat` creates and shows a transcript. Its last section is the prompt, which *Send* (lens or code action) sends. The agent's output and
questions are appended above the prompt, through the editor while the file is open there. transcript_text.py defines the form of the text,
transcript_edit.py makes the edits, and this module decides who says what when.

One transcript is one session. It gets its session at the first Send, or at openChat if a session without a transcript was used.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

from lsprotocol import types

from sidecar.core.json_types import Json
from sidecar.core.text import Position, Text
from sidecar.core.uri import DocumentUri, from_path, normalise, to_path
from sidecar.lsp import ext
from sidecar.lsp.chat import PACE, Chat, ShownQuestion
from sidecar.lsp.narration import one_line, visible
from sidecar.lsp.questions import rejections_first
from sidecar.lsp.transcript_edit import TranscriptEditor
from sidecar.lsp.transcript_folder import TranscriptFolder
from sidecar.lsp.transcript_text import NEW, prompt_section, question_line, sent
from sidecar.lsp.workspace_port import Documents, LspWorkspace, TaskStarter, words_of
from sidecar.workspace.ports.ports import Editor, EditorGone, EditorRefused, Option, Question

_log = logging.getLogger(__name__)

OPEN_CHAT = "Chat with an agent"
"""The title of the code action in every file."""
_WORDS_FOR_STOPS = {
    "cancelled": "cancelled",
    "refusal": "the agent refused to continue",
    "max_tokens": "stopped: the agent reached its token limit",
    "max_turn_requests": "stopped: the agent reached its request limit",
}


OPENS_WITHIN = 2.0
"""Seconds after the editor's answer that it shows a transcript within which its didOpen may come. It never comes if the editor does not use this
server for the file."""


class ChatEditor(Editor, Protocol):
    """The editor port, which can also place the cursor."""

    async def show_document(self, client_uri: str, *, take_focus: bool, line: int | None = None) -> bool: ...


class Transcripts:
    """All transcripts of one connection. Methods without `async` never block; they start background work."""

    def __init__(
        self,
        editor: ChatEditor,
        service: LspWorkspace,
        documents: Documents,
        tasks: TaskStarter,
        *,
        folder: TranscriptFolder | None = None,
        lenses_moved: Callable[[], None] = lambda: None,
        now: Callable[[], datetime] = datetime.now,
        pace: float = PACE,
    ) -> None:
        self._editor = editor
        self._service = service
        self._tasks = tasks
        self._documents = documents
        self._folder = folder if folder is not None else TranscriptFolder()
        self._writing = TranscriptEditor(editor, documents, self._folder)
        self._lenses_moved = lenses_moved
        self._now = now
        self._pace = pace
        self._chats: dict[DocumentUri, Chat] = {}
        self._current: Chat | None = None
        self._last_session: str | None = None
        self._numbers = 0
        self._opening: dict[DocumentUri, asyncio.Event] = {}

    # Called by commands

    def open(self, session_id: str | None = None) -> dict[str, object]:
        """Show the session's transcript, the last one, or a new one → `{uri, sessionId?}` at once. Raises OSError, and LookupError with a message."""
        if session_id is not None:
            if not self._session(session_id):
                raise LookupError(
                    f'there is no session "{one_line(session_id, 60)}"; without one, sidecar.openChat opens the last chat or a new one'
                )
            chat = self._of(session_id) or self._create(session_id)
        elif self._last_session is not None and self._of(self._last_session) is None:
            chat = self._create(self._last_session)
        elif self._current is not None and self._current.path.exists():
            chat = self._current
        else:
            chat = self._create(None)
        self._current = chat
        self._tasks.start_soon(self._show, chat)
        answer: dict[str, object] = {"uri": str(chat.uri)}
        if chat.session_id is not None:
            answer["sessionId"] = chat.session_id
        return answer

    def session_used(self, session_id: str) -> None:
        """Note a session that was opened or prompted by another way: the next `open` shows it."""
        self._last_session = session_id

    def follow(self, session_id: str, prompt: str) -> None:
        """Show a prompt that was sent by another way in the session's transcript, which is created if necessary. For editors that show no answers
        themselves."""
        chat = self._of(session_id)
        if chat is None:
            try:
                chat = self._create(session_id)
            except OSError as error:
                self._editor.show(
                    "warning", f"the answer cannot be shown: no chat could be made: {error.strerror}"
                )
                return
            self._current = chat
            self._tasks.start_soon(self._show, chat, False)
        chat.prompted(prompt)

    def prompted(self, session_id: str, prompt: str) -> None:
        """Show a prompt from a client outside the editor, if a transcript shows this session."""
        chat = self._of(session_id)
        if chat is not None:
            chat.prompted(prompt)

    def session_closed(self, session_id: str) -> None:
        """Note that the session is closed. Its transcript stays; the next Send opens a new session."""
        if self._last_session == session_id:
            self._last_session = None
        chat = self._of(session_id)
        if chat is not None:
            chat.note("session closed")
            chat.session_id = None

    def send(self, uri: str | None = None) -> dict[str, object]:
        """Send the prompt section → `{uri}` at once. Raises LookupError or ValueError with a message."""
        chat = self._current if uri is None else self._at(uri)
        if chat is None:
            raise LookupError("there is no transcript to send; sidecar.openChat opens one")
        document = self._documents(chat.uri)
        if document is None:
            raise ValueError(
                f"{chat.path} is not open in the editor with this language server; open it as markdown and send again"
            )
        if chat.turn != "none" or self._session(chat.session_id).get("running") is True:
            raise ValueError("the agent is still working on the last prompt; wait for it or cancel it")
        text = str(document.snapshot())
        if prompt_section(text) is None:
            chat.restore_heading()
            raise ValueError(
                'the transcript has lost its last heading, "## Prompt"; write below it and send again'
            )
        if sent(text) is None:
            raise ValueError('nothing to send: write something below the last heading, "## Prompt"')
        self._current = chat
        chat.turn = "starting"
        self._tasks.start_soon(self._run, chat)
        return {"uri": str(chat.uri)}

    def answer(self, question_id: str, option_id: str) -> None:
        """Answer an open question. Raises LookupError."""
        asked = next((c.asked[question_id] for c in self._chats.values() if question_id in c.asked), None)
        if asked is None or asked.answer.done():
            raise LookupError("this question is no longer open")
        if option_id not in {option.id for option in asked.question.options}:
            raise LookupError("this question has no such answer")
        asked.answer.set_result(option_id)

    def opened(self, uri: DocumentUri) -> None:
        """Note that the editor opened a document."""
        if uri in self._opening:
            self._opening[uri].set()

    # Called by the editor port (editor.Chats)

    def has(self, session_id: str) -> bool:
        return self._of(session_id) is not None

    def session_update(self, session_id: str, update: Json) -> None:
        chat = self._of(session_id)
        if chat is not None:
            chat.tell(update)

    def turn_ended(self, outcome: Json) -> None:
        session_id = outcome.get("sessionId")
        chat = self._of(session_id) if isinstance(session_id, str) else None
        if chat is not None:
            chat.end_turn(_notes(outcome))

    async def ask(self, question: Question) -> str | None:
        """Return the answer given by lens or code action. Raises EditorRefused if no transcript can be created."""
        # While a session is being opened (may this agent be started?), its transcript does not know it yet.
        chat = self._of(question.session_id) or self._starting()
        if chat is None:
            try:
                chat = self._create(question.session_id)
            except OSError as error:
                raise EditorRefused(f"no transcript could be created: {error.strerror}") from error
            self._tasks.start_soon(self._show, chat)
        self._numbers += 1
        asked = ShownQuestion(self._numbers, question, asyncio.get_running_loop().create_future())
        chat.ask(asked, self._lenses_moved)
        said = "withdrawn"
        try:
            chosen = await asked.answer
            said = next((option.label for option in question.options if option.id == chosen), "dismissed")
            return chosen
        finally:
            chat.answered(asked, said, self._lenses_moved)

    # Requested by the editor (features.py)

    def lenses(self, uri: str) -> list[types.CodeLens]:
        """Return Send above the prompt, Cancel while a turn runs, and the answers above each open question."""
        return [
            types.CodeLens(_at_line(line), types.Command(title, command, arguments=[argument]))
            for line, title, command, argument in self._actions(uri)
        ]

    def code_actions(self, uri: str, where: types.Range) -> list[types.CodeAction]:
        """Return the same actions wherever the cursor is, for editors that show no lenses. In every other file, return the action that opens the
        chat, for editors that run no commands (Kate)."""
        if self._at(uri) is None:
            if self._editor.capabilities.session_updates:
                return []  # this client has its own place for conversations
            command = types.Command(OPEN_CHAT, ext.OPEN_CHAT, arguments=[])
            return [types.CodeAction(OPEN_CHAT, kind=types.CodeActionKind.QuickFix, command=command)]
        return [
            types.CodeAction(
                title,
                kind=types.CodeActionKind.QuickFix,
                command=types.Command(title, command, arguments=[argument]),
            )
            for _, title, command, argument in self._actions(uri)
        ]

    def _actions(self, uri: str) -> list[tuple[int, str, str, types.LSPAny]]:
        chat = self._at(uri)
        document = self._documents(normalise(uri))
        if chat is None or document is None:
            return []
        snapshot = document.snapshot()
        text = str(snapshot)
        encoding = self._editor.capabilities.encoding
        actions: list[tuple[int, str, str, types.LSPAny]] = []
        for asked in chat.asked.values():
            line = question_line(text, asked.number)
            if line is None:
                continue
            several = len(chat.asked) > 1
            for option in rejections_first(asked.question.options):
                title = _option_title(option, asked.number if several else None)
                answer = {"questionId": asked.question.id, "optionId": option.id}
                actions.append((line, title, ext.ANSWER, cast(types.LSPAny, answer)))
        section = prompt_section(text)
        if section is not None:
            line = snapshot.position_at(section.heading_start, encoding).line
            if chat.turn == "none":
                actions.append((line, "Send", ext.SEND, cast(types.LSPAny, {"uri": uri})))
            elif chat.session_id is not None:
                session: Any = {"sessionId": chat.session_id}
                actions.append((line, "Cancel the turn", ext.CANCEL, session))
        return actions

    # One transcript

    def _of(self, session_id: str) -> Chat | None:
        return next((chat for chat in self._chats.values() if chat.session_id == session_id), None)

    def _starting(self) -> Chat | None:
        waiting = (
            chat for chat in self._chats.values() if chat.turn == "starting" and chat.session_id is None
        )
        return next(waiting, None)

    def _at(self, uri: str) -> Chat | None:
        """Return the transcript at a URI. A transcript from an earlier run continues, with a new session at its next Send."""
        key = normalise(uri)
        if key in self._chats:
            return self._chats[key]
        path = to_path(key)
        if path is None or not self._folder.owns(path):
            return None
        return self._add(key, Path(path), None)

    def _create(self, session_id: str | None) -> Chat:
        path = self._folder.create(NEW, self._now())
        return self._add(from_path(str(path)), path, session_id)

    def _add(self, uri: DocumentUri, path: Path, session_id: str | None) -> Chat:
        chat = Chat(uri, path, session_id, self._writing, self._tasks, self._pace)
        self._chats[uri] = chat
        return chat

    async def _show(self, chat: Chat, take_focus: bool = True) -> None:
        try:
            # A question must not take the keyboard focus from a user who is typing; a user who opens a chat
            # wants to type in it.
            line = None if chat.asked else self._last_line(chat)
            take_focus = take_focus and not chat.asked
            show = partial(self._editor.show_document, chat.uri, take_focus=take_focus, line=line)
            shown = await (show() if self._documents(chat.uri) is not None else self._open(chat, show))
        except EditorGone:
            return
        if not shown:
            level = "warning" if chat.asked else "info"
            # The path first, and short: Helix cuts a message off at the edge of its window.
            what = "the agent asks something there" if chat.asked else "Send is a code action there"
            self._editor.show(level, f":open {short(chat.path)} ({what})")

    async def _open(self, chat: Chat, show: Callable[[], Awaitable[bool]]) -> bool:
        """Show a file that is not open yet. It is not written until it is."""
        opened = self._opening.setdefault(chat.uri, asyncio.Event())
        try:
            async with chat.lane:
                shown = await show()
                if shown:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(opened.wait(), OPENS_WITHIN)
                return shown
        finally:
            self._opening.pop(chat.uri, None)

    def _last_line(self, chat: Chat) -> int | None:
        document = self._documents(chat.uri)
        try:
            text = document.snapshot() if document is not None else Text.of(self._folder.read(chat.path))
        except OSError:
            return None
        # Some editors have no line after a final line end
        return text.line_count - 1 - (text.line(text.line_count - 1) == "" and text.line_count > 1)

    async def _run(self, chat: Chat) -> None:
        """Run one turn from Send to its end. Never raises: it is the top of a task."""
        try:
            prompt = await chat.take_prompt()
            if prompt is None:
                self._editor.show(
                    "warning", "The transcript could not be changed; the prompt was not sent. Try again."
                )
                return
            if self._session(chat.session_id).get("alive", False) is False:
                chat.session_id = None
                opened = await self._service.new_session(None, None, [], [])
                chat.session_id = self._last_session = opened.session_id
                chat.note(f"{one_line(opened.agent)}, a new session")
            chat.turn = "running"
            blocks = [{"type": "text", "text": prompt}]
            chat.session_id, _, outcome = self._service.start_prompt(chat.session_id, blocks)
            self._lenses_moved()
            await outcome
        except EditorGone:
            return
        except Exception as error:  # noqa: BLE001 - a task must not end the others
            words = words_of(error)
            if words is None:
                _log.exception("a turn of transcript %s failed", chat.path.name)
            self._failed(chat, words or "the prompt could not be sent; see the sidecar's log")
        finally:
            chat.turn = "none"
            self._lenses_moved()

    def _session(self, session_id: str | None) -> Json:
        """Return the session's row in the workspace's status, or an empty one if it is gone. A transcript outlives sessions and agents."""
        rows = self._service.status().get("sessions")
        for row in cast("list[object]", rows) if isinstance(rows, list) else ():
            session = cast("dict[str, object]", row) if isinstance(row, dict) else {}
            if session_id is not None and session.get("sessionId") == session_id:
                return {"alive": True, **session}
        return {}

    def _failed(self, chat: Chat, message: str) -> None:
        chat.note(f"**failed:** {visible(message)}")
        self._editor.show("error", message)


def short(path: Path) -> str:
    """Return the path with `~` for the home folder, as people and editors write it."""
    try:
        return f"~/{path.relative_to(Path.home()).as_posix()}"
    except (ValueError, RuntimeError):
        return str(path)


def _at_line(line: int) -> types.Range:
    start = Position(line, 0)
    return types.Range(types.Position(*start), types.Position(*start))


def _option_title(option: Option, number: int | None) -> str:
    label = one_line(option.label) or option.id
    return label if number is None else f"{label} (question {number})"


def _notes(outcome: Json) -> list[str]:
    """Return the notes that the end of a turn adds to the agent's own words."""
    notes: list[str] = []
    reason, error, changes = outcome.get("stopReason"), outcome.get("error"), outcome.get("changes")
    if isinstance(error, str):
        notes.append(f"**failed:** {visible(error)}")
    elif isinstance(reason, str) and reason != "end_turn":
        notes.append(_WORDS_FOR_STOPS.get(reason, one_line(reason)))
    for change in cast("list[object]", changes) if isinstance(changes, list) else ():
        fields = cast("dict[str, object]", change) if isinstance(change, dict) else {}
        uri = fields.get("uri")
        if isinstance(uri, str):
            name = to_path(normalise(uri)) or uri
            notes.append(f"changed {one_line(name)}: +{fields.get('added', 0)} −{fields.get('removed', 0)}")
    return notes
