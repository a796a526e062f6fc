"""What this server adds to LSP: command names and their arguments, custom methods and their payloads. Nothing else names them.

Commands go through `workspace/executeCommand` with one argument: an object, a plain string where a class below says so, or
nothing. Methods to the client are sent only when it announced them under `initializationOptions.client`; the standard fallback is
beside each. Names and shapes are the reference in the documentation, which a test compares with this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, NotRequired, TypedDict

import msgspec

Json = Mapping[str, object]

# Commands

NEW_SESSION: Final = "sidecar.newSession"
PROMPT: Final = "sidecar.prompt"
OPEN_CHAT: Final = "sidecar.openChat"
SEND: Final = "sidecar.send"
ANSWER: Final = "sidecar.answer"
CANCEL: Final = "sidecar.cancel"
CLOSE_SESSION: Final = "sidecar.closeSession"
LIST_AGENTS: Final = "sidecar.listAgents"
STATUS: Final = "sidecar.status"
LIST_CHANGES: Final = "sidecar.listChanges"
KEEP: Final = "sidecar.keep"
REJECT: Final = "sidecar.reject"
REVERT_TURN: Final = "sidecar.revertTurn"

COMMANDS: Final = (
    NEW_SESSION,
    PROMPT,
    OPEN_CHAT,
    SEND,
    ANSWER,
    CANCEL,
    CLOSE_SESSION,
    LIST_AGENTS,
    STATUS,
    LIST_CHANGES,
    KEEP,
    REJECT,
    REVERT_TURN,
)
"""All of them, as `executeCommandProvider` announces them."""


class Arguments(msgspec.Struct, frozen=True, rename="camel"):
    """The argument object of a command. Unknown keys are ignored, so that newer clients can talk to this server."""

    TEXT: ClassVar[str] = ""
    """The field that a plain string argument fills, by its JSON name; "" where a string is not accepted."""


class NoArguments(Arguments, frozen=True):
    """`sidecar.status`, `sidecar.listAgents`."""


class NewSession(Arguments, frozen=True, rename="camel"):
    """→ `{sessionId, agent, modes?, configOptions?}`. A plain string is the agent's name."""

    TEXT: ClassVar[str] = "agent"
    agent: str | None = None
    cwd: str | None = None
    """An absolute path; the first workspace folder when absent."""
    additional_directories: list[str] = []
    mcp_servers: list[dict[str, Any]] = []


class Prompt(Arguments, frozen=True, rename="camel"):
    """→ `{sessionId, turn}` at once, or with `wait` the same object as `sidecar/turnEnded`. A plain string is the prompt."""

    TEXT: ClassVar[str] = "prompt"
    prompt: str | list[dict[str, Any]]
    """Text, or ACP content blocks."""
    session_id: str | None = None
    wait: bool = False


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


class ListChanges(Arguments, frozen=True, rename="camel"):
    """→ `[{changeId, uri, range, oldText, newText, sessionId, turn, toolCallId?, state}]`. A plain string is a document's URI."""

    TEXT: ClassVar[str] = "uri"
    session_id: str | None = None
    uri: str | None = None


class Changes(Arguments, frozen=True, rename="camel"):
    """`sidecar.keep` → `{kept, impossible}`, `sidecar.reject` → `{rejected, impossible}`: change ids, and for the impossible
    ones `{changeId, reason}`. A plain string is a change's id."""

    TEXT: ClassVar[str] = "changeId"
    change_id: str | None = None
    uri: str | None = None
    session_id: str | None = None
    turn: int | None = None
    all: bool = False


class Turn(Arguments, frozen=True, rename="camel"):
    """`sidecar.revertTurn` → as `sidecar.reject`. A running turn is cancelled first."""

    session_id: str
    turn: int


# Methods: server → client

SESSION_UPDATE: Final = "sidecar/sessionUpdate"
"""Notification, `client.sessionUpdates`: `{sessionId, update}`, the update in ACP's shape [window/logMessage]."""
TERMINAL_OUTPUT: Final = "sidecar/terminalOutput"
"""Notification, `client.sessionUpdates`: `{sessionId, terminalId, output}`, what a command said since the last one [nothing]."""
TURN_ENDED: Final = "sidecar/turnEnded"
"""Notification, to every client: `{sessionId, turn, stopReason, changes: [{uri, added, removed}]}`."""
REQUEST_PERMISSION: Final = "sidecar/requestPermission"
"""Request, `client.permissions` [window/showMessageRequest, or code actions in the transcript]."""
SAVE: Final = "sidecar/save"
"""Request, `client.save`: `{uri, version}` → `{saved}` [the document stays dirty]."""
OPEN: Final = "sidecar/open"
"""Request, `client.open`: `{uri}` → `{version}` [disk]."""
CLOSE: Final = "sidecar/close"
"""Request, `client.open`: `{uri}` → null."""
RELOAD: Final = "sidecar/reload"
"""Request, `client.reload`: `{uri, version, edits}` → `{version}` or `{refused}`: take the disk's text, then apply these edits
[workspace/applyEdit]."""
CHANGES: Final = "sidecar/changes"
"""Notification, `client.changes`: `{uris}`, the documents whose hunks moved [code lens and diagnostic refresh]."""


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
    cwd: NotRequired[str]
    env: NotRequired[Sequence[str]]
    """Names only."""
    diff: NotRequired[object]


class SaveAnswer(msgspec.Struct, frozen=True):
    saved: bool = False


class OpenAnswer(msgspec.Struct, frozen=True):
    version: int


class ReloadAnswer(msgspec.Struct, frozen=True):
    version: int | None = None
    refused: str | None = None
    """version | not-active"""


class PermissionAnswer(msgspec.Struct, frozen=True, rename="camel"):
    option_id: str | None = None
    cancelled: bool = False
