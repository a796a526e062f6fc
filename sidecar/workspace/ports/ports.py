"""What the workspace needs from outside, as Protocols. lsp/, acp/ and the journal implement them; connection.py connects them.

Positions are `core.text.Position`: line from 0, character from 0 in units of the encoding negotiated with the editor.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from sidecar.config import AgentCommand
from sidecar.core.any_text import AnyText
from sidecar.core.change import ChangeSet
from sidecar.core.coordinates import Coordinates, TextEdit
from sidecar.core.file_state import FileState, States
from sidecar.core.final_end import keep_final_end
from sidecar.core.json_types import Json
from sidecar.core.kept_files import KeptFile
from sidecar.core.kept_hunks import AsJson
from sidecar.core.retold import Told
from sidecar.core.text import Encoding, Text
from sidecar.journal.entry import Entry, EntryState, Recorded, Texts
from sidecar.journal.turns import PreImage, SavedOver, TurnStart
from sidecar.workspace.ports.prompt_context import Mention
from sidecar.workspace.ports.session_ports import (
    Activity,
    AgentState,
    CommandEnd,
    Elicitation,
    Elicited,
    ListedSession,
)


@dataclass(frozen=True, slots=True)
class EditorCapabilities:
    """What the client announced at `initialize`. The defaults assume the least."""

    name: str = ""
    version: str = ""
    encoding: Encoding = Encoding.UTF_16
    apply_edit: bool = False
    document_changes: bool = False
    create_files: bool = False
    delete_files: bool = False
    change_annotations: bool = False
    show_message_request: bool = False
    show_document: bool = False
    work_done_progress: bool = False
    watched_files: bool = False
    """`workspace/didChangeWatchedFiles` may be registered dynamically."""
    code_lens_refresh: bool = False
    diagnostics_refresh: bool = False
    save: bool = False
    """This and the following: custom methods announced under `initializationOptions.client`."""
    open: bool = False
    reload: bool = False
    session_updates: bool = False
    permissions: bool = False
    changes: bool = False
    conflicts: bool = False
    agent_state: bool = False
    activity: bool = False
    context: bool = False
    elicitation: bool = False
    terminal_login: bool = False
    message_buttons: bool = False
    lf_lines: bool = False
    """Only "\\n" ends a line (core/lf_lines.py). This and the following are known by the editor's name (lsp/editor_habits.py)."""
    in_any_order: bool = False
    """It numbers its changes one by one, and may send them out of order (core/overlay.py)."""
    keeps_lines: bool = False
    """A buffer is a list of lines: edits cannot change whether the last one has a line end (core/final_end.py)."""
    adds_final_end: bool = False
    """Files that it saves always have a final line end."""
    reopens: bool = False
    """It reports a reload from the disk as closing and opening the document. What it reports as edits was made in the document."""
    ignores_version_zero: bool = False
    """It applies an edit for version 0, the version of its didOpen, though the document has changed since. It checks all others."""

    @property
    def coordinates(self) -> Coordinates:
        """How this editor counts positions."""
        return Coordinates(self.encoding, self.lf_lines)

    def fitted(self, text: AnyText, changes: ChangeSet) -> ChangeSet:
        """`changes` of the raw `text` as this editor can make them: where buffers are lists of lines, without their effect on the final line end."""
        return keep_final_end(str(text), changes) if self.keeps_lines else changes


@dataclass(frozen=True, slots=True)
class DocumentEdit:
    """One document's edits. `version` is the one they were computed for; None only together with `create` or `delete`."""

    client_uri: str
    version: int | None
    edits: tuple[TextEdit, ...]
    create: bool = False
    """Sends a CreateFile before the edits: the file does not exist."""
    delete: bool = False
    """Sends only a DeleteFile."""


@dataclass(frozen=True, slots=True)
class EditAnswer:
    """The editor's answer to applyEdit. Do not trust it; look at the mirror (docs/clients.md: `true`, and nothing applied)."""

    applied: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Saved:
    """The editor's answer to a request to save."""

    saved: bool
    typed: bool = False
    """The user typed, undid or redid while the save was prepared: some changes of that time are not the save's."""


