"""`"writes": "deny"` with the real process: what agents are offered stays, and what they then do is refused in words.

An agent to which only reading is offered writes the disk with its own tool (docs/clients.md).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.gates.product import a_product
from tests.support.agents import received


@pytest.mark.skipif(sys.platform == "win32", reason="no commands are run for agents there")
async def test_both_are_offered_and_every_write_and_command_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    file = tmp_path / "ws" / "a.txt"
    file.write_text("before\n")
    run = {"sessionId": "$session", "command": "touch", "args": [str(tmp_path / "ran")]}
    options = [
        {"optionId": kind, "kind": kind, "name": kind}
        for kind in ("allow_once", "allow_always", "reject_once")
    ]
    steps: list[dict[str, Any]] = [
        {"read": str(file)},
        {"ask": {"toolCall": {"toolCallId": "c1", "kind": "edit"}, "options": options}, "as": "asked"},
        {"say": {"answer": "asked"}},
        {"write": str(file), "content": "after\n", "as": "written"},
        {"request": "terminal/create", "params": run, "as": "run"},
        {"say": {"answer": "written"}},
        {"say": {"answer": "run"}},
    ]
    scripts = {"agent": {"turns": [steps]}}
    async with a_product(tmp_path / "ws", scripts, traces=tmp_path, writes="deny") as product:
        session = await product.session("agent")
        await product.prompt(session)
        assert product.said(session).count("denied_by_policy") == 2, product.said(session)
        assert "reject_once" in product.said(session), "the answer to what it does by itself"
        assert product.questions == []
    offered = received(tmp_path / "agent")[0]["params"]["clientCapabilities"]
    assert offered["fs"] == {"readTextFile": True, "writeTextFile": True}
    assert offered["terminal"] is True
    assert file.read_text() == "before\n"
    assert not (tmp_path / "ran").exists()
