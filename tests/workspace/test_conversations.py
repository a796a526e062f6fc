"""Conversations with agents that do as told: what is history, who is asked, what is left out, what is refused in words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sidecar.approvals import Approvals
from sidecar.config import AgentCommand
from sidecar.records import About, Records
from sidecar.records.folder import RecordFolder
from sidecar.workspace.ports.ports import AgentFailed, AgentInfo, OpenedSession, SessionRequest
from sidecar.workspace.ports.session_ports import AgentState, Elicitation, Elicited, ListedSession
from tests.lsp.fakes import until
from tests.support.journals import entry
from tests.support.workspaces import Bench, IdleAgents, MemoryJournal, QuietEditor, a_workspace

TOOL = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Edit", "kind": "edit"}


def text(words: str, kind: str = "agent_message_chunk") -> dict[str, Any]:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": words}}


class Editor(QuietEditor):
    def __init__(self, **capabilities: Any) -> None:
        super().__init__(**capabilities)
        self.history: list[tuple[str, Any]] = []
        self.forms: list[Elicitation] = []
        self.states: list[AgentState] = []
        self.elicited: Elicited | None = None

    def session_history(self, session_id: str, update: Mapping[str, object]) -> None:
        self.history.append((session_id, update))

    def history_shown(self) -> None: ...

    def agent_state(self, state: AgentState) -> None:
        self.states.append(state)

    async def elicit(self, elicitation: Elicitation) -> Elicited:
        self.forms.append(elicitation)
        if self.elicited is None:
            await asyncio.Event().wait()
        assert self.elicited is not None
        return self.elicited


class Agents(IdleAgents):
    """`tell` is called while a session is loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.running = True
        self.listed: dict[str, Sequence[ListedSession] | AgentFailed] = {}
        self.load: OpenedSession | AgentFailed | None = None
        self.loaded: list[tuple[SessionRequest, str, bool]] = []
        self.forked: list[tuple[SessionRequest, str]] = []
        self.deleted: list[str] = []
        self.folders: list[Sequence[str]] = []
        self.started_in: list[str] = []
        self.tell: Callable[[str], None] = lambda session_id: None
        self.one: dict[str, AgentCommand] = {}

    def list(self) -> list[AgentInfo]:
        return [AgentInfo(name, name, "found", True) for name in self.one] or [
            AgentInfo(name, name, "configured", True) for name in ("agent", "other")
        ]

    def runs(self, agent: str) -> bool:
        return self.running and agent in ("agent", "other")

    def found(self, agent: str) -> AgentCommand | None:
        return self.one.get(agent)

    def reference(self, session_id: str) -> str:
        return "theirs"

    async def list_sessions(self, agent: str, folders: Sequence[str], cwd: str) -> Sequence[ListedSession]:
        self.folders.append(folders)
        listed = self.listed.get(agent, ())
        if isinstance(listed, AgentFailed):
            raise listed
        return listed

    async def load_session(self, request: SessionRequest, reference: str, *, replay: bool) -> OpenedSession:
        self.loaded.append((request, reference, replay))
        self.tell(request.session_id)
        if isinstance(self.load, AgentFailed):
            raise self.load
        return self.load or OpenedSession(
            request.session_id, request.agent, reference=reference, replayed=replay
        )

    async def fork_session(self, request: SessionRequest, reference: str) -> OpenedSession:
        self.forked.append((request, reference))
        if isinstance(self.load, AgentFailed):
            raise self.load
        return OpenedSession(request.session_id, request.agent, reference="the fork", loads=True, forks=True)

    async def delete_session(self, agent: str, reference: str, cwd: str) -> None:
        self.deleted.append(reference)

    async def authenticate(self, agent: str, cwd: str, method_id: str | None, *, finished: bool) -> Any:
        self.started_in.append(cwd)
        return {"agent": agent, "state": "done"}


class Side:
    def __init__(self, bench: Bench, editor: Editor, agents: Agents, records: Records) -> None:
        self.bench, self.editor, self.agents, self.records = bench, editor, agents, records
        self.workspace = bench.workspace

    async def recorded(self, session_id: str = "abcdef123456", **about: Any) -> str:
        """A session of an earlier time, with one prompt."""
        folder = about.pop("cwd", str(self.bench.folder))
        self.records.begin(About(session_id, "agent", folder, **{"reference": "theirs", **about}))
        self.records.prompt(session_id, 3, [{"type": "text", "text": "earlier"}])
        self.records.update(session_id, 3, text("answered"))
        self.records.close(session_id)
        await self.records.list()
        return session_id

    def ids(self) -> set[str]:
        return {session.id for session in self.workspace.state.sessions}


