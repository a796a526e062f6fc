"""Audience: shares the conversations with clients that are attached beside the editor.

It stands between the workspace and its editor. A session's output goes to the editor and the clients, and so does a question about the session: the
first answer counts, whoever gives it, and the question is withdrawn from the others. Only the editor is asked whether something (an agent, an MCP
server, a guest) may start here or be let in at all.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from sidecar.core.json_types import Json
from sidecar.workspace.ports.ports import Editor, OpenedSession, Question

MOST_COMMANDS = 256
"""The number of sessions whose last list of commands is kept."""
_COMMANDS = "available_commands_update"


class Listener(Protocol):
    """An attached client. No method waits."""

    def hears(self, session_id: str) -> bool: ...
    def update(self, session_id: str, update: Json) -> None: ...
    def asked(self, question: Question) -> None: ...
    def withdrawn(self, question_id: str) -> None:
        """Somebody else has answered the question, or nobody may answer it any more."""
        ...


class _Open:
    """An unanswered question."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self.shown: list[Listener] = []


class Audience:
    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._listeners: list[Listener] = []
        self._open: dict[str, _Open] = {}
        self._commands: OrderedDict[str, Json] = OrderedDict()
        self.prompted_elsewhere: Callable[[str, Sequence[Json]], None] = lambda session_id, blocks: None
        """Called for every prompt that did not come from the editor."""

    @property
    def editor(self) -> Editor:
        """The editor for the workspace: whatever it is told about sessions also goes to the listeners."""
        return cast("Editor", _Shared(self, self._editor))

    def join(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def leave(self, listener: Listener) -> None:
        self._listeners = [one for one in self._listeners if one is not listener]
        for question in self._open.values():
            question.shown = [one for one in question.shown if one is not listener]

    def came(self, listener: Listener, session_id: str) -> None:
        """Start a listener on this session: send it the current state that no record contains."""
        if session_id in self._commands:
            listener.update(session_id, self._commands[session_id])
        for asked in self._open.values():
            is_open = asked.question.session_id == session_id and not asked.answer.done()
            if is_open and listener not in asked.shown:
                asked.shown.append(listener)
                listener.asked(asked.question)

    # output

    def update(self, session_id: str, update: Json, *, but: Listener | None = None) -> None:
        if update.get("sessionUpdate") == _COMMANDS:
            self._commands[session_id] = update
            self._commands.move_to_end(session_id)
            if len(self._commands) > MOST_COMMANDS:
                self._commands.popitem(last=False)
        for listener in self._hearing(session_id):
            if listener is not but:
                listener.update(session_id, update)

    def prompted(self, session_id: str, blocks: Sequence[Json], by: Listener | None) -> None:
        """Report a prompt that has begun a turn. `by` is None if the editor sent it."""
        for block in blocks:
            self.update(session_id, {"sessionUpdate": "user_message_chunk", "content": block}, but=by)
        if by is not None:
            self.prompted_elsewhere(session_id, blocks)

    def chose(self, session_id: str, update: Json, by: Listener | None) -> None:
        """Report that a mode or an option was chosen."""
        self.update(session_id, update, but=by)
        if by is not None:
            self._editor.session_update(session_id, update)

    # questions

    async def ask(self, question: Question) -> str | None:
        if question.guest or question.action == "start":
            return await self._editor.ask(question)
        asked = self._open[question.id] = _Open(question)
        editors = asyncio.ensure_future(self._editor.ask(question))
        asked.shown = self._hearing(question.session_id)
        for listener in asked.shown:
            listener.asked(question)
        try:
            await asyncio.wait({editors, asked.answer}, return_when=asyncio.FIRST_COMPLETED)
            return asked.answer.result() if asked.answer.done() else editors.result()
        finally:
            del self._open[question.id]
            asked.answer.cancel()
            for listener in asked.shown:
                listener.withdrawn(question.id)
            editors.cancel()
            await asyncio.gather(editors, return_exceptions=True)

    def answered(self, listener: Listener, question_id: str, option_id: str) -> bool:
        """Take an answer. Return False unless it is the first one, from a listener that was asked, and one of the question's options."""
        asked = self._open.get(question_id)
        if asked is None or asked.answer.done() or listener not in asked.shown:
            return False
        if all(option.id != option_id for option in asked.question.options):
            return False
        asked.shown.remove(listener)  # its own question is not withdrawn
        asked.answer.set_result(option_id)
        return True

    def _hearing(self, session_id: str) -> list[Listener]:
        return [one for one in self._listeners if one.hears(session_id)]


class _Shared:
    """The editor's port. Session updates, opened sessions and questions also go to the listeners."""

    def __init__(self, audience: Audience, editor: Editor) -> None:
        self._audience = audience
        self._editor = editor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._editor, name)

    def session_update(self, session_id: str, update: Json) -> None:
        self._editor.session_update(session_id, update)
        self._audience.update(session_id, update)

    def session_opened(self, opened: OpenedSession) -> None:
        """Report the modes and options chosen now. ACP has no message for an opened session, and cannot report a list of modes later."""
        self._editor.session_opened(opened)
        if opened.modes is not None:
            mode = {
                "sessionUpdate": "current_mode_update",
                "currentModeId": opened.modes.get("currentModeId"),
            }
            self._audience.update(opened.session_id, mode)
        if opened.config_options is not None:
            options = {"sessionUpdate": "config_option_update", "configOptions": list(opened.config_options)}
            self._audience.update(opened.session_id, options)

    async def ask(self, question: Question) -> str | None:
        return await self._audience.ask(question)
