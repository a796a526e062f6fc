"""What this server adds to LSP: command names and their arguments, custom methods and their payloads. Nothing else names them.

Commands go through `workspace/executeCommand` with one argument: an object, a plain string if a class below says so, or nothing. Methods to the
client are sent only if it announced them under `initializationOptions.client`; the standard fallback stands beside each in brackets. Names and shapes
are the reference in the documentation, which a test compares with this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal, NotRequired, TypedDict

import msgspec

from sidecar.core.coordinates import TextEdit
from sidecar.core.text import Position, Range
from sidecar.core.uri import normalise
from sidecar.lsp.command_names import *
from sidecar.workspace.ports.prompt_context import Mention, Problem


class Arguments(msgspec.Struct, frozen=True, rename="camel"):
    """The argument object of a command. Unknown keys are ignored, so that newer clients can talk to this server."""

    TEXT: ClassVar[str] = ""
    """The field that a plain string argument fills, by its JSON name; "" if a string is not accepted."""


class NoArguments(Arguments, frozen=True):
    """`sidecar.status`, `sidecar.listAgents`."""


class NewSession(Arguments, frozen=True, rename="camel"):
    """→ `{sessionId, agent, modes?, configOptions?, promptCapabilities?, forks?}`. A plain string is the agent's name."""

    TEXT: ClassVar[str] = "agent"
    agent: str | None = None
    cwd: str | None = None
    """An absolute path. Default: the first workspace folder."""
    additional_directories: list[str] = []
    mcp_servers: list[dict[str, Any]] = []


_Count = Annotated[int, msgspec.Meta(ge=0)]


class LspPosition(msgspec.Struct, frozen=True):
    line: _Count
    character: _Count


class LspRange(msgspec.Struct, frozen=True):
    start: LspPosition
    end: LspPosition


class LspTextEdit(msgspec.Struct, frozen=True, rename="camel"):
    range: LspRange
    new_text: str


class LspDiagnostic(msgspec.Struct, frozen=True):
    """The members that an agent is told."""

    range: LspRange
    message: str
    severity: int | None = None
    source: str | None = None
    code: int | str | None = None


class ContextItem(msgspec.Struct, frozen=True):
    """One document: `range` is the selection in it, `diagnostics` are the problems that the client has for it (our own hints are left out)."""

    uri: str
    range: LspRange | None = None
    diagnostics: list[LspDiagnostic] = []


def text_edit(edit: LspTextEdit) -> TextEdit:
    """Return the edit as the workspace takes it."""
    start, end = edit.range.start, edit.range.end
    return TextEdit(Position(start.line, start.character), Position(end.line, end.character), edit.new_text)


def mention(item: ContextItem) -> Mention:
    """Return the item as the workspace takes it."""
    problems = [
        Problem(
            Position(one.range.start.line, one.range.start.character),
            one.message,
            one.severity,
            one.source or "",
            "" if one.code is None else str(one.code),
        )
        for one in item.diagnostics
    ]
    where = item.range
    selection = None
    if where is not None:
        start, end = where.start, where.end
        selection = Range(Position(start.line, start.character), Position(end.line, end.character))
    return Mention(normalise(item.uri), selection, tuple(problems))


class Prompt(Arguments, frozen=True, rename="camel"):
    """→ `{sessionId, turn}` at once, or with `wait` the same object as `sidecar/turnEnded`. A plain string is the prompt."""

    TEXT: ClassVar[str] = "prompt"
    prompt: str | list[dict[str, Any]]
    """A text, or ACP content blocks."""
    session_id: str | None = None
    wait: bool = False
    context: list[ContextItem] = []
    """What the prompt refers to, sent as blocks of their own."""


class StopCommand(Arguments, frozen=True, rename="camel"):
    """→ null. Ends one command of an agent, identified by its terminal's id. The turn goes on, and the agent is told."""

    session_id: str
    terminal_id: str


class OfSession(Arguments, frozen=True, rename="camel"):
    """`sidecar.cancel`, `sidecar.closeSession` → null; `sidecar.openChat` → `{uri, sessionId?}`. A plain string is the session's id."""

    TEXT: ClassVar[str] = "sessionId"
    session_id: str | None = None


class Send(Arguments, frozen=True, rename="camel"):
    """Sends the last section of a transcript → `{uri}` at once. Without a URI: the transcript that was last used."""

    TEXT: ClassVar[str] = "uri"
    uri: str | None = None


class Answer(Arguments, frozen=True, rename="camel"):
    """Answers an open question of a transcript → null."""

    question_id: str
    option_id: str


