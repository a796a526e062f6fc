"""LspEditor: the workspace's Editor port over one LSP connection.

A request is in the outgoing queue when its method returns the awaitable. Answers are read leniently, because a client may answer anything. What a
client did not announce is refused here with a message, and never sent. progress.py, questions.py, updates.py and transcript.py show things to the
user; this module connects them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeVar, cast

import msgspec

from sidecar.core.coordinates import TextEdit
from sidecar.core.json_types import Json
from sidecar.lsp import elicitations, ext
from sidecar.lsp.edits import Unsendable, text_edits, workspace_edit
from sidecar.lsp.message_buttons import Button, MessageButtons
from sidecar.lsp.progress import NoProgress, ProgressBoard
from sidecar.lsp.questions import Questions, QuestionView
from sidecar.lsp.told_back import ToldBack
from sidecar.lsp.updates import Updates
from sidecar.lsp.wire_port import Wire
from sidecar.lsp.workspace_port import TaskStarter
from sidecar.workspace.ports.ports import (
    DocumentEdit,
    EditAnswer,
    EditorCapabilities,
    EditorGone,
    EditorRefused,
    EditorTimeout,
    Level,
    OpenedSession,
    Opens,
    Progress,
    Question,
    Reloaded,
    Saved,
    Verdict,
)
from sidecar.workspace.ports.prompt_context import Mention
from sidecar.workspace.ports.session_ports import Activity, AgentState, CommandEnd, Elicitation, Elicited

_log = logging.getLogger(__name__)
T = TypeVar("T")

ANSWER_WITHIN = 30.0
"""Seconds for requests that the client answers without the user. A save may run a formatter first; callers may wait for less."""
_MESSAGE_TYPES: Mapping[Level, int] = {"error": 1, "warning": 2, "info": 3, "log": 4}
_MESSAGE_LIMIT = 4000
"""The number of characters in a message box or a log entry. Of a longer message, the head and the tail are shown."""


class Chats(QuestionView, Protocol):
    """The transcripts, as far as the editor port feeds them."""

    def session_update(self, session_id: str, update: Json) -> None: ...
    def turn_ended(self, outcome: Json) -> None: ...


class LspEditor:
    """`announce` sets the client's capabilities at `initialize`. Before that, the editor can only log."""

    def __init__(self, wire: Wire, tasks: TaskStarter, told_back: ToldBack | None = None) -> None:
        self._wire = wire
        self._told_back = told_back or ToldBack()
        self._capabilities = EditorCapabilities()
        self._chats: Chats | None = None
        self.on_changes_moved: Callable[[Sequence[str]], None] = lambda uris: None
        """Called by `changes_moved`, for features that show hunks without the client's help."""
        self._updates = Updates(wire, lambda: self._capabilities.session_updates)
        self._refreshes = {
            method: _Refresh(wire, tasks, method)
            for method in ("workspace/codeLens/refresh", "workspace/diagnostic/refresh")
        }
        self.progresses = ProgressBoard(wire, tasks)
        self.questions = Questions(wire, lambda: self._capabilities, self.show_document)
        self._buttons = MessageButtons(wire, tasks)

    @property
    def capabilities(self) -> EditorCapabilities:
        return self._capabilities

    def announce(self, capabilities: EditorCapabilities) -> None:
        self._capabilities = capabilities

    def attach(self, chats: Chats) -> None:
        """Attach the transcripts, which are created after the editor because they write through it."""
        self._chats = chats
        self.questions.place = chats

    def apply_edit(self, label: str, edit: DocumentEdit) -> Awaitable[EditAnswer]:
        """Send the request before returning. Cancelling the wait does not withdraw it: the editor may be applying the edit. The result may be awaited
        again later. Raises ValueError for an edit that must never be sent."""
        try:
            body = workspace_edit(edit, self._capabilities)
        except Unsendable as refusal:
            return _Kept(_done(EditAnswer(False, str(refusal))))
        self._told_back.sent(edit.edits)
        answer = self._wire.request("workspace/applyEdit", {"label": f"Agent: {label}", "edit": body})
        return _Kept(asyncio.ensure_future(_edit_answer(answer)))

    async def save(self, client_uri: str, version: int, *, exact: bool = False) -> Saved:
        if not self._capabilities.save:
            return Saved(False)
        params: dict[str, object] = {"uri": client_uri, "version": version}
        answer = await self._ask_client(
            ext.SAVE, params | {"exact": True} if exact else params, ext.SaveAnswer
        )
        return Saved(answer.saved, answer.typed)

    async def open(self, client_uri: str) -> int:
        if not self._capabilities.open:
            raise EditorRefused("this editor does not open documents for the sidecar (sidecar/open)")
        return (await self._ask_client(ext.OPEN, {"uri": client_uri}, ext.OpenAnswer)).version

    async def close(self, client_uri: str) -> None:
        if self._capabilities.open:
            await self._bounded(self._wire.request(ext.CLOSE, {"uri": client_uri}), ext.CLOSE)

    async def reload(
        self, client_uri: str, version: int, edits: Sequence[TextEdit], changes: Sequence[TextEdit] = ()
    ) -> Reloaded | str:
        if not self._capabilities.reload:
            raise EditorRefused("this editor does not reload documents for the sidecar (sidecar/reload)")
        params = {
            "uri": client_uri,
            "version": version,
            "edits": text_edits(edits),
            "changes": text_edits(changes),
        }
        answer = await self._ask_client(ext.RELOAD, params, ext.ReloadAnswer)
        if answer.version is not None:
            return Reloaded(
                answer.version, answer.taken, answer.read, tuple(ext.text_edit(one) for one in answer.made)
            )
        return answer.refused or "not-active"

    async def context(self, uris: Sequence[str] | None) -> Sequence[Mention]:
        params = {} if uris is None else {"uris": list(uris)}
        return [
            ext.mention(item) for item in await self._ask_client(ext.CONTEXT, params, list[ext.ContextItem])
        ]

    async def ask(self, question: Question) -> str | None:
        self._updates.flush()  # the user reads what the agent said earlier before the question
        return await self.questions.ask(question)

    def show(self, level: Level, message: str, opens: Opens | None = None, *also: Button) -> None:
        """`also`: additional buttons."""
        told, can = _told(level, message), self._capabilities
        buttons = list(also)
        if opens is not None and can.show_document:
            shows = partial(self.show_document, opens.uri, take_focus=True, line=opens.line)
            buttons.insert(0, Button(opens.label, shows))
        if buttons and can.message_buttons and self._buttons.show(told, buttons):
            return
        self._wire.notify("window/showMessage", told)

    def notice(self, session_id: str, message: str) -> None:
        if not self._capabilities.session_updates:
            self.show("info", message)
            return
        self._updates.flush()  # what the agent said earlier appears above it
        self._wire.notify(ext.NOTICE, {"sessionId": session_id, "message": message})

    def log(self, level: Level, message: str) -> None:
        self._wire.notify("window/logMessage", _told(level, message))

    def session_update(self, session_id: str, update: Json) -> None:
        self._updates.add(session_id, update)
        if self._chats is not None:
            self._chats.session_update(session_id, update)

    def session_history(self, session_id: str, update: Json) -> None:
        if self._capabilities.session_updates:
            self._updates.add(session_id, update, history=True)

    def session_opened(self, opened: OpenedSession) -> None:
        if self._capabilities.session_updates:
            self._updates.flush()  # earlier updates are sent before it
            told = {"sessionId": opened.session_id, "agent": opened.agent, **opened.choices}
            self._wire.notify(ext.SESSION_OPENED, told)

    def history_shown(self) -> None:
        self._updates.flush()

    def agent_state(self, state: AgentState) -> None:
        params: dict[str, object] = {
            "agent": state.agent,
            "state": state.state,
            "sessions": list(state.sessions),
        }
        texts = {"name": state.name, "version": state.version, "message": state.message}
        self._wire.notify(ext.AGENT_STATE, params | {key: text for key, text in texts.items() if text})

    def activity(self, activity: Activity) -> None:
        self._wire.notify(ext.ACTIVITY, elicitations.activity(activity), ("activity", activity))

    async def elicit(self, elicitation: Elicitation) -> Elicited:
        self._updates.flush()  # the user reads what the agent said earlier before the form
        return await elicitations.ask(self._wire, elicitation)

    def elicitation_complete(self, agent: str, elicitation_id: str) -> None:
        self._wire.notify(ext.ELICITATION_COMPLETE, {"agent": agent, "elicitationId": elicitation_id})

    def terminal_output(self, session_id: str, terminal_id: str, output: str) -> None:
        if self._capabilities.session_updates:
            self._updates.add_output(session_id, terminal_id, output)

    def terminal_ended(self, session_id: str, terminal_id: str, end: CommandEnd) -> None:
        if self._capabilities.session_updates:
            self._updates.flush()  # the last of its output appears above it
            ended = {"exitCode": end.code, "signal": end.signal, "stopped": end.stopped}
            told = {name: value for name, value in ended.items() if value is not None and value is not False}
            self._wire.notify(
                ext.TERMINAL_ENDED, {"sessionId": session_id, "terminalId": terminal_id, **told}
            )

    def reviewed(self, session_id: str, turn: int, verdict: Verdict, changes: int) -> None:
        if self._capabilities.session_updates:
            self._wire.notify(
                ext.REVIEWED, {"sessionId": session_id, "turn": turn, "verdict": verdict, "changes": changes}
            )

    def turn_ended(self, outcome: Json) -> None:
        session_id = outcome.get("sessionId")
        if isinstance(session_id, str):
            self._updates.end(session_id)
        self._wire.notify(ext.TURN_ENDED, dict(outcome))
        if self._chats is not None:
            self._chats.turn_ended(outcome)

    def progress(self, title: str, on_cancel: Callable[[], None] | None) -> Progress:
        if not self._capabilities.work_done_progress:
            return NoProgress()
        return self.progresses.begin(title, on_cancel)

    async def show_document(self, client_uri: str, *, take_focus: bool, line: int | None = None) -> bool:
        """`line`: the line for the cursor, from 0."""
        if not self._capabilities.show_document:
            return False
        params: dict[str, object] = {"uri": client_uri, "external": False, "takeFocus": take_focus}
        if line is not None:
            place = {"line": line, "character": 0}
            params["selection"] = {"start": place, "end": place}
        try:
            answer = await self._bounded(self._wire.request("window/showDocument", params), "showDocument")
        except (EditorRefused, EditorTimeout):
            return False
        return isinstance(answer, Mapping) and cast(Json, answer).get("success") is True

    def changes_moved(self, client_uris: Sequence[str]) -> None:
        self.on_changes_moved(client_uris)
        if self._capabilities.changes:
            self._wire.notify(ext.CHANGES, {"uris": list(client_uris)})
        if self._capabilities.code_lens_refresh:
            self._refreshes["workspace/codeLens/refresh"].want()
        if self._capabilities.diagnostics_refresh:
            self._refreshes["workspace/diagnostic/refresh"].want()

    def lenses_moved(self) -> None:
        """Refresh lenses that changed for a reason other than hunks."""
        if self._capabilities.code_lens_refresh:
            self._refreshes["workspace/codeLens/refresh"].want()

    async def _ask_client(self, method: str, params: Json, shape: type[T]) -> T:
        answer = await self._bounded(self._wire.request(method, params), method)
        try:
            return msgspec.convert(answer, shape)
        except msgspec.ValidationError as error:
            raise EditorRefused(f"the editor's answer to {method} is not understood: {error}") from error

    async def _bounded(self, answer: Awaitable[object], what: str) -> object:
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                return await answer
        except TimeoutError:
            raise EditorTimeout(f"the editor did not answer {what} within {ANSWER_WITHIN:g} s") from None


