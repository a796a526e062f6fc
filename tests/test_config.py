"""Settings: what is understood, what is reported, and that a mistake never takes the rest away."""

from __future__ import annotations

import pytest

from sidecar.config import AgentCommand, ClientFlags, McpServer, Settings, parse

AGENT = {"fast-agent": {"command": "fast-agent-acp", "args": ["--model", "passthrough"], "env": {"A": "1"}}}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (None, Settings()),
        ({}, Settings()),
        ({"writes": "ask"}, Settings(writes="ask")),
        ({"afterWrite": "never"}, Settings(after_write="never")),
        ({"beforePrompt": "save"}, Settings(before_prompt="save")),
        ({"maxFileBytes": 5}, Settings(max_file_bytes=5)),
        (
            {"allowedRoots": ["/a"], "secretPatterns": ["*.k"]},
            Settings(allowed_roots=("/a",), secret_patterns=("*.k",)),
        ),
        (
            {"client": {"save": True, "sessionUpdates": True}},
            Settings(client=ClientFlags(save=True, session_updates=True)),
        ),
        (
            {"client": {"elicitation": True, "agentState": True, "activity": True, "terminalLogin": True}},
            Settings(
                client=ClientFlags(elicitation=True, agent_state=True, activity=True, terminal_login=True)
            ),
        ),
        (
            {"mcpServers": {"a": {"command": "/a", "args": ["x"], "env": {"A": "1"}}}},
            Settings(mcp_servers=(McpServer("a", "/a", ("x",), {"A": "1"}),)),
        ),
        (
            {
                "mcpServers": {
                    "b": {"url": "https://b", "headers": {"H": "1"}},
                    "c": {"type": "sse", "url": "https://c"},
                }
            },
            Settings(
                mcp_servers=(
                    McpServer("b", type="http", url="https://b", headers={"H": "1"}),
                    McpServer("c", type="sse", url="https://c"),
                )
            ),
        ),
        (
            {"agents": AGENT, "defaultAgent": "fast-agent"},
            Settings(
                agents={"fast-agent": AgentCommand("fast-agent-acp", ("--model", "passthrough"), {"A": "1"})},
                default_agent="fast-agent",
            ),
        ),
    ],
)
def test_understood(raw: object, expected: Settings) -> None:
    assert parse(raw) == (expected, [])


@pytest.mark.parametrize(
    ("raw", "words", "expected"),
    [
        ([], "should be an object", Settings()),
        ({"writs": "ask", "afterWrite": "always"}, 'unknown setting "writs"', Settings(after_write="always")),
        ({"writes": "yes"}, "one of review, confirm, ask, deny", Settings()),
        ({"maxFileBytes": "big"}, "positive number of bytes", Settings()),
        ({"maxFileBytes": True}, "positive number of bytes", Settings()),
        ({"allowedRoots": "/a"}, "a list of texts", Settings()),
        ({"client": {"save": 1}}, 'setting "client.save" should be true or false', Settings()),
        ({"client": {"sve": True}}, 'unknown setting "client.sve"', Settings()),
        ({"agents": {"x": {"args": []}}}, 'agent "x" has no "command"', Settings()),
        (
            {"mcpServers": {"m": {"args": []}}},
            'MCP server "m" needs either a "command" or a "url"',
            Settings(),
        ),
        ({"mcpServers": {"m": {"command": "c", "url": "https://x"}}}, "needs either", Settings()),
        ({"mcpServers": {"m": 3}}, 'setting "mcpServers.m" should be an object', Settings()),
        ({"mcpServers": [1]}, 'setting "mcpServers" should be an object like', Settings()),
        (
            {"mcpServers": {"m": {"command": "c", "type": "odd"}}},
            "one of stdio, http, sse",
            Settings(mcp_servers=(McpServer("m", "c"),)),
        ),
        ({"agents": {"x": 3}}, 'setting "agents.x" should be an object', Settings()),
        (
            {"agents": {"x": {"command": "c", "env": {"A": 1}}}},
            "an object of texts",
            Settings(agents={"x": AgentCommand("c")}),
        ),
        ({"defaultAgent": "y"}, 'defaultAgent "y" is not among', Settings(default_agent="y")),
    ],
)
def test_reported_and_the_rest_still_used(raw: object, words: str, expected: Settings) -> None:
    settings, problems = parse(raw)
    assert settings == expected
    assert len(problems) == 1
    assert words in problems[0]
