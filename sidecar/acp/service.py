"""The workspace as seen by this folder: everything an agent may request, as Protocols.

Session ids here are always the sidecar's own (`SessionRequest.session_id`); the agents' ids never leave sidecar/acp.
Nothing here knows ACP types, so that importing it costs nothing.
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
        """Gives the place up. Harmless if it was given up or used before."""
        ...


class Written(Protocol):
    """The result of a successful write."""

    @property
    def saved(self) -> bool | None:
        """Whether the disk has it too; None if that does not apply (a file that only the editor knows)."""
        ...

    @property
    def note(self) -> str:
        """Words for the agent, or ""."""
        ...


class Service(Protocol[T]):
    """The workspace facade. `T` is its own kind of ticket."""

    def ticket(self, session_id: str, path: str, access: Literal["read", "write"]) -> T:
        """Called synchronously in the order in which messages arrive. The path is absolute and free of NUL."""
        ...

    def read(self, ticket: T, line: int | None, limit: int | None) -> Awaitable[str | Refusal]:
        """The text, or why not. `line` from 1, both checked to be whole numbers from 0 or None."""
        ...

    def write(self, ticket: T, content: AnyText) -> Awaitable[Written | Refusal]:
        """Runs to its end even if the agent dies meanwhile: half a write is worse than an unanswered one.

        The workspace decides whether a write may still *begin* then (`agent_died` informs it)."""
        ...

    def ask(self, question: Question) -> Awaitable[str | None]:
        """The id of the chosen option; None when dismissed. Cancelling withdraws the question."""
        ...

    def elicit(self, elicitation: Elicitation) -> Awaitable[Elicited]:
        """Only called if elicitation was offered to the agent. Cancelling withdraws it."""
        ...

    def elicitation_complete(self, agent: str, elicitation_id: str) -> None:
        """What happened at an elicitation's URL has ended."""
        ...

    def prompt_answered(self, session_id: str) -> None:
        """The agent has ended its turn: what it asks for from now on is not done. Called in the order in which messages arrive."""
        ...

    def session_update(self, session_id: str, update: Json) -> None:
        """One `session/update` as the agent sent it, in the order in which they arrive; must not block.

        May come before `open_session` has returned: several agents send some before they answer `session/new`."""
        ...

    def run(
        self, session_id: str, argv: Sequence[str], cwd: str | None, env: Sequence[str]
    ) -> Awaitable[str | Refusal]:
        """Whether this command may run now: the folder to run it in (canonical), or why not. `env`: the names it sets.

        The user may be asked; what the agent changed is saved by policy before this returns."""
        ...

    def command_started(self, session_id: str, terminal_id: str) -> None:
        """It runs from now on: it may read and change files without us."""
        ...

    def command_ended(self, session_id: str, terminal_id: str, end: CommandEnd) -> None: ...
    def terminal_output(self, session_id: str, terminal_id: str, output: str) -> None:
        """A command's output since the last call; must not block."""
        ...

    def display_ended(self, session_id: str, terminal_id: str, end: CommandEnd) -> None:
        """A command has ended that the agent runs itself, and whose output it shows here; must not block."""
        ...

    def own_tools_ready(self, session_id: str) -> Awaitable[bool]:
        """Whether the agent has started our tools, which it is to use in place of its own; waits a while for them."""
        ...

    def tools_not_there(self, words: str) -> None:
        """An agent that runs elsewhere has its own tools only; must not block."""
        ...

    def session_reopened(self, opened: OpenedSession) -> None:
        """A session whose agent had died is open again with an agent that was started again; must not block."""
        ...

    def notice(self, session_id: str, words: str) -> None:
        """Something that happened to a session, for the user; must not block."""
        ...

    def agent_state(self, state: AgentState) -> None:
        """An agent's process starts, runs, has ended; must not block."""
        ...

    def agent_died(self, session_ids: Sequence[str], message: str) -> None:
        """The process of these sessions ended by itself: withdraw their questions, and let nothing new begin."""
        ...


class ReadsNow(Protocol[T_contra]):
    """An optional addition to `Service`: reads that need no waiting are answered the moment they arrive."""

    def read_now(self, ticket: T_contra, line: int | None, limit: int | None) -> Text | str | Refusal | None:
        """As `read`, synchronously; None when the answer has to wait for anything (then `read` is called)."""
        ...


AnyService: TypeAlias = Service[Any]
