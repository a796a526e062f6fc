"""agent_wire: hostile and broken agents against the real process over real pipes. The session lives or ends with a reason,
nothing hangs, `_meta` never shadows. A new input is one line of a table."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
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
NUMBERS = itertools.count()


def turn(*steps: dict[str, Any]) -> Script:
    """A script whose first turn does this and whose later ones are in order."""
    return {"turns": [list(steps), FINE]}


def raw(text: str) -> Script:
    return turn({"raw": text + "\n"})


def asks(method: str, params: dict[str, Any]) -> Script:
    """Asks the client and says the answer."""
    name = f"answer {next(NUMBERS)}"
    return turn({"request": method, "params": params, "as": name, "wait": True}, {"say": {"answer": name}})


def asks_raw(before: str, after: str = "}", fill: str = "") -> Script:
    """As `asks`, a request in bytes of its own between `{"jsonrpc":"2.0","id":…` and the end of the line; says the answer."""
    name = f"q{next(NUMBERS)}"
    text = f'{{"jsonrpc":"2.0","id":"{name}",{before}{fill}{after}\n'
    return turn({"raw": text}, {"await": name}, {"say": {"answer": name}})


def answers(text: str) -> Script:
    """The prompt's answer, in bytes of its own."""
    return turn({"raw": text + "\n"}, {"never": True})


def reads(**params: Any) -> Script:
    return asks("fs/read_text_file", {"sessionId": "$session", **params})


def creates(**more: Any) -> Script:
    return asks("terminal/create", {"sessionId": "$session", "command": "true", **more})


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


UPDATE_START = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$session","update":'
UPDATE = UPDATE_START.replace("{", "{{") + "{}}}}}"
DEEP = "[" * 5000 + "]" * 5000
SECRET = "root:"
Row = tuple[str, Script, str]
TOGETHER = 10
"""Rows that share an agent: to start one takes longer than a row."""

