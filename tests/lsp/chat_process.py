"""The editor's side in a process of its own, with a workspace that plays the agent: `python -m tests.lsp.chat_process`.

A prompt "ask" asks for permission, "slow" works until it is cancelled, "fail" fails; anything else is said back.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.abc

from sidecar.core.overlay import Overlay
from sidecar.lsp.commands import EditorCommands
from sidecar.lsp.editor import LspEditor
from sidecar.lsp.features import Features
from sidecar.lsp.main import run
from sidecar.lsp.server import SidecarServer
from sidecar.lsp.transcript import Transcripts
from sidecar.workspace.ports.ports import AgentFailed, AgentInfo, OpenedSession, Option, Question


class Player:
    """An `LspWorkspace` with one session, "s1"."""

    def __init__(self, editor: LspEditor, tasks: anyio.abc.TaskGroup) -> None:
        self._editor = editor
        self._tasks = tasks
        self._turns = 0
        self._cancelled = asyncio.Event()
        self._opened = False

    async def new_session(
        self, agent: str | None, cwd: str | None, additional: Sequence[str], mcp_servers: Sequence[Any]
    ) -> OpenedSession:
        if agent == "missing":
            raise AgentFailed("not_installed", "missing is not installed; install it with npm i missing")
        self._opened = True
        return OpenedSession("s1", agent or "player")

    def start_prompt(
        self, session_id: str | None, blocks: Sequence[Any]
    ) -> tuple[str, int, Awaitable[Mapping[str, object]]]:
        self._turns += 1
        done: asyncio.Future[Mapping[str, object]] = asyncio.get_running_loop().create_future()
        self._tasks.start_soon(self._turn, blocks[0]["text"], self._turns, done)
        return "s1", self._turns, done

    async def _turn(self, text: str, turn: int, done: asyncio.Future[Mapping[str, object]]) -> None:
        self._cancelled.clear()
        progress = self._editor.progress("player", lambda: self.cancel("s1"))
        outcome: dict[str, object] = {
            "sessionId": "s1",
            "turn": turn,
            "stopReason": "end_turn",
            "changes": [],
        }
        match text:
            case "ask":
                options = (Option("y", "allow_once", "Allow once"), Option("n", "reject_once", "Reject"))
                answer = await self._editor.ask(
                    Question("q1", "s1", "read", "player wants to read .env", options)
                )
                self._say(f"The answer is {answer}.")
            case "slow":
                await self._cancelled.wait()
                outcome["stopReason"] = "cancelled"
            case "fail":
                outcome |= {"stopReason": "failed", "error": "the player fell asleep; wake it"}
            case _:
                for word in f"You said: {text}".split(" "):
                    self._say(word + " ")
                    await asyncio.sleep(0)
        progress.end("done")
        self._editor.turn_ended(outcome)
        done.set_result(outcome)

    def _say(self, text: str) -> None:
        content = {"type": "text", "text": text}
        self._editor.session_update("s1", {"sessionUpdate": "agent_message_chunk", "content": content})

    def cancel(self, session_id: str | None) -> None:
        self._cancelled.set()

    async def close_session(self, session_id: str | None) -> None: ...

    def status(self) -> Mapping[str, object]:
        return {"sessions": [{"sessionId": "s1"}] if self._opened else []}

    def list_agents(self) -> Sequence[AgentInfo]:
        return [AgentInfo("player", "Player", "demo", True)]


@asynccontextmanager
async def build() -> AsyncIterator[SidecarServer]:
    overlay = Overlay()
    server = SidecarServer(overlay.apply)
    async with anyio.create_task_group() as tasks:
        editor = LspEditor(server, tasks)
        player = Player(editor, tasks)
        transcripts = Transcripts(editor, player, overlay.get, tasks, lenses_moved=editor.lenses_moved)
        editor.attach(transcripts)
        commands = EditorCommands(player, transcripts, editor, tasks)
        features = Features(editor, commands, [transcripts])
        features.register(server)
        server.feature("initialized")(lambda _: setattr(overlay, "encoding", server.encoding))
        yield server
        tasks.cancel_scope.cancel()


if __name__ == "__main__":
    sys.exit(run(build))
