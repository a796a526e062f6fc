"""Agents as they are: every deviation that was observed, played against the real process by a scripted agent that speaks raw bytes.

A row is what the agent does in its first turn, and what must have come of it; after each the session lives: a second prompt works. What a row
calls itself names the agents that were seen doing so. Quirks (acp/quirks.py) have a row each, and an agent without the quirk beside it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sidecar.acp.quirks import TABLE
from tests.gates.product import Product, Script, a_product, all_wrong, in_folder

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform == "win32", reason="no terminals there"),
]
BASE = "one\ntwo\nthree\nfour\n"
CHANGED = BASE.replace("three", "THREE")
FILE = "$folder/a.txt"
ALLOW = [
    {"optionId": "no", "name": "No", "kind": "reject_once"},
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
]
Steps = list[dict[str, Any]]


class Seen:
    """What came of a row."""

    def __init__(self, product: Product, session: Any, folder: Path) -> None:
        self.product = product
        self.session = session
        self.folder = folder

    @property
    def said(self) -> str:
        return self.product.said(self.session)

    def answer(self) -> Any:
        """The last answer the agent had, which it said."""
        text = self.said[self.said.index('{"jsonrpc"') :]
        return json.JSONDecoder().raw_decode(text)[0]

    def updates(self, kind: str) -> list[Any]:
        return [
            u
            for s, u in self.product.updates
            if s == self.session["sessionId"] and u["sessionUpdate"] == kind
        ]

    def text(self, name: str = "a.txt") -> str:
        return (self.folder / name).read_text()

    async def listed(self) -> list[tuple[str, str]]:
        argument = {"sessionId": self.session["sessionId"]}
        rows: Any = await self.product.execute("sidecar.listChanges", argument)
        return [(row["oldText"].strip(), row["newText"].strip()) for row in rows]


Check = Callable[[Seen], object]


@dataclass(frozen=True)
class Row:
    steps: Steps
    check: Check = lambda seen: True
    """True, or (an awaitable of) what is wrong."""
    more: Script = field(default_factory=dict)
    """Of the agent's script."""
    stop: str = "end_turn"
    agent: str = ""
    """What the user calls it in the settings."""


def call(**more: Any) -> dict[str, Any]:
    return {"update": {"sessionUpdate": "tool_call", "toolCallId": "c1", **more}}


def progress(**more: Any) -> dict[str, Any]:
    return {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "c1", **more}}


def put(text: str, name: str = "a.txt") -> dict[str, Any]:
    """The agent writes the disk itself."""
    return {"put": f"$folder/{name}", "text": text}


def asks(method: str, **params: Any) -> Steps:
    return [
        {"request": method, "params": {"sessionId": "$session", **params}, "as": method},
        {"say": {"answer": method}},
    ]


def permission(options: Sequence[Any] = ALLOW, **tool_call: Any) -> Steps:
    return asks("session/request_permission", toolCall=tool_call, options=list(options))


def diff(old: str | None, new: str, path: str = FILE) -> dict[str, Any]:
    return {"type": "diff", "path": path, "oldText": old, "newText": new}


def edit(*content: dict[str, Any], **more: Any) -> Steps:
    """Announced when it is over: then the diff tells what was there before."""
    return [put(CHANGED), call(kind="edit", status="completed", content=list(content), **more)]


def chosen(option: str) -> Check:
    return lambda seen: seen.answer()["result"]["outcome"].get("optionId") == option


def refused(code: int) -> Check:
    return lambda seen: seen.answer()["error"]["code"] == code


async def is_listed(seen: Seen) -> object:
    listed = await seen.listed()
    return listed == [("three", "THREE")] or listed


def runs(**params: Any) -> Steps:
    return [
        {"request": "terminal/create", "params": {"sessionId": "$session", **params}, "as": "made"},
        {"take": "made", "field": "terminalId"},
        *asks("terminal/wait_for_exit", terminalId="$taken"),
        *asks("terminal/output", terminalId="$taken"),
    ]


def last_answer(seen: Seen) -> Any:
    text = seen.said
    return json.JSONDecoder().raw_decode(text[text.rindex('{"jsonrpc"') :])[0]


def ran(text: str) -> Check:
    return lambda seen: last_answer(seen)["result"]["output"] == text or last_answer(seen)


NEW = {"sessionId": "s1"}
INIT = {"protocolVersion": 1, "agentInfo": {"name": "fake", "version": "1"}}


def early(kind: str) -> Script:
    text = {"type": "text", "text": "too early"}
    update = {"sessionUpdate": kind, "content": text}
    return {
        "session/new": [
            {
                "send": {
                    "jsonrpc": "2.0",
                    "method": "session/update",
                    "params": {"sessionId": "s1", "update": update},
                }
            },
            {"reply": NEW},
        ]
    }


