"""Settings: what is understood, what is reported, and that a mistake never takes the rest away."""

from __future__ import annotations

import pytest

from sidecar.config import AgentCommand, ClientFlags, McpServer, Settings, Transport, parse

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
        *(
            (
                {"agents": {"x": {"command": "c", "protocol": version}}},
                'setting "agents.x.protocol" should be 1 or 2',
                Settings(agents={"x": AgentCommand("c")}),
            )
            for version in (3, True, "2")
        ),
        ({"defaultAgent": "y"}, 'defaultAgent "y" is not among', Settings(default_agent="y")),
    ],
)
def test_reported_and_the_rest_still_used(raw: object, words: str, expected: Settings) -> None:
    settings, problems = parse(raw)
    assert settings == expected
    assert len(problems) == 1
    assert words in problems[0]


def elsewhere(**transport: object) -> dict[str, object]:
    return {"agents": {"x": {"command": "a", "transport": transport}}}


FOLDERS = {"/w": "${workspaceFolder}", "${workspaceFolder}/a": "/opt/a", "/": "${workspaceFolder}/b"}


@pytest.mark.parametrize(
    ("transport", "expected"),
    [
        ({"command": ["ssh", "h", "--"]}, Transport(("ssh", "h", "--"), shell=True)),
        ({"command": ["/usr/bin/ssh", "h"]}, Transport(("/usr/bin/ssh", "h"), shell=True)),
        ({"command": ["C:\\bin\\SSH.exe", "h"]}, Transport(("C:\\bin\\SSH.exe", "h"), shell=True)),
        ({"command": ["ssh", "h"], "shell": False}, Transport(("ssh", "h"))),
        ({"command": ["docker", "exec", "-i", "b"]}, Transport(("docker", "exec", "-i", "b"))),
        ({"command": ["my-ssh", "h"], "shell": True}, Transport(("my-ssh", "h"), shell=True)),
        ({"command": ["env"], "folders": FOLDERS}, Transport(("env",), FOLDERS)),
        ({"command": ["env"], "sidecar": "/opt/sidecar"}, Transport(("env",), sidecar="/opt/sidecar")),
    ],
)
def test_transports(transport: dict[str, object], expected: Transport) -> None:
    settings, problems = parse(elsewhere(**transport))
    assert problems == []
    assert settings.agents["x"].transport == expected


URL = "wss://host:8443/acp?project=a"


def test_an_agent_at_an_address() -> None:
    headers = {"Authorization": "${env:TOKEN}"}
    by = {"url": URL, "headers": headers, "folders": FOLDERS}
    settings, problems = parse({"agents": {"x": {"transport": by, "env": {"HTTPS_PROXY": "http://p"}}}})
    assert problems == []
    agent = settings.agents["x"]
    assert agent.transport == Transport(url=URL, headers=headers, folders=FOLDERS)
    assert (agent.words, agent.address, agent.env) == ((URL,), URL, {"HTTPS_PROXY": "http://p"})


@pytest.mark.parametrize("more", [{"command": "claude"}, {"args": ["--acp"]}], ids=str)
def test_an_agent_at_an_address_has_no_command(more: dict[str, object]) -> None:
    settings, problems = parse({"agents": {"x": {"transport": {"url": URL}, **more}}})
    assert settings.agents == {}
    assert len(problems) == 1
    assert 'an agent at a "url" runs already' in problems[0]


@pytest.mark.parametrize(
    "transport",
    [
        None,
        {"url": ""},
        {"url": "https://host/acp"},
        {"url": "wss://"},
        {"url": "wss://name:password@host/acp"},
        {"url": "wss://[host/acp"},
        {"url": "wss://host/a b"},
        {"url": "wss://host/a\nb"},
        {"url": URL, "command": ["ssh"]},
        {"url": URL, "shell": True},
        {"url": URL, "sidecar": "acp-sidecar"},
        {"command": ["ssh"], "sidecar": ""},
        {"command": ["ssh"], "sidecar": ["acp-sidecar"]},
        {"url": URL, "headers": ["a"]},
        {"command": ["ssh"], "headers": {}},
        "ssh host",
        ["ssh", "host"],
        {},
        {"command": []},
        {"command": [""]},
        {"command": "ssh host"},
        {"command": ["ssh", 5]},
        {"command": ["ssh"], "shell": "yes"},
        {"command": ["ssh"], "mapping": {}},
        {"command": ["ssh"], "folders": []},
        {"command": ["ssh"], "folders": {"/w": 5}},
        {"command": ["ssh"], "folders": {"w": "/p"}},
        {"command": ["ssh"], "folders": {"/w": "p"}},
        {"command": ["ssh"], "folders": {"/w": "/p/../q"}},
        {"command": ["ssh"], "folders": {"/w/..": "/p"}},
        {"command": ["ssh"], "folders": {"/w": "${workspaceFolder}x"}},
        {"command": ["ssh"], "folders": {"/w": "${workspaceFolder}/.."}},
        {"command": ["ssh"], "folders": {"/w": "${userHome}"}},
        {"command": ["ssh"], "folders": {"/w": "/p/${workspaceFolder}"}},
        {"command": ["ssh"], "folders": {"/w": ""}},
    ],
    ids=str,
)
def test_an_agent_whose_transport_is_wrong_is_not_started_here(transport: object) -> None:
    settings, problems = parse({"agents": {"x": {"command": "a", "transport": transport}}})
    assert settings.agents == {}
    assert problems[-1] == 'agent "x" is left out: its "transport" was not understood'
    assert any('setting "agents.x.transport' in problem for problem in problems)