class OfAgent(Arguments, frozen=True, rename="camel"):
    """`sidecar.logout` → null. A plain string is the agent's id."""

    TEXT: ClassVar[str] = "agent"
    agent: str


class Authenticate(Arguments, frozen=True, rename="camel"):
    """→ `AuthenticateAnswer`. A plain string is the agent's id."""

    TEXT: ClassVar[str] = "agent"
    agent: str
    method_id: str | None = None
    """One of the agent's `methods`; optional if the agent offers only one."""
    finished: bool = False
    """A login in a terminal has ended with exit code 0: the agent must be restarted."""


class ListSessions(Arguments, frozen=True, rename="camel"):
    """→ list of `SessionRow`, the most recently used first: the sessions in the editor's folders. A plain string is the agent's id."""

    TEXT: ClassVar[str] = "agent"
    agent: str | None = None
    """Only this agent, which is started if necessary and asked for the sessions it keeps. Absent: all running agents are asked."""
    all: bool = False
    """Include sessions in other folders."""


class LoadSession(Arguments, frozen=True, rename="camel"):
    """→ `LoadSessionAnswer`, after its history was sent as `sidecar/sessionUpdate` with `replay`. A plain string is the session's id."""

    TEXT: ClassVar[str] = "sessionId"
    session_id: str
    replay: bool = True
    """False: the history is not sent, because the client already shows it."""


class ForkSession(Arguments, frozen=True, rename="camel"):
    """→ `ForkSessionAnswer`: another conversation that begins with the content of this one, if its agent can do that (`forks`). A plain string is the
    session's id."""

    TEXT: ClassVar[str] = "sessionId"
    session_id: str


class DeleteSession(Arguments, frozen=True, rename="camel"):
    """→ `{deleted: [sessionId], kept: [{sessionId, reason}]}`: deletes the session at its agent, if the agent can, and the sidecar's own record. A
    plain string is the session's id."""

    TEXT: ClassVar[str] = "sessionId"
    session_id: str | None = None
    all: bool = False
    """Delete every record of the sidecar on this machine whose session is not open."""


class TranscriptOf(Arguments, frozen=True, rename="camel"):
    """→ `TranscriptAnswer`. A plain string is the session's id."""

    TEXT: ClassVar[str] = "sessionId"
    session_id: str


class SetMode(Arguments, frozen=True, rename="camel"):
    """→ `{modes}`, ACP's shape, with the new `currentModeId`."""

    session_id: str
    mode_id: str


class SetConfigOption(Arguments, frozen=True, rename="camel"):
    """→ `{configOptions}`, ACP's shape. An agent's models are an option of category `model`, even if the agent sends them the older way."""

    session_id: str
    config_id: str
    value: str | bool


class ListChanges(Arguments, frozen=True, rename="camel"):
    """→ `[{changeId, uri, version?, range, oldText, newText, sessionId, turn, agent, title?, toolCallId?, created?, unknown?, file?, state}]`.
    `version`: the version of the open document in which `range` lies; `created`: the agent created the file; `unknown`: found on disk while agents
    worked, author unknown; `file`: the change is of the whole file (`{kind, from?, oldMode?, newMode?, oldTarget?, newTarget?}`). A plain string
    is a document's URI."""

    TEXT: ClassVar[str] = "uri"
    session_id: str | None = None
    uri: str | None = None


class TextBefore(Arguments, frozen=True, rename="camel"):
    """→ `{text}`: the document without its unreviewed work, or without that of a session or turn; null if it has none. A plain string is a document's URI."""

    TEXT: ClassVar[str] = "uri"
    uri: str
    session_id: str | None = None
    turn: int | None = None


class Changes(Arguments, frozen=True, rename="camel"):
    """`sidecar.keep` → `{kept, impossible}`, `sidecar.reject` → `{rejected, impossible, told}`: change ids, and for the impossible ones `{changeId,
    reason}`. A plain string is a change's id."""

    TEXT: ClassVar[str] = "changeId"
    change_id: str | None = None
    change_ids: list[str] | None = None
    """Several at once: changes in one document are rejected in one undo step."""
    uri: str | None = None
    session_id: str | None = None
    turn: int | None = None
    all: bool = False
    reason: str | None = None
    """For `sidecar.reject`: why, for an agent that waits for the answer to its write (`writes: "confirm"`). `told` lists the changes whose agent gets it."""


class Turn(Arguments, frozen=True, rename="camel"):
    """`sidecar.revertTurn` → like `sidecar.reject`. A running turn is cancelled first."""

    session_id: str
    turn: int