@dataclass(frozen=True, slots=True)
class Reloaded:
    """The document has the disk's text, with the requested edits on top."""

    version: int
    """The document's version with both."""
    taken: int | None = None
    """The version in which the disk's text had replaced the document's. None: the editor does all of it in one step."""
    read: int | None = None
    """The version in which the document has the disk's text that it is now based on. It differs from `taken` if the
    file was written in between."""
    made: tuple[TextEdit, ...] = ()
    """The edits on top of the text of `read`: those that were requested, with what was typed meanwhile; or, if the disk
    had another text than the one that they were made for, the edits that lead to what the document said before."""


class EditorGone(Exception):
    """The editor's connection ended while a request to it was open."""


class EditorTimeout(Exception):
    """The editor did not answer within the bound that the caller gave."""


class EditorRefused(Exception):
    """The editor answered a request with an error."""


@dataclass(frozen=True, slots=True)
class Opens:
    """What the button of a message opens, for a message that asks the user to look somewhere."""

    label: str
    uri: str
    """As the client spells it."""
    line: int | None = None
    """Where the cursor goes, from 0."""

    @classmethod
    def file(cls, uri: str, line: int | None = None) -> Opens:
        return cls("Open the file", uri, line)

    @classmethod
    def change(cls, uri: str, line: int | None = None) -> Opens:
        """Opens a place in which something is to be kept or rejected."""
        return cls("Show the change", uri, line)


@dataclass(frozen=True, slots=True)
class Option:
    """One answer a person can choose. `kind` is ACP's: allow_once, allow_always, reject_once, reject_always."""

    id: str
    kind: str
    label: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question built from the request that will be executed, never from an agent's title."""

    id: str
    session_id: str
    action: Literal["read", "write", "execute", "start", "other"]
    text: str
    """Plain text for a message box; control, bidi and zero-width characters already escaped."""
    options: tuple[Option, ...]
    reason: str = ""
    details: Json = field(default_factory=dict[str, object])
    """target | argv, cwd, env (names), diff: for clients that announced `permissions`."""
    guest: bool = False
    """A guest asks it: no conversation is shown in which it could be asked."""
    behind: bool = False
    """The agent does the allowed action itself, where we cannot check it."""
    whole: str = ""
    """The whole command or path, escaped, if `text` leaves part of it out; a line each if there are several. Whoever asks
    lets the user see it before the answer, and offers to allow it permanently only if it was shown whole."""


Level = Literal["error", "warning", "info", "log"]
Verdict = Literal["kept", "rejected"]


class Progress(Protocol):
    """A `window/workDoneProgress` begun; all methods are synchronous and never block."""

    def report(self, message: str) -> None: ...
    def end(self, message: str) -> None: ...


