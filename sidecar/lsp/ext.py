"""What this server adds to LSP: command names and their arguments, custom methods and their payloads. Nothing else names them.

Commands go through `workspace/executeCommand` with one argument: an object, a plain string where a class below says so, or
nothing. Methods to the client are sent only when it announced them under `initializationOptions.client`; the standard fallback is
beside each. Names and shapes are the reference in the documentation, which a test compares with this file.
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
    """The field that a plain string argument fills, by its JSON name; "" where a string is not accepted."""


class NoArguments(Arguments, frozen=True):
    """`sidecar.status`, `sidecar.listAgents`."""


class NewSession(Arguments, frozen=True, rename="camel"):
    """→ `{sessionId, agent, modes?, configOptions?, promptCapabilities?, forks?}`. A plain string is the agent's name."""

    TEXT: ClassVar[str] = "agent"
    agent: str | None = None
    cwd: str | None = None
    """An absolute path; the first workspace folder when absent."""
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
    """As far as an agent is told."""

    range: LspRange
    message: str
    severity: int | None = None
    source: str | None = None
    code: int | str | None = None


class ContextItem(msgspec.Struct, frozen=True):
    """One document: `range` is what is selected in it, `diagnostics` what the client knows of it (our own hints are left out)."""

    uri: str
    range: LspRange | None = None
    diagnostics: list[LspDiagnostic] = []


def text_edit(edit: LspTextEdit) -> TextEdit:
    """As the workspace takes it."""
    start, end = edit.range.start, edit.range.end
    return TextEdit(Position(start.line, start.character), Position(end.line, end.character), edit.new_text)


def mention(item: ContextItem) -> Mention:
    """As the workspace takes it."""
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
    """Text, or ACP content blocks."""
    session_id: str | None = None
    wait: bool = False
    context: list[ContextItem] = []
    """What it refers to: these go along as blocks of their own."""


class StopCommand(Arguments, frozen=True, rename="camel"):
    """→ null. Ends one command of an agent's, which the terminal's id names; its turn goes on, and the agent is told."""

    session_id: str
    terminal_id: str


class OfSession(Arguments, frozen=True, rename="camel"):
    """`sidecar.cancel`, `sidecar.closeSession` → null; `sidecar.openChat` → `{uri, sessionId?}`. A plain string is the session's id."""

    TEXT: ClassVar[str] = "sessionId"
    session_id: str | None = None


class Send(Arguments, frozen=True, rename="camel"):
    """Sends the last section of a transcript → `{uri}` at once. Without a URI: the transcript that was used last."""

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
    """One of the agent's `methods`; may be left out where it offers one."""
    finished: bool = False
    """A login in a terminal has ended with exit code 0: the agent must be started again."""


class ListSessions(Arguments, frozen=True, rename="camel"):
    """→ list of `SessionRow`, the last used first: those in the editor's folders. A plain string is the agent's id."""

    TEXT: ClassVar[str] = "agent"
    agent: str | None = None
    """Only this agent's; it is started if need be and asked for those it keeps. Without: agents that run are asked."""
    all: bool = False
    """Those of other folders too."""


class LoadSession(Arguments, frozen=True, rename="camel"):
    """→ `LoadSessionAnswer`, after its history went by `sidecar/sessionUpdate` with `replay`. A plain string is the session's id."""

    TEXT: ClassVar[str] = "sessionId"
    session_id: str
    replay: bool = True
    """False: the client shows the history already; it is not sent."""


class ForkSession(Arguments, frozen=True, rename="camel"):
    """→ `ForkSessionAnswer`: another conversation that begins with what was said in this one, where its agent can do that (`forks`).
    A plain string is the session's id."""

    TEXT: ClassVar[str] = "sessionId"
    session_id: str


class DeleteSession(Arguments, frozen=True, rename="camel"):
    """→ `{deleted: [sessionId], kept: [{sessionId, reason}]}`: with the agent where it can, and the sidecar's own record.
    A plain string is the session's id."""

    TEXT: ClassVar[str] = "sessionId"
    session_id: str | None = None
    all: bool = False
    """Every record of the sidecar's on this machine, of sessions that are not open."""


class TranscriptOf(Arguments, frozen=True, rename="camel"):
    """→ `TranscriptAnswer`. A plain string is the session's id."""

    TEXT: ClassVar[str] = "sessionId"
    session_id: str