# name · script · what is in the agent's words after the first turn (its answers, as JSON); every session lives on
LIVES: list[Row] = [
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
    ("the same id twice", turn({"send": {"jsonrpc": "2.0", "id": "five", "method": "_x", "params": {}}}, {"send": {"jsonrpc": "2.0", "id": "five", "method": "_x", "params": {}}}), ""),
    ("an id that is null", turn({"send": {"jsonrpc": "2.0", "id": None, "method": "fs/read_text_file", "params": {}}}), ""),
    ("a method that is a number", turn({"send": {"jsonrpc": "2.0", "id": "m", "method": 5, "params": {}}}), ""),
    ("our own request sent back", asks("session/prompt", {"sessionId": "$session", "prompt": []}), "-32601"),
    ("cancels what it never asked", turn({"notify": "$/cancel_request", "params": {"requestId": {"x": []}}}), ""),
    ("two messages in one line", raw('{"jsonrpc":"2.0","method":"_a"}{"jsonrpc":"2.0","method":"_b"}'), ""),
    ("noise before a message", turn({"raw": 'Done. {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$session","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"heard"}}}}\n'}), "heard"),
    ("10,000 lines of noise", turn({"repeat": 10_000, "steps": [{"raw": "downloading $n\n"}]}), ""),
    ("lone surrogates", turn({"say": "\ud800"}), "\ud800"),
    # JSON
    ("keys twice", asks_raw('"method":"_x","method":"fs/read_text_file","params":{},"params":{"sessionId":"$session","path":"/etc/passwd"}'), "path_outside_workspace"),
    ("a deep update", raw(UPDATE.format("[" * 3000 + "]" * 3000)), ""),
    ("a deep request", asks_raw('"method":"_x","params":{"x":', "}}", "[" * 20_000 + "]" * 20_000), "-32602"),
    ("a request with NaN", asks_raw('"method":"_x","params":{"x":NaN}'), "-32700"),
    ("a request with Infinity", asks_raw('"method":"_x","params":-Infinity'), "-32700"),
    ("a request with 1e999", asks_raw('"method":"fs/read_text_file","params":{"sessionId":"$session","path":"$folder/a.txt","line":1e999}'), "-32602"),
    ("a request of 5,000 digits", asks_raw('"method":"_x","params":{"x":', "}}", "9" * 5000), "-32700"),
    ("bad UTF-8 in a request", turn({"hex": b'{"jsonrpc":"2.0","id":"bad","method":"_x","params":{"x":"\xff"}}\n'.hex()}, {"await": "bad"}, {"say": {"answer": "bad"}}), "-32700"),
    ("UTF-16", turn({"hex": '{"jsonrpc":"2.0","method":"x"}\n'.encode("utf-16").hex()}), ""),
    ("a byte order mark", raw('\ufeff{"jsonrpc":"2.0","method":"_x"}'), ""),
    ("a message in two pieces", turn({"raw": '{"jsonrpc":"2.0","id":"halves","method":"_x",'}, {"sleep": 0.01}, {"raw": '"params":{}}\n'}, {"await": "halves"}), ""),
    ("a text that never ends", turn({"raw": '{"jsonrpc":"2.0","x":"'}, {"fill": 600_000, "with": ","}, {"fill": 2_000_000, "with": '\\"'}, {"raw": "\n"}), ""),
    ("a line end in a message", raw('{"jsonrpc":"2.0","method":"_x",\n"params":{}}'), ""),
    ("10,000 empty lines", raw("\n" * 10_000), ""),
    ("colours", raw("\x1b[31mred\x1b[0m\x07"), ""),
    ("1 MiB of NULs", turn({"fill": 1 << 20, "with": "\0"}, {"raw": "\n"}), ""),
    # ids and methods
    ("no version", turn({"raw": '{"id":"v0","method":"fs/read_text_file","params":{"sessionId":"$session","path":"$folder/a.txt"}}\n'}, {"await": "v0"}, {"say": {"answer": "v0"}}), "inside"),
    ("an empty method", asks_raw('"method":"","params":{}'), "-32601"),
    ("a method of surrogates", asks_raw('"method":"\\ud800","params":{}'), "-32601"),
    ("an id of a megabyte", turn({"send": {"jsonrpc": "2.0", "id": "i" * 2**20, "method": "_x"}}, {"await": "i" * 2**20}), ""),
    ("an id beyond 64 bits", turn({"send": {"jsonrpc": "2.0", "id": 2**80, "method": "_x"}}, {"await": str(2**80)}), ""),
    ("a cancel sent as a request", asks("$/cancel_request", {"requestId": 1}), "-32601"),
    ("an update sent as a request", asks("session/update", {"sessionId": "$session", "update": {}}), "-32601"),
    ("a write sent as a notification", turn({"notify": "fs/write_text_file", "params": {"sessionId": "$session", "path": "$folder/n.txt", "content": "x"}}), ""),
    ("the prompt answered twice", turn({"raw": 2 * '{"jsonrpc":"2.0","id":$id,"result":{"stopReason":"end_turn"}}\n'}), ""),
    ("the prompt answered by a string as id", answers('{"jsonrpc":"2.0","id":"$id","result":{"stopReason":"end_turn"}}'), ""),
    ("the prompt answered by a fraction as id", answers('{"jsonrpc":"2.0","id":$id.0,"result":{"stopReason":"end_turn"}}'), ""),
    # paths and places
    ("path of surrogates", reads(path="/\ud800"), "-32602"),
    ("path of 5,000 characters", reads(path="/" + "a" * 5000), "-32602"),
    ("path a list", reads(path=["$folder/a.txt"]), "-32602"),
    ("path empty", reads(path=""), "-32602"),
    ("path with a trailing slash", reads(path="$folder/a.txt/"), "error"),
    ("path with a trailing blank", reads(path="$folder/a.txt "), "error"),
    ("path going up", reads(path="$folder/../../../../../etc/passwd"), "path_outside_workspace"),
    ("path of /proc", reads(path="/proc/self/environ"), "error"),
    ("path of a FIFO", reads(path="$folder/fifo"), "-32602"),
    ("path of a link out", reads(path="$folder/out"), "error"),
    ("session a list", asks("fs/read_text_file", {"sessionId": [], "path": "$folder/a.txt"}), "-32602"),
    ("line true", reads(path="$folder/a.txt", line=True), "-32602"),
    ("limit -1", reads(path="$folder/a.txt", limit=-1), "-32602"),
    ("limit 1.5", reads(path="$folder/a.txt", limit=1.5), "-32602"),
    ("content a number", asks("fs/write_text_file", {"sessionId": "$session", "path": "$folder/n.txt", "content": 5}), "-32602"),
    ("content of surrogates", writes("$folder/n.txt", "\ud800"), "error"),
    ("write through a link out", writes("$folder/out", "x"), "error"),
    ("write to a FIFO", writes("$folder/fifo", "x"), "error"),
    ("write to a folder", writes("$folder", "x"), "error"),
    ("write of what is protected", writes("$folder/.git/config", "x"), "error"),
    # terminals
    ("a command that is a list", asks("terminal/create", {"sessionId": "$session", "command": ["true"]}), "-32602"),
    ("a command with NUL", asks("terminal/create", {"sessionId": "$session", "command": "tr\0ue"}), "-32602"),
    ("a command of nothing", asks("terminal/create", {"sessionId": "$session", "command": ""}), "-32602"),
    ("a command with args of no form", asks("terminal/create", {"sessionId": "$session", "command": "true", "args": "x"}), "-32602"),
    ("a command with env of no form", asks("terminal/create", {"sessionId": "$session", "command": "true", "env": [{"name": "A=B", "value": "x"}]}), "-32602"),
    ("a command in a folder outside", asks("terminal/create", {"sessionId": "$session", "command": "true", "cwd": "/etc"}), "error"),
    ("a command with a limit below 0", asks("terminal/create", {"sessionId": "$session", "command": "true", "outputByteLimit": -1}), "-32602"),
    ("output of no terminal", asks("terminal/output", {"sessionId": "$session", "terminalId": "x"}), "error"),
    ("release of a list", asks("terminal/release", {"sessionId": "$session", "terminalId": ["x"]}), "error"),
    ("a command of a megabyte", asks("terminal/create", {"sessionId": "$session", "command": "echo", "args": ["\x01" * 2**20]}), "too_large"),
    ("a command of 200,000 words", asks("terminal/create", {"sessionId": "$session", "command": "echo", "args": ["x' "] * 200_000}), "too many values"),
    ("a command with a variable of a megabyte", asks("terminal/create", {"sessionId": "$session", "command": "echo", "env": [{"name": "\x01" * 2**20, "value": "x"}]}), "too_large"),
    # questions
    ("permission of 10,000 options", permission([{"optionId": f"o{n}", "name": f"n{n}", "kind": "allow_once"} for n in range(10_000)]), "too many values"),
    ("permission of 100,000 options of one name", permission([{"optionId": f"o{n}", "name": "x", "kind": "allow_once"} for n in range(100_000)]), "too many values"),
    ("permission by an id of a megabyte", permission([{"optionId": "o" * 2**20, "name": "x", "kind": "allow_once"}]), "-32602"),
    ("permission for a tool call that is null", asks("session/request_permission", {"sessionId": "$session", "toolCall": None, "options": CHOICE}), "-32602"),
    ("permission for a tool call of no form", asks("session/request_permission", {"sessionId": "$session", "toolCall": {"toolCallId": "t", "title": {"x": 1}, "locations": 5, "content": "x", "rawInput": [[1]], "kind": 3}, "options": CHOICE}), "cancelled"),
    ("a form of no form", asks("elicitation/create", {"sessionId": "$session", "mode": 5}), "error"),
    # updates
    ("2 MiB of words", turn({"raw": UPDATE_START + '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'}, {"fill": 2 << 20, "with": "x"}, {"raw": '"}}}}\n'}), "xxx"),
    ("an update of a kind that is a list", updates({"sessionUpdate": ["plan"]}), ""),
    ("a plan of no form", updates({"sessionUpdate": "plan", "entries": [1, None, {"content": []}]}), ""),
    ("a plan of 20,000 entries", updates({"sessionUpdate": "plan", "entries": [{"content": "x", "priority": "high", "status": "pending"}] * 20_000}), ""),
    ("commands of no form", updates({"sessionUpdate": "available_commands_update", "availableCommands": 5}), ""),
    ("a mode of no form", updates({"sessionUpdate": "current_mode_update", "currentModeId": {"x": 1}}), ""),
    ("options of no form", updates({"sessionUpdate": "config_option_update", "configOptions": [5, {"id": []}, None]}), ""),
    ("a title of no form", updates({"sessionUpdate": "session_info_update", "title": {"x": 1}, "updatedAt": 5}), ""),
    ("a tool call whose id is an object", updates({"sessionUpdate": "tool_call_update", "toolCallId": {"a": 1}}), ""),
    ("a tool call whose id is a megabyte", updates({"sessionUpdate": "tool_call", "toolCallId": "t" * 2**20, "title": "t"}), ""),
    ("a tool call with places of no form", updates({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "t", "locations": [{"path": "\0", "line": -5}, {"path": 5}, 7], "content": [{"type": "diff", "path": "relative", "oldText": 5, "newText": None}, {"type": "terminal", "terminalId": ["x"]}, 3]}), ""),
    ("a tool call with 20,000 places", updates({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "t", "locations": [{"path": "$folder/a.txt"}] * 20_000}), ""),
    ("a diff of a file outside", updates({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "t", "kind": "edit", "status": "completed", "content": [{"type": "diff", "path": "/etc/passwd", "oldText": "a", "newText": "b"}]}), ""),
    ("words that move the cursor", updates({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "\0\x1b[2J\u202e"}}), ""),
    # ids and methods
    ("initialize answered again", raw('{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":99}}'), ""),
    ("session/new answered again by another id", raw('{"jsonrpc":"2.0","id":1,"result":{"sessionId":"OTHER"}}'), ""),
    ("the prompt answered by a result and an error that is null", answers('{"jsonrpc":"2.0","id":$id,"result":{"stopReason":"end_turn"},"error":null}'), ""),
    ("the prompt answered, and then refused", turn({"raw": '{"jsonrpc":"2.0","id":$id,"result":{"stopReason":"end_turn"}}\n{"jsonrpc":"2.0","id":$id,"error":{"code":1,"message":"no"}}\n'}), ""),
    ("two reads by one id", turn({"raw": 2 * '{"jsonrpc":"2.0","id":"twin","method":"fs/read_text_file","params":{"sessionId":"$session","path":"$folder/a.txt"}}\n'}, {"await": "twin"}, {"say": {"answer": "twin"}}), "inside"),
    ("an id that is a lone surrogate", turn({"raw": '{"jsonrpc":"2.0","id":"\\ud800","method":"_x"}\n'}, {"await": "\ud800"}, {"say": {"answer": "\ud800"}}), "-32601"),
    ("an id that is empty", turn({"raw": '{"jsonrpc":"2.0","id":"","method":"_x"}\n'}, {"await": ""}, {"say": {"answer": ""}}), "-32601"),
    ("cancels our prompt", turn({"notify": "$/cancel_request", "params": {"requestId": "$id"}}, {"say": "on"}), "on"),
    ("takes part in the handshake again", asks("initialize", {"protocolVersion": 1}), "-32601"),
    ("an escaped name of a field", asks_raw('"\\u006dethod":"_x","params":{}'), "-32601"),
    ("fields of Python and JavaScript", asks_raw('"method":"fs/read_text_file","params":{"__class__":"x","__proto__":{"path":"/etc/passwd"},"constructor":{},"sessionId":"$session","path":"$folder/a.txt"}'), "inside"),
    ("params of 100,000 fields", asks("fs/read_text_file", {"sessionId": "$session", "path": "$folder/a.txt", **{f"x{n}": n for n in range(100_000)}}), "too many values"),
    ("a session that is a list, in an update", turn({"notify": "session/update", "params": {"sessionId": ["$session"], "update": {"sessionUpdate": "plan"}}}), ""),
    ("a command sent as a notification", turn({"notify": "terminal/create", "params": {"sessionId": "$session", "command": "touch", "args": ["$folder/n.txt"]}}), ""),
    ("a question sent as a notification", turn({"notify": "session/request_permission", "params": {"sessionId": "$session", "toolCall": {"toolCallId": "t"}, "options": CHOICE}}), ""),
    # paths
    ("path of two slashes", reads(path="/$folder/a.txt"), "path_outside_workspace"),
    ("path beneath a file", reads(path="$folder/a.txt/x"), "error"),
    ("path beneath a file and up again", reads(path="$folder/a.txt/../a.txt"), "inside"),
    ("path beneath a FIFO", reads(path="$folder/fifo/x"), "error"),
    ("path of our own descriptors", reads(path="/dev/fd/0"), "error"),
    ("path by our own root", reads(path="/proc/self/root$folder/a.txt"), "error"),
    ("path by our own folder", reads(path="/proc/self/cwd/a.txt"), "error"),
    ("path of Windows", reads(path="C:\\Windows\\win.ini"), "-32602"),
    ("path of another host", reads(path="\\\\host\\share\\x"), "-32602"),
    ("path of another host by slashes", reads(path="//host/share/x"), "path_outside_workspace"),
    ("path of bytes that are no UTF-8", reads(path="$folder/\udcff"), "-32002"),
    ("path with a line end", reads(path="$folder/a.txt\n"), "-32002"),
    ("path with a percent sign", reads(path="$folder/..%2f..%2fetc%2fpasswd"), "-32002"),
    ("write of a secret in capitals", writes("$folder/.ENV", "x"), "denied_by_user"),
    ("write of a secret in wide letters", writes("$folder/.\uff45\uff4e\uff56", "x"), "denied_by_user"),
    ("write of a secret with a stream", writes("$folder/.env:x", "x"), "denied_by_user"),
    ("write of a secret with a dot behind", writes("$folder/.env.", "x"), "denied_by_user"),
    ("write of a hook by a short name", writes("$folder/GIT~1/hooks/x", "x"), "denied_by_user"),
    ("write of a file that is a folder above", writes("$folder/..", "x"), "error"),
    ("write through a link to a folder outside", writes("$folder/away/n.txt", "x"), "error"),
    ("write through a link to what is not there", writes("$folder/nowhere", "x"), "error"),
    ("write beneath a file", writes("$folder/a.txt/n.txt", "x"), "error"),
    # commands
    ("a command in a folder by a link out", creates(cwd="$folder/away"), "error"),
    ("a command in a folder above", creates(cwd="../.."), "error"),
    ("a command in a folder with NUL", creates(cwd="$folder/\0"), "error"),
    ("a command in a folder that is a URI", creates(cwd="file:///etc"), "error"),
    ("a command in a folder of a megabyte", creates(cwd="/" + "a" * 2**20), "too_large"),
    ("a command that is an option", asks("terminal/create", {"sessionId": "$session", "command": "--version"}), "-32602"),
    ("a command with a variable without a name", creates(env=[{"name": "", "value": "x"}]), "-32602"),
    ("a command with a variable that is loaded", creates(env=[{"name": "LD_PRELOAD", "value": "$folder/x.so"}]), "denied_by_user"),
    ("a command of half characters", creates(args=["\ud800"]), "-32602"),
    ("a command of a session of nobody", asks("terminal/create", {"sessionId": "OTHER", "command": "true"}), "unknown_session"),
    ("output of a terminal of nobody's session", asks("terminal/output", {"sessionId": "OTHER", "terminalId": "term-1"}), "unknown_session"),
    # elicitation, never announced here
    ("a page that is a script", asks("elicitation/create", {"sessionId": "$session", "mode": "url", "message": "m", "elicitationId": "e", "url": "javascript:alert(1)"}), "-32601"),
    ("params that are a list", turn({"send": {"jsonrpc": "2.0", "id": "p", "method": "fs/read_text_file", "params": [1]}}), ""),
]  # fmt: skip