class Editor(Protocol):
    """The one editor of a connection. Methods without `async` enqueue at once and never block the loop."""

    @property
    def capabilities(self) -> EditorCapabilities: ...

    def apply_edit(self, label: str, edit: DocumentEdit) -> Awaitable[EditAnswer]:
        """Enqueues the request before it returns, so nothing can happen between plan and send. Awaiting the result
        gives the answer.

        Raises EditorGone. There is no time limit: the caller decides how long to wait.
        """
        ...

    async def save(self, client_uri: str, version: int, *, exact: bool = False) -> Saved: ...
    async def open(self, client_uri: str) -> int: ...
    async def close(self, client_uri: str) -> None: ...
    async def reload(
        self, client_uri: str, version: int, edits: Sequence[TextEdit], changes: Sequence[TextEdit] = ()
    ) -> Reloaded | str:
        """Reloads the document from the disk. `edits`: changes of the disk's text, made on top of it. `changes`: what
        the two together change in the text of `version`. A refusal is "version" or "not-active"."""
        ...

    async def context(self, uris: Sequence[str] | None) -> Sequence[Mention]:
        """The diagnostics that the editor shows in these documents (its own URIs). None: those of the active document,
        with its selection; empty if there is none. Only if the capability is announced."""
        ...

    async def ask(self, question: Question) -> str | None:
        """Returns the id of the chosen option; None if the question was dismissed. Cancelling the call withdraws the question."""
        ...

    def show(self, level: Level, message: str, opens: Opens | None = None) -> None:
        """Shows a message. `opens`: a button for it, if the client shows messages with buttons beside the text. The
        words must be complete without it."""
        ...

    def notice(self, session_id: str, message: str) -> None:
        """Adds a line to the session's conversation. Clients without conversations show it as a message."""
        ...

    def log(self, level: Level, message: str) -> None: ...
    def session_update(self, session_id: str, update: Json) -> None:
        """`update` has ACP's own shape. Updates may be combined for a slow editor."""
        ...

    def session_history(self, session_id: str, update: Json) -> None:
        """As `session_update`, but for history. Only for clients that show sessions."""
        ...

    def session_opened(self, opened: OpenedSession) -> None:
        """A session is open with its agent, perhaps not for the first time; reports what can be chosen in it now. Only
        for clients that show sessions."""
        ...

    def history_shown(self) -> None:
        """When this returns, the whole history is queued for the editor, ahead of anything later."""
        ...

    def agent_state(self, state: AgentState) -> None:
        """Only for clients that announced the capability."""
        ...

    def activity(self, activity: Activity) -> None: ...
    async def elicit(self, elicitation: Elicitation) -> Elicited:
        """Shows a form or an address. Only if the capability is announced. Cancelling the call withdraws it."""
        ...

    def elicitation_complete(self, agent: str, elicitation_id: str) -> None: ...
    def terminal_output(self, session_id: str, terminal_id: str, output: str) -> None:
        """Output of an agent's command since the last call. It may be combined. Only for clients that show it."""
        ...

    def terminal_ended(self, session_id: str, terminal_id: str, end: CommandEnd) -> None:
        """No more output follows. Only for clients that show it."""
        ...

    def turn_ended(self, outcome: Json) -> None: ...
    def reviewed(self, session_id: str, turn: int, verdict: Verdict, changes: int) -> None:
        """The user decided about so many changes of this turn. Only for clients that show sessions."""
        ...

    def progress(self, title: str, on_cancel: Callable[[], None] | None) -> Progress: ...
    async def show_document(self, client_uri: str, *, take_focus: bool) -> bool: ...
    def changes_moved(self, client_uris: Sequence[str]) -> None:
        """Hunks under review changed in these documents: refresh lenses, hints, or send `sidecar/changes`."""
        ...


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """One row of `sidecar.listAgents`."""

    id: str
    name: str
    source: Literal["configured", "found", "registry", "demo"]
    installed: bool
    version: str = ""
    needs: str = ""


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """What `session/new` needs; paths absolute."""

    session_id: str
    """The sidecar's own id for it. Agents' ids may collide; only acp/ knows them."""
    agent: str
    cwd: str
    additional_directories: tuple[str, ...] = ()
    mcp_servers: tuple[Json, ...] = ()
    own_server: str = ""
    """The name of the sidecar's own server among them; empty if it is not among them."""
    own_beside: bool = False
    """The sidecar's own server is offered even to an agent whose own tools are not led to it."""


@dataclass(frozen=True, slots=True)
class OpenedSession:
    session_id: str
    agent: str
    modes: Json | None = None
    config_options: Sequence[Json] | None = None
    embedded_context: bool = False
    """The agent accepts `resource` blocks in prompts."""
    reference: str = ""
    """The agent's own id for the session. Only `acp/` understands it. It outlives the agent's process."""
    replayed: bool = False
    """A loaded session: the agent sent its history."""
    images: bool = False
    """The agent accepts `image` blocks in prompts."""
    loads: bool = False
    """The agent can continue earlier conversations."""
    rereads: bool = False
    """The agent's program is known to read files by itself just before it writes them. Its model does not see that."""
    own_tools_live: bool = False
    """The agent's own tools are led to ours."""
    reads_disk: bool = False
    """The agent is known to read files from the disk and not through the sidecar."""
    forks: bool = False
    """The agent can begin another conversation with what was said in this one."""

    @property
    def prompt_capabilities(self) -> Json | None:
        """ACP's `promptCapabilities`, as far as a client needs them; None if there are none."""
        return {"image": True} if self.images else None

    @property
    def choices(self) -> Json:
        """What the user can choose in the session, as every client is told: `modes`, `configOptions`,
        `promptCapabilities`, `forks`. Keys without a value are left out."""
        found = {
            "modes": self.modes,
            "configOptions": self.config_options,
            "promptCapabilities": self.prompt_capabilities,
            "forks": self.forks or None,
        }
        return {key: value for key, value in found.items() if value is not None}