Take = Literal["mine", "agent", "ask"]


class ListConflicts(Arguments, frozen=True, rename="camel"):
    """→ the open conflicts in their current state, each shaped like `sidecar/conflict`. A plain string is a document's URI."""

    TEXT: ClassVar[str] = "uri"
    uri: str | None = None


class ResolveConflict(Arguments, frozen=True, rename="camel"):
    """→ `{conflictId, outcome}`: `mine`, `agent`, `asked`, or `gone` if it is no longer a conflict. The result is one undoable edit, not saved: where
    both changed the same lines, those of `take` stand; the agent's other changes are merged in. `ask` prompts the agent to do it again."""

    conflict_id: str
    take: Take


# Methods: server → client

SESSION_UPDATE: Final = "sidecar/sessionUpdate"
"""Notification, `client.sessionUpdates`: `{sessionId, update, replay?}`, the update in ACP's shape; `replay: true` is history
[window/logMessage, history nowhere]."""
SESSION_OPENED: Final = "sidecar/sessionOpened"
"""Notification, `client.sessionUpdates`: `{sessionId, agent, modes?, configOptions?, promptCapabilities?, forks?}`: the session is open with its
agent now, for the first time or again, whoever asked for it, with these choices [nothing]."""
NOTICE: Final = "sidecar/notice"
"""Notification, `client.sessionUpdates`: `{sessionId, message}`, a message from the sidecar itself in a conversation [window/showMessage]."""
TERMINAL_OUTPUT: Final = "sidecar/terminalOutput"
"""Notification, `client.sessionUpdates`: `{sessionId, terminalId, output}`, a command's output since the last one [nothing]."""
TERMINAL_ENDED: Final = "sidecar/terminalEnded"
"""Notification, `client.sessionUpdates`: `{sessionId, terminalId, exitCode?, signal?, stopped?}`; `stopped`: by the user [nothing]."""
REVIEWED: Final = "sidecar/reviewed"
"""Notification, `client.sessionUpdates`: `{sessionId, turn, verdict, changes}`: the user has just kept or rejected this number of changes [nothing]."""
TURN_ENDED: Final = "sidecar/turnEnded"
"""Notification, to every client: `{sessionId, turn, stopReason, changes: [{uri, added, removed}], error?, errorKind?, methods?}`."""
REQUEST_PERMISSION: Final = "sidecar/requestPermission"
"""Request, `client.permissions` [window/showMessageRequest, or code actions in the transcript]."""
SAVE: Final = "sidecar/save"
"""Request, `client.save`: `{uri, version, exact?}` → `{saved, typed?}` [the document stays dirty]. `exact`: without the user's actions on save, if
that is possible."""
OPEN: Final = "sidecar/open"
"""Request, `client.open`: `{uri}` → `{version}` [disk]."""
CLOSE: Final = "sidecar/close"
"""Request, `client.open`: `{uri}` → null."""
RELOAD: Final = "sidecar/reload"
"""Request, `client.reload`: `{uri, version, edits}` → `{version}` or `{refused}`: take the disk's text, then apply these edits [workspace/applyEdit]."""
CHANGES: Final = "sidecar/changes"
"""Notification, `client.changes`: `{uris}`, the documents whose hunks moved [code lens and diagnostic refresh]."""
CONFLICT: Final = "sidecar/conflict"
"""Notification, `client.conflicts`: `ConflictParams`, when a conflict is found, changes or ends [a message, warnings, lenses, code actions]."""
AGENT_STATE: Final = "sidecar/agentState"
"""Notification, `client.agentState`: `AgentStateParams` [nothing]."""
ACTIVITY: Final = "sidecar/activity"
"""Notification, `client.activity`: `ActivityParams`, reads and writes for follow mode [nothing]."""
CONTEXT: Final = "sidecar/context"
"""Request, `client.context`: `{uris?}` → `[{uri, range?, diagnostics?}]`: the diagnostics of these documents; without `uris`, those of the active
document, with its selection [agents are told that the editor does not report this]."""
ELICITATION: Final = "sidecar/elicitation"
"""Request, `client.elicitation`: `ElicitationParams` → `ElicitationAnswer` [agents are told that they cannot ask]."""
ELICITATION_COMPLETE: Final = "sidecar/elicitationComplete"
"""Notification, `client.elicitation`: `{agent, elicitationId}`: the interaction at an elicitation's URL has ended [nothing]."""


# Methods: client → server

