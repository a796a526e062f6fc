"""after_stop: an agent acts only while a turn of its session runs that the user has not stopped.

Every method an agent can call, before its first prompt, in a turn, after Stop, after the turn's end and after the session's: what it is
answered, what the user is asked, and what is on the disk afterwards. The table of docs/security.md is written from `TABLE`:
`python -m tests.gates.test_after_stop`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from acp.meta import CLIENT_METHODS

from tests.gates.product import Product, Script, a_product

pytestmark = [
    pytest.mark.timeout(200),
    pytest.mark.skipif(sys.platform == "win32", reason="no commands are run for agents there"),
]
PAGE = Path(__file__).parents[2] / "docs" / "security.md"
MARKS = "<!-- after-stop: made by tests/gates/test_after_stop.py -->\n", "<!-- /after-stop -->"
MOMENTS = ("before the first prompt", "in a turn", "after Stop", "after the turn", "after the session")
SHORT = ("before", "in", "stopped", "ended", "closed")

SERVED, ASKED, SHOWN = "served", "asked", "shown"
WITHDRAWN, NO_SESSION, NO_TERMINAL, UNKNOWN, DROPPED = (
    "**withdrawn**",
    "no session",
    "no terminal",
    "unknown",
    "dropped",
)

TABLE: dict[str, tuple[str, ...]] = {
    "fs/read_text_file": (SERVED, SERVED, SERVED, SERVED, NO_SESSION),
    "fs/write_text_file": (WITHDRAWN, SERVED, WITHDRAWN, WITHDRAWN, NO_SESSION),
    "session/request_permission": (WITHDRAWN, ASKED, WITHDRAWN, WITHDRAWN, NO_SESSION),
    "elicitation/create": (WITHDRAWN, ASKED, WITHDRAWN, WITHDRAWN, NO_SESSION),
    "elicitation/create without a session": (WITHDRAWN, ASKED, WITHDRAWN, WITHDRAWN, WITHDRAWN),
    "terminal/create": (WITHDRAWN, ASKED, WITHDRAWN, WITHDRAWN, NO_SESSION),
    "terminal/output": (NO_TERMINAL, SERVED, SERVED, SERVED, NO_SESSION),
    "terminal/wait_for_exit": (NO_TERMINAL, SERVED, SERVED, SERVED, NO_SESSION),
    "terminal/kill": (NO_TERMINAL, SERVED, SERVED, SERVED, NO_SESSION),
    "terminal/release": (NO_TERMINAL, SERVED, SERVED, SERVED, NO_SESSION),
    "session/update": (SHOWN, SHOWN, SHOWN, SHOWN, DROPPED),
    "elicitation/complete": (SHOWN,) * 5,
    "mcp/connect": (UNKNOWN,) * 5,
    "mcp/message": (UNKNOWN,) * 5,
    "mcp/disconnect": (UNKNOWN,) * 5,
    "a method nobody knows": (UNKNOWN,) * 5,
}
"""Method → what becomes of it at each of MOMENTS."""

OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]
FORM = {"type": "object", "properties": {"a": {"type": "string"}}}
MODES = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]}
CAN = {"sessionCapabilities": {"close": {}}}


class Elicited(Product):
    """An editor that shows forms, and notes what it is shown."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.forms: list[str] = []

    def handle(self, method: str, params: dict[str, Any]) -> object:
        if method == "sidecar/elicitation":
            self.forms.append(params["message"])
            return {"action": "accept", "content": {"a": "x"}}
        return super().handle(method, params)


def params_of(method: str, moment: str, folder: Path) -> dict[str, Any]:
    session = {"sessionId": "s1"}
    match method:
        case "fs/read_text_file":
            return {**session, "path": str(folder / "read.txt")}
        case "fs/write_text_file":
            return {**session, "path": str(folder / f"written-{moment}"), "content": "x"}
        case "session/request_permission":
            call = {"toolCallId": moment, "title": f"asks {moment}"}
            return {**session, "toolCall": call, "options": OPTIONS}
        case "elicitation/create" | "elicitation/create without a session":
            form = {"mode": "form", "message": f"{method}: {moment}", "requestedSchema": FORM}
            return form if method.endswith("without a session") else {**session, **form}
        case "terminal/create":
            return {**session, "command": "touch", "args": [str(folder / f"ran-{moment}")]}
        case "session/update":
            text = {"type": "text", "text": f"told {moment}"}
            return {**session, "update": {"sessionUpdate": "agent_message_chunk", "content": text}}
        case "elicitation/complete":
            return {"elicitationId": f"complete-{moment}"}
        case _ if method.startswith("terminal/"):
            return {**session, "terminalId": "$taken"}
        case _:
            return session