@asynccontextmanager
async def a_side(
    tmp_path: Path, editor: Editor | None = None, agents: Agents | None = None, **how: Any
) -> AsyncIterator[Side]:
    folder = tmp_path / "w"
    folder.mkdir(parents=True)
    records = Records(RecordFolder(tmp_path / "sessions"))
    editor, agents = editor or Editor(), agents or Agents()
    async with a_workspace(folder, editor, agents, records=records, **how) as bench:
        yield Side(bench, editor, agents, records)
    await records.aclose()


# history


async def test_history_is_not_evidence_until_the_next_prompt(tmp_path: Path) -> None:
    async with a_side(tmp_path) as side:
        name = await side.recorded()
        side.agents.tell = lambda session_id: side.workspace.session_update(session_id, TOOL)
        loaded = await side.workspace.conversations.load(name)
        assert (loaded["history"], loaded["remembers"]) == ("agent", True)
        assert side.editor.history == [(name, TOOL)]
        session = side.workspace.state.sessions.get(name)
        assert session is not None
        assert session.tool_calls == {}
        side.workspace.session_update(name, {**TOOL, "toolCallId": "late"})
        assert session.tool_calls == {}
        assert side.editor.updates[-1]["toolCallId"] == "late"
        assert session.turn == 3
        _, turn, outcome = side.workspace.start_prompt(name, [{"type": "text", "text": "go on"}])
        assert turn == 4
        side.workspace.session_update(name, {**TOOL, "toolCallId": "now"})
        assert list(session.tool_calls) == ["now"]
        await until(lambda: side.agents.stop)
        assert side.agents.stop is not None
        side.agents.stop.set_result("end_turn")
        await outcome
        entries = (await side.workspace.conversations.transcript(name))["entries"]
        assert [entry["type"] for entry in entries] == ["prompt", "update", "prompt", "update", "end"]
        assert side.agents.loaded[0][1:] == ("theirs", True)


async def test_the_record_is_shown_where_the_agent_has_none(tmp_path: Path) -> None:
    async with a_side(tmp_path) as side:
        name = await side.recorded()
        side.agents.load = AgentFailed("unsupported", "agent cannot.")
        loaded = await side.workspace.conversations.load(name)
        assert (loaded["history"], loaded["remembers"], loaded["title"]) == ("transcript", False, "earlier")
        assert side.editor.history == [
            (name, text("earlier", "user_message_chunk")),
            (name, text("answered")),
        ]
        assert name in side.ids()


async def test_what_nobody_has_a_record_of_is_recorded_without_being_shown(tmp_path: Path) -> None:
    async with a_side(tmp_path) as side:
        side.agents.listed["agent"] = [ListedSession("more", str(side.bench.folder), title="More")]
        (name,) = {
            str(row["sessionId"]) for row in await side.workspace.conversations.list("agent") if row["listed"]
        }
        side.agents.tell = lambda session_id: side.workspace.session_update(session_id, text("of old"))
        loaded = await side.workspace.conversations.load(name, replay=False)
        assert (loaded["history"], loaded["remembers"]) == ("none", True)
        assert side.editor.history == []
        (entry,) = (await side.workspace.conversations.transcript(name))["entries"]
        assert entry["update"] == text("of old")


async def test_turns_go_on_where_the_record_is_gone(tmp_path: Path) -> None:
    """Else taking back turn 1 would take back two of them."""
    journal = MemoryJournal()
    async with a_side(tmp_path, journal=journal) as side:
        side.agents.listed["agent"] = [ListedSession("more", str(side.bench.folder))]
        (name,) = {
            str(row["sessionId"]) for row in await side.workspace.conversations.list("agent") if row["listed"]
        }
        for session, turn in ((name, 6), (name, 7), ("other", 9)):
            written = entry(None, "x", session=session, turn=turn)
            await journal.finish(await journal.begin(written), "done")
        await side.workspace.conversations.load(name)
        _, turn, outcome = side.workspace.start_prompt(name, [])
        assert turn == 8
        side.workspace.cancel(name)
        await outcome