OPAQUE: Final = "sidecar/opaque"
"""Notification: `{uri, dirty}` for a file open where text sync does not reach (notebooks, custom editors)."""


class OpaqueParams(msgspec.Struct, frozen=True):
    uri: str
    dirty: bool = True


# Payloads


class PermissionOption(TypedDict):
    optionId: str
    kind: str
    label: str


class PermissionParams(TypedDict):
    """`sidecar/requestPermission`; withdrawn by `$/cancelRequest`. Answer: `{optionId}` or `{cancelled: true}`."""

    sessionId: str
    requestId: str
    action: Literal["read", "write", "execute", "start", "other"]
    text: str
    reason: str
    options: Sequence[PermissionOption]
    target: NotRequired[str]
    """A canonical path."""
    argv: NotRequired[Sequence[str]]
    """To be shown in full: `text` may contain only part of a long command."""
    cwd: NotRequired[str]
    env: NotRequired[Sequence[str]]
    """Names only."""
    diff: NotRequired[object]


class ConflictHunk(TypedDict):
    """One place that both changed, as whole lines of the three texts; each may be empty. Line ends are "\\n"."""

    range: Mapping[str, object]
    """The range of `mine` in the document of that version."""
    base: str
    mine: str
    agent: str


class ConflictParams(TypedDict):
    """The params of `sidecar/conflict`, and a row of `sidecar.listConflicts`."""

    conflictId: str
    uri: str
    version: int
    state: Literal["open", "closed"]
    origin: Literal["disk", "write"]
    """disk: the file has the agent's text and the buffer does not; write: the agent's write was refused, and the agent was told."""
    asked: bool
    """Whether the agent was asked to do it again."""
    hunks: Sequence[ConflictHunk]
    sessionId: NotRequired[str]
    """This and `agent` are absent if the author is unknown."""
    agent: NotRequired[str]
    outcome: NotRequired[Literal["mine", "agent", "saved", "closed", "gone"]]
    """Present when `state` is `closed`: mine, agent: the user decided; saved: the user saved over it; closed: the document was closed; gone: it is no
    longer a conflict, for example because both changes fit together again."""


class SaveAnswer(msgspec.Struct, frozen=True):
    saved: bool = False
    typed: bool = False
    """The user typed, undid or redid while the save was prepared, so not every change since then comes from the actions on save."""


class OpenAnswer(msgspec.Struct, frozen=True):
    version: int


class ReloadAnswer(msgspec.Struct, frozen=True):
    version: int | None = None
    taken: int | None = None
    """The version in which the disk's text replaced the document's; absent if nothing can be typed meanwhile."""
    read: int | None = None
    """The version with the disk's text on which the document is now based."""
    made: list[LspTextEdit] = []
    """The edits on top of that text, including what was typed meanwhile."""
    refused: str | None = None
    """version | not-active"""


class PermissionAnswer(msgspec.Struct, frozen=True, rename="camel"):
    option_id: str | None = None
    cancelled: bool = False


class AuthMethod(TypedDict):
    """One way to log in to an agent."""

    id: str
    name: str
    description: NotRequired[str]
    type: Literal["agent", "terminal", "env_var"]
    """agent: `sidecar.authenticate` does it · terminal: a command for the user to run · env_var: variables for the settings."""


class TerminalLogin(TypedDict):
    """The command to run in a terminal, exactly as given, without a shell."""

    command: str
    args: Sequence[str]
    env: Mapping[str, str]
    """Added to the editor's own environment; may contain values from the settings."""
    cwd: NotRequired[str]


class AuthenticateAnswer(TypedDict):
    """`done`: prompts work now. `choose`: call again with one of `methods`. `terminal`: run `terminal`, then call again with `finished` when it exits
    with 0. `env`: `message` says which variables to set under the agent's `env`."""

    agent: str
    state: Literal["done", "choose", "terminal", "env"]
    methods: NotRequired[Sequence[AuthMethod]]
    terminal: NotRequired[TerminalLogin]
    message: NotRequired[str]
    vars: NotRequired[Sequence[Mapping[str, object]]]
    """env: `{name, label?, secret, optional}`."""
    link: NotRequired[str]
    """env: where to get the values."""


