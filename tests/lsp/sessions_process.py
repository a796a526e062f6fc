"""The real program and scripted agents in processes of their own, for tests of sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sidecar.config import AgentCommand
from sidecar.demo.wire import ErrorAnswer
from tests.support.agents import command
from tests.support.talking_editor import TalkingEditor

PLAIN = {"turns": [[{"say": "one "}, {"say": "two"}]]}


def an_editor(tmp_path: Path, agents: dict[str, AgentCommand] | None = None, **how: Any) -> TalkingEditor:
    return TalkingEditor(tmp_path / "state", tmp_path / "project", agents or {"fake": command(PLAIN)}, **how)


def initialize(**capabilities: Any) -> list[Any]:
    """The answer of an agent that can do these things; `auth_methods` beside them."""
    methods = capabilities.pop("authMethods", [])
    info = {"name": "fake", "version": "1"}
    answer = {"protocolVersion": 1, "agentInfo": info, "agentCapabilities": capabilities}
    return [{"reply": {**answer, "authMethods": methods}}]


async def refused(editor: TalkingEditor, name: str, argument: object) -> str:
    with pytest.raises(ErrorAnswer) as raised:
        await editor.execute(name, argument)
    assert "Traceback" not in str(raised.value)
    return str(raised.value)
