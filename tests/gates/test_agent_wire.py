"""agent_wire: hostile and broken agents against the real process over real pipes. The session lives or ends with a reason,
nothing hangs, `_meta` never shadows. A new input is one line of a table."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sidecar.acp.limits import Limits
from sidecar.demo.wire import Silence
from tests.gates.product import TURN, Product, Script, a_product, all_wrong, in_folder
from tests.gates.size import size
from tests.support.agents import until_written

pytestmark = [
    pytest.mark.timeout(400),
    pytest.mark.skipif(sys.platform == "win32", reason="agents that send themselves signals"),
]
Record = Callable[[str, object], None]
Steps = list[dict[str, Any]]
FINE: Steps = [{"say": "fine"}]


def turn(*steps: dict[str, Any]) -> Script:
    """A script whose first turn does this and whose later ones are in order."""
    return {"turns": [list(steps), FINE]}


def raw(text: str) -> Script:
    return turn({"raw": text + "\n"})


def asks(method: str, params: dict[str, Any]) -> Script:
    """Asks the client and says the answer."""
    return turn({"request": method, "params": params, "as": "it", "wait": True}, {"say": {"answer": "it"}})


def reads(**params: Any) -> Script:
    return asks("fs/read_text_file", {"sessionId": "$session", **params})


def writes(path: str, content: str, **more: Any) -> Script:
    return asks("fs/write_text_file", {"sessionId": "$session", "path": path, "content": content, **more})


CHOICE = [
    {"optionId": "no", "name": "No", "kind": "reject_once"},
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
]


def permission(options: list[Any]) -> Script:
    params = {"sessionId": "$session", "toolCall": {"toolCallId": "t"}, "options": options}
    return asks("session/request_permission", params)


def updates(update: Any) -> Script:
    return turn({"notify": "session/update", "params": {"sessionId": "$session", "update": update}})


DEEP = "[" * 5000 + "]" * 5000
SECRET = "root:"

# name · script · what is in the agent's words after the first turn (its answers, as JSON); every session lives on
LIVES: list[tuple[str, Script, str]] = [
    ("a word", raw("Loading the model"), ""),
    ("a number", raw("42"), ""),
    ("null", raw("null"), ""),
    ("an array", raw("[]"), ""),
    ("a string", raw('"x"'), ""),
    ("cut JSON", raw('{"jsonrpc":"2.0","id":1,"res'), ""),
    ("deep JSON", raw(DEEP), ""),
    ("NaN", raw('{"jsonrpc":"2.0","method":"x","params":NaN}'), ""),
    ("bad UTF-8", turn({"hex": "7b22fffe227d0a"}), ""),
    ("NULs", turn({"hex": "000000000a"}), ""),
    ("an answer to nothing", raw('{"jsonrpc":"2.0","id":99,"result":1}'), ""),
    ("an answer with an object as id", raw('{"jsonrpc":"2.0","id":{},"result":1}'), ""),
    ("an error that is a string, to nothing", raw('{"jsonrpc":"2.0","id":99,"error":"no"}'), ""),
    ("8 MiB in one line", turn({"raw": '{"jsonrpc":"2.0","method":"x","params":"'}, {"fill": 8 << 20, "with": "x"}, {"raw": '"}\n'}), ""),
    ("1 MiB on stderr", turn({"stderr": 1 << 20}), ""),
    ("an unknown request", asks("workspace/open_documents", {}), "-32601"),
    ("an unknown request without params", asks("_x", {}), "-32601"),
    ("an unknown notification", turn({"notify": "$/progress", "params": {"x": 1}}), ""),
    ("an unknown update", updates({"sessionUpdate": "quantum_update", "x": 1}), ""),
    ("an update that is a list", updates([1]), ""),
    ("an update that is null", updates(None), ""),
    ("an update of another session", turn({"notify": "session/update", "params": {"sessionId": "OTHER", "update": {}}}), ""),
    ("a tool call without an id", updates({"sessionUpdate": "tool_call", "title": "t"}), ""),
    ("a title that is a number", updates({"sessionUpdate": "tool_call", "toolCallId": "t", "title": 7, "kind": []}), ""),
    ("content without text", updates({"sessionUpdate": "agent_message_chunk", "content": {"type": "text"}}), ""),
    ("content that is a string", updates({"sessionUpdate": "agent_message_chunk", "content": "x"}), ""),
    ("_meta that shadows", reads(path="$folder/a.txt", _meta={"path": "/etc/passwd", "session_id": "OTHER", "sessionId": "X"}), "inside"),
    ("_meta that shadows a write", writes("$folder/mine.txt", "mine", _meta={"path": "$folder/theirs.txt", "content": "EVIL"}), ""),
    ("path outside", reads(path="/etc/passwd"), "path_outside_workspace"),
    ("path relative", reads(path="a.txt"), "-32602"),
    ("path with NUL", reads(path="/a\0b"), "-32602"),
    ("path a URI", reads(path="file:///etc/passwd"), "-32602"),
    ("path a number", reads(path=7), "-32602"),
    ("no path", reads(), "-32602"),
    ("a session of nobody", asks("fs/read_text_file", {"sessionId": "OTHER", "path": "/etc/passwd"}), "unknown_session"),
    ("line -1", reads(path="$folder/a.txt", line=-1), "-32602"),
    ("line a string", reads(path="$folder/a.txt", line="3"), "-32602"),
    ("line past the end", reads(path="$folder/a.txt", line=99), "-32602"),
    ("limit 2**70", reads(path="$folder/a.txt", limit=2**70), "inside"),
    ("a folder", reads(path="$folder"), "-32602"),
    ("write without content", asks("fs/write_text_file", {"sessionId": "$session", "path": "$folder/n.txt"}), "-32602"),
    ("write outside", asks("fs/write_text_file", {"sessionId": "$session", "path": "/etc/acp-sidecar", "content": "x"}), "path_outside"),
    ("permission without options", asks("session/request_permission", {"sessionId": "$session", "toolCall": {"toolCallId": "t"}, "options": []}), "-32602"),
    ("permission with options of no form", asks("session/request_permission", {"sessionId": "$session", "toolCall": {}, "options": [1, {"x": 2}]}), "-32602"),
    ("permission of a kind we do not know", permission([{"optionId": "o", "name": "Yes", "kind": "allow_all"}]), "-32602"),
    ("permission with one id twice", permission([{"optionId": "o", "name": "No", "kind": "reject_once"}, {"optionId": "o", "name": "Yes", "kind": "allow_always"}]), "cancelled"),
    ("permission for a session of nobody", asks("session/request_permission", {"sessionId": "OTHER", "toolCall": {"toolCallId": "t"}, "options": []}), "unknown_session"),
    ("200 questions at once", turn({"repeat": 200, "steps": [{"request": "session/request_permission", "params": {"sessionId": "$session", "toolCall": {"toolCallId": "t$n"}, "options": CHOICE}, "as": "a$n", "wait": False}]}, {"await": "a199"}, {"say": {"answer": "a199"}}), "cancelled"),
    ("a terminal", asks("terminal/create", {"sessionId": "$session", "command": "true"}), "error"),
    ("the same id twice", turn({"send": {"jsonrpc": "2.0", "id": 5, "method": "_x", "params": {}}}, {"send": {"jsonrpc": "2.0", "id": 5, "method": "_x", "params": {}}}), ""),
    ("an id that is null", turn({"send": {"jsonrpc": "2.0", "id": None, "method": "fs/read_text_file", "params": {}}}), ""),
    ("a method that is a number", turn({"send": {"jsonrpc": "2.0", "id": "m", "method": 5, "params": {}}}), ""),
    ("our own request sent back", asks("session/prompt", {"sessionId": "$session", "prompt": []}), "-32601"),
    ("cancels what it never asked", turn({"notify": "$/cancel_request", "params": {"requestId": {"x": []}}}), ""),
    ("two messages in one line", raw('{"jsonrpc":"2.0","method":"_a"}{"jsonrpc":"2.0","method":"_b"}'), ""),
    ("noise before a message", turn({"raw": 'Done. {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$session","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"heard"}}}}\n'}), "heard"),
    ("10,000 lines of noise", turn({"repeat": 10_000, "steps": [{"raw": "downloading $n\n"}]}), ""),
    ("lone surrogates", turn({"say": "\ud800"}), "\ud800"),
    ("params that are a list", turn({"send": {"jsonrpc": "2.0", "id": "p", "method": "fs/read_text_file", "params": [1]}}), ""),
]  # fmt: skip

# name · script · the reason, in words for a person
ENDS: list[tuple[str, Script, str]] = [
    (
        "exits in a turn",
        turn({"stderr": "Segmentation fault, almost\n"}, {"exit": 3}),
        r"exited with code 3.*almost",
    ),
    ("is killed in a turn", turn({"signal": 9}), "SIGKILL"),
    ("closes its output", turn({"close": "stdout"}, {"never": True}), "closed its output"),
    ("a line without end", turn({"fill": 70 << 20, "with": "x"}, {"never": True}), "line"),
    ("prompt answered with an error", turn({"fail": {"code": -32603, "message": "no model"}}), "no model"),
    ("prompt answered with nonsense", turn({"reply": {"stopReason": 7}}), "without saying why"),
    ("prompt answered with null", turn({"reply": None}), "without saying why"),
]

# name · script · why no session comes about
NEVER_STARTS: list[tuple[str, Script, str]] = [
    ("exits at once", {"start": [{"stderr": "no licence\n"}, {"exit": 1}]}, "no licence"),
    ("another protocol", {"initialize": [{"reply": {"protocolVersion": 99}}]}, "version"),
    (
        "initialize refused",
        {"initialize": [{"fail": {"code": -32603, "message": "out of order"}}]},
        "out of order",
    ),
    ("initialize answered with a list", {"initialize": [{"reply": [1]}]}, "initialize"),
    (
        "wants a login",
        {"session/new": [{"fail": {"code": -32000, "message": "Authentication required"}}]},
        "log in",
    ),
    ("a session without an id", {"session/new": [{"reply": {}}]}, "session/new"),
]

BURST: Steps = [{"repeat": 300, "steps": [{"read": "$folder/large.txt", "as": "r$n", "wait": False}]}]
"""300 answers of a megabyte each."""

# name · script · the limit that ends it, in seconds · the reason, in words for a person
LATE: list[tuple[str, Script, float, str]] = [
    ("never answers initialize", {"initialize": [{"never": True}]}, Limits().initialize, "`initialize` within"),
    ("never answers session/new", {"session/new": [{"never": True}]}, Limits().silence, "`session/new` within"),
    ("never ends a cancelled turn", turn({"say": "at work"}, {"never": True}), Limits().cancel, "was asked to stop"),
    ("asks for much and stops reading", turn({"deaf": True}, *BURST, {"never": True}), Limits().wire.stalled, "has not read its input"),
]  # fmt: skip

HANGS = 30.0
"""Seconds beyond a limit that count as hanging, generous for slow machines."""


async def lives(product: Product, name: str, words: str) -> list[str]:
    """What is wrong about a row of LIVES."""
    session = await product.session(name)
    if "sessionId" not in session:
        return [f"{name}: no session: {session}"]
    wrong: list[str] = []
    for _ in range(2):
        outcome = await product.prompt(session)
        if outcome.get("stopReason") != "end_turn":
            wrong.append(f"{name}: a turn ended with {outcome}")
    said = product.said(session)
    if words not in said:
        wrong.append(f"{name}: {words!r} is not in {said!r}")
    if SECRET in said:
        wrong.append(f"{name}: got a file outside")
    return wrong


async def ends(product: Product, name: str, reason: str) -> list[str]:
    """What is wrong about a row of ENDS or NEVER_STARTS."""
    session = await product.session(name)
    outcome = session if "error" in session else await product.prompt(session)
    return told(name, outcome, reason)


async def is_late(product: Product, name: str, limit: float, reason: str) -> list[str]:
    """What is wrong about a row of LATE."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    outcome = session = await product.session(name)
    if "sessionId" in session:
        turn = asyncio.ensure_future(product.prompt(session))
        if "cancelled" in name:
            await product.wait_for(lambda: product.said(session), TURN)
            await product.tried("sidecar.cancel", {"sessionId": session["sessionId"]})
        outcome = await turn
    took = loop.time() - began
    return told(name, outcome, reason) + ([f"{name}: took {took:.0f} s"] if took > limit + HANGS else [])