class AgentFailed(Exception):
    """An agent could not do what was asked. The message is for a person: what happened, to what, what to do next."""

    def __init__(
        self,
        kind: Literal[
            "unknown_agent",
            "not_installed",
            "start_failed",
            "exited",
            "protocol_version",
            "auth_required",
            "timeout",
            "refused",
            "unsupported",
        ],
        message: str,
        data: Json | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.data: Json = data or {}


class Agents(Protocol):
    """The agents' side as the workspace sees it. Every method raises AgentFailed with words for a person."""

    def list(self) -> list[AgentInfo]: ...
    def found(self, agent: str) -> AgentCommand | None:
        """The command of an agent that was found on this machine and is not configured; None: there is none."""
        ...

    async def open_session(self, request: SessionRequest) -> OpenedSession: ...
    async def load_session(self, request: SessionRequest, reference: str, *, replay: bool) -> OpenedSession:
        """Continues an earlier conversation. Its history arrives as session updates before this returns, unless `replay` is false.
        "unsupported" if the agent cannot do this; "refused" if it has lost the conversation."""
        ...

    async def fork_session(self, request: SessionRequest, reference: str) -> OpenedSession:
        """Opens a new conversation that begins with what was said in an earlier or open one, which stays unchanged. No
        history is sent. "unsupported" if the agent cannot do this."""
        ...

    async def list_sessions(self, agent: str, folders: Sequence[str], cwd: str) -> Sequence[ListedSession]:
        """The agent's stored conversations, in these folders, or in all folders if none are given. `cwd`: the folder in
        which the agent is started if necessary, here and below."""
        ...

    async def delete_session(self, agent: str, reference: str, cwd: str) -> None: ...
    async def set_mode(self, session_id: str, mode_id: str) -> Json:
        """ACP's `modes` afterwards."""
        ...

    async def set_config_option(self, session_id: str, config_id: str, value: str | bool) -> Sequence[Json]:
        """ACP's `configOptions` afterwards."""
        ...

    async def authenticate(self, agent: str, cwd: str, method_id: str | None, *, finished: bool) -> Json:
        """Returns `{agent, state, …}`: what was done, or what a person has to do (docs/reference.md lists the states)."""
        ...

    async def logout(self, agent: str, cwd: str) -> None: ...
    async def prompt(self, session_id: str, blocks: Sequence[Json]) -> str:
        """Runs one turn; returns ACP's stop reason after every update of the turn was delivered."""
        ...

    def cancel(self, session_id: str) -> None: ...
    def silent_for(self, session_id: str) -> float:
        """Seconds since the last byte of the session's agent; 0 while it does not run."""
        ...

    def last_words(self, session_id: str) -> list[str]:
        """The last lines of the agent's error output, escaped and shortened."""
        ...

    def stop_command(self, session_id: str, terminal_id: str) -> None:
        """Ends one command that the agent runs. Harmless if it has ended."""
        ...

    def reference(self, session_id: str) -> str:
        """The agent's current id for the conversation: it may change when the agent restarts."""
        ...

    async def close_session(self, session_id: str) -> None: ...

    def runs(self, agent: str) -> bool:
        """Whether its process is already running."""
        ...

    def status(self) -> list[Json]: ...


class Audit(Protocol):
    """Records who did what, for a person to read afterwards."""

    def record(self, event: str, **fields: object) -> None: ...


class Approvals(Protocol):
    """The commands of agents that the user approved on this machine."""

    def knows(self, command: AgentCommand) -> bool: ...
    def remember(self, command: AgentCommand) -> None: ...


class Journal(Protocol):
    """Stores the text before each change by an agent."""

    async def begin(self, entry: Entry, takes_back: Sequence[str] = ()) -> str:
        """Returns the entry's id; durable when this returns. `takes_back`: the ids of entries that are taken back
        once this one is done, also if the next sidecar finds that out.

        Raises JournalFailed.
        """
        ...

    async def begin_all(
        self, entries: Sequence[Entry], takes_back: Sequence[Sequence[str]] = ()
    ) -> list[str]:
        """As `begin`, for many entries, with one wait for the disk. Either all are journalled, or none. `takes_back`: one
        list for each entry, or empty."""
        ...

    async def put_back(self, path: str, text: str | None, since: int = 0) -> bool:
        """Whether the newest entry of this file (canonical path) took other entries back, not before `since`
        (nanoseconds since the epoch), and left the file with this text (compared form; None: removed). Never raises."""
        ...

    async def told(self, path: str, text: str | None = None) -> Sequence[Told]:
        """The newest finished entries of this file (canonical path), in the form from which its review is restored
        (core/retold.py); oldest first. `text` (raw): only those on which the review of this text depends, if one of
        them left the file with it. Never raises."""
        ...

    async def held(self, path: str, text: str) -> bool:
        """Whether this file (canonical path) is known to have held this text (compared form) before some change. Not if its removal was kept since. Never
        raises."""
        ...

    async def finish(self, entry_id: str, state: EntryState) -> None:
        """Records the outcome. Never raises: an entry that stays open is settled at the next start."""
        ...

    async def finish_all(self, entry_ids: Sequence[str], state: EntryState) -> None:
        """As `finish`, for many entries with the same outcome."""
        ...

    async def save_ledger(
        self,
        uri: str,
        text: str | Text,
        hunks: bytes | AsJson,
        in_file: tuple[Text, AsJson] | None = None,
    ) -> None:
        """Stores the unreviewed hunks of a document, and the text that they are in; `in_file`: and those of its file, if the
        document has unsaved work. Never raises."""
        ...

    async def save_rows(
        self, rows: Mapping[str, KeptFile], forgotten: Collection[str] = (), rejected: Collection[str] = ()
    ) -> None:
        """In one transaction: stores rows of the review of whole files by their names (which `ledger_uris` has, too), forgets
        others, and records that these entries were rejected. Never raises."""
        ...

    async def save_picked(self, path: str, text: str, hunks: bytes) -> None:
        """Stores the hunks of a file (canonical path) that the user keeps while other hunks of the same writes stay
        under review, and the text (raw) that they are in. `told` uses them. Never raises."""
        ...

    async def load_ledger(self, uri: str) -> tuple[str, bytes] | None: ...
    async def load_ledger_in_file(self, uri: str) -> tuple[str, bytes] | None:
        """What was stored as `in_file`."""
        ...

    async def ledger_uris(self) -> Sequence[str]:
        """The documents that have such hunks, of all workspaces. Never raises."""
        ...

    async def forget_ledger(self, *uris: str) -> None: ...

    async def undone(self, entry_ids: Collection[str], *, or_rejected: bool = False) -> Container[str]:
        """Those of the entries that a revert has taken back. `or_rejected`: or of which nothing is under review any more
        since a rejection. Never raises."""
        ...

    async def removal(self, path: str) -> tuple[Recorded, FileState] | None:
        """The newest entry of this file (canonical path) that is not taken back, and what was there before the row of the
        review of whole files that it ends. None unless that entry removed the file. Never raises."""
        ...

    async def gone_before(self, entry_id: str) -> Sequence[tuple[Texts, States | None]]:
        """What those entries of the same file from before the row that this entry ends did that were taken back after it,
        newest first: their texts and, if these do not say everything, the states of the whole file. Never raises."""
        ...

    async def paths(self, entry_ids: Collection[str]) -> Sequence[str]:
        """The files (canonical paths) of these entries, each once. Never raises."""
        ...

    async def folders_under_review(self) -> Sequence[str]:
        """The folders (canonical), of all workspaces, that were created for agents' files that nobody has reviewed yet. Never raises."""
        ...

    # The files at the start of a turn (journal.turns). These never raise.

    async def turn_began(self, start: TurnStart) -> None:
        """Durable when this returns. Replaces the session's previous turn."""
        ...

    async def turn_saved(self, session: str, path: str, image: PreImage) -> None:
        """The user saved a file of the session's running turn."""
        ...

    async def turn_saving(self, session: str, path: str, save: SavedOver) -> None:
        """The user saved such a file on top of changes that may not be recorded yet. `turn_saved` follows."""
        ...

    async def turns_seen(self) -> None:
        """The turns of this process are still running."""
        ...

    async def turn_acted(self, session: str) -> None:
        """The agent of the running turn is doing something that may change files."""
        ...

    async def turn_ended(self, session: str) -> None: ...
    async def last_turn(self, session: str) -> int:
        """The highest turn of a session that wrote something; 0 if none did."""
        ...