async def test_what_is_being_loaded_is_left_alone(tmp_path: Path) -> None:
    async with a_side(tmp_path) as side:
        name = await side.recorded()
        told = asyncio.Event()
        go = asyncio.Event()
        load = side.agents.load_session

        async def slowly(request: SessionRequest, reference: str, *, replay: bool) -> OpenedSession:
            told.set()
            await go.wait()
            return await load(request, reference, replay=replay)

        side.agents.load_session = slowly
        loading = asyncio.ensure_future(side.workspace.conversations.load(name))
        await told.wait()
        with pytest.raises(AgentFailed, match="being loaded already"):
            await side.workspace.conversations.load(name)
        with pytest.raises(AgentFailed, match="still being loaded"):
            side.workspace.start_prompt(name, [{"type": "text", "text": "x"}])
        await side.workspace.close_session(name)
        go.set()
        with pytest.raises(AgentFailed, match="closed while it was loaded"):
            await loading
        assert side.agents.closed == [name, name], "the agent does not keep it open either"
        assert name not in side.ids()


# what happens · its words · whether the session is open afterwards
FAILURES: dict[str, tuple[AgentFailed, str, bool]] = {
    "it has lost it": (AgentFailed("refused", "gone"), "gone", True),
    "it never answers": (AgentFailed("timeout", "silent"), "silent", True),
    "it is not there": (AgentFailed("not_installed", "install it"), "install it", False),
    "it dies": (AgentFailed("exited", "it died"), "it died", False),
    "it wants a login": (AgentFailed("auth_required", "log in"), "log in", False),
}


@pytest.mark.parametrize("what", FAILURES)
async def test_loading_fails(what: str, tmp_path: Path) -> None:
    failure, words, opened = FAILURES[what]
    async with a_side(tmp_path) as side:
        name = await side.recorded()
        side.agents.load = failure
        if opened:
            assert words in str((await side.workspace.conversations.load(name))["note"])
        else:
            with pytest.raises(AgentFailed, match=words):
                await side.workspace.conversations.load(name)
        assert (name in side.ids()) is opened
        side.agents.load = None
        await side.workspace.close_session(name) if opened else None
        assert (await side.workspace.conversations.load(name))["remembers"] is True, "it can be tried again"


async def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    async with a_side(tmp_path) as side:
        name = await side.recorded(cwd=str(tmp_path / "gone"))
        with pytest.raises(AgentFailed, match="gone"):
            await side.workspace.conversations.load(name)
        assert name not in side.ids()


async def test_an_agent_that_may_not_be_started_is_not(tmp_path: Path) -> None:
    editor = Editor()
    folder = tmp_path / "v"
    folder.mkdir()
    editor.answer = "allow"
    records = Records(RecordFolder(tmp_path / "sessions"))
    agents = Agents()
    agents.running = False
    async with a_workspace(
        folder, editor, agents, approvals=Approvals(tmp_path / "state"), records=records
    ) as bench:
        side = Side(bench, editor, agents, records)
        name = await side.recorded()
        editor.answer = "reject"
        for attempt in (
            side.workspace.conversations.load(name),
            side.workspace.conversations.authenticate("agent"),
            side.workspace.conversations.list("agent"),
        ):
            with pytest.raises(AgentFailed, match="did not allow it"):
                await attempt
        assert side.ids() == {bench.session}
        assert agents.loaded == agents.started_in == agents.folders == []
        agents.running = True  # what runs was allowed
        assert (await side.workspace.conversations.authenticate("agent"))["state"] == "done"
    await records.aclose()


# lists


