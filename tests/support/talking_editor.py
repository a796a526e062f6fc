"""A headless editor that announces every feature of sessions and remembers what it was told about them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sidecar.config import AgentCommand
from sidecar.demo.editor import HeadlessEditor

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "sidecar", "lsp"]
FLAGS = ("save", "open", "sessionUpdates", "changes", "agentState", "activity", "elicitation")
CONSENTS = (
    "Start it, and do not ask again",
    "Connect, and do not ask again",
    "Offer it, and do not ask again",
    "Run it this once",
    "Show it in full",
)


class TalkingEditor(HeadlessEditor):
    """`fill` answers forms and addresses; it may await."""

    def __init__(
        self,
        state: Path,
        folder: Path,
        agents: Mapping[str, AgentCommand],
        *,
        flags: Mapping[str, bool] | None = None,
        environment: Mapping[str, str] | None = None,
        **options: object,
    ) -> None:
        commands = {name: _setting(one) for name, one in agents.items()}
        client = {**dict.fromkeys(FLAGS, True), **(flags or {})}
        env = {**os.environ, "PYTHONPATH": str(ROOT), "ACP_SIDECAR_STATE": str(state), **(environment or {})}
        super().__init__(
            COMMAND,
            folder,
            options={"agents": commands, "client": client, **options},
            environment=env,
            answer=lambda text, titles: next((title for title in titles if title in CONSENTS), None),
        )
        self.fill: Callable[[Any], object] = lambda params: {"action": "cancel"}
        self.forms: list[Any] = []
        self.told: list[Any] = []
        """The params of each `sidecar/sessionUpdate`."""
        self.withdrawn: list[Any] = []

    def heard(self, method: str, params: Any) -> None:
        if method == "sidecar/sessionUpdate":
            self.told.append(params)
        super().heard(method, params)

    def handle(self, method: str, params: Any) -> object:
        if method == "sidecar/elicitation":
            self.forms.append(params)
            return self.fill(params)
        return super().handle(method, params)

    def states(self, agent: str) -> list[str]:
        return [
            params["state"]
            for method, params in self.notifications
            if method == "sidecar/agentState" and params["agent"] == agent
        ]

    def activity(self) -> list[Any]:
        return [params for method, params in self.notifications if method == "sidecar/activity"]

    def said(self, session_id: str, kind: str = "agent_message_chunk", *, replay: bool = False) -> str:
        """The texts of one session's chunks of one kind, live or replayed."""
        return "".join(
            params["update"]["content"]["text"]
            for params in self.told
            if params["sessionId"] == session_id
            and params.get("replay", False) is replay
            and params["update"]["sessionUpdate"] == kind
        )

    async def prompt(self, text: str, session_id: str | None = None) -> Any:
        """Runs a whole turn."""
        argument = {"prompt": text, "wait": True} | ({"sessionId": session_id} if session_id else {})
        return await self.execute("sidecar.prompt", argument)


def _setting(one: AgentCommand) -> dict[str, object]:
    """The command as the settings have it."""
    setting: dict[str, object] = {"command": one.command, "args": list(one.args), "env": dict(one.env)}
    if (by := one.transport) is not None and by.url:
        transport = {"url": by.url, "headers": dict(by.headers), "folders": dict(by.folders)}
        return {"env": dict(one.env), "transport": transport}
    if by is not None:
        transport = {"command": list(by.command), "folders": dict(by.folders), "shell": by.shell}
        setting["transport"] = transport | {"sidecar": by.sidecar}
    return setting
