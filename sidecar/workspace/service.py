"""Workspace: the one object that every door calls, and the only owner of one editor connection's state."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import anyio

from sidecar import given_back
from sidecar.config import Settings
from sidecar.core.any_text import AnyText
from sidecar.core.json_types import Json
from sidecar.core.overlay import Modification, Notified
from sidecar.core.policy import Matchers
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, from_name
from sidecar.records import NoRecords, Records
from sidecar.workspace.behind.behind import Behind
from sidecar.workspace.behind.disk_watch import DiskWatch, Watch
from sidecar.workspace.behind.evidence import Evidence
from sidecar.workspace.behind.file_reviews import FileReviews
from sidecar.workspace.behind.reconcile import Reconciler
from sidecar.workspace.behind.turn_starts import TurnStarts
from sidecar.workspace.behind.whose import Whose
from sidecar.workspace.consent.consent import Consent
from sidecar.workspace.consent.denied_writers import DeniedWriters
from sidecar.workspace.consent.elicitations import Elicitations
from sidecar.workspace.consent.mcp_offers import McpOffers
from sidecar.workspace.edits.conflicts import Conflicts
from sidecar.workspace.edits.door import Door
from sidecar.workspace.edits.keeper import Keeper
from sidecar.workspace.edits.recording import Recorder
from sidecar.workspace.edits.sending import Sender
from sidecar.workspace.edits.verdicts import Verdicts
from sidecar.workspace.edits.write_task import Replacing, WriteDone
from sidecar.workspace.files.buffer_writes import BufferWriter
from sidecar.workspace.files.creating import Creator
from sidecar.workspace.files.disk_writes import DiskWriter
from sidecar.workspace.files.opening import Opener
from sidecar.workspace.files.reads import Reader
from sidecar.workspace.files.saving import Saver
from sidecar.workspace.files.writes import Writer
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.gaps import Gaps
from sidecar.workspace.ports.ports import (
    AgentFailed,
    Agents,
    Approvals,
    Audit,
    Editor,
    Journal,
    OpenedSession,
    Question,
    Verdict,
)
from sidecar.workspace.ports.prompt_context import Mention
from sidecar.workspace.ports.session_ports import Activity, AgentState, CommandEnd, Elicitation, Elicited
from sidecar.workspace.review.applying import Applier
from sidecar.workspace.review.rejecting import Rejecter
from sidecar.workspace.review.resolving import Resolver
from sidecar.workspace.review.review import Review
from sidecar.workspace.review.unsaved import Unsaved
from sidecar.workspace.sessions.agent_tools import AgentTools
from sidecar.workspace.sessions.audience import Audience, Listener
from sidecar.workspace.sessions.commands import Commands
from sidecar.workspace.sessions.conversations import Conversations
from sidecar.workspace.sessions.guests import Guests
from sidecar.workspace.sessions.opening import Opening
from sidecar.workspace.sessions.own_tools_watch import OwnToolsWatch
from sidecar.workspace.sessions.prompted import Prompted
from sidecar.workspace.sessions.prompting import Prompting
from sidecar.workspace.sessions.quiet import Quiet
from sidecar.workspace.state.acts import now_at_most
from sidecar.workspace.state.queues import Access, Ticket
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State
from sidecar.workspace.state.storage import Storage
from sidecar.workspace.state.tracked import Tracked
from sidecar.workspace.state.turns import TurnOutcome, Turns

REOPEN_SECONDS = 2.0
"""Seconds after its close within which a document may be opened again as part of a reload."""

log = logging.getLogger(__name__)


class Workspace:
    """Reads and writes for agents, modifications from the editor, sessions and turns for both.

    `tasks` outlives every request. Cancelling it ends everything in progress."""

    def __init__(
        self,
        settings: Settings,
        storage: Storage,
        matchers: Matchers,
        journal: Journal,
        approvals: Approvals,
        audit: Audit,
        editor: Editor,
        agents: Agents,
        tasks: Background,
        records: Records | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.audience = Audience(editor)
        editor = self.audience.editor
        self.state = State(settings, storage)
        self.state.overlay.lf_lines = editor.capabilities.lf_lines
        self.state.overlay.in_any_order = editor.capabilities.in_any_order
        self._agents = agents
        self._editor = editor
        self._tasks = tasks
        self._audit = audit
        self._storage = storage
        self._records = records or NoRecords()
        self._sender = Sender(editor, tasks)
        self.state.reopened = self._sender.reopened
        self.state.gapped = Gaps(self.state.overlay, tasks).noticed
        self.state.edited = self._edited
        self._keeper = keeper = Keeper(self.state, journal, editor, tasks)
        recorder = Recorder(self.state, journal)
        self._evidence = Evidence(self.state)
        self._denied_writers = DeniedWriters(self.state, editor, audit)
        self._denied_writers.names, self._denied_writers.stop = self._evidence.names, self.cancel
        recorder.on_disk = self._denied_writers.wrote
        files = FileReviews(self.state, journal, editor, tasks, keeper)

        async def noted() -> None:
            await keeper.stored()
            await files.stored()

        starts = TurnStarts(journal, noted)
        whose = Whose(self._evidence, journal, self.state.documents.disk)
        behind = Behind(self.state, editor, recorder, self._evidence, starts, whose, files)
        self._settling = behind.settling
        self.conflicts = Conflicts(lambda: editor.capabilities)
        self._reconciler = Reconciler(storage, editor, self._sender, keeper, self.conflicts, behind, tasks)
        self._disk_watch = DiskWatch(
            self.state, self._reconciler, behind, self._evidence, journal, tasks, starts, watch
        )
        self._consent = Consent(self.state, editor, matchers, approvals, audit)
        offers = McpOffers(self.state, self._consent, editor)
        self.mcp_offers = offers
        self._opening = Opening(
            self.state,
            storage,
            self._consent,
            self._denied_writers,
            offers,
            agents,
            self._records,
            editor.session_opened,
        )
        self.conversations = Conversations(
            self.state.sessions,
            self._opening,
            agents,
            editor,
            self._records,
            self.audience,
            journal.last_turn,
            self.close_session,
        )
        self.guests = Guests(self.state, storage, self._consent, tasks, lambda: self._opening.folders)
        self._elicitations = Elicitations(self.state.sessions, editor, audit)
        door = Door(editor, self._sender, journal, self.state.queues, tasks)
        opener = Opener(self.state, editor)
        saver = Saver(self.state, editor, self._reconciler, opener)
        buffers = BufferWriter(
            self.state, editor, self._sender, self._reconciler, recorder, door, self.conflicts, saver
        )
        self._verdicts = Verdicts(self.state.ledgers, editor, tasks)
        self._reader = Reader(self.state, self._reconciler, self._consent, opener)
        self.conflicts.fits_again = lambda tracked: tasks.start_soon(self._reconciler.look, tracked)
        self.resolver = Resolver(
            self.conflicts, editor, door, self._reconciler, recorder, self._prompt_when_free, tasks
        )
        disk_writer = DiskWriter(self.state, recorder, self._sender, behind)
        creator = Creator(self.state, self._sender, door, opener, saver, recorder, behind)
        self._writer = Writer(self.state, editor, creator, self._consent, buffers, opener, saver, disk_writer)
        self._prompting = Prompting(self.state, editor, self._consent, saver, self._reconciler, tasks)
        self._commands = Commands(self.state, storage, self._consent, saver, audit, self._disk_watch.noted)
        self._turns = Turns(agents, editor, self.state.sessions, tasks)
        self.prompted = Prompted(self._turns, self._disk_watch, self._evidence, tasks)
        self._turns.finishing += [self._disk_watch.turn_ending, saver.save_again]
        self._turns.ended += [self._disk_watch.turn_ended, self._record_end, self._note_commits]
        self._turns.ended.append(self._prompting.turn_ended)
        rejecter = Rejecter(self.state, editor, self._sender, opener, saver, self._reconciler, journal, door)
        self.review = Review(
            self.state,
            editor,
            keeper,
            rejecter,
            self._turns,
            journal,
            tasks,
            files,
            behind.unopened.left,
            self._verdicts,
            self._decided,
            self._review_folders,
        )
        self.review.closed_files.count = behind.count
        self.tools = AgentTools(self.state, self._consent, lambda: self.review, editor)
        self._own_tools = OwnToolsWatch(lambda words: editor.show("info", words))
        self.tools.called = self._own_tools.called
        self.tools.removes = self._removes
        self._quiet = Quiet(agents, editor, tasks)
        self._turns.asked += [self._quiet.asked, self._denied_writers.asked]
        self._turns.ended += [
            self._own_tools.turn_ended,
            self._prompting.disk_readers.turn_ended,
            self._quiet.turn_ended,
        ]
        self._unsaved = Unsaved(self.state, self._reconciler, self._sender, journal, tasks)
        self.applier = Applier(self.state, editor, saver, self._reconciler, journal, audit, door, keeper)

    # The editor's side

    def _edited(self, tracked: Tracked, was_clean: bool) -> None:
        """Handle an edit, which may be the editor's reload from the disk."""
        newer = self._reconciler.edited_now(tracked, was_clean=was_clean)
        if was_clean or newer is not None or tracked.apart:
            self._tasks.start_soon(self._reconciler.edited, tracked, newer)

    def apply(self, modification: Modification) -> None:
        """Apply one change by the editor. Synchronous: the change is in force when this returns."""
        closing = (
            self.state.documents.get(modification.uri) if modification.action is Notified.CLOSE else None
        )
        tracked, note = self.state.apply(modification)
        if note:
            log.warning("%s: %s", modification.uri, note)
        if closing is not None:
            self._settling.closed(closing, self.conflicts.on_disk(closing))
            if closing.looking.locked():
                self._tasks.start_soon(self._settling.closed_while_looked_at, closing)
            self.conflicts.ended(closing, "closed")
            self._unsaved.closed(closing)
            if self.state.is_reviewed(closing):
                self._tasks.start_soon(self._review_closed, modification.uri)
            if self.review.is_left_empty(closing):
                self._tasks.start_soon(self._left_empty_closed, closing)
            given_back.soon(len(closing.document.rope))
        given_back.soon(len(modification.text or ""))
        if tracked is None:
            return
        if modification.action is Notified.OPEN:
            text = tracked.document.snapshot()
            self._tasks.start_soon(
                self._reconciler.opened, tracked, text, self._reconciler.opened_now(tracked)
            )
        else:
            text = self.state.text_saved(tracked, modification)
            told_at = now_at_most()
            over = self._reconciler.saved_now(tracked, text, told_at)
            if over is not None:
                self._tasks.start_soon(self._disk_watch.saving, tracked, over)
            self._tasks.start_soon(self._saved, tracked, text, told_at)

    async def _review_closed(self, uri: DocumentUri) -> None:
        """Forget the review of a closed document after a while. Neovim and eglot report a reload as close and open, and an undo may go back beyond
        it, to rejected text."""
        await anyio.sleep(REOPEN_SECONDS)
        given_back.soon(self.state.forget_review(uri))

    async def _left_empty_closed(self, closing: Tracked) -> None:
        await anyio.sleep(REOPEN_SECONDS)
        await self.review.closed(closing)

    async def _saved(self, tracked: Tracked, text: Text, told_at: int) -> None:
        saved = await self._reconciler.saved(tracked, text, told_at)
        if saved is not None:
            await self._disk_watch.saved(tracked, saved)

    def renamed(self, files: Sequence[tuple[DocumentUri, DocumentUri]]) -> None:
        """Take the files or folders that the user renamed in the editor: (old, new)."""
        for old, new in files:
            self.state.renamed(old, new)

    def files_changed(self, uris: Sequence[DocumentUri]) -> None:
        """Take files that the editor saw change on the disk."""
        self._disk_watch.files_changed(uris)
        if any(map(self.review.committed.concerns, uris)):
            self._tasks.start_soon(self.review.committed.look)
        for uri in uris:
            if self.state.ledgers.get(uri) is not None:
                self._tasks.start_soon(self.review.closed_files.look, uri)

    def watched_by_editor(self, does: Callable[[], bool]) -> None:
        """`does`: returns whether the editor watches its workspace folders and reports changes there (`files_changed`)."""
        self._disk_watch.editors_folders = lambda: self._opening.folders if does() else ()

    async def aclose(self) -> None:
        """End what runs outside the event loop."""
        await self._disk_watch.aclose()

    def roots_changed(self, folders: Sequence[str]) -> None:
        """Set the editor's workspace folders (absolute paths). Sessions opened later use the first as their default."""
        self._opening.folders = list(folders)

    def _review_folders(self) -> list[str]:
        """Return the folders in which changes under review belong to this workspace."""
        return list(
            dict.fromkeys([*self._opening.folders, *(session.cwd for session in self.state.sessions)])
        )

    async def restore_reviews(self) -> None:
        """Restore what was under review in the workspace's folders when the sidecar or the editor ended."""
        gone = await self._keeper.restore_all(self._opening.folders)
        await self.review.files.restore(self._opening.folders)
        await self.review.closed_files.removed_again(gone)

    async def reviews_stored(self) -> None:
        """Wait until the journal has everything that is under review."""
        await self._keeper.stored()

    async def renew_reviews(self) -> None:
        """Reload the reviews from the journal, storing pending ones first. For use without an editor."""
        await self._keeper.renew(self._opening.folders)

    async def new_session(
        self,
        agent: str | None = None,
        cwd: str | None = None,
        additional: Sequence[str] = (),
        mcp_servers: Sequence[Json] = (),
    ) -> OpenedSession:
        """Start the agent if necessary and open a session in `cwd` (by default the first workspace folder). Raises AgentFailed with a message for the user."""
        session = self._opening.prepare(agent, cwd, additional, mcp_servers)
        self._tasks.start_soon(self._disk_watch.session_opens, session)
        return await self._opening.open(session)

    def start_prompt(
        self,
        session_id: str | None,
        blocks: Sequence[Json],
        context: Sequence[Mention] = (),
        *,
        by: Listener | None = None,
    ) -> tuple[str, int, Awaitable[TurnOutcome]]:
        """Start a turn and return at once: the session, the turn, and an awaitable of its outcome. `by`: the listener that prompts, or None for the
        editor. Without a session, the default agent's newest one is used, or one is opened as part of the turn."""
        session = self._session(session_id) or self._opening.prepare(None)
        if session.loading:
            raise AgentFailed(
                "refused", "this conversation is still being loaded; send the prompt again when it is loaded"
            )

        async def prepare() -> Sequence[Json]:
            self._denied_writers.check(session.agent)
            if session.opened is None:
                await self._opening.open(session, again=True)  # if stopped: the next prompt opens it
            await self._disk_watch.before_turn(session)
            return await self._prompting.blocks(session, blocks, context)

        turn, outcome = self._turns.start(session, prepare)
        self._records.prompt(session.id, turn, blocks)
        self.audience.prompted(session.id, blocks, by)
        self._disk_watch.turn_began(session)
        return session.id, turn, outcome

    def _prompt_when_free(self, session: Session, blocks: Sequence[Json]) -> None:
        async def prompt() -> None:
            await self._turns.end_of(session)
            if session.alive and not session.running:
                await self.start_prompt(session.id, blocks)[2]

        self._tasks.start_soon(prompt)

    def cancel(self, session_id: str | None = None) -> None:
        """Cancel the turn of a session, or of every session."""
        for session in [self.state.sessions.named(session_id)] if session_id else list(self.state.sessions):
            if session.guest:
                self.guests.stop(session)
            else:
                self._turns.cancel(session)

    def stop_command(self, session_id: str, terminal_id: str) -> None:
        """End one command of an agent; its turn goes on."""
        if not self.state.sessions.named(session_id).guest:
            self._agents.stop_command(session_id, terminal_id)

    async def close_session(self, session_id: str | None = None) -> None:
        if session_id is not None and self.state.sessions.named(session_id).guest:
            self.guests.close(session_id)
            return
        session = self._session(session_id)
        if session is None:
            return
        self._turns.cancel(session)
        try:
            await self._agents.close_session(session.id)
        finally:
            self._opening.drop(session)
            self.state.beliefs.forget_session(session.id)
            given_back.soon(given_back.LARGE + 1)  # the size of its beliefs is not counted

    def _note_commits(self, session: Session, outcome: TurnOutcome) -> None:
        """Note the commits made while an agent worked: they do not count as reviewed."""
        self._tasks.start_soon(lambda: self.review.committed.look(is_users=False))

    def _decided(self, session_id: str, turn: int, verdict: Verdict, changes: int) -> None:
        self._records.reviewed(session_id, turn, verdict, changes)
        self._editor.reviewed(session_id, turn, verdict, changes)

    def _record_end(self, session: Session, outcome: TurnOutcome) -> None:
        Text.forget()  # the agent's next write is some time away
        self._records.reference(session.id, self._agents.reference(session.id))
        self._records.end(session.id, outcome)

    def has_session(self, session_id: str) -> bool:
        """Whether the session is open and not a guest's."""
        session = self.state.sessions.get(session_id)
        return session is not None and not session.guest

    def status(self) -> dict[str, object]:
        """Return what `sidecar.status` shows."""
        return {
            "agents": self._agents.status(),
            "sessions": [
                {
                    "sessionId": s.id,
                    "agent": s.agent,
                    "cwd": s.cwd,
                    "turn": s.turn,
                    "running": s.running,
                    "alive": s.alive,
                    "ownToolsLive": s.opened is not None and s.opened.own_tools_live,
                    **({"guest": True} if s.guest else {}),
                }
                for s in self.state.sessions
            ],
            "documents": [
                {
                    "uri": t.document.uri,
                    "version": t.document.version,
                    "clean": t.is_clean(),
                    "desynchronised": t.document.desynchronised,
                }
                for t in self.state.documents
            ],
            "queues": self.state.queues.lengths(),
        }

    # The agents' side

    def ticket(self, session_id: str, path: str, access: Access) -> Ticket:
        """Take a place in the queue of the document at `path`. Call this when the request is received, before any await."""
        moment, session = self.state.beliefs.moment(), self.state.sessions.get(session_id)
        asked_in = session.turn if session is not None and session.acting else None
        return self.state.queues.take(session_id, path, self._storage.order_key, access, moment, asked_in)

    async def read(self, ticket: Ticket, line: int | None = None, limit: int | None = None) -> str | Refusal:
        try:
            answer = await self._reader.read(ticket, line, limit)
        finally:
            ticket.release()
        self._note("read", ticket, answer, line)
        return answer

    def read_now(self, ticket: Ticket, line: int | None, limit: int | None) -> Text | str | Refusal | None:
        """Like `read`, but synchronous. Returns None if the answer must wait for anything; otherwise the ticket is released."""
        answer = self._reader.read_now(ticket, line, limit)
        if answer is not None:
            ticket.release()
            self._note("read", ticket, answer, line)
        return answer

    async def write(self, ticket: Ticket, content: AnyText) -> WriteDone | Refusal:
        answer = await self._writer.write(ticket, content)
        self._note("write", ticket, answer)
        return await self.decided(ticket.session_id, answer)

    async def edit(self, ticket: Ticket, replacing: Replacing, *, wait: bool = True) -> WriteDone | Refusal:
        """Change the current text. Afterwards `replacing` holds the text before and after the change. Without `wait`, pass the answer through `decided`."""
        answer = await self._writer.edit(ticket, replacing)
        self._note("write", ticket, answer)
        return await self.decided(ticket.session_id, answer) if wait else answer

    async def save_first(self, session_id: str, path: str) -> bool:
        """Save the user's unsaved text of a file (absolute path) that an agent is about to work on, on the disk. Return whether it was saved."""
        session = self.state.sessions.get(session_id)
        return session is not None and await self._prompting.save_first(session, path)

    async def decided(self, session_id: str, answer: WriteDone | Refusal) -> WriteDone | Refusal:
        """Return the answer to a write, after waiting for the user's decision if that is part of it."""
        session = self.state.sessions.get(session_id)
        if session is None or isinstance(answer, Refusal):
            return answer
        return await self._verdicts.on(session, answer)

    def _note(
        self, event: Literal["read", "write"], ticket: Ticket, answer: object, line: int | None = None
    ) -> None:
        outcome = answer.kind.value if isinstance(answer, Refusal) else "ok"
        self._audit.record(event, session=ticket.session_id, path=ticket.path, outcome=outcome)
        session = self.state.sessions.get(ticket.session_id)
        if session is not None and self._editor.capabilities.activity:
            call, uri = session.current_tool_call(), from_name(ticket.path)
            first = session.changed_at.pop(uri, None) if event == "write" else line and max(0, line - 1)
            self._editor.activity(Activity(session.id, session.turn, event, uri, outcome, first, call))

    async def ask(self, question: Question) -> str | None:
        """Put an agent's question to the user. Returns None if it is dismissed or withdrawn, or asked outside the agent's turn."""
        session = self.state.sessions.get(question.session_id)
        if session is None or not session.acting:
            return None
        turn = session.turn
        self._evidence.asked(session, question.details)
        if self._denied_writers.denies(question):
            return self._denied_writers.denied(question)
        question = await self._prompting.question(question)
        answer = await self._consent.ask(question) if session.may_act(turn) else None
        session.allowed.answered(question, answer)
        if answer is not None:
            await self._disk_watch.noted(session)
            self._evidence.allowed(session, question, answer)
        return answer

    def prompt_answered(self, session_id: str) -> None:
        """Note that the agent has ended its turn: its later requests are not carried out."""
        session = self.state.sessions.get(session_id)
        if session is not None:
            session.answered()

    def session_update(self, session_id: str, update: Json) -> None:
        session = self.state.sessions.get(session_id)
        if session is not None and self.conversations.heard(session, update):
            self._evidence.observe(session, update)
            self._own_tools.heard(session, update)
            self._prompting.disk_readers.heard(session, update)
            self._quiet.heard(session, update)
            self._turns.update(session, update)

    async def elicit(self, elicitation: Elicitation) -> Elicited:
        """Show the user an agent's form or page."""
        return await self._elicitations.ask(elicitation)

    def elicitation_complete(self, agent: str, elicitation_id: str) -> None:
        self._elicitations.complete(agent, elicitation_id)

    def _removes(self, session_id: str, path: str) -> None:
        session = self.state.sessions.get(session_id)
        if session is not None:
            self._evidence.removes(session, path)

    async def own_tools_ready(self, session_id: str) -> bool:
        """Whether the agent has started the tools that replace its own. If not, the user is told."""
        ready = await self.tools.ready(session_id)
        session = self.state.sessions.get(session_id)
        if not ready and session is not None:
            self._editor.show(
                "info",
                f"{session.agent} did not start the tools of acp-sidecar, so it works with its own: it sees unsaved text as it was "
                "when you sent the prompt.",
            )
        return ready

    def tools_not_there(self, words: str) -> None:
        """Tell the user that an agent that runs elsewhere has only its own tools."""
        self._editor.show("info", words)

    def session_reopened(self, opened: OpenedSession) -> None:
        """Note a session that was opened again after its agent died and was restarted."""
        session = self.state.sessions.get(opened.session_id)
        if session is not None:
            self._opening.opened(session, opened)

    def notice(self, session_id: str, words: str) -> None:
        """Show the user a message in the conversation."""
        if self.state.sessions.get(session_id) is not None:
            self._editor.notice(session_id, words)

    def agent_state(self, state: AgentState) -> None:
        if self._editor.capabilities.agent_state:
            self._editor.agent_state(state)

    async def run(
        self, session_id: str, argv: Sequence[str], cwd: str | None, env: Sequence[str]
    ) -> str | Refusal:
        """Return the folder in which a command may run now (canonical), or why it may not. `env`: the names of the variables that it sets."""
        return await self._commands.may_run(session_id, argv, cwd, env)

    def command_started(self, session_id: str, terminal_id: str) -> None:
        """Note that a command runs: it may read and change files behind us."""
        session = self.state.sessions.get(session_id)
        if session is not None:
            session.command_started(terminal_id)
            self._evidence.command_started(session, terminal_id)

    def command_ended(self, session_id: str, terminal_id: str, end: CommandEnd) -> None:
        session = self.state.sessions.get(session_id)
        if session is not None:
            session.command_ended(terminal_id)
            self._evidence.command_ended(session, terminal_id)
            self._editor.terminal_ended(session_id, terminal_id, end)

    def terminal_output(self, session_id: str, terminal_id: str, output: str) -> None:
        if self.state.sessions.get(session_id) is not None:
            self._editor.terminal_output(session_id, terminal_id, output)

    def display_ended(self, session_id: str, terminal_id: str, end: CommandEnd) -> None:
        if self.state.sessions.get(session_id) is not None:
            self._editor.terminal_ended(session_id, terminal_id, end)

    def agent_died(self, session_ids: Sequence[str], message: str) -> None:
        """Note that the process behind these sessions is gone: their questions are withdrawn, and the sessions stay listed as ended."""
        for session_id in session_ids:
            session = self.state.sessions.get(session_id)
            if session is not None:
                session.alive = False
                session.withdraw_questions()
        if session_ids:
            log.warning("%s", message)

    def _session(self, session_id: str | None) -> Session | None:
        """Return the session. None: the default agent's newest one."""
        if session_id is not None:
            return self.state.sessions.own(session_id)
        settings = self.state.settings
        return self.state.sessions.newest(settings.default_agent or next(iter(settings.agents), None))