class SetMode(Arguments, frozen=True, rename="camel"):
    """→ `{modes}`, ACP's shape, with the new `currentModeId`."""

    session_id: str
    mode_id: str


class SetConfigOption(Arguments, frozen=True, rename="camel"):
    """→ `{configOptions}`, ACP's shape. An agent's models are an option of category `model`, also where it sends them the older way."""

    session_id: str
    config_id: str
    value: str | bool


class ListChanges(Arguments, frozen=True, rename="camel"):
    """→ `[{changeId, uri, version?, range, oldText, newText, sessionId, turn, agent, title?, toolCallId?, created?, unknown?, file?, state}]`. `version`: of the
    document in which `range` lies, when it is open; `created`: the agent made the file; `unknown`: found on disk while agents worked, and
    nobody knows whose it is; `file`: the change is of the whole file (`{kind, from?, oldMode?, newMode?, oldTarget?, newTarget?}`). A plain string is a document's URI."""

    TEXT: ClassVar[str] = "uri"
    session_id: str | None = None
    uri: str | None = None


class TextBefore(Arguments, frozen=True, rename="camel"):
    """→ `{text}`: the document without its unreviewed work, or that of a session or turn; null when it has none. A plain string is
    a document's URI."""

    TEXT: ClassVar[str] = "uri"
    uri: str
    session_id: str | None = None
    turn: int | None = None


class Changes(Arguments, frozen=True, rename="camel"):
    """`sidecar.keep` → `{kept, impossible}`, `sidecar.reject` → `{rejected, impossible, told}`: change ids, and for the impossible
    ones `{changeId, reason}`. A plain string is a change's id."""

    TEXT: ClassVar[str] = "changeId"
    change_id: str | None = None
    change_ids: list[str] | None = None
    """Several at once: those of one document are put back in one undo step."""
    uri: str | None = None
    session_id: str | None = None
    turn: int | None = None
    all: bool = False
    reason: str | None = None
    """Of `sidecar.reject`: why, for an agent that waits for the answer to its write (`writes: "confirm"`). Those that it reaches are in `told`."""


class Turn(Arguments, frozen=True, rename="camel"):
    """`sidecar.revertTurn` → as `sidecar.reject`. A running turn is cancelled first."""

    session_id: str
    turn: int


Take = Literal["mine", "agent", "ask"]


class ListConflicts(Arguments, frozen=True, rename="camel"):
    """→ the open conflicts, each as `sidecar/conflict` tells it, as they lie now. A plain string is a document's URI."""

    TEXT: ClassVar[str] = "uri"
    uri: str | None = None


class ResolveConflict(Arguments, frozen=True, rename="camel"):
    """→ `{conflictId, outcome}`: `mine`, `agent`, `asked`, or `gone` when it no longer is one. One undoable edit, not saved: where both
    changed the same lines, those named stand; what else the agent changed comes along. `ask` prompts the agent to do it again."""

    conflict_id: str
    take: Take


# Methods: server → client

