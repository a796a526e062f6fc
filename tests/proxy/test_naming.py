"""What the user reads: a guest is called by its program, or by what its program runs."""

from __future__ import annotations

import pytest

from sidecar.proxy.naming import name_of


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("claude-agent-acp", "claude-agent-acp"),
        ("/opt/bin/goose acp", "goose"),
        ("npx -y @google/gemini-cli@1.2 --acp", "gemini-cli"),
        ("npm exec @zed-industries/codex-acp", "codex-acp"),
        ("uvx --from fast-agent-mcp fast-agent-acp", "fast-agent-mcp"),
        ("python3.13 -m some.agent --acp", "some.agent"),
        ("python -u agents/mine.py", "mine"),
        ("node dist/robot.mjs --acp", "robot"),
        ("python -c print()", "python"),
        ("node", "node"),
        ("Agent.EXE", "agent"),
    ],
)
def test_name_of(command: str, name: str) -> None:
    assert name_of(command.split()) == name