# name · script · the reason, in words for a person
ENDS: list[Row] = [
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
    ("prompt answered with a list", turn({"reply": [1]}), "without saying why"),
    ("prompt answered with nothing", answers('{"jsonrpc":"2.0","id":$id}'), "without saying why"),
    ("prompt answered too deeply", answers('{"jsonrpc":"2.0","id":$id,"result":' + DEEP * 4 + "}"), "nested too deeply"),
    ("prompt answered with NaN", answers('{"jsonrpc":"2.0","id":$id,"result":{"stopReason":"end_turn","x":NaN}}'), "not JSON"),
    ("an error that is a string", turn({"fail": "nope"}), "nope"),
    ("an error that is a list", turn({"fail": [1]}), "refused"),
    ("an error without anything", turn({"fail": {}}), "refused"),
    ("an error of no form", turn({"fail": {"code": "x", "message": 7, "data": "why"}}), "why"),
    ("an error of 20,000 characters", turn({"fail": {"code": 2**80, "message": "m" * 10**4, "data": {"details": "d" * 10**4}}}), "mmm"),
    ("an error of surrogates", turn({"fail": {"code": -1, "message": "\ud800\x1b[31m\u202e"}}), "refused"),
]  # fmt: skip

# name · script · why no session comes about
NEVER_STARTS: list[Row] = [
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
    ("a session whose id is a number", {"session/new": [{"reply": {"sessionId": 5}}]}, "session/new"),
    ("a session that is null", {"session/new": [{"reply": None}]}, "session/new"),
    ("a version that is a word", {"initialize": [{"reply": {"protocolVersion": "x"}}]}, "not ACP"),
    ("a version below 0", {"initialize": [{"reply": {"protocolVersion": -1}}]}, "ACP"),
    ("initialize refused by a string", {"initialize": [{"fail": "no way"}]}, "no way"),
]