SESSION_UPDATE: Final = "sidecar/sessionUpdate"
"""Notification, `client.sessionUpdates`: `{sessionId, update, replay?}`, the update in ACP's shape; `replay: true` is history
[window/logMessage, history nowhere]."""
SESSION_OPENED: Final = "sidecar/sessionOpened"
"""Notification, `client.sessionUpdates`: `{sessionId, agent, modes?, configOptions?, promptCapabilities?, forks?}`: whoever asked for it, the session
is open with its agent now, perhaps anew, and this can be chosen in it [nothing]."""
NOTICE: Final = "sidecar/notice"
"""Notification, `client.sessionUpdates`: `{sessionId, message}`, the sidecar's own words in a conversation [window/showMessage]."""
TERMINAL_OUTPUT: Final = "sidecar/terminalOutput"
"""Notification, `client.sessionUpdates`: `{sessionId, terminalId, output}`, what a command said since the last one [nothing]."""
TERMINAL_ENDED: Final = "sidecar/terminalEnded"
"""Notification, `client.sessionUpdates`: `{sessionId, terminalId, exitCode?, signal?, stopped?}`; `stopped`: by the user [nothing]."""
REVIEWED: Final = "sidecar/reviewed"
"""Notification, `client.sessionUpdates`: `{sessionId, turn, verdict, changes}`: the user has just kept or rejected so many changes [nothing]."""
TURN_ENDED: Final = "sidecar/turnEnded"
"""Notification, to every client: `{sessionId, turn, stopReason, changes: [{uri, added, removed}], error?, errorKind?, methods?}`."""
REQUEST_PERMISSION: Final = "sidecar/requestPermission"
"""Request, `client.permissions` [window/showMessageRequest, or code actions in the transcript]."""
SAVE: Final = "sidecar/save"
"""Request, `client.save`: `{uri, version, exact?}` → `{saved, typed?}` [the document stays dirty]. `exact`: without what the
user has done at every save, where that is possible."""
OPEN: Final = "sidecar/open"
"""Request, `client.open`: `{uri}` → `{version}` [disk]."""
CLOSE: Final = "sidecar/close"
"""Request, `client.open`: `{uri}` → null."""
RELOAD: Final = "sidecar/reload"
"""Request, `client.reload`: `{uri, version, edits}` → `{version}` or `{refused}`: take the disk's text, then apply these edits
[workspace/applyEdit]."""
CHANGES: Final = "sidecar/changes"
"""Notification, `client.changes`: `{uris}`, the documents whose hunks moved [code lens and diagnostic refresh]."""
CONFLICT: Final = "sidecar/conflict"
"""Notification, `client.conflicts`: `ConflictParams`, when a conflict is found, changes or ends [a message, warnings, lenses, code actions]."""
AGENT_STATE: Final = "sidecar/agentState"
"""Notification, `client.agentState`: `AgentStateParams` [nothing]."""
ACTIVITY: Final = "sidecar/activity"
"""Notification, `client.activity`: `ActivityParams`, reads and writes for follow mode [nothing]."""
CONTEXT: Final = "sidecar/context"
"""Request, `client.context`: `{uris?}` → `[{uri, range?, diagnostics?}]`: the diagnostics of these documents; without `uris`, of the active one,
with what is selected in it [agents are told that the editor does not tell]."""
ELICITATION: Final = "sidecar/elicitation"
"""Request, `client.elicitation`: `ElicitationParams` → `ElicitationAnswer` [agents are told that they cannot ask]."""
ELICITATION_COMPLETE: Final = "sidecar/elicitationComplete"
"""Notification, `client.elicitation`: `{agent, elicitationId}`: what happened at an elicitation's URL has ended [nothing]."""


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
    """The canonical path."""
    argv: NotRequired[Sequence[str]]
    """To be shown whole: a long command stands in `text` in part only."""
    cwd: NotRequired[str]
    env: NotRequired[Sequence[str]]
    """Names only."""
    diff: NotRequired[object]


class ConflictHunk(TypedDict):
    """One place that both changed, as whole lines of the three texts; each may be empty. Line ends are "\\n"."""

    range: Mapping[str, object]
    """Where `mine` lies in the document, of that version."""
    base: str
    mine: str
    agent: str


class ConflictParams(TypedDict):
    """`sidecar/conflict`, and a row of `sidecar.listConflicts`."""

    conflictId: str
    uri: str
    version: int
    state: Literal["open", "closed"]
    origin: Literal["disk", "write"]
    """disk: the file has the agent's text and the buffer does not; write: the agent's write was refused, and the agent was told."""
    asked: bool
    """The agent was asked to do it again."""
    hunks: Sequence[ConflictHunk]
    sessionId: NotRequired[str]
    """This and `agent` are absent when nobody knows whose change it is."""
    agent: NotRequired[str]
    outcome: NotRequired[Literal["mine", "agent", "saved", "closed", "gone"]]
    """With `closed`: decided; the user saved over it or closed the document; or both fit together again."""


class SaveAnswer(msgspec.Struct, frozen=True):
    saved: bool = False
    typed: bool = False
    """The user typed while the save was prepared, so that not every change then came from what is done at a save."""


class OpenAnswer(msgspec.Struct, frozen=True):
    version: int


class ReloadAnswer(msgspec.Struct, frozen=True):
    version: int | None = None
    taken: int | None = None
    """The version with which the disk's text replaced what the document said; absent if nothing can be typed meanwhile."""
    read: int | None = None
    """The version with the text on disk that it is based on now."""
    made: list[LspTextEdit] = []
    """What was put on top of that text, in which what was typed meanwhile is, too."""
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
    """agent: `sidecar.authenticate` does it · terminal: a command for a person to run · env_var: variables for the settings."""