def acts(moment: str, folder: Path) -> Script:
    """Every method at one moment; then it says so in a session that is always there."""
    steps: list[dict[str, Any]] = []
    for method in TABLE:
        params = params_of(method, moment, folder)
        name = method.removesuffix(" without a session").replace("a method nobody knows", "nobody/knows")
        if method in ("session/update", "elicitation/complete"):
            steps.append({"notify": name, "params": params})
            continue
        if method.startswith("terminal/") and method != "terminal/create" and moment != "before":
            steps.append({"take": f"terminal-{moment}", "field": "terminalId"})
        steps.append({"request": name, "params": params, "as": f"{moment} {method}"})
        if method == "terminal/create" and moment == "in":  # the end of the turn ends the command, too
            steps.append({"take": f"{moment} {method}", "field": "terminalId"})
            waiting = {"sessionId": params["sessionId"], "terminalId": "$taken"}
            steps.append({"request": "terminal/wait_for_exit", "params": waiting, "as": "it ran"})
    told = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": f"done {moment}"}}
    steps.append({"notify": "session/update", "params": {"sessionId": "s0", "update": told}})
    return steps


def script(folder: Path) -> Script:
    terminals = [
        {
            "request": "terminal/create",
            "params": {"sessionId": "s1", "command": "true"},
            "as": f"terminal-{moment}",
        }
        for moment in SHORT[1:]
    ]
    asked = [f"{moment} {method}" for moment in SHORT for method in TABLE]
    silent = ("session/update", "elicitation/complete")
    return {
        "initialize": [{"reply": {"protocolVersion": 1, "agentCapabilities": CAN}}],
        "sessions": [[{"reply": {"sessionId": "s0"}}], [{"reply": {"sessionId": "s1", "modes": MODES}}]],
        "session/set_mode": [{"reply": {}}, *acts("before", folder)],
        "turns": [
            [*terminals, *acts("in", folder), {"stop": "end_turn"}, *acts("ended", folder)],
            [
                {"say": "busy"},
                {"wait_for": "session/cancel"},
                *acts("stopped", folder),
                {"stop": "cancelled"},
            ],
            [{"say": {"answer": name}} for name in asked if not name.endswith(silent)],
        ],
        "session/close": [{"reply": {}}, *acts("closed", folder)],
    }


def word(method: str, answer: dict[str, Any]) -> str:
    error, result = answer.get("error"), answer.get("result") or {}
    if error is not None:
        kind = (error.get("data") or {}).get("errorKind")
        words = {"withdrawn": WITHDRAWN, "unknown_session": NO_SESSION, "not_found": NO_TERMINAL}
        return UNKNOWN if error["code"] == -32601 else words.get(kind, str(error))
    if method == "session/request_permission":
        if result["outcome"]["outcome"] == "cancelled":
            return WITHDRAWN if result.get("_meta") == {"errorKind": "withdrawn"} else "dismissed"
        return ASKED
    if method.startswith("elicitation/create"):
        return WITHDRAWN if result["action"] == "cancel" else ASKED
    return ASKED if method == "terminal/create" else SERVED


def allow(text: str, titles: Sequence[str]) -> str | None:
    return next((title for title in titles if title in ("Allow", "Run it this once")), None)


async def table(folder: Path, planted: str | None = None) -> list[str]:
    """What is not as TABLE has it, in words."""
    (folder / "read.txt").write_text("text\n")
    product: Elicited
    flags = ("sessionUpdates", "elicitation")
    make = Elicited
    async with a_product(
        folder, {"fake": script(folder)}, planted=planted, answer=allow, client=flags, make=make
    ) as product:
        report, session = await product.session("fake"), await product.session("fake")

        async def until(session: Any, text: str) -> None:
            await product.wait_for(lambda: text in product.said(session))

        async with asyncio.timeout(120):
            await product.tried("sidecar.setMode", {"sessionId": session["sessionId"], "modeId": "b"})
            await until(report, "done before")
            first = await product.prompt(session)
            await until(report, "done ended")
            stopped = asyncio.ensure_future(product.prompt(session))
            await until(session, "busy")
            await product.tried("sidecar.cancel", {"sessionId": session["sessionId"]})
            second = await stopped
            await product.tried("sidecar.closeSession", {"sessionId": session["sessionId"]})
            await until(report, "done closed")
            spoken = len(product.said(report))
            await product.prompt(report)
        wrong = [
            f"a turn: {outcome}"
            for outcome, reason in ((first, "end_turn"), (second, "cancelled"))
            if outcome.get("stopReason") != reason
        ]
        told = product.said(session)
        completed = [
            p["elicitationId"] for m, p in product.notifications if m == "sidecar/elicitationComplete"
        ]
        asked = [question.text for question in product.questions]
        answers = _objects(product.said(report)[spoken:])
    for at, moment in enumerate(SHORT):
        for method, words in TABLE.items():
            if method == "session/update":
                found = SHOWN if f"told {moment}" in told else DROPPED
            elif method == "elicitation/complete":
                found = SHOWN if f"complete-{moment}" in completed else DROPPED
            else:
                found = word(method, answers.pop(0))
            if found != words[at]:
                wrong.append(f"{method} {MOMENTS[at]}: {found}, not {words[at]}")
    wrong += [f"the user was asked: {text}" for text in asked if "asks " in text and "asks in" not in text]
    wrong += [f"the user was shown: {text}" for text in product.forms if not text.endswith(": in")]
    made = {path.name for path in folder.iterdir()} - {"read.txt"}
    wrong += [f"{name} is on the disk" for name in sorted(made - {"written-in", "ran-in"})]
    wrong += [f"{name} is not on the disk" for name in sorted({"written-in", "ran-in"} - made)]
    return wrong


