"""Commands: translates `workspace/executeCommand` into calls of the workspace. ext.py defines names, arguments and answers.

Nothing here waits for an agent's turn unless the caller requests it (`wait`): Emacs blocks on a command for at most 10 s. The progress,
`sidecar/turnEnded` and the transcript show how a turn proceeds. Every failure has a message for the user.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import msgspec
from pygls.exceptions import JsonRpcException

from sidecar.lsp import ext
from sidecar.lsp.protocol import CommandFailed, InvalidParams
from sidecar.lsp.transcript import Transcripts
from sidecar.lsp.workspace_port import LspWorkspace, TaskStarter, words_of
from sidecar.workspace.ports.ports import AgentFailed, AgentInfo, Editor, EditorGone, OpenedSession

_log = logging.getLogger(__name__)
A = TypeVar("A", bound=ext.Arguments)


@dataclass(frozen=True, slots=True)
class _Command:
    shape: type[ext.Arguments]
    run: Callable[[Any], object]


class EditorCommands:
    """All commands of one connection by name. More can be added with `add` before the server starts."""

    def __init__(
        self,
        service: LspWorkspace,
        transcripts: Transcripts,
        editor: Editor,
        tasks: TaskStarter,
        questions: Callable[[], list[dict[str, object]]] = list,
    ) -> None:
        """`questions`: returns the user's open questions, for `sidecar.status`."""
        self._questions = questions
        self._service = service
        self._transcripts = transcripts
        self._editor = editor
        self._tasks = tasks
        self._commands: dict[str, _Command] = {}
        self.add(ext.NEW_SESSION, ext.NewSession, self._new_session)
        self.add(ext.PROMPT, ext.Prompt, self._prompt)
        self.add(ext.CANCEL, ext.OfSession, self._cancel)
        self.add(ext.STOP_COMMAND, ext.StopCommand, self._stop_command)
        self.add(ext.CLOSE_SESSION, ext.OfSession, self._close_session)
        self.add(ext.OPEN_CHAT, ext.OfSession, self._open_chat)
        self.add(ext.SEND, ext.Send, self._send)
        self.add(ext.ANSWER, ext.Answer, self._answer)
        self.add(ext.LIST_AGENTS, ext.NoArguments, self._list_agents)
        self.add(ext.STATUS, ext.NoArguments, self._status)

    def add(self, name: str, shape: type[A], run: Callable[[A], object]) -> None:
        """Add a command. `run` returns the answer as JSON, or an awaitable of it."""
        self._commands[name] = _Command(shape, run)

    @property
    def names(self) -> list[str]:
        return list(self._commands)

    def execute(self, name: str, argument: object = None) -> Awaitable[object]:
        """Run a command and return an awaitable of its answer as JSON. The synchronous part of the command is done when this returns, in the order of
        arrival. Raises InvalidParams or CommandFailed, whose messages are for the user."""
        command = self._commands.get(name)
        if command is None:
            raise InvalidParams(f"no such command: {name}")
        try:
            result = command.run(parse(name, command.shape, argument))
        except Exception as error:
            raise _failure(name, error) from error
        return _answer_of(name, result)

    async def _new_session(self, given: ext.NewSession) -> object:
        opened = await self._service.new_session(
            given.agent, given.cwd, given.additional_directories, given.mcp_servers
        )
        self._transcripts.session_used(opened.session_id)
        return _opened(opened)

    def _prompt(self, given: ext.Prompt) -> object:
        prompt = given.prompt
        blocks: list[dict[str, Any]] = (
            [{"type": "text", "text": prompt}] if isinstance(prompt, str) else prompt
        )
        if not blocks or (isinstance(prompt, str) and not prompt.strip()):
            raise InvalidParams(f"{ext.PROMPT}: the prompt is empty")
        context = [ext.mention(item) for item in given.context]
        session_id, turn, outcome = self._service.start_prompt(
            given.session_id, blocks, *([context] if context else [])
        )
        self._transcripts.session_used(session_id)
        if given.wait:
            return self._wait(session_id, outcome)
        self._tasks.start_soon(self._follow, outcome)
        if not self._editor.capabilities.session_updates:
            self._transcripts.follow(session_id, prompt_text(blocks))
        return {"sessionId": session_id, "turn": turn}

    async def _wait(self, session_id: str, outcome: Awaitable[Mapping[str, object]]) -> object:
        try:
            ended = dict(await outcome)
        except asyncio.CancelledError:
            self._service.cancel(session_id)  # `$/cancelRequest` means the work, not only the answer
            raise
        error = ended.get("error")
        if isinstance(error, str):
            raise CommandFailed(error, data=ended)
        return ended

    async def _follow(self, outcome: Awaitable[Mapping[str, object]]) -> None:
        """Wait for the end of a turn that no command waits for. Its outcome reports a failed turn; this handles unexpected errors. Never raises: it
        is the top of a task."""
        try:
            await outcome
        except EditorGone:
            return
        except Exception as error:  # noqa: BLE001 - a task must not end the others
            self._editor.show("error", _failure(ext.PROMPT, error).message)

    def _cancel(self, given: ext.OfSession) -> object:
        self._service.cancel(given.session_id)
        return None

    def _stop_command(self, given: ext.StopCommand) -> object:
        self._service.stop_command(given.session_id, given.terminal_id)
        return None

    async def _close_session(self, given: ext.OfSession) -> object:
        await self._service.close_session(given.session_id)
        if given.session_id is not None:
            self._transcripts.session_closed(given.session_id)
        return None

    def _open_chat(self, given: ext.OfSession) -> object:
        return self._transcripts.open(given.session_id)

    def _send(self, given: ext.Send) -> object:
        return self._transcripts.send(given.uri)

    def _answer(self, given: ext.Answer) -> object:
        self._transcripts.answer(given.question_id, given.option_id)
        return None

    def _list_agents(self, _: ext.NoArguments) -> object:
        return [_agent(agent) for agent in self._service.list_agents()]

    def _status(self, _: ext.NoArguments) -> object:
        return {**self._service.status(), "questions": self._questions()}


