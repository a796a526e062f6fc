"""Sessions with the agents' side alone: choices, lists, links, reconnecting after a death, what is announced."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.acp import elicitation, listing, logins
from sidecar.acp.agents import HostedAgents
from sidecar.acp.facts import Facts, facts_of
from sidecar.acp.known import KNOWN, on_path
from sidecar.acp.offers import Offers
from sidecar.acp.options import MODEL, Options
from sidecar.config import AgentCommand
from sidecar.workspace.ports.ports import AgentFailed, SessionRequest
from sidecar.workspace.ports.session_ports import Elicited
from tests.acp.test_agents import LIMITS, TEXT, agents
from tests.support.acp_wire import FakeWorkspace
from tests.support.agents import command, received, until_gone

# what an agent says it can do · which facts are true
CAPABILITIES: list[tuple[object, set[str]]] = [
    (None, set()),
    ({"loadSession": True}, {"load"}),
    ({"loadSession": {}}, set()),
    ({"sessionCapabilities": {"list": {}, "resume": {}, "delete": {}, "close": {}, "fork": {}}}, {"list", "resume", "delete", "close", "fork"}),
    ({"sessionCapabilities": {"list": None, "resume": True, "delete": [], "close": "yes", "fork": True}}, set()),
    ({"sessionCapabilities": {"additionalDirectories": {"x": 1}}}, {"additional_directories"}),
    ({"auth": {"logout": {}}}, {"logout"}),
    ({"auth": {"logout": None}}, set()),
    ({"mcpCapabilities": {"http": True, "sse": 1}}, {"mcp_http"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "true"), CAPABILITIES, ids=lambda value: str(value) if isinstance(value, dict) else ""
)
def test_facts(said: object, true: set[str]) -> None:
    facts = facts_of({"agentCapabilities": said})
    names = [name for name in Facts.__slots__ if isinstance(getattr(facts, name), bool)]
    assert {name for name in names if getattr(facts, name)} == true


def test_offers_say_what_the_editor_shows() -> None:
    always = {"session": {"configOptions": {"boolean": {}}, "compaction": {}, "notices": {}}}
    assert Offers().capabilities() == always
    assert Offers(elicitation=True).capabilities() == {**always, "elicitation": {"form": {}, "url": {}}}
    assert Offers(terminal_login=True).capabilities() == {
        **always,
        "auth": {"terminal": True},
        "_meta": {"terminal-auth": True},
    }


# options

MODELS = {
    "currentModelId": "a",
    "availableModels": [{"modelId": "a"}, {"modelId": "b", "name": "B", "description": "big"}, {"name": "no id"}],
}  # fmt: skip
OF_MODELS = {
    "id": MODEL, "name": "Model", "category": "model", "type": "select", "currentValue": "a",
    "options": [{"value": "a", "name": "a"}, {"value": "b", "name": "B", "description": "big"}],
}  # fmt: skip
THEIR_MODEL = {"id": "m", "category": "model", "type": "select", "currentValue": "x", "options": []}
ANSWERS: dict[str, tuple[dict[str, Any], object]] = {
    "nothing": ({}, None),
    "null": ({"configOptions": None, "models": None}, None),
    "models": ({"models": MODELS}, [OF_MODELS]),
    "both ways": ({"models": MODELS, "configOptions": [THEIR_MODEL]}, [THEIR_MODEL]),
    "odd models": ({"models": {"current": "x"}, "configOptions": []}, []),
    "models without a current one": ({"models": {**MODELS, "currentModelId": None}}, None),
    "odd options": ({"configOptions": ["x", 7, {"id": "a"}]}, [{"id": "a"}]),
    "no list": ({"configOptions": {"a": 1}}, None),
}


@pytest.mark.parametrize(("answer", "options"), ANSWERS.values(), ids=ANSWERS)
def test_options_of_an_answer(answer: dict[str, Any], options: object) -> None:
    assert Options(answer).config == options


def test_updates_keep_options_true() -> None:
    options = Options({"models": MODELS, "modes": {"currentModeId": "x", "availableModes": []}})
    other = {"id": "o", "type": "boolean", "currentValue": True}
    update = {"sessionUpdate": "config_option_update", "configOptions": [other]}
    assert options.heard(update)["configOptions"] == [other, OF_MODELS]
    assert options.heard({"sessionUpdate": "current_mode_update", "currentModeId": "y"})
    assert options.modes == {"currentModeId": "y", "availableModes": []}
    for odd in (
        {"sessionUpdate": "current_mode_update", "currentModeId": 7},
        {"sessionUpdate": "config_option_update", "configOptions": None},
        {"sessionUpdate": ["x"]},
    ):
        assert options.heard(odd) is odd
    assert options.modes == {"currentModeId": "y", "availableModes": []}
    assert options.request("fake", "o", False) == (
        "session/set_config_option",
        {"configId": "o", "type": "boolean", "value": False},
    )
    assert options.option_set("o", False, None) == [{**other, "currentValue": False}, OF_MODELS]


# links

LINKS: dict[str, bool] = {
    "https://example.org/a?b=c#d": True,
    "https://127.0.0.1:8080/": True,
    "http://localhost:3000/cb": True,
    "http://127.0.0.1/": True,
    "http://[::1]:8/": True,
    "http://example.org/": False,
    "http://localhost.example.org/": False,
    "https://user:word@example.org/": False,
    "https://example.org@evil.example/": False,
    "https:///path": False,
    "https://": False,
    "https://exa mple.org/": False,
    "https://ex\u0430mple.org/": False,
    "https://example.org/\u202e": False,
    "https://example.org/\n": False,
    "https:\\\\example.org": False,
    "https://[bad/": False,
    "file:///etc/passwd": False,
    "javascript:alert(1)": False,
    "vscode://x/y": False,
    "command:x": False,
    "": False,
    "https://e.org/" + "x" * 9000: False,
}


@pytest.mark.parametrize(("url", "may"), LINKS.items(), ids=[repr(url)[:40] for url in LINKS])
def test_links(url: str, may: bool) -> None:
    assert elicitation.may_be_opened(url) is may


def test_answers_hold_what_was_asked_for() -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {}, "c": {}, "d": {}}, "required": ["a"]}
    params = {"mode": "form", "message": "m", "requestedSchema": schema}
    asked = elicitation.parse(params, "1", "fake", None)
    assert not isinstance(asked, tuple)
    given = {"a": ["x", "y"], "b": 1.5, "c": None, "d": [1], "e": "more"}
    assert elicitation.result(asked, Elicited("accept", given)) == {
        "action": "accept",
        "content": {"a": ["x", "y"], "b": 1.5},
    }
    assert elicitation.result(asked, Elicited("accept", None)) == {"action": "cancel"}


def test_a_form_shows_what_is_in_its_words() -> None:
    odd, seen = "a\u202eb\x1b[2J\nc", "a\\u202eb\\x1b[2J\nc"

    def form(words: str) -> dict[str, Any]:
        choice = {
            "enum": [odd],
            "enumNames": [words],
            "oneOf": [{"const": odd, "title": words}],
            "default": odd,
        }
        named = {"type": "string", "title": words, "description": words, **choice}
        return {"type": "object", "title": words, "properties": {odd: named, "title": {"description": words}}}

    asked = elicitation.parse(
        {"mode": "form", "message": odd, "requestedSchema": form(odd)}, "1", "fake", None
    )
    assert not isinstance(asked, tuple)
    assert asked.schema == form(seen)
    assert asked.message == seen


# lists


class Pages:
    agent = "fake"

    def __init__(self, *pages: object, can: bool = True) -> None:
        self.facts = Facts(list=can)
        self.pages = list(pages)
        self.asked: list[tuple[str | None, str | None]] = []

    async def list_sessions(self, cwd: str | None, cursor: str | None) -> object:
        self.asked.append((cwd, cursor))
        return self.pages.pop(0) if len(self.pages) > 1 else self.pages[0]


def row(name: object, cwd: object = "/w", **more: object) -> dict[str, object]:
    return {"sessionId": name, "cwd": cwd, **more}


# pages · folders · references found · how often it was asked
LISTS: dict[str, tuple[list[object], list[str], list[str], int]] = {
    "one page": ([{"sessions": [row("a"), row("b")]}], ["/w"], ["a", "b"], 1),
    "two pages": ([{"sessions": [row("a")], "nextCursor": "2"}, {"sessions": [row("b")]}], ["/w"], ["a", "b"], 2),
    "a cursor that does not move": ([{"sessions": [row("a")], "nextCursor": "2"}], ["/w"], ["a"], 2),
    "twice the same": ([{"sessions": [row("a"), row("a")]}], ["/w"], ["a"], 1),
    "other folders": ([{"sessions": [row("a"), row("b", "/other")]}], ["/w"], ["a"], 1),
    "every folder": ([{"sessions": [row("a"), row("b", "/other")]}], [], ["a", "b"], 1),
    "two folders": ([{"sessions": [row("a"), row("b", "/x")]}], ["/w", "/x"], ["a", "b"], 2),
    "odd rows": ([{"sessions": [row(7), row("a", None), "x", None, row("b")]}], ["/w"], ["b"], 1),
    "no rows": ([{"sessions": None}], ["/w"], [], 1),
    "null": ([None], ["/w"], [], 1),
}  # fmt: skip


@pytest.mark.parametrize(("pages", "folders", "found", "asked"), LISTS.values(), ids=LISTS)
async def test_listing(pages: list[object], folders: list[str], found: list[str], asked: int) -> None:
    agent = Pages(*pages)
    assert [one.reference for one in await listing.sessions(agent, "fake", folders)] == found
    assert len(agent.asked) == asked


async def test_a_list_without_end_is_bounded() -> None:
    class Endless(Pages):
        async def list_sessions(self, cwd: str | None, cursor: str | None) -> object:
            self.asked.append((cwd, cursor))
            number = len(self.asked)
            return {
                "sessions": [row(f"{number}-{n}", title="T\u202e" * 5000) for n in range(100)],
                "nextCursor": str(number),
            }

    agent = Endless()
    found = await listing.sessions(agent, "fake", [])
    assert len(found) == 1000
    assert len(agent.asked) == 10
    assert "\u202e" not in found[0].title
    assert len(found[0].title) < 1000


async def test_who_cannot_list_is_not_asked() -> None:
    agent = Pages(None, can=False)
    assert await listing.sessions(agent, "fake", ["/w"]) == []
    assert agent.asked == []


# logging in


def test_methods_are_shown_in_words() -> None:
    methods = [
        {"id": "a", "name": "A\u202e", "description": "how"},
        {"id": "b", "type": "terminal"},
        {"id": "c", "type": "new kind", "name": 7},
    ]
    assert logins.shown(methods) == [
        {"id": "a", "name": "A\\u202e", "description": "how", "type": "agent"},
        {"id": "b", "name": "b", "type": "terminal"},
        {"id": "c", "name": "c", "type": "agent"},
    ]


# how the agent is configured · its method · the command for the terminal
TERMINALS: dict[str, tuple[AgentCommand, dict[str, Any], list[str]]] = {
    "args are appended": (
        AgentCommand("$bin/agent", ("acp",)),
        {"type": "terminal", "args": ["login", 7]},
        ["$bin/agent", "acp", "login"],
    ),
    "no args": (AgentCommand("$bin/agent", ("acp",)), {"type": "terminal"}, ["$bin/agent", "acp"]),
    "a whole command, the older way": (
        AgentCommand("$bin/agent", ("acp",)),
        {"_meta": {"terminal-auth": {"command": "agent", "args": ["auth", "login"]}}},
        ["$bin/agent", "auth", "login"],
    ),
    "both ways": (
        AgentCommand("$bin/agent", ("acp",)),
        {"type": "terminal", "args": ["x"], "_meta": {"terminal-auth": {"command": "other"}}},
        ["$bin/agent", "acp", "x"],
    ),
    "another program": (
        AgentCommand("$bin/agent", ("acp",)),
        {"_meta": {"terminal-auth": {"command": "$bin/helper", "args": None}}},
        ["$bin/helper"],
    ),
}


@pytest.mark.parametrize("what", TERMINALS)
def test_terminal_logins(what: str, tmp_path: Path) -> None:
    configured, method, argv = TERMINALS[what]

    def here(value: Any) -> Any:
        return json.loads(json.dumps(value).replace("$bin", str(tmp_path)))

    for name in ("agent", "helper"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    command = AgentCommand(here(configured.command), configured.args, {"KEY": "1"})
    answer = logins.by_person("fake", command, here({"id": "t", **method}))
    assert answer is not None
    assert (answer["state"], answer["agent"]) == ("terminal", "fake")
    terminal: Any = answer["terminal"]
    assert [terminal["command"], *terminal["args"]] == here(argv)
    assert terminal["env"] == {"KEY": "1"}
    assert str(answer["message"]).endswith(" ".join(here(argv)))


@pytest.mark.parametrize(("program", "elsewhere"), [("npx", True), ("agent", False)])
def test_a_package_runner_s_login_is_not_started_in_the_open_folder(
    tmp_path: Path, program: str, elsewhere: bool
) -> None:
    (tmp_path / program).write_text("#!/bin/sh\n")
    (tmp_path / program).chmod(0o755)
    command = AgentCommand(str(tmp_path / program), ("some-agent",))
    answer = logins.by_person("fake", command, {"id": "t", "type": "terminal", "args": ["login"]})
    assert answer is not None
    terminal: Any = answer["terminal"]
    folder = terminal.get("cwd")
    assert (folder is not None) is elsewhere
    if folder is not None:
        assert not any(Path(folder).iterdir())


def test_a_terminal_login_of_an_agent_that_is_not_there() -> None:
    with pytest.raises(AgentFailed, match="no-such-agent"):
        logins.by_person("fake", AgentCommand("no-such-agent"), {"id": "t", "type": "terminal"})


# found on PATH


def test_agents_on_path(tmp_path: Path) -> None:
    program = tmp_path / KNOWN[0].command
    program.write_text("#!/bin/sh\n")
    assert on_path({"PATH": str(tmp_path)}) == {}
    program.chmod(0o755)
    assert on_path({"PATH": str(tmp_path)}) == {
        KNOWN[0].id: AgentCommand(str(program), KNOWN[0].arguments),
    }
    assert on_path({"PATH": "."}) == {}, "never from the folder that is open"
    assert len({agent.id for agent in KNOWN}) == len(KNOWN)


def test_version_managers_are_looked_for_once_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr("sidecar.acp.agent_processes.managed_folders", lambda env: asked.append(env) or [])
    side = HostedAgents({f"a{n}": AgentCommand(f"no-such-{n}") for n in range(9)}, limits=LIMITS)
    side.serve(FakeWorkspace())
    assert not any(info.installed for info in side.list())
    assert len(side.status()) == 9
    assert len(asked) == 2


async def test_a_configured_agent_hides_a_found_one(tmp_path: Path) -> None:
    one, other = AgentCommand("/bin/one"), AgentCommand("/bin/other", env={"A": "1"})
    told = AgentCommand("/bin/told")
    side = HostedAgents(
        {"fake": one}, found=lambda: {"fake": other, "more": other}, told=lambda _: told, limits=LIMITS
    )
    side.serve(FakeWorkspace())
    assert [(info.id, info.source) for info in side.list()] == [("fake", "configured"), ("more", "found")]
    assert side.found("fake") is None
    assert side.found("more") == other, "what a person approves is what was found, without our own variables"
    assert side.found("nobody") is None


# after a death

CAN = {"protocolVersion": 1, "agentInfo": {"name": "fake", "version": "1"}}
RESUME = {"agentCapabilities": {"sessionCapabilities": {"resume": {}}}}
LOAD = {"agentCapabilities": {"loadSession": True}}
HISTORY = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "history "}}
# what the agent can · its answer · what it is asked for when it is started again · its own id for the session then
DEATHS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str], str]] = {
    "resume": (RESUME, {"session/resume": [{"reply": None}]}, ["session/resume"], "first"),
    "load": (LOAD, {"session/load": [{"update": HISTORY}, {"reply": {}}]}, ["session/load"], "first"),
    "neither": ({}, {}, ["session/new"], "second"),
    "it has lost it": (
        LOAD,
        {"session/load": [{"fail": {"code": -32002, "message": "gone"}}]},
        ["session/load", "session/new"],
        "second",
    ),
}


@pytest.mark.parametrize("what", DEATHS)
async def test_a_conversation_after_a_death(what: str, tmp_path: Path) -> None:
    can, answers, asked, reference = DEATHS[what]
    trace, flag = tmp_path / "trace", tmp_path / "pids"
    first = [{"reply": {"sessionId": "first" if reference == "first" else "second"}}]
    script = {
        "initialize": [{"reply": {**CAN, **can}}],
        "session/new": first,
        "turns": [[{"say": "turn "}]],
        **answers,
    }
    async with agents(tmp_path, fake=command(script, trace)) as side:
        await side.open("S1")
        await side.agents.prompt("S1", TEXT)
        (pid,) = side.pids()
        trace.unlink()
        os.kill(pid, signal.SIGKILL)
        await side.workspace.until(lambda: side.workspace.deaths)
        assert await side.agents.prompt("S1", TEXT) == "end_turn"
        assert side.workspace.said("S1") == "turn turn ", "its history is not shown again"
        assert side.agents.reference("S1") == reference
        sent = [m["method"] for m in received(trace) if str(m.get("method")).startswith("session/")]
        assert sent == [*asked, "session/prompt"]
        states = [state.state for state in side.workspace.states]
        assert states == ["starting", "running", "failed", "starting", "running"]
        assert side.workspace.states[2].sessions == ("S1",)
    assert not flag.exists()
    assert side.workspace.states[-1].state == "stopped"


GONE = [{"fail": {"code": -32002, "message": "Resource not found"}}]
CONTINUES = "fake had lost this conversation. It was started again and continues it."
FORGOT = "fake had lost this conversation. It was started again and does not remember what was said before."
# what the agent can · its prompt after a load · what it is asked for then · what it says in all · what is said of it
LOST: dict[str, tuple[dict[str, Any], list[Any], list[str], str, list[str]]] = {
    "it can load": (LOAD, [{"say": "again"}], ["load", "prompt"], "first again", [CONTINUES]),
    "it only says that it can": (
        LOAD,
        GONE,
        ["load", "prompt", "new", "prompt"],
        "first first ",
        [CONTINUES, FORGOT],
    ),
    "it cannot load": ({}, [], ["new", "prompt"], "first first ", [FORGOT]),
}


@pytest.mark.parametrize("what", LOST)
async def test_an_agent_that_has_lost_a_session_is_started_again(what: str, tmp_path: Path) -> None:
    """The process that held it has died behind the agent (Claude): every prompt is refused from then on."""
    can, after_load, asked, says, told = LOST[what]
    first = [
        {"before": "session/load", "steps": [{"say": "first "}]},
        {"after": "session/load", "steps": after_load},
    ]
    script = {
        "initialize": [{"reply": {**CAN, **can}}],
        "session/load": [{"reply": {}}],
        "turns": [first, GONE],
    }
    trace = tmp_path / "trace"
    async with agents(tmp_path, fake=command(script, trace)) as side:
        await side.open("S1")
        await side.agents.prompt("S1", TEXT)
        (pid,) = side.pids()
        assert await side.agents.prompt("S1", TEXT) == "end_turn"
        assert side.workspace.said("S1") == says
        assert side.workspace.noticed == [("S1", words) for words in told]
        assert await until_gone([pid], LIMITS.silence) == set()
    sent = [str(m["method"]) for m in received(trace) if str(m.get("method")).startswith("session/")]
    assert sent == [f"session/{method}" for method in ("new", "prompt", "prompt", *asked)]


async def test_a_session_is_lost_and_the_agent_has_others(tmp_path: Path) -> None:
    """Its process goes on."""
    script = {
        "initialize": [{"reply": {**CAN, **LOAD}}],
        "session/load": [{"reply": {}}],
        "turns": [GONE, [{"say": "again"}]],
    }
    async with agents(tmp_path, fake=command(script)) as side:
        await side.open("S1")
        await side.open("S2")
        pids = side.pids()
        assert await side.agents.prompt("S1", TEXT) == "end_turn"
        assert side.workspace.noticed == [
            ("S1", "fake had lost this conversation. It opened it again and continues it.")
        ]
        assert side.pids() == pids


@pytest.mark.parametrize("turn", [[*GONE], [{"say": "on"}, *GONE]], ids=["", "it has begun"])
async def test_something_else_that_is_not_found_is_told(turn: list[Any], tmp_path: Path) -> None:
    """Also in a session that was just opened; what an agent has begun is not begun again."""
    trace = tmp_path / "trace"
    async with agents(tmp_path, fake=command({"turns": [turn]}, trace)) as side:
        await side.open("S1")
        with pytest.raises(AgentFailed, match="Resource not found"):
            await side.agents.prompt("S1", TEXT)
    sent = [m for m in received(trace) if m.get("method") == "session/prompt"]
    assert len(sent) == (2 if turn == GONE else 1)


MODES = {"currentModeId": "ask", "availableModes": [{"id": "ask"}, {"id": "code"}]}
NEWER = {**MODES, "currentModeId": "code"}


@pytest.mark.parametrize(
    ("says", "modes", "model"),
    [(None, MODES, "a"), ({"modes": NEWER, "models": {**MODELS, "currentModelId": "b"}}, NEWER, "b")],
    ids=["nothing", "what is chosen now"],
)
async def test_what_can_be_chosen_after_a_death(
    says: object, modes: object, model: str, tmp_path: Path
) -> None:
    """What the agent does not say anew stays as it was, and can be chosen still."""
    trace = tmp_path / "trace"
    script = {
        "initialize": [{"reply": {**CAN, **RESUME}}],
        "session/new": [{"reply": {"sessionId": "first", "modes": MODES, "models": MODELS}}],
        "session/resume": [{"reply": says}],
        "turns": [[]],
    }
    async with agents(tmp_path, fake=command(script, trace)) as side:
        await side.open("S1")
        assert side.workspace.reopened == []
        os.kill(side.pids()[0], signal.SIGKILL)
        await side.workspace.until(lambda: side.workspace.deaths)
        await side.agents.prompt("S1", TEXT)
        (opened,) = side.workspace.reopened
        assert (opened.session_id, opened.modes) == ("S1", modes)
        assert opened.config_options is not None
        assert [option["currentValue"] for option in opened.config_options] == [model]
        await side.agents.set_mode("S1", "code")
        await side.agents.set_config_option("S1", MODEL, "b")
    sent = [m["method"] for m in received(trace) if str(m.get("method")).startswith("session/set")]
    assert sent == ["session/set_mode", "session/set_model"]


async def test_a_start_that_fails_is_told(tmp_path: Path) -> None:
    async with agents(tmp_path, fake=AgentCommand("no-such-agent")) as side:
        with pytest.raises(AgentFailed):
            await side.open()
        last = side.workspace.states[-1]
        assert (last.agent, last.state) == ("fake", "failed")
        assert "no-such-agent" in last.message


async def test_words_about_memory_depend_on_the_agent(tmp_path: Path) -> None:
    for can, words in ((RESUME, "it continues this conversation"), ({}, "it will not remember")):
        script = {"initialize": [{"reply": {**CAN, **can}}], "turns": [[{"exit": 3}]]}
        async with agents(tmp_path, script) as side:
            await side.open()
            with pytest.raises(AgentFailed, match=words):
                await side.agents.prompt("S1", TEXT)


async def test_loading_what_is_open_and_what_cannot_be_loaded(tmp_path: Path) -> None:
    request = SessionRequest("S2", "fake", str(tmp_path))
    async with agents(tmp_path, {"initialize": [{"reply": {**CAN, **LOAD}}]}) as side:
        await side.open("S1")
        with pytest.raises(AgentFailed, match="has this conversation open already"):
            await side.agents.load_session(request, "s1", replay=True)
        opened = await side.agents.load_session(request, "other", replay=True)
        assert (opened.reference, opened.replayed) == ("other", True)
        with pytest.raises(AgentFailed, match="is not open with its agent"):
            await side.agents.set_mode("S9", "x")
    async with agents(tmp_path, {}) as side:
        with pytest.raises(AgentFailed) as raised:
            await side.agents.load_session(request, "other", replay=True)
        assert raised.value.kind == "unsupported"
        pids = side.pids()
        assert pids == [], "nothing uses it"


FORK = {"agentCapabilities": {"sessionCapabilities": {"fork": {}}}}


async def test_a_fork_is_a_session_of_its_own(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    early = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "early "}}
    script = {
        "initialize": [{"reply": {**CAN, **FORK}}],
        "session/fork": [
            {"send": {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "f1", "update": early}}},
            {"reply": {"sessionId": "f1", "modes": MODES, "models": MODELS}},
        ],
        "turns": [[{"say": "in $session "}]],
    }  # fmt: skip
    async with agents(tmp_path, fake=command(script, trace)) as side:
        assert (await side.open("S1")).forks is True
        servers = ({"name": "x", "command": "/x", "args": [], "env": []},)
        request = SessionRequest("S2", "fake", str(tmp_path), mcp_servers=servers)
        opened = await side.agents.fork_session(request, "s1")
        assert (opened.session_id, opened.reference, opened.forks) == ("S2", "f1", True)
        assert opened.modes == MODES
        assert opened.config_options == [OF_MODELS]
        await side.agents.set_mode("S2", "code")
        await side.agents.prompt("S2", TEXT)
        await side.agents.prompt("S1", TEXT)
        assert (side.workspace.said("S2"), side.workspace.said("S1")) == ("early in f1 ", "in s1 ")
        with pytest.raises(AgentFailed, match="`session/fork` with the id of a session that is open"):
            await side.agents.fork_session(replace(request, session_id="S3"), "s1")
    (fork, _) = (m["params"] for m in received(trace) if m.get("method") == "session/fork")
    assert fork == {"sessionId": "s1", "cwd": str(tmp_path), "mcpServers": list(servers)}


async def test_what_cannot_be_forked(tmp_path: Path) -> None:
    request = SessionRequest("S2", "fake", str(tmp_path))
    refuses = {"session/fork": [{"fail": {"code": -32602, "message": "not this one"}}]}
    for can, words, kind in (({}, "cannot fork", "unsupported"), (FORK, "not this one", "refused")):
        async with agents(tmp_path, {"initialize": [{"reply": {**CAN, **can}}], **refuses}) as side:
            with pytest.raises(AgentFailed, match=words) as raised:
                await side.agents.fork_session(request, "s1")
            assert raised.value.kind == kind
            assert side.pids() == [], "nothing uses it"


async def test_a_login_keeps_the_process(tmp_path: Path) -> None:
    methods = [{"id": "m", "name": "M"}]
    script = {
        "initialize": [
            {"reply": {**CAN, "authMethods": methods, "agentCapabilities": {"auth": {"logout": {}}}}}
        ]
    }
    async with agents(tmp_path, script) as side:
        cwd = str(tmp_path)
        await side.agents.authenticate("fake", cwd, None, finished=False)
        (pid,) = side.pids()
        await side.agents.authenticate("fake", cwd, "m", finished=False)
        await side.open("S1")
        await side.agents.close_session("S1")
        assert side.pids() == [pid], "only this process may know of the login"
        await side.agents.authenticate("fake", cwd, "m", finished=True)
        assert side.pids() != [pid], "it is started anew after a login by other means"
