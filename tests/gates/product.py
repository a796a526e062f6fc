"""The real `acp-sidecar lsp` over its real pipes, with scripted raw-bytes agents: what the gates are run against."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sidecar.approvals import Approvals
from tests.support import agents
from tests.support.raw_lsp import RawClient, as_process

COMMAND = (sys.executable, "-m", "sidecar", "lsp")
CAPABILITIES: dict[str, Any] = {
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create"]},
    },
    "window": {"showMessage": {}},
}


class Product:
    """One editor connection; `client` is the editor, in raw bytes."""

    def __init__(self, client: RawClient, folder: Path) -> None:
        self.client = client
        self.folder = folder

    async def session(self, agent: str) -> dict[str, Any]:
        """`{sessionId …}`, or the error's message under `error`."""
        return await self._command("sidecar.newSession", {"agent": agent, "cwd": str(self.folder)})

    async def prompt(self, session_id: str, text: str = "go") -> dict[str, Any]:
        """The turn's outcome, or the error's message under `error`."""
        return await self._command("sidecar.prompt", {"sessionId": session_id, "prompt": text, "wait": True})

    async def status(self) -> dict[str, Any]:
        return await self._command("sidecar.status")

    async def _command(self, name: str, *arguments: object) -> dict[str, Any]:
        params = {"command": name, "arguments": list(arguments)}
        answer = await self.client.request("workspace/executeCommand", params)
        return answer.get("result") or {"error": answer.get("error", {}).get("message", "")}

    def popups(self) -> list[Any]:
        """Message boxes the user would have seen."""
        return [
            m
            for m in self.client.seen
            if m.get("method") in ("window/showMessage", "window/showMessageRequest")
        ]

    def said(self, session_id: str) -> str:
        """What the agent of that session said."""
        told = [m["params"] for m in self.client.seen if m.get("method") == "sidecar/sessionUpdate"]
        return "".join(
            text
            for one in told
            if one["sessionId"] == session_id
            and one["update"].get("sessionUpdate") == "agent_message_chunk"
            and isinstance(content := one["update"].get("content"), dict)
            and isinstance(text := content.get("text"), str)
        )


@asynccontextmanager
async def a_product(folder: Path, scripts: Mapping[str, dict[str, Any]]) -> AsyncIterator[Product]:
    """`scripts`: agent name → script of tests/support/fake_agent.py. Ends in order; fails when the process did not."""
    settings: dict[str, Any] = {}
    for name, script in scripts.items():
        command = agents.command(script)
        Approvals().remember(command)
        settings[name] = {"command": command.command, "args": list(command.args), "env": dict(command.env)}
    async with as_process(*COMMAND) as client:
        await client.initialize(
            rootUri=folder.as_uri(),
            capabilities=CAPABILITIES,
            workspaceFolders=[{"uri": folder.as_uri(), "name": "ws"}],
            initializationOptions={"agents": settings, "client": {"sessionUpdates": True}},
        )
        yield Product(client, folder)
        assert "result" in await client.request("shutdown")
        client.notify("exit")
        code, errors = await client.exit_code()
        assert code == 0, errors
        assert "Traceback" not in errors, errors
