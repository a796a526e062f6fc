"""The workspace as this folder sees it: everything that an agent may request, as Protocols.

Session ids here are always the sidecar's own (`SessionRequest.session_id`); the agents' ids never leave sidecar/acp. Nothing
here knows ACP types, so importing this module costs nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from sidecar.core.any_text import AnyText
from sidecar.core.json_types import Json
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.workspace.ports.ports import OpenedSession, Question
from sidecar.workspace.ports.session_ports import AgentState, CommandEnd, Elicitation, Elicited

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Ticket(Protocol):
    """A place in a document's queue, taken when the request was received."""

    def release(self) -> None:
        """Give up the place. Harmless if it was given up or used before."""
        ...


class Written(Protocol):
    """The result of a successful write."""

    @property
    def saved(self) -> bool | None:
        """Whether the disk has the text, too. None if that does not apply (a file that only the editor knows)."""
        ...

    @property
    def note(self) -> str:
        """A note for the agent, or ""."""
        ...


class AcpWorkspace(Protocol[T]):
    """The workspace facade. `T` is its own kind of ticket."""

    def ticket(self, session_id: str, path: str, access: Literal["read", "write"]) -> T:
        """Take a ticket. Called synchronously in the order in which messages arrive. The path is absolute and free of NUL."""
        ...

    def read(self, ticket: T, line: int | None, limit: int | None) -> Awaitable[str | Refusal]:
        """The text, or the refusal. `line` counts from 1. `line` and `limit` have been checked: None, or whole numbers from 0."""
        ...

    def write(self, ticket: T, content: AnyText) -> Awaitable[Written | Refusal]:
        """Write a text. Runs to its end even if the agent dies meanwhile: half a write is worse than an unanswered one.

        The workspace decides whether a write may still *begin* then (`agent_died` informs it).
        """
        ...

    def ask(self, question: Question) -> Awaitable[str | None]:
        """The id of the option that the user chose. None if the question was dismissed. Cancelling withdraws the question."""
        ...

    def elicit(self, elicitation: Elicitation) -> Awaitable[Elicited]:
        """The user's answer. Only called if elicitation was offered to the agent. Cancelling withdraws the form or page."""
        ...

    def elicitation_complete(self, agent: str, elicitation_id: str) -> None:
        """The interaction at an elicitation's URL has ended."""
        ...

    def prompt_answered(self, session_id: str) -> None:
        """The agent has ended its turn: what it requests from now on is not done. Called in the order in which messages arrive."""
        ...

    def session_update(self, session_id: str, update: Json) -> None:
        """One `session/update` as the agent sent it, in the order of arrival. Must not block.

        It may come before `open_session` has returned: several agents send updates before they answer `session/new`.
        """
        ...

    def run(
        self, session_id: str, argv: Sequence[str], cwd: str | None, env: Sequence[str]
    ) -> Awaitable[str | Refusal]:
        """Ask whether this command may run now. Returns the folder to run it in (canonical), or the refusal. `env`: the names
        of the variables that it sets.

        The user may be asked. What the agent changed is saved by policy before this returns.
        """
        ...

    def command_started(self, session_id: str, terminal_id: str) -> None:
        """The command runs from now on: it may read and change files without us."""
        ...

    def command_ended(self, session_id: str, terminal_id: str, end: CommandEnd) -> None: ...
    def terminal_output(self, session_id: str, terminal_id: str, output: str) -> None:
        """A command's output since the last call. Must not block."""
        ...

    def display_ended(self, session_id: str, terminal_id: str, end: CommandEnd) -> None:
        """A command that the agent runs itself, and whose output it shows here, has ended. Must not block."""
        ...

    def own_tools_ready(self, session_id: str) -> Awaitable[bool]:
        """Whether the agent has started our tools, which it is to use in place of its own. Waits a while for them."""
        ...

    def tools_not_there(self, words: str) -> None:
        """An agent that runs elsewhere has only its own tools. Must not block."""
        ...

    def session_reopened(self, opened: OpenedSession) -> None:
        """A session whose agent had died is open again with a restarted agent. Must not block."""
        ...

    def notice(self, session_id: str, words: str) -> None:
        """A message for the user about a session. Must not block."""
        ...

    def agent_state(self, state: AgentState) -> None:
        """An agent's process is starting, is running, or has ended. Must not block."""
        ...

    def agent_died(self, session_ids: Sequence[str], message: str) -> None:
        """The process of these sessions ended by itself: withdraw their questions, and let nothing new begin."""
        ...


class ReadsNow(Protocol[T_contra]):
    """An optional addition to `AcpWorkspace`: reads that need no waiting are answered as soon as they arrive."""

    def read_now(self, ticket: T_contra, line: int | None, limit: int | None) -> Text | str | Refusal | None:
        """Like `read`, synchronously. None if the answer has to wait for anything; then `read` is called."""
        ...


AnyWorkspace: TypeAlias = AcpWorkspace[Any]
