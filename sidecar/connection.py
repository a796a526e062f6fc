"""Connection: the object graph of one editor connection, built for `acp-sidecar lsp`.

The editor's side exists from the first message. The workspace and the agents' side are created at `initialize`, which brings their settings.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import anyio

from sidecar.acp.agents import HostedAgents
from sidecar.acp.known import on_path
from sidecar.acp.offers import Offers
from sidecar.approvals import Approvals
from sidecar.attach.attached import Attached
from sidecar.attach.codes import Codes
from sidecar.audit import AuditLog
from sidecar.bridge import VARIABLE
from sidecar.bridge.methods import methods
from sidecar.bridge.registry import new_id
from sidecar.bridge.server import BridgeServer
from sidecar.config import AgentCommand, Settings, parse
from sidecar.core.json_types import Json
from sidecar.core.overlay import Document, Modification, Notified
from sidecar.core.uri import DocumentUri, from_path, normalise, to_path
from sidecar.demo.command import DEMO_AGENT
from sidecar.disk.watching import FolderWatch
from sidecar.journal import SqliteJournal
from sidecar.lsp.commands import EditorCommands, prompt_text
from sidecar.lsp.conflicts import ConflictFeatures
from sidecar.lsp.editor import LspEditor
from sidecar.lsp.features import Features
from sidecar.lsp.message_buttons import Button
from sidecar.lsp.review import ReviewFeatures
from sidecar.lsp.server import SidecarServer
from sidecar.lsp.session_commands import SessionCommands
from sidecar.lsp.transcript import Transcripts
from sidecar.lsp.watched_files import WatchedFiles
from sidecar.matchers import compile_matchers
from sidecar.mcp.calls import McpCalls
from sidecar.mcp.own_server import OwnServer
from sidecar.mcp.tokens import Tokens
from sidecar.mcp.visits import Visit
from sidecar.proxy.guest_methods import GuestMethods
from sidecar.records import Records
from sidecar.recovery.leftovers import sweep_at_start
from sidecar.recovery.settle import at_start
from sidecar.state_folder import state_folder
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.ports import AgentFailed, AgentInfo, OpenedSession, Opens
from sidecar.workspace.ports.prompt_context import Mention
from sidecar.workspace.review.resolving import Take
from sidecar.workspace.review.review import Result, Selector
from sidecar.workspace.service import Workspace
from sidecar.workspace.sessions.conversations import Conversations
from sidecar.workspace.state.storage import Storage

log = logging.getLogger(__name__)


UNDO = "Undo this turn"


class Connection:
    """The interface for commands and transcripts, before and after there is a workspace."""

    def __init__(self, tasks: Background, journal: SqliteJournal) -> None:
        self._tasks = tasks
        self._journal = journal
        self._audit = AuditLog()
        self._records = Records()
        self._workspace: Workspace | None = None
        self._agents: HostedAgents | None = None
        self._bridge: BridgeServer | None = None
        self._bridge_id = new_id()
        self._folders: list[str] = []
        """The folders open in the editor."""
        self.on_conflict: Callable[[Json], None] = lambda row: None
        """Called for every conflict that is found, changes or ends."""
        self.on_prompt: Callable[[str, str], None] = lambda session_id, prompt: None
        self.on_opened: Callable[[DocumentUri], None] = lambda uri: None
        """Called with the text of every prompt that does not come from the editor."""
        self.editor_watches: Callable[[], bool] = lambda: False
        """Returns whether the editor watches the files of its folders for us."""

    def initialize(self, server: SidecarServer, editor: LspEditor) -> None:
        """Build the rest, with the settings that came with `initialize`."""
        settings, problems = parse(server.initialize_params.get("initializationOptions"))
        matchers, bad_patterns = compile_matchers(
            settings.secret_patterns, settings.protected_patterns, own=[state_folder()]
        )
        offers = Offers(editor.capabilities.elicitation, editor.capabilities.terminal_login)
        tokens = Tokens()
        own_server = OwnServer(tokens, self._bridge_id)
        agents = HostedAgents(
            {name: self._told(command) for name, command in settings.agents.items()},
            demo={name: self._told(command) for name, command in DEMO_AGENT.items()},
            found=on_path,
            told=self._told,
            offers=offers,
            tool_server=own_server.for_agent,
            own_tools=settings.own_tools != "off",
            beside=settings.own_tools == "all",
            read_only=settings.writes == "deny",
            longest_text=settings.max_file_bytes,
            open_folders=lambda: self._folders,
        )
        workspace = Workspace(
            settings,
            Storage(settings.max_file_bytes),
            matchers,
            self._journal,
            Approvals(),
            self._audit,
            editor,
            agents,
            self._tasks,
            self._records,
            FolderWatch,
        )
        workspace.watched_by_editor(lambda: self.editor_watches())
        workspace.state.overlay.encoding = server.encoding
        self._folders = folder_paths(server.folders)
        workspace.roots_changed(self._folders)
        workspace.conflicts.moved = self.on_conflict
        workspace.audience.prompted_elsewhere = lambda session, blocks: self.on_prompt(
            session, prompt_text(blocks)
        )
        agents.serve(workspace)
        self._workspace, self._agents = workspace, agents
        workspace.mcp_offers.own = own_server
        table = {
            **methods(workspace),
            **McpCalls(workspace, tokens, agents.session_of, agents.working).methods(),
            **Codes(editor.show).methods(),
        }
        self._bridge = BridgeServer(
            table,
            self._folders,
            self._bridge_id,
            each=lambda: (
                Visit(workspace.guests, tokens),
                GuestMethods(workspace, tokens),
                Attached(workspace),
            ),
            longest_text=settings.max_file_bytes,
        )
        self._tasks.start_soon(self._bridge.run)
        self._tasks.start_soon(self._initialized, editor, [*problems, *bad_patterns], settings)

    async def _initialized(self, editor: LspEditor, problems: Sequence[str], settings: Settings) -> None:
        if problems:
            editor.show("warning", "acp-sidecar settings: " + "; ".join(problems))
        self._journal.tell = lambda sentence: editor.show("warning", sentence)
        restored = anyio.Event()
        for words, path, turn in await at_start(self._journal):
            opens = None if path is None else Opens.change(from_path(path))
            undo = [] if turn is None else [Button(UNDO, partial(self._undo, editor, restored, *turn))]
            editor.show("warning", words, opens, *undo)
        if self._workspace is not None:
            self._tasks.start_soon(self._restore, self._workspace, restored)
        self._tasks.start_soon(sweep_at_start, self._journal)
        self._tasks.start_soon(self._journal.tidy)
        if self._agents is not None and settings.agents:
            await self._agents.warm_up()

    async def _restore(self, workspace: Workspace, restored: anyio.Event) -> None:
        await workspace.restore_reviews()
        restored.set()

    async def _undo(self, editor: LspEditor, restored: anyio.Event, session_id: str, turn: int) -> None:
        """Undo a turn when the user presses the button, like the button in the panel. What the user did since then stays."""
        await restored.wait()
        result = await self.revert_turn(session_id, turn)
        if result.impossible:
            why = result.impossible[0]["reason"]
            editor.show(
                "warning", f"The turn was not undone completely; its other changes stay under review: {why}."
            )
        else:
            number = len(result.done)
            editor.show("info", f"The turn was undone ({number} {'change' if number == 1 else 'changes'}).")

    def opaque(self, client_uri: str, dirty: bool) -> None:
        if self._workspace is not None:
            self._workspace.state.opaque.told(client_uri, dirty)

    def renamed(self, files: Sequence[tuple[DocumentUri, DocumentUri]]) -> None:
        if self._workspace is not None:
            self._workspace.renamed(files)

    def files_changed(self, documents: Sequence[DocumentUri]) -> None:
        if self._workspace is not None:
            self._workspace.files_changed(documents)

    def folders_changed(self, folders: Sequence[str]) -> None:
        self._folders = folder_paths(folders)
        if self._workspace is not None:
            self._workspace.roots_changed(self._folders)
            self._tasks.start_soon(self._workspace.restore_reviews)
        if self._bridge is not None:
            self._bridge.roots_changed(self._folders)

    def _told(self, command: AgentCommand) -> AgentCommand:
        """Return the command with the name of this sidecar's bridge in its environment, so that programs that the agent starts find it from any folder."""
        return replace(command, env={VARIABLE: self._bridge_id, **command.env})

    async def close(self) -> None:
        """End every agent."""
        if self._agents is not None:
            await self._agents.aclose()
        if self._workspace is not None:
            await self._workspace.aclose()
        await self._records.aclose()
        self._audit.close()

    def apply(self, modification: Modification) -> None:
        if self._workspace is not None:
            self._workspace.apply(modification)
        if modification.action is Notified.OPEN:
            self.on_opened(modification.uri)

    def document(self, uri: DocumentUri) -> Document | None:
        return None if self._workspace is None else self._workspace.state.overlay.get(uri)

    # lsp.workspace_port.LspWorkspace

    async def new_session(
        self, agent: str | None, cwd: str | None, additional: Sequence[str], mcp_servers: Sequence[Json]
    ) -> OpenedSession:
        return await self._ready().new_session(agent, cwd, additional, mcp_servers)

    def start_prompt(
        self, session_id: str | None, blocks: Sequence[Json], context: Sequence[Mention] = ()
    ) -> tuple[str, int, Awaitable[Json]]:
        return self._ready().start_prompt(session_id, blocks, context)

    def cancel(self, session_id: str | None) -> None:
        self._ready().cancel(session_id)

    def stop_command(self, session_id: str, terminal_id: str) -> None:
        self._ready().stop_command(session_id, terminal_id)

    async def close_session(self, session_id: str | None) -> None:
        await self._ready().close_session(session_id)

    def status(self) -> Mapping[str, object]:
        return self._ready().status()

    def list_agents(self) -> Sequence[AgentInfo]:
        return [] if self._agents is None else self._agents.list()

    def conversations(self) -> Conversations:
        return self._ready().conversations

    # lsp.review.ReviewService

    def rows(self, selector: Selector) -> list[Json]:
        return [] if self._workspace is None else self._workspace.review.rows(selector)

    async def listed(self, selector: Selector) -> list[Json]:
        if self._workspace is None:
            return []
        return await self._records.titles.add_to(await self._workspace.review.listed(selector))

    def text_before(self, selector: Selector) -> str | None:
        return None if self._workspace is None else self._workspace.review.text_before(selector)

    def keep(self, selector: Selector) -> Result:
        return self._ready().review.keep(selector)

    async def reject(self, selector: Selector, reason: str = "") -> Result:
        return await self._ready().review.reject(selector, reason)

    async def revert_turn(self, session_id: str, turn: int) -> Result:
        return await self._ready().review.revert_turn(session_id, turn)

    # lsp.conflicts.ConflictService

    def conflicts(self, uri: DocumentUri | None) -> list[Json]:
        return [] if self._workspace is None else self._workspace.conflicts.rows(uri)

    async def resolve_conflict(self, conflict_id: str, take: Take) -> Json:
        return await self._ready().resolver.resolve(conflict_id, take)

    def _ready(self) -> Workspace:
        if self._workspace is None:
            raise AgentFailed("refused", "the editor has not sent `initialize` yet")
        return self._workspace