def prompt_text(blocks: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of a prompt."""
    return "\n\n".join(
        str(block["text"]) for block in blocks if block.get("type") == "text" and "text" in block
    )


async def _answer_of(name: str, result: object) -> object:
    if not inspect.isawaitable(result):
        return result
    try:
        return await cast("Awaitable[object]", result)
    except Exception as error:
        raise _failure(name, error) from error


def _failure(name: str, error: Exception) -> JsonRpcException:
    """Return the error to answer with. Its message is for the user and never contains a traceback; that goes to the log."""
    if isinstance(error, JsonRpcException):
        return error
    if isinstance(error, EditorGone):
        return CommandFailed(f"{name}: the editor's connection has ended")
    words = words_of(error)
    if words is None:
        _log.error("%s failed", name, exc_info=error)
        return CommandFailed(f"{name} failed inside the sidecar; see its log")
    if isinstance(error, AgentFailed):
        return CommandFailed(words, data={"kind": error.kind, **error.data})
    return CommandFailed(f"{name}: {words}" if isinstance(error, OSError) else words)


def parse(name: str, shape: type[A], argument: object) -> A:
    """Convert the argument to its shape. Accepts an object, a string if the shape names a field for it, or nothing. Raises InvalidParams."""
    if argument is None:
        argument = {}
    elif isinstance(argument, str) and shape.TEXT:
        argument = {shape.TEXT: argument}
    if not isinstance(argument, dict):
        wish = "an object or a string" if shape.TEXT else "an object"
        raise InvalidParams(f"{name} takes {wish} as its argument")
    try:
        return msgspec.convert(cast("dict[str, object]", argument), shape)
    except msgspec.ValidationError as error:
        raise InvalidParams(f"{name}: {error}") from error


def _opened(opened: OpenedSession) -> dict[str, object]:
    return {"sessionId": opened.session_id, "agent": opened.agent, **opened.choices}


def _agent(agent: AgentInfo) -> dict[str, object]:
    row: dict[str, object] = {
        "id": agent.id,
        "name": agent.name,
        "source": agent.source,
        "installed": agent.installed,
    }
    if agent.version:
        row["version"] = agent.version
    if agent.needs:
        row["needs"] = agent.needs
    return row