def told(name: str, outcome: dict[str, Any], reason: str) -> list[str]:
    words = outcome.get("error", "no error")
    return [] if re.search(reason, words, re.DOTALL) else [f"{name}: {words!r} does not say {reason!r}"]


async def table(folder: Path, planted: str | None = None, only: str | None = None) -> list[str]:
    """What is wrong with any row of LIVES, ENDS and NEVER_STARTS (or with one of them)."""
    (folder / "a.txt").write_text("inside\n")
    living = [row for row in LIVES if only in (None, row[0])]
    ending = [row for row in [*ENDS, *NEVER_STARTS] if only in (None, row[0])]
    scripts = {name: in_folder(script, folder) for name, script, _ in [*living, *ending]}
    async with a_product(folder, scripts, planted=planted) as product:
        wrong = await all_wrong([lives(product, name, words) for name, _, words in living])
        wrong += [f"a message box: {box}" for box in product.boxes]
        wrong += await all_wrong([ends(product, name, words) for name, _, words in ending])
        status = await product.tried("sidecar.status")
        alive = {session["agent"] for session in status["sessions"] if session["alive"]}
        wrong += [f"{name}: its session is gone" for name, _, _ in living if name not in alive]
    return wrong + [f"{name} was made" for name in ("n.txt", "theirs.txt") if (folder / name).exists()]


