"""agent_wire: hostile and broken agents against the real process over real pipes. The session lives or ends with a reason,
nothing hangs, `_meta` never shadows. A new input is one line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.gates.product import a_product

Steps = list[dict[str, Any]]
FINE: Steps = [{"say": "fine"}]


def turn(*steps: dict[str, Any]) -> dict[str, Any]:
    """A script whose first turn does this and whose later ones are in order."""
    return {"turns": [list(steps), FINE]}


def raw(text: str) -> dict[str, Any]:
    return turn({"raw": text + "\n"})


def asks(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Asks the client and says the answer."""
    return turn({"request": method, "params": params, "as": "it", "wait": True}, {"say": {"answer": "it"}})


def reads(**params: Any) -> dict[str, Any]:
    return asks("fs/read_text_file", {"sessionId": "$session", **params})


def updates(update: Any) -> dict[str, Any]:
    return turn({"notify": "session/update", "params": {"sessionId": "$session", "update": update}})


DEEP = "[" * 5000 + "]" * 5000
SECRET = "root:"

# name · script · what is in the agent's words after the first turn (its answers, as JSON); every session lives on
LIVES: list[tuple[str, dict[str, Any], str]] = [
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
    ("permission without options", asks("session/request_permission", {"sessionId": "$session", "toolCall": {"toolCallId": "t"}, "options": []}), "cancelled"),
    ("permission with options of no form", asks("session/request_permission", {"sessionId": "$session", "toolCall": {}, "options": [1, {"x": 2}]}), ""),
    ("params that are a list", turn({"send": {"jsonrpc": "2.0", "id": "p", "method": "fs/read_text_file", "params": [1]}}), ""),
]  # fmt: skip

# name · script · the reason, in words for a person
ENDS: list[tuple[str, dict[str, Any], str]] = [
    (
        "exits in a turn",
        turn({"stderr": "Segmentation fault, almost\n"}, {"exit": 3}),
        r"exited with code 3.*almost",
    ),
    ("is killed in a turn", turn({"signal": 9}), "SIGKILL"),
    ("closes its output", turn({"close": "stdout"}, {"never": True}), "closed its output"),
    ("a line without end", turn({"fill": 70 << 20, "with": "x"}, {"never": True}), "line"),
    ("prompt answered with an error", turn({"fail": {"code": -32603, "message": "no model"}}), "no model"),
    ("prompt answered with nonsense", turn({"reply": {"stopReason": 7}}), "prompt"),
    ("prompt answered with null", turn({"reply": None}), "prompt"),
]

# name · script · why no session comes about
NEVER_STARTS: list[tuple[str, dict[str, Any], str]] = [
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


def in_folder(script: Any, folder: Path) -> Any:
    if isinstance(script, str):
        return script.replace("$folder", str(folder))
    if isinstance(script, list):
        return [in_folder(one, folder) for one in script]
    if isinstance(script, dict):
        return {key: in_folder(value, folder) for key, value in script.items()}
    return script


async def test_every_session_lives_or_ends_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("inside\n")
    scripts = {name: in_folder(script, tmp_path) for name, script, _ in [*LIVES, *ENDS, *NEVER_STARTS]}
    async with a_product(tmp_path, scripts) as product:
        for name, _, words in LIVES:
            session = await product.session(name)
            assert "sessionId" in session, (name, session)
            outcome = await product.prompt(session["sessionId"])
            assert outcome.get("stopReason") == "end_turn", (name, outcome)
            said = product.said(session["sessionId"])
            assert words in said, (name, said)
            assert SECRET not in said, name
            assert (await product.prompt(session["sessionId"])).get("stopReason") == "end_turn", (
                name,
                "again",
            )
        for name, _, reason in ENDS:
            session = await product.session(name)
            outcome = await product.prompt(session["sessionId"])
            assert re.search(reason, outcome["error"], re.DOTALL), (name, outcome)
        for name, _, reason in NEVER_STARTS:
            session = await product.session(name)
            assert re.search(reason, session["error"], re.DOTALL), (name, session)
        status = await product.status()
        assert len(status["sessions"]) >= len(LIVES)
    assert not (tmp_path / "n.txt").exists()


def test_the_table_is_as_large_as_promised() -> None:
    assert len(LIVES) + len(ENDS) + len(NEVER_STARTS) >= 40
    names = [row[0] for row in [*LIVES, *ENDS, *NEVER_STARTS]]
    assert len(set(names)) == len(names)


async def test_the_gate_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that hangs, planted: the harness notices within its bound."""
    async with a_product(tmp_path, {"hangs": turn({"never": True})}) as product:
        session = await product.session("hangs")
        with monkeypatch.context() as patch:
            patch.setattr("tests.support.raw_lsp.WAIT", 0.5)
            with pytest.raises(TimeoutError):
                await product.prompt(session["sessionId"])
