"""A Workspace over a real temporary folder for tests, with any ports.Editor and with agents that do nothing by
themselves.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import anyio

from sidecar.config import AgentCommand, parse
from sidecar.core.coordinates import TextEdit
from sidecar.core.kept_files import KeptFile, to_kept
from sidecar.core.kept_hunks import AsJson
from sidecar.core.normal import normal
from sidecar.core.overlay import ContentChange, Modification, Notified
from sidecar.core.policy import Matchers
from sidecar.core.refusal import Refusal
from sidecar.core.retold import Told
from sidecar.core.text import Position, Range, Text
from sidecar.core.uri import DocumentUri, from_name, is_untitled
from sidecar.journal.entry import Entry, JournalFailed, Texts
from sidecar.journal.turns import PreImage, SavedOver, TurnStart
from sidecar.matchers import compile_matchers
from sidecar.records import Records
from sidecar.workspace.files.writes import WriteDone
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.ports import (
    DocumentEdit,
    EditAnswer,
    EditorCapabilities,
    EditorRefused,
    OpenedSession,
    Opens,
    Question,
    Reloaded,
    Saved,
    SessionRequest,
)
from sidecar.workspace.service import Workspace
from sidecar.workspace.state.storage import Storage


class QuietEditor:
    """An editor without any features that is never asked anything. It remembers what it was told."""

    def __init__(self, **capabilities: Any) -> None:
        self.capabilities = EditorCapabilities(**capabilities)
        self.shown: list[tuple[str, str]] = []
        self.questions: list[Question] = []
        self.answer: str | None = None
        self.turns: list[Mapping[str, object]] = []
        self.updates: list[Mapping[str, object]] = []
        self.opened: list[OpenedSession] = []

    def apply_edit(self, label: str, edit: DocumentEdit) -> Awaitable[EditAnswer]:
        future: asyncio.Future[EditAnswer] = asyncio.get_running_loop().create_future()
        future.set_result(EditAnswer(False, "no edits here"))
        return future

    async def save(self, client_uri: str, version: int, *, exact: bool = False) -> Saved:
        return Saved(False)

    async def open(self, client_uri: str) -> int:
        raise EditorRefused("no")

    async def close(self, client_uri: str) -> None: ...

    async def reload(
        self, client_uri: str, version: int, edits: Sequence[TextEdit], changes: Sequence[TextEdit] = ()
    ) -> Reloaded | str:
        raise EditorRefused("no")

    async def ask(self, question: Question) -> str | None:
        self.questions.append(question)
        return self.answer

    def show(self, level: str, message: str, opens: Opens | None = None) -> None:
        self.shown.append((level, message))

    def notice(self, session_id: str, message: str) -> None: ...

    def log(self, level: str, message: str) -> None: ...

    def session_update(self, session_id: str, update: Mapping[str, object]) -> None:
        self.updates.append(update)

    def session_opened(self, opened: OpenedSession) -> None:
        self.opened.append(opened)

    def terminal_output(self, session_id: str, terminal_id: str, output: str) -> None: ...
    def reviewed(self, session_id: str, turn: int, verdict: str, changes: int) -> None: ...
    def terminal_ended(self, session_id: str, terminal_id: str, end: object) -> None: ...

    def turn_ended(self, outcome: Mapping[str, object]) -> None:
        self.turns.append(outcome)

    def progress(self, title: str, on_cancel: Callable[[], None] | None) -> Any:
        class Nothing:
            def report(self, message: str) -> None: ...
            def end(self, message: str) -> None: ...

        return Nothing()

    async def show_document(self, client_uri: str, *, take_focus: bool) -> bool:
        return False

    def changes_moved(self, client_uris: Sequence[str]) -> None: ...


class IdleAgents:
    """Agents whose sessions always exist and whose turns last until `finish`."""

    def __init__(self, *, rereads: bool = False) -> None:
        """`rereads`: their programs are known to read a file once more just before they write it."""
        self.rereads = rereads
        self.opened: list[SessionRequest] = []
        self.closed: list[str] = []
        self.cancelled: list[str] = []
        self.stop: asyncio.Future[str] | None = None

    def list(self) -> list[Any]:
        return []

    async def open_session(self, request: SessionRequest) -> OpenedSession:
        self.opened.append(request)
        return OpenedSession(request.session_id, request.agent, rereads=self.rereads)

    async def prompt(self, session_id: str, blocks: Sequence[Mapping[str, object]]) -> str:
        self.stop = asyncio.get_running_loop().create_future()
        return await self.stop

    def cancel(self, session_id: str) -> None:
        self.cancelled.append(session_id)

    def silent_for(self, session_id: str) -> float:
        return 0.0

    def last_words(self, session_id: str) -> builtins.list[str]:
        return []

    async def close_session(self, session_id: str) -> None:
        self.closed.append(session_id)

    def found(self, agent: str) -> AgentCommand | None:
        return None

    def reference(self, session_id: str) -> str:
        return ""

    def runs(self, agent: str) -> bool:
        return False

    def status(self) -> list[Any]:
        return []


class EveryAgent:
    """Approvals that include every command."""

    def knows(self, command: AgentCommand) -> bool:
        return True

    def remember(self, command: AgentCommand) -> None: ...


class NoAudit:
    def record(self, event: str, **fields: object) -> None: ...


class Bench:
    """One workspace with one session in `folder`, and short names for what tests do with it."""

    def __init__(self, folder: Path, workspace: Workspace, session: str) -> None:
        self.folder = folder
        self.workspace = workspace
        self.session = session

    def path(self, name: str) -> str:
        return name if name.startswith("/") or is_untitled(name) else str(self.folder / name)

    def uri(self, name: str) -> DocumentUri:
        return from_name(self.path(name))

    async def read(
        self, name: str, line: int | None = None, limit: int | None = None, session: str | None = None
    ) -> str | Refusal:
        ticket = self.workspace.ticket(session or self.session, self.path(name), "read")
        return await self.workspace.read(ticket, line, limit)

    async def write(self, name: str, content: str, session: str | None = None) -> WriteDone | Refusal:
        ticket = self.workspace.ticket(session or self.session, self.path(name), "write")
        return await self.workspace.write(ticket, content)

    async def observed(self, name: str) -> None:
        """The open document has been compared with its file, and what was stored of its review is there."""
        tracked = self.workspace.state.documents.get(self.uri(name))
        assert tracked is not None
        async with asyncio.timeout(60):
            await tracked.observed.wait()

    async def another_session(self) -> str:
        opened = await self.workspace.new_session("agent", str(self.folder))
        agent_may_act(self.workspace, opened.session_id)
        return opened.session_id

    def open(self, name: str, text: str, version: int = 1) -> None:
        uri = self.uri(name)
        self.workspace.apply(Modification(uri, Notified.OPEN, version, text=text, client_uri=uri))

    def type(
        self,
        name: str,
        version: int,
        line: int,
        character: int,
        text: str,
        end: tuple[int, int] | None = None,
    ) -> None:
        start = Position(line, character)
        change = ContentChange(Range(start, Position(*end) if end else start), text)
        self.workspace.apply(Modification(self.uri(name), Notified.CHANGE, version, (change,)))

    def text(self, name: str) -> str:
        document = self.workspace.state.overlay.get(self.uri(name))
        assert document is not None
        return str(document.snapshot())


def agent_may_act(workspace: Workspace, session_id: str) -> None:
    """Lets the agent write as if it had been given a prompt, until a real turn of it ends."""
    session = workspace.state.sessions.get(session_id)
    assert session is not None
    session.prompted()


@asynccontextmanager
async def a_workspace(
    folder: Path,
    editor: Any = None,
    agents: Any = None,
    settings: Mapping[str, object] | None = None,
    journal: Any = None,
    approvals: Any = None,
    audit: Any = None,
    storage: Storage | None = None,
    records: Records | None = None,
    watch: Any = None,
) -> AsyncIterator[Bench]:
    """Yields a workspace and ends all its tasks at the end."""
    parsed, problems = parse({"agents": {"agent": {"command": "none"}}, **(settings or {})})
    assert not problems
    matchers = _matchers(tuple(parsed.secret_patterns), tuple(parsed.protected_patterns))
    matchers = replace(matchers, home=str(folder / "home"))
    async with anyio.create_task_group() as tasks:
        workspace = Workspace(
            parsed,
            storage or Storage(parsed.max_file_bytes),
            matchers,
            journal or MemoryJournal(),
            approvals or EveryAgent(),
            audit or NoAudit(),
            editor or QuietEditor(),
            agents or IdleAgents(),
            Background(tasks, strict=True),
            records,
            watch,
        )
        workspace.roots_changed([str(folder)])
        opened = await workspace.new_session()
        agent_may_act(workspace, opened.session_id)
        yield Bench(folder, workspace, opened.session_id)
        await workspace.close_session(opened.session_id)
        for session in list(workspace.state.sessions):
            await workspace.close_session(session.id)
        tasks.cancel_scope.cancel()


@cache
def _matchers(secret: tuple[str, ...], protected: tuple[str, ...]) -> Matchers:
    """Compiled once: that takes as long as many a test."""
    matchers, problems = compile_matchers(secret, protected, home="/")
    assert not problems
    return matchers


class MemoryJournal:
    """A journal in a list. `fail` makes it refuse."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self._by_path: dict[str, list[str]] = {}
        self.taken_back: dict[str, tuple[str, ...]] = {}
        self.states: dict[str, str] = {}
        self.ledgers: dict[str, tuple[str, bytes]] = {}
        self.ledgers_in_files: dict[str, tuple[str, bytes]] = {}
        self.fail = ""
        self.turns: dict[str, TurnStart] = {}
        self.turn_saves: dict[tuple[str, str], PreImage] = {}
        self.turn_savings: dict[tuple[str, str], SavedOver] = {}

    async def begin(self, entry: Entry, takes_back: Sequence[str] = ()) -> str:
        if self.fail:
            raise JournalFailed(self.fail)
        entry_id = f"w{len(self.entries) + 1}"
        self.entries[entry_id] = entry
        self._by_path.setdefault(entry.path, []).append(entry_id)
        self.taken_back[entry_id] = tuple(takes_back)
        self.states[entry_id] = "intent"
        await asyncio.sleep(0)
        return entry_id

    async def begin_all(
        self, entries: Sequence[Entry], takes_back: Sequence[Sequence[str]] = ()
    ) -> list[str]:
        writes = takes_back or [()] * len(entries)
        return [await self.begin(entry, its) for entry, its in zip(entries, writes, strict=True)]

    async def put_back(self, path: str, text: str | None, since: int = 0) -> bool:
        its = reversed(self._by_path.get(path, []))
        newest = next((self.entries[i] for i in its if self.states[i] not in ("failed", "intent")), None)
        if newest is None or newest.agent not in ("revert", "reject"):
            return False
        if newest.states is not None:
            return text is None and newest.states[1] is None
        return (None if newest.after is None else normal(newest.after)) == text

    async def told(self, path: str, text: str | None = None) -> list[Told]:
        return []

    async def held(self, path: str, text: str) -> bool:
        befores = (self.entries[i].before for i in self._by_path.get(path, []))
        return any(before is not None and normal(before) == text for before in befores)

    async def finish(self, entry_id: str, state: str) -> None:
        self.states[entry_id] = state

    async def finish_all(self, entry_ids: Sequence[str], state: str) -> None:
        for entry_id in entry_ids:
            await self.finish(entry_id, state)

    async def save_ledger(
        self,
        uri: str,
        text: str | Text,
        hunks: bytes | AsJson,
        in_file: tuple[Text, AsJson] | None = None,
    ) -> None:
        self.ledgers_in_files.pop(uri, None)
        self.ledgers[uri] = (str(text), b"".join(hunks) if isinstance(hunks, AsJson) else hunks)
        if in_file is not None:
            self.ledgers_in_files[uri] = (str(in_file[0]), b"".join(in_file[1]))

    async def save_rows(
        self, rows: Mapping[str, KeptFile], forgotten: Collection[str] = (), rejected: Collection[str] = ()
    ) -> None:
        if rejected:
            await self.finish_all(list(rejected), "rejected")
        for name, kept in rows.items():
            await self.save_ledger(name, *to_kept(kept))
        if forgotten:
            await self.forget_ledger(*forgotten)

    async def save_picked(self, path: str, text: str, hunks: bytes) -> None: ...

    async def load_ledger(self, uri: str) -> tuple[str, bytes] | None:
        return self.ledgers.get(uri)

    async def load_ledger_in_file(self, uri: str) -> tuple[str, bytes] | None:
        return self.ledgers_in_files.get(uri)

    async def ledger_uris(self) -> list[str]:
        return list(self.ledgers)

    async def forget_ledger(self, *uris: str) -> None:
        for uri in uris:
            self.ledgers.pop(uri, None)
            self.ledgers_in_files.pop(uri, None)

    async def undone(self, entry_ids: Collection[str], *, or_rejected: bool = False) -> set[str]:
        return set()

    async def removal(self, path: str) -> None:
        return None

    async def gone_before(self, entry_id: str) -> list[tuple[Texts, None]]:
        return []

    async def paths(self, entry_ids: Collection[str]) -> list[str]:
        return list(dict.fromkeys(self.entries[one].path for one in entry_ids if one in self.entries))

    async def folders_under_review(self) -> list[str]:
        return []

    async def turn_began(self, start: TurnStart) -> None:
        self.turns[start.session] = start

    async def turn_saved(self, session: str, path: str, image: PreImage) -> None:
        self.turn_saves[session, path] = image

    async def turn_saving(self, session: str, path: str, save: SavedOver) -> None:
        self.turn_savings[session, path] = save

    async def turns_seen(self) -> None: ...

    async def turn_acted(self, session: str) -> None: ...

    async def turn_ended(self, session: str) -> None:
        self.turns.pop(session, None)

    async def last_turn(self, session: str) -> int:
        return max((entry.turn for entry in self.entries.values() if entry.session == session), default=0)


class SlowJournal(MemoryJournal):
    """Takes that many seconds until a write is journalled."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def begin(self, entry: Entry, takes_back: Sequence[str] = ()) -> str:
        if self._seconds:
            await asyncio.sleep(self._seconds)
        return await super().begin(entry, takes_back)