class Absent(Product):
    """An editor whose user does not answer."""

    def handle(self, method: str, params: dict[str, Any]) -> object:
        if method == "window/showMessageRequest":
            self.shown.append(params)
            return asyncio.get_running_loop().create_future()
        return super().handle(method, params)


async def waiting(folder: Path) -> tuple[list[str], int]:
    """(the kinds of the answers to writes that were sent in the turn, and wait for an answer of the user at Stop; how often the user was
    asked)"""
    names = [f"w{number}" for number in range(4)]
    path = str(folder / ".vscode" / "x.json")
    writes = [{"write": path, "content": name, "as": name, "wait": False} for name in names]
    told = [{"await": name} for name in names] + [{"say": {"answer": name}} for name in names]
    turn = [*writes, {"say": "sent"}, {"wait_for": "session/cancel"}, {"stop": "cancelled"}]
    async with a_product(folder, {"fake": {"turns": [turn, told]}}, make=Absent) as product:
        session = await product.session("fake")
        running = asyncio.ensure_future(product.prompt(session))
        await product.wait_for(lambda: "sent" in product.said(session) and product.shown)
        await product.tried("sidecar.cancel", {"sessionId": session["sessionId"]})
        await running
        asked = len(product.shown)
        spoken = len(product.said(session))
        outcome = await product.prompt(session)
        answers = _objects(product.said(session)[spoken:])
        assert outcome.get("stopReason") == "end_turn", outcome
    return [answer["error"]["data"]["errorKind"] for answer in answers], asked


async def test_what_waits_at_stop_is_not_done(tmp_path: Path) -> None:
    kinds, asked = await waiting(tmp_path)
    assert len(kinds) == 4
    assert set(kinds) <= {"withdrawn", "denied_by_user"}
    assert kinds[1:] == ["withdrawn"] * 3
    assert asked == 1
    assert not (tmp_path / ".vscode" / "x.json").exists()


def _objects(text: str) -> list[dict[str, Any]]:
    found, at, decoder = list[dict[str, Any]](), 0, json.JSONDecoder()
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        found.append(value)
    return found


def rendered() -> str:
    head = f"| an agent calls | {' | '.join(MOMENTS)} |\n|---|{'---|' * len(MOMENTS)}\n"
    code = (
        "`" + name.replace(" without", "` without") + ("" if " without" in name else "`") for name in TABLE
    )
    rows = (
        f"| {name.replace('`a method nobody knows`', 'a method nobody knows')} | {' | '.join(words)} |\n"
        for name, words in zip(code, TABLE.values(), strict=True)
    )
    return head + "".join(rows)


def page_with_table(page: str) -> str:
    before, _, rest = page.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    return f"{before}{MARKS[0]}{rendered()}{MARKS[1]}{after}"


def test_the_table_has_every_method() -> None:
    assert set(CLIENT_METHODS.values()) <= set(TABLE)


def test_the_page_has_this_table() -> None:
    page = PAGE.read_text()
    assert page == page_with_table(page), "run: python -m tests.gates.test_after_stop"


async def test_an_agent_acts_in_its_turn_only(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    assert await table(tmp_path) == []
    record_property("cells", len(TABLE) * len(MOMENTS))


async def test_the_gate_can_fail(tmp_path: Path) -> None:
    found = "\n".join(await table(tmp_path, "stop_is_a_request"))
    assert "written-stopped is on the disk" in found
    assert "fs/write_text_file after the turn: served" in found


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text()))
