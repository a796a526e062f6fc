"""Consent: decides what is allowed without asking, and asks the user about the rest.

The policy (`core.policy`) decides; the user answers what it leaves open. A question is built from the request that will
be executed: from the canonical path or the argv, never from the agent's description of it. "Always" means this path, or
exactly this command line in this folder, for this session.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Literal
from urllib.parse import urlsplit

import anyio

from sidecar.config import SIDECAR, AgentCommand
from sidecar.core.escape import command_line, escape
from sidecar.core.json_types import Json
from sidecar.core.policy import Allow, Ask, Decision, Deny, Matchers, decide
from sidecar.core.refusal import Kind, Refusal
from sidecar.disk import Missing
from sidecar.workspace.consent.shown import SHOWN_BESIDE, SHOWN_WHOLE, Shown, quoted
from sidecar.workspace.ports.aside import ESCAPING, aside
from sidecar.workspace.ports.ports import Approvals, Audit, Editor, Option, Question
from sidecar.workspace.state.places import Named, Place
from sidecar.workspace.state.queues import Access
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State

_REASONS = {
    "secret": "it looks like a file with secrets",
    "protected": "programs run what this file says",
    "hard link": "the file has another name, perhaps outside the workspace",
}

MOST_DECIDED = 1024
"""How many decisions are cached: agents read the same files repeatedly."""

OPTIONS = (
    Option("reject", "reject_once", "Reject"),
    Option("allow", "allow_once", "Allow once"),
    Option("always", "allow_always", "Allow this file for this session"),
)


START_OPTIONS = (
    Option("reject", "reject_once", "Do not start it"),
    Option("allow", "allow_once", "Start it this once"),
    Option("always", "allow_always", "Start it, and do not ask again"),
)


CONNECT_OPTIONS = (
    Option("reject", "reject_once", "Do not connect"),
    Option("allow", "allow_once", "Connect this once"),
    Option("always", "allow_always", "Connect, and do not ask again"),
)


OFFER_OPTIONS = (
    Option("reject", "reject_once", "Do not offer it"),
    Option("allow", "allow_once", "Offer it this once"),
    Option("always", "allow_always", "Offer it, and do not ask again"),
)


ADMIT_OPTIONS = (
    Option("reject", "reject_once", "Deny"),
    Option("allow", "allow_once", "Allow for now"),
    Option("always", "allow_always", "Always allow"),
)
"""Short, because editors cut the words of a button. The question explains them."""


ENTER_OPTIONS = (
    Option("reject", "reject_once", "Leave this folder out"),
    Option("allow", "allow_once", "Allow this folder for this session"),
)


RUN_OPTIONS = (
    Option("reject", "reject_once", "Do not run it"),
    Option("allow", "allow_once", "Run it this once"),
    Option("always", "allow_always", "Allow exactly this command for this session"),
)
"""The last choice is omitted if the command sets variables: the question does not show their values."""


class Consent:
    """Asks the user through the editor. Every question can be withdrawn by its session."""

    def __init__(
        self, state: State, editor: Editor, matchers: Matchers, approvals: Approvals, audit: Audit
    ) -> None:
        self._approvals = approvals
        self._audit = audit
        self._starting: dict[str, anyio.Lock] = {}
        self._state = state
        self._editor = editor
        self._matchers = matchers
        self._decided: dict[tuple[str, str, Access, tuple[str, ...], int], Decision] = {}
        """The policy's cached decisions. They depend only on the key."""
        self._numbers = itertools.count(1)

    async def to_read(self, session: Session, place: Place) -> Refusal | None:
        """None if the place may be read."""
        return await self._check(session, place, "read", "")

    async def to_write(self, session: Session, place: Place) -> Refusal | None:
        """None if the place may be written."""
        why = self._why_ask_before_writing()
        return why if isinstance(why, Refusal) else await self._check(session, place, "write", why)

    async def to_use_untitled(self, session: Session, named: Named, access: Access) -> Refusal | None:
        """None if a document without a file may be read or changed. A guest may not: the user lets a guest into a
        folder, and the document is in none. Other agents get its text with every prompt."""
        if session.guest:
            return Refusal(Kind.OUTSIDE, f"{named.requested} is in none of this session's folders")
        why = "" if access == "read" else self._why_ask_before_writing()
        if isinstance(why, Refusal) or not why:
            return why or None
        return await self._asked(session, named, access, "change", why)

    def _why_ask_before_writing(self) -> str | Refusal:
        """Why the settings ask before a write; empty if they do not ask."""
        match self._state.settings.writes:
            case "deny":
                return Refusal(Kind.DENIED_BY_POLICY, "writing is switched off by the user's settings")
            case "ask":
                return "the settings ask before every write"
            case "review" | "confirm":
                return ""

    async def to_write_behind(self, session: Session, place: Place, reason: str) -> Refusal | None:
        """None if the file of a clean open document may be written without the editor, which accepts no edits."""
        words = f"the editor did not accept the edit ({reason or 'no reason given'}), so the file would be written on disk"
        return await self._check(session, place, "write", words)

    async def to_start(self, session: Session, command: AgentCommand) -> bool:
        """Whether the agent may be started: its command was approved on this machine, or the user says so now."""
        async with self._starting.setdefault(session.agent, anyio.Lock()):
            if self._approvals.knows(command):
                return True
            argv = list(command.words)
            shown = Shown()
            words, why, options = _to_start(escape(session.agent), command, shown)
            details = {"argv": argv, "cwd": session.cwd, "env": sorted(command.env)}
            question = self._question(session, "start", words, options, why, details, shown)
            answer = await self.ask(question)
            if answer == "always":
                self._approvals.remember(command)
            self._audit.record("start", session=session.id, agent=session.agent, argv=argv, answer=answer)
            return answer in ("allow", "always")

    async def to_offer(self, session: Session, name: str, server: AgentCommand, url: str) -> bool:
        """Whether the agent may be given this MCP server: it was approved on this machine, or the user says so now."""
        async with self._starting.setdefault("mcp", anyio.Lock()):
            if self._approvals.knows(server):
                return True
            argv = list(server.words)
            what, shown = escape(url) if url else command_line(argv), Shown()
            words = f"Offer the MCP server {escape(name)} to {escape(session.agent)}? It {'calls' if url else 'runs'} "
            words += f"{shown.part(what)}."
            if server.env:
                words += f" It sets {shown.names(sorted(server.env))}."
            details: dict[str, object] = {"env": sorted(server.env), "cwd": session.cwd}
            details |= {"target": url} if url else {"argv": argv}
            question = self._question(
                session, "start", words, OFFER_OPTIONS, "never offered from here before", details, shown
            )
            answer = await self.ask(question)
            if answer == "always":
                self._approvals.remember(server)
            self._audit.record("offer", session=session.id, server=name, argv=argv, answer=answer)
            return answer in ("allow", "always")

    async def to_admit(self, session: Session, *, again: bool, wants: str = "") -> bool | None:
        """Whether a guest may work in its folders; None if the user gave no answer.

        `again`: the user stopped it before, so an earlier yes does not count. `wants`: what it wants to do there, if
        not to read and change files.
        """
        folders = tuple(dict.fromkeys(root.path for root in session.roots.roots))
        subject = _admission(session.agent, folders)
        if not again and self._approvals.knows(subject):
            return True
        does = "read files" if self._state.settings.writes == "deny" else "read and change files"
        shown = Shown()
        where = shown.names(folders, SHOWN_WHOLE)
        words = f"{escape(session.agent)} wants to {wants or does} in {where}."
        why = "you stopped it" if again else "it was not started from here"
        options = ADMIT_OPTIONS[:-1] if again or shown.whole else ADMIT_OPTIONS
        words += " “Allow for now” lasts until it ends."
        if len(options) == len(ADMIT_OPTIONS):
            words += " “Always allow” is for this folder."
        details = {"target": folders[0]}
        answer = await self.ask(self._question(session, "other", words, options, why, details, shown))
        if answer == "always":
            self._approvals.remember(subject)
        self._audit.record("guest", session=session.id, agent=session.agent, folders=folders, answer=answer)
        return None if answer is None else answer in ("allow", "always")

    async def to_sign_in(
        self, session: Session, argv: Sequence[str], folder: str, env: Sequence[str]
    ) -> bool:
        """Whether a command that an agent names may run in a terminal, so that the user can log in. `env`: the names of
        the variables that it sets."""
        line, shown = await _written(argv), Shown()
        words = f"{escape(session.agent)} wants you to log in with a command that it names, in"
        words += f" {shown.part(quoted(folder), SHOWN_BESIDE)}: {shown.part(line)}"
        if env:
            words += f" — it sets {shown.names(env)}"
        details = {"argv": list(argv), "cwd": folder, "env": list(env)}
        why = "it is not the command you configured" if not env else "it sets variables"
        question = self._question(session, "execute", words, RUN_OPTIONS[:-1], why, details, shown)
        answer = await self.ask(question)
        self._audit.record("sign in", session=session.id, agent=session.agent, argv=list(argv), answer=answer)
        return answer == "allow"

    async def to_enter(self, session: Session, folder: str) -> bool:
        """Whether a conversation that its agent offers may work in a folder (canonical) that the user did not open."""
        shown = Shown()
        words = f"{escape(session.agent)} offers a conversation that reads and changes files in {shown.part(quoted(folder))},"
        words += " which you have not opened."
        details = {"target": folder}
        why = "the agent named this folder, not you"
        question = self._question(session, "other", words, ENTER_OPTIONS, why, details, shown)
        answer = await self.ask(question)
        self._audit.record("folder", session=session.id, agent=session.agent, path=folder, answer=answer)
        return answer == "allow"

    async def to_run(
        self, session: Session, argv: Sequence[str], folder: str, env: Sequence[str]
    ) -> Refusal | None:
        """None if the command may run in that folder (canonical). `env`: the names of the variables that it sets."""
        if self._state.settings.writes == "deny":
            return Refusal(Kind.DENIED_BY_POLICY, "running commands is switched off by the user's settings")
        command = (folder, *argv)
        if not env and command in session.commands:
            return None
        line, shown = await _written(argv), Shown()
        words = f"{escape(session.agent)} wants to run a command in {shown.part(quoted(folder), SHOWN_BESIDE)}: {shown.part(line)}"
        if env:
            words += f" — it sets {shown.names(env)}"
        details = {"argv": list(argv), "cwd": folder, "env": list(env)}
        options = RUN_OPTIONS[:-1] if env else RUN_OPTIONS
        why = "it sets variables" if env else "not yet allowed in this session"
        answer = await self.ask(self._question(session, "execute", words, options, why, details, shown))
        if answer == "always":
            session.commands.add(command)
        if answer in ("allow", "always"):
            return None
        return Refusal(Kind.DENIED_BY_USER, "the user did not allow this command")

    async def ask(self, question: Question) -> str | None:
        """The id of the chosen option; None if the question was dismissed or withdrawn."""
        session = self._state.sessions.get(question.session_id)
        if session is None or not session.alive:
            return None
        answer: str | None = None
        with anyio.CancelScope() as scope:
            session.questions.add(scope)
            try:
                answer = await self._editor.ask(question)
            finally:
                session.questions.discard(scope)
        if scope.cancelled_caught or not session.alive or all(o.id != answer for o in question.options):
            answer = None
        self._audit.record(
            "question", session=session.id, action=question.action, text=question.text, answer=answer
        )
        return answer

    def needs_no_question(self, path: str, roots: tuple[str, ...]) -> bool:
        """Whether a file with this canonical path may be read without asking. `roots`: spellings of the root above it. Any thread."""
        return isinstance(decide(path, path, "read", self._matchers, roots=roots), Allow)

    def must_ask(self, place: Place, access: Access) -> bool:
        """Whether the policy does not simply allow this."""
        return not isinstance(self._decide(place, access), Allow)

    def _decide(self, place: Place, access: Access) -> Decision:
        links = 1 if isinstance(place.on_disk, Missing) else place.on_disk.links
        roots = place.on_disk.root.spellings
        asked = place.requested, place.path, access, roots, links
        decision = self._decided.get(asked)
        if decision is None:
            if len(self._decided) >= MOST_DECIDED:
                self._decided.clear()
            decision = decide(place.requested, place.path, access, self._matchers, roots=roots, links=links)
            self._decided[asked] = decision
        return decision

    async def _check(self, session: Session, place: Place, access: Access, always: str) -> Refusal | None:
        match self._decide(place, access):
            case Deny():
                return Refusal(
                    Kind.DENIED_BY_POLICY, f"{place.requested} belongs to the system and is never served"
                )
            case Ask(reason=reason):
                why = _REASONS[reason]
            case Allow():
                if not always:
                    return None
                why = always
        verb = "read" if access == "read" else "create" if isinstance(place.on_disk, Missing) else "change"
        return await self._asked(session, place, access, verb, why)

    async def _asked(
        self, session: Session, place: Named, access: Access, verb: str, why: str
    ) -> Refusal | None:
        """None if the user says yes, or has said yes for the whole session."""
        if (access, place.path) in session.grants:
            return None
        if not session.may_ask:
            words = f"{place.requested} needs the user's permission, and agents ask only while a turn runs"
            return Refusal(Kind.WITHDRAWN, words)
        shown = Shown()
        words = f"{escape(session.agent)} wants to {verb} {shown.part(quoted(place.path))}: {why}."
        details = {"target": place.path}
        answer = await self.ask(self._question(session, access, words, OPTIONS, why, details, shown))
        if answer == "always":
            session.grants.add((access, place.path))
        if answer in ("allow", "always"):
            return None
        return Refusal(Kind.DENIED_BY_USER, f"the user did not allow to {verb} {place.requested}")

    def _question(
        self,
        session: Session,
        action: Literal["read", "write", "start", "execute", "other"],
        words: str,
        options: tuple[Option, ...],
        why: str,
        details: Json,
        shown: Shown,
    ) -> Question:
        """`shown`: with it, `words` were made."""
        number = f"{session.id}-{next(self._numbers)}"
        return Question(
            number, session.id, action, words, options, why, details, guest=session.guest, whole=shown.whole
        )


