"""DeniedWriters: agents that write files or run commands by themselves although the settings deny it.

Their questions are answered "no". An agent that is seen to change a file all the same, because it does not ask, is
stopped. It is not used again while the settings deny writing and the editor runs. The evidence is that of
`behind/whose.py`: a tool call that names the file, or one that ran meanwhile and may have changed any file. The latter
does not count if the call was a command that was refused, because it did not run; nor in folders whose names begin with
a dot, where agents keep notes of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from sidecar.core.escape import escape, shorten
from sidecar.core.uri import DocumentUri, from_path
from sidecar.workspace.ports.ports import AgentFailed, Audit, Editor, Opens, Question
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State


class DeniedWriters:
    def __init__(self, state: State, editor: Editor, audit: Audit) -> None:
        self._state = state
        self._editor = editor
        self._audit = audit
        self._seen: dict[str, str] = {}
        """By agent: the file that it changed first."""
        self._refused: dict[str, set[object]] = {}
        """By session: the tool calls of commands that were refused in its turn."""
        self.stop: Callable[[str], None] = lambda session_id: None
        """Stops a session's turn."""
        self.names: Callable[[Session, DocumentUri], bool] = lambda session, uri: True
        """Whether a tool call of the session names the file as one that it changes."""

    def asked(self, session: Session) -> None:
        """The session's agent gets the prompt of a turn."""
        self._refused.pop(session.id, None)

    def denies(self, question: Question) -> bool:
        """Whether the settings answer an agent's question: it wants to change files or run a command, and they deny both."""
        return self._state.settings.writes == "deny" and question.action in ("write", "execute")

    def denied(self, question: Question) -> str | None:
        """The id of the option that refuses; None if there is none."""
        refusals = {option.kind: option.id for option in reversed(question.options)}
        answer = refusals.get("reject_once", refusals.get("reject_always"))
        if question.action == "execute":
            self._refused.setdefault(question.session_id, set()).add(question.details.get("toolCallId"))
        self._audit.record(
            "question", session=question.session_id, action=question.action, text=question.text, answer=answer
        )
        return answer

    def wrote(self, session: Session, path: str, call: str | None) -> None:
        """The session's agent changed a file on the disk. `call`: the tool call that did it, if known."""
        if self._state.settings.writes != "deny" or not self._counts(session, path, call):
            return
        name = shorten(escape(os.path.basename(path)), 80)
        if session.agent not in self._seen:
            self._seen[session.agent] = name
            words = f"{escape(session.agent)} has changed {name} by itself, though your settings deny that."
            words += (
                " It was stopped, and is not used any more until you start the editor again or allow writing."
            )
            words += " The change is listed, and can be rejected."
            self._editor.show("warning", words, Opens.change(from_path(path)))
            self._audit.record("denied writer", session=session.id, agent=session.agent, path=path)
        if (
            self._state.sessions.get(session.id) is session
        ):  # the change may be found when the session is closed
            self.stop(session.id)

    def check(self, agent: str) -> None:
        """Raises AgentFailed if this agent may not be used."""
        name = self._seen.get(agent)
        if name is not None and self._state.settings.writes == "deny":
            words = f"{agent} is not used: your settings deny writing and commands, and it has changed {name} by itself."
            raise AgentFailed(
                "refused", f"{words} Start the editor again, or allow writing, to use this agent."
            )

    def _counts(self, session: Session, path: str, call: str | None) -> bool:
        if self.names(session, from_path(path)):
            return True
        root = next((one.path for one in session.roots.roots if path.startswith(f"{one.path}{os.sep}")), "")
        folders = os.path.dirname(path.removeprefix(root)).split(os.sep)
        refused = self._refused.get(session.id, ())
        return call not in refused and not any(part.startswith(".") for part in folders)