class TerminalLogin(TypedDict):
    """What to run in a terminal, as it is, without a shell."""

    command: str
    args: Sequence[str]
    env: Mapping[str, str]
    """Beside the editor's own environment; may hold what the settings hold."""
    cwd: NotRequired[str]


class AuthenticateAnswer(TypedDict):
    """`done`: prompts work now. `choose`: again, with one of `methods`. `terminal`: run `terminal`, then again with `finished`
    when it exits with 0. `env`: `message` says which variables to set under the agent's `env`."""

    agent: str
    state: Literal["done", "choose", "terminal", "env"]
    methods: NotRequired[Sequence[AuthMethod]]
    terminal: NotRequired[TerminalLogin]
    message: NotRequired[str]
    vars: NotRequired[Sequence[Mapping[str, object]]]
    """env: `{name, label?, secret, optional}`."""
    link: NotRequired[str]
    """env: where to get them."""


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
    """A turn is under way."""
    turn: int
    """How many there were since it was opened."""
    transcript: bool
    """The sidecar has a record of it."""
    listed: bool
    """Its agent says that it keeps it."""
    loads: bool
    """Its agent said that it can take conversations up again."""
    forks: bool
    """Its agent said that it can begin another conversation with what was said in this one."""
    modes: NotRequired[Mapping[str, object]]
    """This and the following: of open ones, as ACP has them."""
    configOptions: NotRequired[Sequence[Mapping[str, object]]]
    promptCapabilities: NotRequired[Mapping[str, object]]
    """`{image: true}` where the agent takes pictures."""


class LoadSessionAnswer(TypedDict):
    sessionId: str
    agent: str
    history: Literal["agent", "transcript", "none"]
    """Whose record of the conversation it is that was replayed."""
    remembers: bool
    """False: the agent cannot take it up again; its next prompt opens a new conversation with it."""
    note: NotRequired[str]
    """For a person: why not."""
    title: NotRequired[str]
    modes: NotRequired[Mapping[str, object]]
    configOptions: NotRequired[Sequence[Mapping[str, object]]]
    promptCapabilities: NotRequired[Mapping[str, object]]
    """`{image: true}` where the agent takes pictures."""
    forks: NotRequired[bool]
    """Its agent can begin another conversation with what was said in this one."""


class ForkSessionAnswer(TypedDict):
    """What was said before the fork is in its record (`sidecar.transcript`)."""

    sessionId: str
    """The new conversation's, which is open."""
    agent: str
    forkOf: str
    title: NotRequired[str]
    modes: NotRequired[Mapping[str, object]]
    configOptions: NotRequired[Sequence[Mapping[str, object]]]
    promptCapabilities: NotRequired[Mapping[str, object]]
    forks: NotRequired[bool]


class TranscriptEntry(TypedDict):
    """`prompt`: `{turn, prompt}` · `update`: `{turn, update}`, joined chunks, in ACP's shape · `end`: `{turn, stopReason, changes,
    error?}` · `reviewed`: `{turn, verdict, changed}`, so many changes were kept or rejected · `omitted`: older ones are no longer kept."""

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
    """`sidecar/agentState`: an agent's process."""

    agent: str
    state: Literal["starting", "running", "stopped", "failed"]
    name: NotRequired[str]
    version: NotRequired[str]
    message: NotRequired[str]
    """failed: why, and what to do, for a person."""
    sessions: Sequence[str]
    """failed: the open sessions that lost their conversation with it."""


class ActivityParams(TypedDict):
    """`sidecar/activity`: one read or write of an agent's, after it was answered."""

    sessionId: str
    turn: int
    kind: Literal["read", "write"]
    uri: str
    line: NotRequired[int]
    """From 0: the first line that was read or changed, where that is known."""
    outcome: str
    """`ok`, or the `errorKind` that the agent was told."""
    toolCallId: NotRequired[str]


class ElicitationParams(TypedDict):
    """`sidecar/elicitation`; withdrawn by `$/cancelRequest`."""

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
    """url: https, or http of this machine; to be shown with its host and opened after a click only."""
    elicitationId: NotRequired[str]


class ElicitationAnswer(msgspec.Struct, frozen=True):
    """`{action: "accept", content?}` · `{action: "decline"}` · `{action: "cancel"}` (closed without an answer)."""

    action: Literal["accept", "decline", "cancel"] = "cancel"
    content: dict[str, Any] | None = None