class SessionRow(TypedDict):
    """One conversation, open or not."""

    sessionId: str
    agent: str
    cwd: str
    title: NotRequired[str]
    updatedAt: NotRequired[str]
    """ISO 8601."""
    open: bool
    running: bool
    """A turn is in progress."""
    turn: int
    """The number of turns since it was opened."""
    transcript: bool
    """The sidecar has a record of it."""
    listed: bool
    """Its agent says that it keeps the session."""
    loads: bool
    """Its agent said that it can resume conversations."""
    forks: bool
    """Its agent said that it can fork this conversation into a new one."""
    modes: NotRequired[Mapping[str, object]]
    """This and the following: only for open sessions, in ACP's shape."""
    configOptions: NotRequired[Sequence[Mapping[str, object]]]
    promptCapabilities: NotRequired[Mapping[str, object]]
    """`{image: true}` if the agent accepts images."""


class LoadSessionAnswer(TypedDict):
    sessionId: str
    agent: str
    history: Literal["agent", "transcript", "none"]
    """Whose record of the conversation was replayed."""
    remembers: bool
    """False: the agent cannot resume it; the next prompt opens a new conversation with the agent."""
    note: NotRequired[str]
    """For the user: why not."""
    title: NotRequired[str]
    modes: NotRequired[Mapping[str, object]]
    configOptions: NotRequired[Sequence[Mapping[str, object]]]
    promptCapabilities: NotRequired[Mapping[str, object]]
    """`{image: true}` if the agent accepts images."""
    forks: NotRequired[bool]
    """Its agent can fork this conversation into a new one."""


class ForkSessionAnswer(TypedDict):
    """The fork's record (`sidecar.transcript`) contains what was said before the fork."""

    sessionId: str
    """The id of the new conversation, which is open."""
    agent: str
    forkOf: str
    title: NotRequired[str]
    modes: NotRequired[Mapping[str, object]]
    configOptions: NotRequired[Sequence[Mapping[str, object]]]
    promptCapabilities: NotRequired[Mapping[str, object]]
    forks: NotRequired[bool]


class TranscriptEntry(TypedDict):
    """`prompt`: `{turn, prompt}` · `update`: `{turn, update}`, joined chunks, in ACP's shape · `end`: `{turn, stopReason, changes, error?}` ·
    `reviewed`: `{turn, verdict, changed}`, the number of changes kept or rejected · `omitted`: older entries are no longer kept."""

    at: str
    """ISO 8601."""
    type: Literal["prompt", "update", "end", "reviewed", "omitted"]
    turn: NotRequired[int]
    prompt: NotRequired[Sequence[Mapping[str, object]]]
    update: NotRequired[Mapping[str, object]]
    stopReason: NotRequired[str]
    changes: NotRequired[Sequence[Mapping[str, object]]]
    error: NotRequired[str]
    verdict: NotRequired[Literal["kept", "rejected"]]
    changed: NotRequired[int]


class TranscriptAnswer(TypedDict):
    sessionId: str
    agent: str
    cwd: str
    title: NotRequired[str]
    createdAt: str
    updatedAt: str
    entries: Sequence[TranscriptEntry]


class AgentStateParams(TypedDict):
    """The params of `sidecar/agentState`: the state of an agent's process."""

    agent: str
    state: Literal["starting", "running", "stopped", "failed"]
    name: NotRequired[str]
    version: NotRequired[str]
    message: NotRequired[str]
    """failed: why, and what to do, for the user."""
    sessions: Sequence[str]
    """failed: the open sessions whose conversation with the agent is lost."""


class ActivityParams(TypedDict):
    """The params of `sidecar/activity`: one read or write by an agent, after it was answered."""

    sessionId: str
    turn: int
    kind: Literal["read", "write"]
    uri: str
    line: NotRequired[int]
    """From 0: the first line that was read or changed, if known."""
    outcome: str
    """`ok`, or the `errorKind` that the agent was told."""
    toolCallId: NotRequired[str]


class ElicitationParams(TypedDict):
    """The params of `sidecar/elicitation`; withdrawn by `$/cancelRequest`."""

    requestId: str
    agent: str
    sessionId: NotRequired[str]
    """Absent: it belongs to no session (a login)."""
    toolCallId: NotRequired[str]
    mode: Literal["form", "url"]
    message: str
    requestedSchema: NotRequired[Mapping[str, object]]
    """form: ACP's restricted JSON Schema."""
    url: NotRequired[str]
    """url: https, or http on this machine. Show it with its host, and open it only after a click."""
    elicitationId: NotRequired[str]


class ElicitationAnswer(msgspec.Struct, frozen=True):
    """`{action: "accept", content?}` · `{action: "decline"}` · `{action: "cancel"}` (closed without an answer)."""

    action: Literal["accept", "decline", "cancel"] = "cancel"
    content: dict[str, Any] | None = None