async def test_lists_join_what_is_open_recorded_and_kept_by_agents(tmp_path: Path) -> None:
    async with a_side(tmp_path) as side:
        folder = str(side.bench.folder)
        name = await side.recorded()
        await side.recorded("elsewhere123", cwd="/elsewhere")
        side.agents.listed["agent"] = [
            ListedSession("theirs", folder, title="Their title", updated_at="2001"),
            ListedSession("more", folder, title="More"),
            ListedSession("relative", "x"),
        ]
        side.agents.listed["other"] = AgentFailed("timeout", "silent")
        rows = {str(row["sessionId"]): row for row in await side.workspace.conversations.list()}
        (extra,) = set(rows) - {name, side.bench.session}
        assert (rows[side.bench.session]["open"], rows[side.bench.session]["transcript"]) == (True, False)
        assert (rows[name]["listed"], rows[name]["transcript"], rows[name]["title"]) == (
            True,
            True,
            "Their title",
        )
        assert str(rows[name]["updatedAt"]) > "2002", "our own time of it"
        assert (rows[extra]["title"], rows[extra]["transcript"]) == ("More", False)
        assert side.agents.folders == [[folder], [folder]]
        again = await side.workspace.conversations.list("agent")
        assert {row["sessionId"] for row in again} == set(rows), "ids stay the same"
        with pytest.raises(AgentFailed, match="silent"):
            await side.workspace.conversations.list("other")
        assert "elsewhere123" in {
            row["sessionId"] for row in await side.workspace.conversations.list(everywhere=True)
        }
        assert side.agents.folders[-1] == []

        only_listed = await side.workspace.conversations.transcript(extra)
        assert (only_listed["title"], only_listed["entries"]) == ("More", [])
        await side.workspace.conversations.delete(extra)
        assert side.agents.deleted == ["more"]


async def test_records_that_cannot_be_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with a_side(tmp_path) as side:

        async def fails() -> Any:
            raise PermissionError(13, "Permission denied")

        side.records.list = fails
        assert [row["sessionId"] for row in await side.workspace.conversations.list()] == [side.bench.session]
        assert "Permission denied" in caplog.text


async def test_deleting_an_open_session_closes_it(tmp_path: Path) -> None:
    async with a_side(tmp_path) as side:
        name = await side.recorded()
        await side.workspace.conversations.load(name)
        assert await side.workspace.conversations.delete(name) == {"deleted": [name], "kept": []}
        assert side.agents.closed == [name]
        assert side.agents.deleted == ["theirs"]
        assert name not in side.ids()
        assert await side.records.read(name) is None


async def test_everything_is_forgotten_but_what_is_open(tmp_path: Path) -> None:
    async with a_side(tmp_path) as side:
        names = [await side.recorded(f"session{number:05}") for number in range(3)]
        await side.workspace.conversations.load(names[0])
        assert sorted((await side.workspace.conversations.delete(None))["deleted"]) == names[1:]
        assert side.agents.deleted == [], "agents' own copies are theirs"
        assert [about.session_id for about in await side.records.list()] == names[:1]


async def test_logging_in_without_an_open_folder(tmp_path: Path) -> None:
    async with a_side(tmp_path) as side:
        side.workspace.roots_changed([])
        await side.workspace.conversations.authenticate("agent")
        assert side.agents.started_in == [str(Path.home())]
        assert side.ids() == {side.bench.session}


