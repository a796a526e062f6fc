"""Fakes below the wire: an editor that answers by script, an editor with buffers, a workspace that does as told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sidecar.core.overlay import ContentChange, Document, Modification, Notified, Overlay
from sidecar.core.text import Encoding, Position, Range
from sidecar.core.uri import DocumentUri, normalise
from sidecar.lsp.pending import Pending
from sidecar.workspace.ports.ports import AgentInfo, OpenedSession

SILENCE = object()
"""As an answer: none comes; the request stays in `FakeWire.open`."""


async def until(condition: Callable[[], object]) -> None:
    """Lets the loop run until something is true; fails after a bound that only a hang reaches."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - a condition of any kind, not an event
            await asyncio.sleep(0.002)


async def turns_of_the_loop(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class Tasks:
    """A TaskStarter; a task that raises fails the test at `check`."""

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[Any]] = []

    def start_soon(self, func: Callable[..., Coroutine[Any, Any, Any]], /, *args: Any) -> None:
        self.tasks.append(asyncio.create_task(func(*args)))

    async def check(self) -> None:
        for task in self.tasks:
            if not task.done():
                task.cancel()
        for result in await asyncio.gather(*self.tasks, return_exceptions=True):
            if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
                raise result


@dataclass
class FakeWire:
    """`answers`: by method a value, an exception, SILENCE or a function of the params; null where nothing is said."""

    answers: dict[str, Any] = field(default_factory=dict)
    sent: list[tuple[str, Any]] = field(default_factory=list)
    open: list[tuple[str, Pending]] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)

    def request(self, method: str, params: Mapping[str, object] | None = None) -> Pending:
        self.sent.append((method, params))
        pending = Pending(f"s{len(self.sent)}", lambda _: self.withdrawn.append(method))
        answer = self.answers.get(method)
        if callable(answer):
            answer = answer(params)
        if answer is SILENCE:
            self.open.append((method, pending))
        elif isinstance(answer, Exception):
            pending.fail(answer)
        else:
            pending.resolve(answer)
        return pending

    def notify(
        self, method: str, params: Mapping[str, object] | None = None, coalesce_key: Any = None
    ) -> None:
        self.sent.append((method, params))

    def methods(self) -> list[str]:
        return [method for method, _ in self.sent]

    def params(self, method: str) -> list[Any]:
        return [params for sent, params in self.sent if sent == method]

    def take(self, method: str) -> Pending:
        """An unanswered request."""
        index = next(i for i, (name, _) in enumerate(self.open) if name == method)
        return self.open.pop(index)[1]


class Buffers:
    """An editor's buffers behind `workspace/applyEdit`: versions are checked, changes are reported, lies are possible."""

    def __init__(self, wire: FakeWire, encoding: Encoding = Encoding.UTF_16) -> None:
        self.overlay = Overlay(encoding)
        self.behaviours: list[str] = []
        """What the next edits meet: "apply", "lie" (true, nothing applied), "refuse", "type" (the user types before it)."""
        self.labels: list[str] = []
        wire.answers["workspace/applyEdit"] = self._apply
        self.on_type: Callable[[], None] = lambda: None
        self.on_show: Callable[[DocumentUri], None] = lambda uri: None

    def show(self, uri: str, text: str, version: int = 1) -> None:
        self.overlay.apply(Modification(normalise(uri), Notified.OPEN, version, text=text, client_uri=uri))
        self.on_show(normalise(uri))

    def close(self, uri: str) -> None:
        self.overlay.apply(Modification(normalise(uri), Notified.CLOSE))

    def document(self, uri: str) -> Document:
        document = self.overlay.get(normalise(uri))
        assert document is not None
        return document

    def text(self, uri: str) -> str:
        return str(self.document(uri).snapshot())

    def type(self, uri: str, text: str) -> None:
        """The user types at the end."""
        document = self.document(uri)
        end = document.snapshot().position_at(len(document.snapshot()), self.overlay.encoding)
        self.change(uri, [ContentChange(Range(end, end), text)])

    def change(self, uri: str, changes: Sequence[ContentChange]) -> None:
        document = self.document(uri)
        self.overlay.apply(Modification(document.uri, Notified.CHANGE, document.version + 1, tuple(changes)))

    def _apply(self, params: Any) -> object:
        self.labels.append(params["label"])
        behaviour = self.behaviours.pop(0) if self.behaviours else "apply"
        (edit,) = params["edit"]["documentChanges"]
        uri, version = edit["textDocument"]["uri"], edit["textDocument"]["version"]
        if behaviour == "lie":
            return {"applied": True}
        if behaviour == "refuse":
            return {"applied": False, "failureReason": "busy"}
        if behaviour == "type":
            self.on_type()
        if version != self.document(uri).version:
            return {"applied": False}
        self.change(uri, [_change(one) for one in reversed(edit["edits"])])
        return {"applied": True}


def _change(edit: Any) -> ContentChange:
    start, end = (Position(edit["range"][k]["line"], edit["range"][k]["character"]) for k in ("start", "end"))
    return ContentChange(Range(start, end), edit["newText"])


@dataclass
class FakeService:
    """Sessions s1, s2 …; `turn` says what a turn does and gives its outcome."""

    turn: Callable[[str, Sequence[Any]], Awaitable[Mapping[str, object]]] | None = None
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    failure: Exception | None = None
    """Raised by whatever is called next."""

    async def new_session(
        self, agent: str | None, cwd: str | None, additional: Sequence[str], mcp_servers: Sequence[Any]
    ) -> OpenedSession:
        self._called("new_session", agent, cwd, list(additional), list(mcp_servers))
        self.sessions.append(f"s{len(self.sessions) + 1}")
        return OpenedSession(self.sessions[-1], agent or "first", modes={"currentModeId": "code"})

    def start_prompt(
        self, session_id: str | None, blocks: Sequence[Any]
    ) -> tuple[str, int, Awaitable[Mapping[str, object]]]:
        self._called("start_prompt", session_id, list(blocks))
        if session_id is None:
            self.sessions.append(f"s{len(self.sessions) + 1}")
            session_id = self.sessions[-1]
        return session_id, 1, self._outcome(session_id, blocks)

    async def _outcome(self, session_id: str, blocks: Sequence[Any]) -> Mapping[str, object]:
        if self.turn is not None:
            return await self.turn(session_id, blocks)
        return {"sessionId": session_id, "turn": 1, "stopReason": "end_turn", "changes": []}

    def cancel(self, session_id: str | None) -> None:
        self._called("cancel", session_id)

    def stop_command(self, session_id: str, terminal_id: str) -> None:
        self._called("stop_command", session_id, terminal_id)

    async def close_session(self, session_id: str | None) -> None:
        self._called("close_session", session_id)

    def status(self) -> Mapping[str, object]:
        return {"agents": [], "sessions": [{"sessionId": one} for one in self.sessions]}

    def list_agents(self) -> Sequence[AgentInfo]:
        return [
            AgentInfo("first", "First", "configured", True, version="1.2"),
            AgentInfo("other", "Other", "registry", False, needs="npx"),
        ]

    def _called(self, *call: Any) -> None:
        self.calls.append(call)
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
