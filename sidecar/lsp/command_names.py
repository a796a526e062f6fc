"""The names of the commands that this server adds to LSP; ext.py has their arguments.

They have a module of their own because `initialize` is answered with the names before the library that the arguments need is imported.
"""

from __future__ import annotations

from typing import Final

NEW_SESSION: Final = "sidecar.newSession"
PROMPT: Final = "sidecar.prompt"
OPEN_CHAT: Final = "sidecar.openChat"
SEND: Final = "sidecar.send"
ANSWER: Final = "sidecar.answer"
CANCEL: Final = "sidecar.cancel"
STOP_COMMAND: Final = "sidecar.stopCommand"
CLOSE_SESSION: Final = "sidecar.closeSession"
LIST_AGENTS: Final = "sidecar.listAgents"
AUTHENTICATE: Final = "sidecar.authenticate"
LOGOUT: Final = "sidecar.logout"
LIST_SESSIONS: Final = "sidecar.listSessions"
LOAD_SESSION: Final = "sidecar.loadSession"
FORK_SESSION: Final = "sidecar.forkSession"
DELETE_SESSION: Final = "sidecar.deleteSession"
TRANSCRIPT: Final = "sidecar.transcript"
SET_MODE: Final = "sidecar.setMode"
SET_CONFIG_OPTION: Final = "sidecar.setConfigOption"
STATUS: Final = "sidecar.status"
LIST_CHANGES: Final = "sidecar.listChanges"
TEXT_BEFORE: Final = "sidecar.textBefore"
KEEP: Final = "sidecar.keep"
REJECT: Final = "sidecar.reject"
REVERT_TURN: Final = "sidecar.revertTurn"
LIST_CONFLICTS: Final = "sidecar.listConflicts"
RESOLVE_CONFLICT: Final = "sidecar.resolveConflict"

COMMANDS: Final = (
    NEW_SESSION,
    PROMPT,
    OPEN_CHAT,
    SEND,
    ANSWER,
    CANCEL,
    STOP_COMMAND,
    CLOSE_SESSION,
    LIST_AGENTS,
    AUTHENTICATE,
    LOGOUT,
    LIST_SESSIONS,
    LOAD_SESSION,
    FORK_SESSION,
    DELETE_SESSION,
    TRANSCRIPT,
    SET_MODE,
    SET_CONFIG_OPTION,
    STATUS,
    LIST_CHANGES,
    TEXT_BEFORE,
    KEEP,
    REJECT,
    REVERT_TURN,
    LIST_CONFLICTS,
    RESOLVE_CONFLICT,
)
"""All commands, as `executeCommandProvider` announces them."""