async def test_found_agents_are_named_where_none_is_configured(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    agents = Agents()
    agents.one = {"found-one": AgentCommand("/bin/one")}
    async with a_workspace(folder, Editor(), agents) as bench:
        bench.workspace.state.settings = type(bench.workspace.state.settings)()
        with pytest.raises(AgentFailed, match="one that is on PATH: found-one, or use the agent"):
            await bench.workspace.new_session()


# forks


async def test_a_fork_begins_with_what_was_said_and_goes_its_own_way(tmp_path: Path) -> None:
    async with a_side(tmp_path) as side:
        name = await side.recorded(title="Rain", forks=True)
        side.records.begin(
            About(name, "agent", str(side.bench.folder), reference="theirs", turn=3, title="Rain"), known=True
        )
        change = [{"uri": "file:///a", "added": 1, "removed": 0}]
        side.records.end(name, {"turn": 3, "stopReason": "end_turn", "changes": change})
        side.records.reviewed(name, 3, "kept", 1)
        side.records.close(name)
        before = (await side.workspace.conversations.transcript(name))["entries"]
        fork = await side.workspace.conversations.fork(name)
        new = str(fork["sessionId"])
        assert fork == {
            "sessionId": new,
            "agent": "agent",
            "forkOf": name,
            "title": "Rain (fork)",
            "forks": True,
        }
        ((request, reference),) = side.agents.forked
        assert (request.session_id, request.cwd, reference) == (new, str(side.bench.folder), "theirs")
        entries = (await side.workspace.conversations.transcript(new))["entries"]
        assert [entry["type"] for entry in entries] == ["prompt", "update", "end"]
        assert "changes" not in entries[-1], "what the other one changed is not this one's to undo"
        rows = {row["sessionId"]: row for row in await side.workspace.conversations.list()}
        assert (rows[new]["open"], rows[new]["forks"], rows[name]["open"]) == (True, True, False)
        # it goes on by itself, under its own numbers
        _, turn, outcome = side.workspace.start_prompt(new, [{"type": "text", "text": "further"}])
        assert turn == 4
        await until(lambda: side.agents.stop)
        with pytest.raises(AgentFailed, match="fork it when its turn has ended"):
            await side.workspace.conversations.fork(new)
        assert side.agents.stop is not None
        side.agents.stop.set_result("end_turn")
        await outcome
        assert (await side.workspace.conversations.transcript(name))["entries"] == before
        kinds = [entry["type"] for entry in (await side.workspace.conversations.transcript(new))["entries"]]
        assert kinds == ["prompt", "update", "end", "prompt", "end"]


async def test_of_conversations_begun_in_one_moment_the_last_one_is_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidecar.records.records.now", lambda: "2026-01-01T00:00:00.000Z")
    async with a_side(tmp_path) as side:
        begun = [side.bench.session, *[await side.bench.another_session() for _ in range(5)]]
        listed = [row["sessionId"] for row in await side.workspace.conversations.list()]
        assert listed == begun[::-1]
        assert listed == [row["sessionId"] for row in await side.workspace.conversations.list("agent")]


async def test_one_that_only_its_agent_knows_is_forked_too(tmp_path: Path) -> None:
    async with a_side(tmp_path) as side:
        side.agents.listed["agent"] = [
            ListedSession("more", str(side.bench.folder), title="More", forks=True)
        ]
        (row,) = [row for row in await side.workspace.conversations.list("agent") if row["listed"]]
        assert row["forks"] is True
        fork = await side.workspace.conversations.fork(str(row["sessionId"]))
        assert (fork["title"], side.agents.forked[0][1]) == ("More (fork)", "more")
        assert (await side.workspace.conversations.list())[0]["sessionId"] == fork["sessionId"]


async def test_what_cannot_be_forked_leaves_nothing_behind(tmp_path: Path) -> None:
    async with a_side(tmp_path) as side:
        for name, words in (("nope", "nothing was said yet"), (side.bench.session, "nothing was said yet")):
            with pytest.raises(AgentFailed, match=words):
                await side.workspace.conversations.fork(name)
        name = await side.recorded()
        side.agents.load = AgentFailed("unsupported", "it cannot.")
        with pytest.raises(AgentFailed, match="it cannot"):
            await side.workspace.conversations.fork(name)
        await side.recorded("never0opened", reference="")
        side.agents.reference = lambda session_id: ""
        with pytest.raises(AgentFailed, match="never opened"):
            await side.workspace.conversations.fork("never0opened")
        assert side.ids() == {side.bench.session}
        assert {about.session_id for about in await side.records.list()} == {name, "never0opened"}


# what can be chosen, in every session, however it was made

MODES = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}]}
MODEL = {"id": "m", "category": "model", "type": "select", "currentValue": "x", "options": []}
CHOICES = {"modes": MODES, "configOptions": [MODEL]}


def able(session_id: str, **more: Any) -> OpenedSession:
    return OpenedSession(session_id, "agent", modes=MODES, config_options=[MODEL], **more)


class AbleAgents(Agents):
    async def open_session(self, request: SessionRequest) -> OpenedSession:
        await super().open_session(request)
        return able(request.session_id)


async def made_new(side: Side) -> str:
    return (await side.workspace.new_session("agent")).session_id


async def made_by_a_prompt(side: Side) -> str:
    """In a new session: the agent has no other."""
    other = side.workspace.state.sessions.get(side.bench.session)
    assert other is not None
    side.workspace.state.sessions.remove(other.id)
    try:
        return await prompted(side, None)
    finally:
        side.workspace.state.sessions.add(other)


async def prompted(side: Side, name: str | None) -> str:
    name, _, outcome = side.workspace.start_prompt(name, [{"type": "text", "text": "go"}])
    await until(lambda: side.agents.stop)
    assert side.agents.stop is not None
    side.agents.stop.set_result("end_turn")
    await outcome
    return name