@asynccontextmanager
async def build() -> AsyncGenerator[SidecarServer]:
    """Build one connection's graph. On exit, agents are ended, tasks cancelled and the journal closed."""
    async with SqliteJournal.opened() as journal, anyio.create_task_group() as tasks:
        background = Background(tasks)
        connection = Connection(background, journal)
        server = SidecarServer(connection.apply)
        editor = LspEditor(server, background, server.told_back)
        transcripts = Transcripts(
            editor, connection, connection.document, background, lenses_moved=editor.lenses_moved
        )
        editor.attach(transcripts)
        commands = EditorCommands(connection, transcripts, editor, background, editor.questions.open)
        review = ReviewFeatures(connection, editor, server)
        review.add_to(commands)
        SessionCommands(connection.conversations).add_to(commands)
        editor.on_changes_moved = review.moved
        conflicts = ConflictFeatures(connection, editor, server, review.moved)
        conflicts.add_to(commands)
        review.others = conflicts.diagnostics
        connection.on_conflict = conflicts.moved
        connection.on_prompt = transcripts.prompted
        connection.on_opened = transcripts.opened
        watched = WatchedFiles(server, background, connection.files_changed)
        connection.editor_watches = lambda: watched.registered
        features = Features(
            editor,
            commands,
            [conflicts, review, transcripts],  # features of the text first
            on_initialize=lambda: connection.initialize(server, editor),
            on_opaque=connection.opaque,
            on_renamed=connection.renamed,
            watched=watched,
        )
        features.register(server)
        server.protocol.on_folders = connection.folders_changed
        try:
            yield server
        finally:
            with anyio.CancelScope(shield=True):
                await connection.close()
            tasks.cancel_scope.cancel()


def folder_paths(uris: Sequence[str]) -> list[str]:
    """Return the folders that are on this machine's disk, as paths."""
    paths = [to_path(normalise(uri)) for uri in uris]
    return [path for path in paths if path is not None]