def named(name: str) -> Script:
    return {"initialize": [{"reply": {"protocolVersion": 1, "agentInfo": {"name": name, "version": "1"}}}]}


ROWS: dict[str, Row] = {
    # updates
    "an update before the answer to session/new (copilot, crow, vibe 3)": Row(
        [], lambda seen: "too early" in seen.said, early("agent_message_chunk")
    ),
    "an unknown kind of update": Row(
        [{"update": {"sessionUpdate": "dream_update", "dream": [1]}}, {"say": "awake"}],
        lambda seen: "awake" in seen.said and len(seen.updates("dream_update")) == 1,
    ),
    "an update without a kind": Row(
        [{"update": {"content": 3}}, {"update": {"sessionUpdate": 7}}, {"say": "awake"}],
        lambda seen: "awake" in seen.said,
    ),
    "fields nobody knows (models, usage)": Row(
        [call(title="t", usage={"tokens": 1}, models=[1], cost=None, _meta={"x": 1})],
        lambda seen: seen.updates("tool_call")[0].get("usage") == {"tokens": 1},
        {"session/new": [{"reply": {**NEW, "models": {"current": 1}, "usage": [], "modes": None}}]},
    ),
    "a second tool_call with the same id": Row(
        [call(title="a", kind="edit"), call(title="b", kind="edit", status="completed")],
        lambda seen: len(seen.updates("tool_call")) == 2,
    ),
    "an update of a call that was never announced": Row(
        [progress(status="completed"), progress(title="t", kind="edit", status="in_progress")]
    ),
    "no status, a repeated one, one after the end": Row(
        [
            call(title="t"),
            progress(),
            progress(status="completed"),
            progress(status="completed"),
            progress(status="in_progress"),
        ]
    ),
    "values of no enumeration": Row(
        [
            call(title="t", kind="teleport", status="melting"),
            {
                "update": {
                    "sessionUpdate": "plan",
                    "entries": [{"priority": "x", "status": "y", "content": 1}],
                }
            },
            {"update": {"sessionUpdate": "current_mode_update", "currentModeId": 5}},
            {"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "smell", "smell": "?"}}},
        ]
    ),
    "terminals in content with ids we never gave (codex, pi)": Row(
        [call(title="t", kind="execute", content=[{"type": "terminal", "terminalId": "theirs"}])],
        lambda seen: seen.updates("tool_call")[0]["content"][0]["terminalId"] == "theirs",
    ),
    "content and locations of wrong types": Row(
        [
            call(title=3, content="x", locations={"path": 1}),
            progress(content=[1, None, {}], locations=[None, {"path": 2}]),
        ]
    ),
    "a stop reason of its own": Row([{"stop": "tired"}], stop="tired"),
    # what it changed: evidence
    "locations at line 0": Row(
        [
            call(kind="edit", locations=[{"path": FILE, "line": 0}]),
            put(CHANGED),
            progress(status="completed"),
        ],
        is_listed,
    ),
    "relative paths in diffs (qwen 0.15)": Row(edit(diff(BASE, CHANGED, "a.txt")), is_listed),
    "oldText is the whole file": Row(edit(diff(BASE, CHANGED)), is_listed),
    "oldText is a piece": Row(edit(diff("three", "THREE")), is_listed),
    "oldText lacks the final line end": Row(
        edit(diff(BASE.rstrip("\n"), CHANGED)), lambda seen: _some_of(seen, ("three", "THREE"))
    ),
    "the disk and fs/write both, also when refused (opencode, kilo)": Row(
        [
            call(kind="edit", locations=[{"path": FILE}]),
            put(CHANGED),
            {"write": FILE, "content": CHANGED, "as": "w"},
            {"write": FILE, "content": CHANGED, "as": "w2"},
            progress(status="completed"),
        ],
        is_listed,
    ),
    # questions
    "permission for a call never announced (gemini, qwen, openhands, kilo)": Row(
        permission(toolCallId="c9", title="t", kind="edit"), chosen("yes")
    ),
    "permission with nothing but an id (vibe)": Row(permission(toolCallId="c9"), chosen("yes")),
    "permission without even an id": Row(permission(), chosen("yes")),
    "two allow_once options (openhands)": Row(
        permission([*ALLOW, {"optionId": "also", "name": "Yes, too", "kind": "allow_once"}], toolCallId="c"),
        chosen("yes"),
    ),
    "an option of no kind": Row(
        permission([{"optionId": "maybe", "name": "Yes", "kind": "perhaps"}, *ALLOW], toolCallId="c"),
        chosen("yes"),
    ),
    # requests and messages
    "unknown requests without underscore (qwen)": Row(asks("qwen/thing"), refused(-32601)),
    "unknown requests with one": Row(asks("_x/thing"), refused(-32601)),
    "unknown notifications": Row([{"notify": "authenticate/update", "params": {"a": 1}}, {"notify": "_x"}]),
    "lines that are not JSON (crow)": Row(
        [{"raw": "Loading…\n\n[INFO] ready\n"}, {"say": "there"}], lambda seen: "there" in seen.said
    ),
    "noise before the first answer": Row([], more={"start": [{"raw": "Welcome!\n"}]}),
    "null among the answers' fields (crow: session/resume)": Row(
        [],
        more={
            "initialize": [
                {
                    "reply": {
                        **INIT,
                        "agentCapabilities": {
                            "loadSession": None,
                            "sessionCapabilities": {"resume": None, "list": None},
                            "promptCapabilities": None,
                        },
                        "authMethods": None,
                    }
                }
            ],
            "session/new": [{"reply": {**NEW, "modes": None, "configOptions": None, "models": None}}],
        },
    ),
    # files
    "reads from line 0": Row(
        asks("fs/read_text_file", path=FILE, line=0, limit=1),
        lambda seen: seen.answer()["result"]["content"] == "one\n",
    ),
    "looks at the disk right after a write of a new file (qwen, kimi, vibe, gemini)": Row(
        [{"write": "$folder/made.txt", "content": "new\n"}, {"file": "$folder/made.txt"}],
        lambda seen: '"new\\n"' in seen.said,
    ),
    # terminals
    "a whole line in `command` (kimi, vibe, crow)": Row(runs(command="echo a; echo b"), ran("a\nb\n")),
    "a shell of its own (fast-agent)": Row(runs(command="/bin/sh", args=["-lc", "echo a"]), ran("a\n")),
    "neither kill nor release (fast-agent)": Row(
        [
            {
                "request": "terminal/create",
                "params": {"sessionId": "$session", "command": "sleep", "args": ["300"]},
                "as": "made",
            }
        ]
    ),
    # quirks
    "gemini-cli takes a missing file for an empty one": Row(
        asks("fs/read_text_file", path="$folder/missing.txt"),
        lambda seen: seen.answer().get("result") == {"content": ""} or seen.answer(),
        agent="gemini-cli",
    ),
    "nobody else does": Row(asks("fs/read_text_file", path="$folder/missing.txt"), refused(-32002)),
    "nor gemini-cli outside its folders": Row(
        asks("fs/read_text_file", path="/nonexistent/missing.txt"), refused(-32002), agent="gemini"
    ),
    "nor who only calls itself gemini-cli": Row(
        asks("fs/read_text_file", path="$folder/missing.txt"), refused(-32002), named("gemini-cli")
    ),
    "fast-agent-acp asks about what it then has us do": Row(
        permission(toolCallId="c9", title="t", kind="edit"),
        lambda seen: _asked_by(seen, "wants to change files."),
        agent="fast-agent-acp",
    ),
    "who only calls itself fast-agent-acp does it by itself": Row(
        permission(toolCallId="c9", title="t", kind="edit"),
        lambda seen: _asked_by(seen, "wants to change files, by itself and not through the editor."),
        named("fast-agent-acp"),
    ),
    **{
        f"{agent} has us make its edits, and {'runs' if itself else 'has us run'} its commands": Row(
            [*permission(toolCallId="c8", kind="edit"), *permission(toolCallId="c9", kind="execute")],
            lambda seen, itself=itself: (
                _asked_by(seen, "wants to change files.") is True
                and _asked_by(
                    seen,
                    "wants to run a command" + (", by itself and not through the editor." if itself else "."),
                )
            ),
            agent=agent,
        )
        for agent, itself in (
            ("qwen", True),
            ("kimi", False),
            ("claude-code-acp", False),
        )
    },
    "others ask about what they do themselves": Row(
        permission(toolCallId="c9", title="t", kind="edit"),
        lambda seen: _asked_by(seen, "wants to change files, by itself and not through the editor."),
    ),
}


async def _some_of(seen: Seen, row: tuple[str, str]) -> object:
    listed = await seen.listed()
    return row in listed or listed


def _asked_by(seen: Seen, words: str) -> object:
    agent = seen.session["agent"]
    mine = [question.text for question in seen.product.questions if question.text.startswith(f"{agent} ")]
    return any(f"{agent} {words}" in text for text in mine) or mine


def allow(text: str, titles: Sequence[str]) -> str | None:
    return next((title for title in titles if title in ("Yes", "Run it this once")), None)


def script(row: Row) -> Script:
    return {"turns": [row.steps, [{"say": "again"}]], **row.more}


async def play(product: Product, name: str, agent: str, folder: Path) -> list[str]:
    """What is wrong about one row."""
    row = ROWS[name]
    session = await product.session(agent, cwd=str(folder))
    if "error" in session:
        return [f"{name}: {session['error']}"]
    seen = Seen(product, session, folder)
    turn = await product.prompt(session)
    if turn.get("stopReason") != row.stop:
        return [f"{name}: {turn}"]
    try:
        held = row.check(seen)
        if asyncio.iscoroutine(held):
            held = await held
    except (KeyError, ValueError, IndexError, TypeError) as error:
        held = f"{type(error).__name__} {error}"
    if held is not True:
        return [f"{name}: {held!r}; it said {seen.said[:500]!r}"]
    again = await product.prompt(session)
    if again.get("stopReason") != "end_turn" or "again" not in seen.said:
        return [f"{name}: the second prompt: {again}"]
    return []


GROUPS = 12
"""Each has a server of its own, and its agents all work at once."""


@pytest.mark.parametrize("group", range(GROUPS))
async def test_every_deviation(tmp_path: Path, group: int) -> None:
    rows = dict(list(ROWS.items())[group::GROUPS])
    scripts: dict[str, Script] = {}
    folders: dict[str, Path] = {}
    for number, (name, row) in enumerate(rows.items()):
        folder = folders[name] = tmp_path / f"w{number}"
        folder.mkdir()
        (folder / "a.txt").write_text(BASE)
        scripts[row.agent or f"agent{number}"] = in_folder(script(row), folder)
    options = {"allowedRoots": [str(folder) for folder in folders.values()]}
    async with a_product(tmp_path, scripts, answer=allow, **options) as product:
        plays = [
            play(product, name, row.agent or f"agent{n}", folders[name])
            for n, (name, row) in enumerate(rows.items())
        ]
        wrong = await all_wrong(plays)
        messages = [
            words
            for words in product.boxes
            if "cannot be taken back" in words and "too many files" not in words
        ]
    assert not wrong, "\n".join(wrong)
    assert not messages


async def test_asked_again_after_a_cancel_and_deaf_to_the_end(tmp_path: Path) -> None:
    """openhands asks again after a cancel: answered `cancelled`, nobody is asked. Several do not exit when their input ends."""
    steps: Steps = [
        {"say": "begun"},
        {"wait_for": "session/cancel"},
        *permission(toolCallId="c9", title="t", kind="edit"),
        {"stop": "cancelled"},
    ]
    scripts: dict[str, Script] = {
        "agent": {"turns": [steps, [{"say": "again"}]], "start": [{"ignore": "eof"}]}
    }
    async with a_product(tmp_path, scripts, answer=allow) as product:
        session = await product.session("agent")
        started: Any = await product.execute(
            "sidecar.prompt", {"sessionId": session["sessionId"], "prompt": "go"}
        )
        await product.wait_for(lambda: "begun" in product.said(session))
        await product.execute("sidecar.cancel", {"sessionId": session["sessionId"]})
        await product.wait_for(lambda: any(t["turn"] == started["turn"] for t in product.turns))
        assert product.turns[-1]["stopReason"] == "cancelled"
        seen = Seen(product, session, tmp_path)
        assert seen.answer()["result"]["outcome"] == {"outcome": "cancelled"}
        assert not product.questions
        assert (await product.prompt(session))["stopReason"] == "end_turn"


@pytest.mark.parametrize(("agent", "kind"), [("copilot", "text"), ("agent", "resource")])
async def test_copilot_drops_embedded_texts_and_gets_words(tmp_path: Path, agent: str, kind: str) -> None:
    traces = tmp_path / "traces"
    (tmp_path / "ws").mkdir()
    traces.mkdir()
    path = tmp_path / "ws" / "a.txt"
    path.write_text(BASE)
    can = {"promptCapabilities": {"embeddedContext": True}}
    script: Script = {"initialize": [{"reply": {**INIT, "agentCapabilities": can}}], "turns": [[]]}
    options = {"beforePrompt": "embed"}
    async with a_product(tmp_path / "ws", {agent: script}, traces=traces, **options) as product:
        session = await product.session(agent)
        product.open(path)
        product.type(path, "typed\n", at=0)
        await product.prompt(session)
    frames = [json.loads(line) for line in (traces / agent).read_text().splitlines()]
    (sent,) = [frame["params"]["prompt"] for frame in frames if frame.get("method") == "session/prompt"]
    assert sent[-1]["type"] == kind
    assert "typed\\none" in json.dumps(sent[-1])


def test_every_quirk_has_a_reason_and_a_row() -> None:
    for quirks in TABLE:
        assert quirks.reason
        assert all(name == name.lower() for name in quirks.names)
        shown = quirks.drops_embedded or any(row.agent in quirks.names for row in ROWS.values())
        assert shown, quirks.names