# name · script with answers of its own to what comes before a prompt; every session lives
ODD_STARTS: list[Row] = [
    ("a session whose id is empty", {"session/new": [{"reply": {"sessionId": ""}}]}, ""),
    ("a session whose id is endless", {"session/new": [{"reply": {"sessionId": "s" * 2**17}}]}, ""),
    ("a session whose id is a surrogate", {"session/new": [{"reply": {"sessionId": "\ud800"}}]}, ""),
    ("a session with modes of no form", {"session/new": [{"reply": {"sessionId": "s", "modes": {"currentModeId": 5, "availableModes": [1, {"id": []}]}, "configOptions": [{"id": 5, "options": 7}], "models": {"x": 1}}}]}, ""),
    ("a session with lists for objects", {"session/new": [{"reply": {"sessionId": "s", "modes": [1], "configOptions": {"a": 1}, "models": "x"}}]}, ""),
    ("initialize answered with odd facts", {"initialize": [{"reply": {"protocolVersion": 1, "agentInfo": {"name": ["x"], "version": {}, "title": "\x1b[31m" * 1000}, "agentCapabilities": {"promptCapabilities": 5, "sessionCapabilities": {"close": 5, "list": "x"}, "mcpCapabilities": None, "loadSession": "yes"}, "authMethods": [1, {"id": 5}, {"id": "x"}]}}]}, ""),
]  # fmt: skip

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