async def _written(argv: Sequence[str]) -> str:
    """A command that an agent names, as `command_line` writes it; in a thread if it is long."""
    return await aside(ESCAPING * sum(map(len, argv)), lambda: command_line(argv))


def _to_start(agent: str, command: AgentCommand, shown: Shown) -> tuple[str, str, tuple[Option, ...]]:
    """The words of the question, why it is asked, and the answers."""
    if command.address:
        words, why = (
            f"Connect to the agent {agent}? It was never reached from here at this address: ",
            "never reached before",
        )
    else:
        words, why = (
            f"Start the agent {agent}? It was never started from here with this command: ",
            "never started before",
        )
    words += shown.part(command_line(command.words)) + "."
    if command.transport is not None:
        words += f" It runs elsewhere{_stand_ins(command.transport.folders, shown)}."
        if command.transport.sidecar != SIDECAR:
            words += f" For its tools, {quoted(command.transport.sidecar)} is started there."
        if command.transport.headers:
            words += f" It is sent the headers {shown.names(sorted(command.transport.headers))}."
    if _can_be_overheard(command.address):
        words += " The connection is not encrypted: others can read and change what you and the agent send."
    if command.env:
        words += f" It sets {shown.names(sorted(command.env))}."
    return words, why, CONNECT_OPTIONS if command.address else START_OPTIONS


def _can_be_overheard(address: str) -> bool:
    """Whether others may listen: it is not encrypted, and leads to another machine."""
    parts = urlsplit(address)
    return parts.scheme == "ws" and parts.hostname not in ("localhost", "127.0.0.1", "::1")


def _stand_ins(folders: Mapping[str, str], shown: Shown) -> str:
    """Says which folders there stand for which folders here; to be appended to a sentence."""
    pairs = [f"{quoted(there)} stands for {quoted(here)}" for there, here in folders.items()]
    return f"; there, {shown.part(', '.join(pairs))}" if pairs else ""


def _admission(agent: str, folders: Sequence[str]) -> AgentCommand:
    """The subject of an approval. Its name contains a NUL, as no program's does, so it is never taken for the approval
    to start a program."""
    return AgentCommand("guest\0", (agent, *sorted(folders)))