async def test_every_session_lives_or_ends_with_a_reason(tmp_path: Path, record_property: Record) -> None:
    assert await table(tmp_path) == []
    assert (tmp_path / "mine.txt").read_text() == "mine"
    record_property("inputs", len(LIVES) + len(ENDS) + len(NEVER_STARTS))


async def test_nothing_hangs_past_its_limit(tmp_path: Path, record_property: Record) -> None:
    """In full size with the limits as they are (a minute); in CI with limits of a second or two."""
    (tmp_path / "large.txt").write_text("x" * 1023 * 1024)
    scripts = {name: in_folder(script, tmp_path) for name, script, _, _ in LATE}
    async with a_product(tmp_path, scripts, planted=size("impatient", None)) as product:
        rows = [is_late(product, name, limit, reason) for name, _, limit, reason in LATE]
        assert await all_wrong(rows) == []
    record_property("inputs", len(LATE))


async def test_a_stop_right_behind_the_prompt(tmp_path: Path) -> None:
    """Both in one write to the sidecar: the agent gets neither, or first the one and then the other."""
    script: Script = {"turns": [[{"say": "at work"}, {"wait_for": "session/cancel"}, {"stop": "cancelled"}]]}
    async with a_product(tmp_path, {"it": script}) as product:
        session = await product.session("it")
        turn = asyncio.ensure_future(product.prompt(session))
        await asyncio.sleep(0)  # it is written now
        await product.tried("sidecar.cancel", {"sessionId": session["sessionId"]})
        assert (await turn)["stopReason"] == "cancelled"