async def lives(product: Product, agent: str, rows: Sequence[Row]) -> list[str]:
    """What is wrong about rows of LIVES, one after the other in one session of one agent."""
    session = await product.session(agent)
    if "sessionId" not in session:
        return [f"{rows[0][0]}: no session: {session}"]
    wrong: list[str] = []
    for name, _, words in rows:
        before = len(product.said(session))
        for _ in range(2):
            outcome = await product.prompt(session)
            if outcome.get("stopReason") != "end_turn":
                wrong.append(f"{name}: a turn ended with {outcome}")
        said = product.said(session)[before:]
        if words not in said:
            wrong.append(f"{name}: {words!r} is not in {said[:1000]!r}")
        if SECRET in said:
            wrong.append(f"{name}: got a file outside")
    status = await product.tried("sidecar.status")
    if agent not in {row["agent"] for row in status["sessions"] if row["alive"]}:
        wrong.append(f"{', '.join(row[0] for row in rows)}: the session is gone")
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
    for name, target in (("out", "/etc/passwd"), ("away", "/etc"), ("nowhere", "/nonexistent/acp-sidecar")):
        (folder / name).symlink_to(target)
    os.mkfifo(folder / "fifo")
    chosen = [row for row in LIVES if only in (None, row[0])]
    living = {f"agent {at}": chosen[at : at + TOGETHER] for at in range(0, len(chosen), TOGETHER)}
    living |= {row[0]: [row] for row in ODD_STARTS if only in (None, row[0])}
    ending = [row for row in [*ENDS, *NEVER_STARTS] if only in (None, row[0])]
    scripts = {agent: in_folder(together(rows), folder) for agent, rows in living.items()}
    scripts |= {name: in_folder(script, folder) for name, script, _ in ending}
    async with a_product(folder, scripts, planted=planted, scripts_in=folder.parent) as product:
        wrong = await all_wrong([lives(product, agent, rows) for agent, rows in living.items()])
        wrong += [f"a message box: {box}" for box in product.boxes]
        wrong += await all_wrong([ends(product, name, words) for name, _, words in ending])
    return wrong + [f"{name} was made" for name in ("n.txt", "theirs.txt") if (folder / name).exists()]


def together(rows: Sequence[Row]) -> Script:
    """One script whose turns are those of several, one after the other."""
    return {key: value for _, script, _ in rows for key, value in script.items() if key != "turns"} | {
        "turns": [steps for _, script, _ in rows for steps in script.get("turns", [FINE, FINE])]
    }


async def test_every_session_lives_or_ends_with_a_reason(tmp_path: Path, record_property: Record) -> None:
    assert await table(tmp_path) == []
    assert (tmp_path / "mine.txt").read_text() == "mine"
    record_property("inputs", len(LIVES) + len(ODD_STARTS) + len(ENDS) + len(NEVER_STARTS))


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
    names = [row[0] for row in [*LIVES, *ODD_STARTS, *ENDS, *NEVER_STARTS, *LATE]]
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
