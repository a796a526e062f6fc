"""An agent that speaks only version 2 of ACP, with the real process."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from tests.gates.product import a_product
from tests.support.agents import received
from tests.support.repositories import commit


async def test_an_agent_that_speaks_only_version_2(tmp_path: Path) -> None:
    """It is started again with that, is given our tools, and what it changes is under review and taken back."""
    folder = tmp_path / "ws"
    folder.mkdir()
    file = folder / "a.txt"
    file.write_text("one\n")
    commit(folder)
    change = {"type": "diff", "changes": [{"operation": "modify", "path": str(file)}]}
    call: dict[str, Any] = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c",
        "kind": "edit",
        "title": "Edit",
    }
    steps: list[dict[str, Any]] = [
        {"update": {"sessionUpdate": "state_update", "state": "running"}},
        {"update": {**call, "content": [change]}},
        {"put": str(file), "text": "ONE\n"},
        {"update": {**call, "status": "completed"}},
        {
            "update": {
                "sessionUpdate": "terminal_output_chunk",
                "terminalId": "t",
                "data": base64.b64encode(b"out\n").decode(),
            }
        },
        {"say": "done"},
    ]
    async with a_product(folder, {"agent": {"prompted": True, "speaks": 2}}, traces=tmp_path) as product:
        session = await product.session("agent")
        turn: Any = await product.prompt(session, json.dumps(steps))
        assert turn["stopReason"] == "end_turn"
        assert product.said(session) == "done"
        changes: Any = await product.execute("sidecar.listChanges")
        assert [(row["agent"], row["newText"]) for row in changes] == [("agent", "ONE")]
        status: Any = await product.execute("sidecar.status")
        row = next(row for row in status["agents"] if row["agent"] == "agent")
        assert (row["protocol"], row["files"]) == (2, "disk; it also has the sidecar's tools")
        await product.execute("sidecar.revertTurn", {"sessionId": session["sessionId"], "turn": turn["turn"]})
        assert file.read_text() == "one\n"
    told = received(tmp_path / "agent")
    assert [one["params"]["protocolVersion"] for one in told if one["method"] == "initialize"] == [1, 2]
    opened = next(one["params"] for one in told if one["method"] == "session/new")
    assert [(server["type"], server["name"]) for server in opened["mcpServers"]] == [("stdio", "sidecar")]
