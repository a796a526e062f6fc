"""NoEditor, NoAgents: for a workspace without either. Files are read and written on the disk, and nobody answers questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from sidecar.config import AgentCommand
from sidecar.core.coordinates import TextEdit
from sidecar.core.json_types import Json
from sidecar.workspace.ports.ports import (
    AgentFailed,
    AgentInfo,
    DocumentEdit,
    EditAnswer,
    EditorCapabilities,
    EditorGone,
    EditorRefused,
    Level,
    OpenedSession,
    Opens,
    Question,
    Reloaded,
    Saved,
    Verdict,
)
from sidecar.workspace.ports.prompt_context import Mention
from sidecar.workspace.ports.session_ports import Activity, AgentState, CommandEnd, Elicitation, Elicited


class _NoProgress:
    def report(self, message: str) -> None: ...
    def end(self, message: str) -> None: ...


class NoEditor:
    """`tell`: called with what the user should know."""

    capabilities = EditorCapabilities(name="none")

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    async def apply_edit(self, label: str, edit: DocumentEdit) -> EditAnswer:
        raise EditorGone("there is no editor")

    async def save(self, client_uri: str, version: int, *, exact: bool = False) -> Saved:
        return Saved(False)

    async def open(self, client_uri: str) -> int:
        raise EditorRefused("there is no editor")

    async def close(self, client_uri: str) -> None: ...

    async def reload(
        self, client_uri: str, version: int, edits: Sequence[TextEdit], changes: Sequence[TextEdit] = ()
    ) -> Reloaded | str:
        raise EditorRefused("there is no editor")

    async def context(self, uris: Sequence[str] | None) -> Sequence[Mention]:
        return ()

    async def ask(self, question: Question) -> str | None:
        return None

    def show(self, level: Level, message: str, opens: Opens | None = None) -> None:
        self._tell(message)

    def notice(self, session_id: str, message: str) -> None:
        self._tell(message)

    def log(self, level: Level, message: str) -> None: ...
    def session_update(self, session_id: str, update: Json) -> None: ...
    def session_history(self, session_id: str, update: Json) -> None: ...
    def session_opened(self, opened: OpenedSession) -> None: ...
    def history_shown(self) -> None: ...
    def agent_state(self, state: AgentState) -> None: ...
    def activity(self, activity: Activity) -> None: ...

    async def elicit(self, elicitation: Elicitation) -> Elicited:
        return Elicited("cancel")

    def elicitation_complete(self, agent: str, elicitation_id: str) -> None: ...
    def terminal_output(self, session_id: str, terminal_id: str, output: str) -> None: ...
    def reviewed(self, session_id: str, turn: int, verdict: Verdict, changes: int) -> None: ...
    def terminal_ended(self, session_id: str, terminal_id: str, end: CommandEnd) -> None: ...
    def turn_ended(self, outcome: Json) -> None: ...

    def progress(self, title: str, on_cancel: Callable[[], None] | None) -> _NoProgress:
        return _NoProgress()

    async def show_document(self, client_uri: str, *, take_focus: bool) -> bool:
        return False

    def changes_moved(self, client_uris: Sequence[str]) -> None: ...


class NoAgents:
    """No agent is hosted."""

    def list(self) -> list[AgentInfo]:
        return []

    def found(self, agent: str) -> AgentCommand | None:
        return None

    async def open_session(self, request: object) -> OpenedSession:
        self._none()

    async def load_session(self, request: object, reference: str, *, replay: bool) -> OpenedSession:
        self._none()

    async def fork_session(self, request: object, reference: str) -> OpenedSession:
        self._none()

    async def list_sessions(self, agent: str, folders: Sequence[str], cwd: str) -> NoReturn:
        self._none()

    async def delete_session(self, agent: str, reference: str, cwd: str) -> None:
        self._none()

    async def set_mode(self, session_id: str, mode_id: str) -> Json:
        self._none()

    async def set_config_option(self, session_id: str, config_id: str, value: str | bool) -> NoReturn:
        self._none()

    async def authenticate(self, agent: str, cwd: str, method_id: str | None, *, finished: bool) -> Json:
        self._none()

    async def logout(self, agent: str, cwd: str) -> None:
        self._none()

    async def prompt(self, session_id: str, blocks: Sequence[Json]) -> str:
        self._none()

    def cancel(self, session_id: str) -> None: ...

    def silent_for(self, session_id: str) -> float:
        return 0.0

    def last_words(self, session_id: str) -> list[str]:
        return []

    def stop_command(self, session_id: str, terminal_id: str) -> None: ...

    def reference(self, session_id: str) -> str:
        return ""

    async def close_session(self, session_id: str) -> None: ...

    def runs(self, agent: str) -> bool:
        return False

    def status(self) -> list[Json]:
        return []

    def _none(self) -> NoReturn:
        raise AgentFailed("unsupported", "there are no agents without an editor")