class _Kept(Awaitable[EditAnswer]):
    """An answer that can be awaited any number of times. Cancelling an await does not cancel it."""

    def __init__(self, answer: asyncio.Future[EditAnswer]) -> None:
        self._answer = answer
        answer.add_done_callback(_looked_at)

    def __await__(self) -> Generator[object, None, EditAnswer]:
        return self._wait().__await__()

    async def _wait(self) -> EditAnswer:
        await asyncio.wait([self._answer])
        return self._answer.result()


def _looked_at(answer: asyncio.Future[EditAnswer]) -> None:
    if not answer.cancelled():
        answer.exception()  # a closed connection does not matter if nobody waits


def _done(answer: EditAnswer) -> asyncio.Future[EditAnswer]:
    future: asyncio.Future[EditAnswer] = asyncio.get_running_loop().create_future()
    future.set_result(answer)
    return future


def _told(level: Level, message: str) -> Json:
    """Return the message in the shape of `window/showMessage` and `logMessage`."""
    if len(message) > _MESSAGE_LIMIT:
        half = _MESSAGE_LIMIT // 2
        message = f"{message[:half]} … {message[-half:]}"
    return {"type": _MESSAGE_TYPES[level], "message": message}


async def _edit_answer(answer: Awaitable[object]) -> EditAnswer:
    """Read the editor's answer. ±32603, other errors, `false` and nonsense all mean "no"; the mirror shows what really happened."""
    try:
        result = await answer
    except EditorRefused as refusal:
        words = str(refusal.args[0]) if refusal.args else ""
        return EditAnswer(False, words or "the editor answered with an error")
    if not isinstance(result, Mapping):
        return EditAnswer(False, "the editor's answer is not understood")
    fields = cast(Json, result)
    reason = fields.get("failureReason")
    return EditAnswer(fields.get("applied") is True, reason if isinstance(reason, str) else "")


class _Refresh:
    """A refresh request, with at most one unanswered. Requests made meanwhile lead to one more afterwards."""

    def __init__(self, wire: Wire, tasks: TaskStarter, method: str) -> None:
        self._wire = wire
        self._tasks = tasks
        self._method = method
        self._running = False
        self._wanted = False

    def want(self) -> None:
        self._wanted = True
        if not self._running:
            self._running = True
            self._tasks.start_soon(self._run)

    async def _run(self) -> None:
        try:
            while self._wanted:
                self._wanted = False
                async with asyncio.timeout(ANSWER_WITHIN):
                    await self._wire.request(self._method)
        except (EditorRefused, EditorGone, TimeoutError) as error:
            _log.info("%s: %s", self._method, error)
        finally:
            self._running = False