async def loaded(side: Side) -> str:
    name = await side.recorded()
    side.agents.load = able(name)
    assert {key: (await side.workspace.conversations.load(name))[key] for key in CHOICES} == CHOICES
    return name


async def forgotten_and_begun_anew(side: Side) -> str:
    """Its agent has lost it: the next prompt opens a new conversation, of which nothing is known before."""
    name = await side.recorded()
    side.agents.load = AgentFailed("refused", "gone")
    answer = await side.workspace.conversations.load(name)
    assert not answer.keys() & CHOICES.keys()
    return await prompted(side, name)


async def opened_again_after_a_death(side: Side) -> str:
    side.workspace.agent_died([side.bench.session], "it died")
    side.workspace.session_reopened(able(side.bench.session))
    return side.bench.session


WAYS = [made_new, made_by_a_prompt, loaded, forgotten_and_begun_anew, opened_again_after_a_death]


@pytest.mark.parametrize("make", WAYS, ids=lambda make: make.__name__)
async def test_what_can_be_chosen_is_told_however_the_session_was_made(
    make: Callable[[Side], Any], tmp_path: Path
) -> None:
    async with a_side(tmp_path, agents=AbleAgents()) as side:
        name = await make(side)
        told = side.editor.opened[-1]
        assert (told.session_id, told.choices) == (name, CHOICES)
        rows = {row["sessionId"]: row for row in await side.workspace.conversations.list()}
        assert {key: rows[name][key] for key in CHOICES} == CHOICES


# forms

FORM = Elicitation("1", "agent", "form", "Which?", schema={"properties": {}})


class Log:
    def __init__(self) -> None:
        self.lines: list[dict[str, object]] = []

    def record(self, event: str, **fields: object) -> None:
        self.lines.append({"event": event, **fields})


async def test_forms_reach_the_editor_and_their_answers_nobody_else(tmp_path: Path) -> None:
    editor, log = Editor(elicitation=True), Log()
    editor.elicited = Elicited("accept", {"password": "hunter2"})
    async with a_side(tmp_path, editor, audit=log) as side:
        page = Elicitation("2", "agent", "url", "Sign in", side.bench.session, url="https://x.example/secret")
        assert await side.workspace.elicit(page) == editor.elicited
        assert await side.workspace.elicit(FORM) == editor.elicited
        told = [line for line in log.lines if line["event"] == "elicitation"]
        assert [(line["host"], line["answer"]) for line in told] == [
            ("x.example", "accept"),
            (None, "accept"),
        ]
        assert "hunter2" not in repr(log.lines)
        assert "secret" not in repr(told)


async def test_forms_nobody_can_fill_in_are_closed(tmp_path: Path) -> None:
    async with a_side(tmp_path, Editor(elicitation=False)) as side:
        assert await side.workspace.elicit(FORM) == Elicited("cancel")
    editor = Editor(elicitation=True)
    folder = tmp_path / "v"
    folder.mkdir()
    async with a_workspace(folder, editor, Agents()) as bench:
        gone = Elicitation("1", "agent", "form", "m", "no-such-session")
        assert await bench.workspace.elicit(gone) == Elicited("cancel")
        asked = [asyncio.ensure_future(bench.workspace.elicit(FORM)) for _ in range(20)]
        mine = asyncio.ensure_future(
            bench.workspace.elicit(Elicitation("9", "agent", "form", "m", bench.session))
        )
        await until(lambda: sum(one.done() for one in asked) == 4)
        waiting = [one for one in asked if not one.done()]
        assert await mine == Elicited("cancel"), "too many are open"
        for one in waiting:
            one.cancel()
        await asyncio.wait(asked)
        last = asyncio.ensure_future(
            bench.workspace.elicit(Elicitation("10", "agent", "form", "m", bench.session))
        )
        await until(lambda: len(editor.forms) == 17)
        bench.workspace.agent_died([bench.session], "it died")
        assert await last == Elicited("cancel"), "withdrawn with its session"


async def test_states_go_to_editors_that_show_them(tmp_path: Path) -> None:
    for shows in (True, False):
        editor = Editor(agent_state=shows)
        async with a_side(tmp_path / str(shows), editor) as side:
            side.workspace.agent_state(AgentState("agent", "starting"))
            assert [state.state for state in editor.states] == (["starting"] if shows else [])