async def test_a_question_dies_with_its_agent(tmp_path: Path) -> None:
    """The person's late yes has nothing to act upon."""
    late = asyncio.Event()
    withdrawn: list[str] = []

    class Slow(Product):
        def handle(self, method: str, params: dict[str, Any]) -> object:
            return (
                self.thinking(params)
                if method == "window/showMessageRequest"
                else super().handle(method, params)
            )

        async def thinking(self, params: dict[str, Any]) -> object:
            self.questions.append(params["message"])
            self.happened()
            try:
                await late.wait()
            except asyncio.CancelledError:
                withdrawn.append(params["message"])
                self.happened()
            return {"title": params["actions"][-1]["title"]}

    steps = [{"write": "$folder/.env", "content": "x", "wait": False}, {"never": True}]
    script = in_folder({"start": [{"pid": "$folder/pid"}], "turns": [steps]}, tmp_path)
    async with a_product(tmp_path, {"mortal": script}, make=Slow) as product:
        session = await product.session("mortal")
        turn = asyncio.ensure_future(product.prompt(session))
        await product.wait_for(lambda: product.questions)
        os.kill((await until_written(tmp_path / "pid", 1))[0], signal.SIGKILL)
        assert "SIGKILL" in (await turn)["error"]
        await product.wait_for(lambda: withdrawn)
        late.set()
        await product.tried("sidecar.status")
    assert len(withdrawn) == 1
    assert not (tmp_path / ".env").exists()


def test_the_tables_are_as_large_as_promised() -> None:
    names = [row[0] for row in [*LIVES, *ENDS, *NEVER_STARTS, *LATE]]
    assert len(names) >= 40
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("defect", "row"), [("meta_shadows", "_meta that shadows"), ("noise_is_fatal", "null")]
)
async def test_the_gate_can_fail(tmp_path: Path, defect: str, row: str) -> None:
    assert await table(tmp_path, defect, row)


async def test_a_hang_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.gates.product.TURN", 2.0)
    name, script, limit, reason = LATE[0]
    async with a_product(tmp_path, {name: script}, planted="nobody_is_given_up") as product:
        with pytest.raises(Silence):
            await is_late(product, name, limit, reason)
