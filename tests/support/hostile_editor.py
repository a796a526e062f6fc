"""Hostile input from the editor's side: two tables, for any server that has one harmless command.

Add a new hostile input as one line in `survived` (sent after `initialize`; the server must survive it) or in `first`
(the first thing sent on a new connection). Answers map ids to error codes, or to OK. The id None is JSON-RPC's null.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.raw_lsp import INITIALIZE, framed, message

OK = 0
PARSE, INVALID, UNKNOWN, PARAMS, INTERNAL, EARLY = -32700, -32600, -32601, -32602, -32603, -32002
Answers = dict[Any, int]

URI = "file:///hostile.txt"


Row = tuple[str, bytes, Answers]
"""Name, bytes, answers."""


def command(msg_id: Any, name: str, *arguments: Any) -> bytes:
    return message(
        id=msg_id, method="workspace/executeCommand", params={"command": name, "arguments": list(arguments)}
    )


def raw(body: str | bytes) -> bytes:
    return framed(body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body)


def change(**fields: Any) -> bytes:
    return message(method="textDocument/didChange", params=fields)


DEEP = b"[" * 200_000 + b"]" * 200_000
RELAYED = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"jsonrpc": "2.0"}}

INIT = message(id="i", method="initialize", params=INITIALIZE)


def survived(echo: str, typed: str = "textDocument/hover") -> list[Row]:
    """`echo`: a command that accepts any object, or nothing, and answers at once. `typed`: a request with params. Rows
    with other commands are for the test server.
    """

    return [
        # not messages
        ("not JSON", raw("{nonsense"), {None: PARSE}),
        ("empty body", raw(""), {None: PARSE}),
        ("a NUL", raw(b"\0"), {None: PARSE}),
        ("cut JSON", raw('{"jsonrpc":"2.0","id":"a","method":"shut'), {None: PARSE}),
        ("UTF-16", raw('{"jsonrpc":"2.0","id":"a","method":"x"}'.encode("utf-16")), {None: PARSE}),
        ("byte order mark", raw(b"\xef\xbb\xbf" + b'{"jsonrpc":"2.0","id":"a","method":"x"}'), {None: PARSE}),
        ("a number", raw("42"), {None: INVALID}),
        ("null", raw("null"), {None: INVALID}),
        ("a string", raw('"initialize"'), {None: INVALID}),
        ("an array", raw("[]"), {None: INVALID}),
        ("a batch", raw('[{"jsonrpc":"2.0","id":"a","method":"shutdown"}]'), {None: INVALID}),
        ("an empty object", raw("{}"), {None: INVALID}),
        ("deep nesting", raw(b'{"jsonrpc":"2.0","id":"a","method":"x","params":' + DEEP + b"}"), {None: PARSE}),
        ("a number of 5000 digits", raw('{"jsonrpc":"2.0","id":"a","method":"x","params":' + "9" * 5000 + "}"), {None: PARSE}),
        ("two messages in one frame", framed(b'{"id":"a","method":"x"}{"id":"b","method":"y"}'), {"a": UNKNOWN, "b": UNKNOWN}),
        ("a message and noise in one frame", framed(b'{"id":"a","method":"x"}{"id":"b","meth') + command("c", echo), {"a": UNKNOWN, None: PARSE, "c": OK}),
        ("10,000 messages in one frame", framed(b'{"method":"x"}' * 10_000 + b'{"id":"b","method":"y"}'), {"b": UNKNOWN}),
        # ids
        ("id null", raw('{"jsonrpc":"2.0","id":null,"method":"test"}'), {None: INVALID}),
        ("id true", raw('{"jsonrpc":"2.0","id":true,"method":"test"}'), {None: INVALID}),
        ("id 1.5", raw('{"jsonrpc":"2.0","id":1.5,"method":"test"}'), {None: INVALID}),
        ("id an object", raw('{"jsonrpc":"2.0","id":{},"method":"test"}'), {None: INVALID}),
        ("id empty", raw('{"jsonrpc":"2.0","id":"","method":"test"}'), {"": UNKNOWN}),
        ("id of 4096 characters", command("x" * 4096, echo), {"x" * 4096: OK}),
        ("id beyond 64 bits", command(2**80, echo), {2**80: OK}),
        ("id negative", command(-1, echo), {-1: OK}),
        ("id given twice", raw('{"id":1,"id":2,"method":"no/such"}'), {2: UNKNOWN}),
        ("the same id twice at once", command("w", "test.wait") + command("w", "test.wait") + message(method="$/cancelRequest", params={"id": "w"}), {"w": INVALID}),
        ("ids that look like ours", command("s1", echo) + command("s2", echo), {"s1": OK, "s2": OK}),
        # methods
        ("no method", raw('{"jsonrpc":"2.0","id":"a"}'), {"a": INVALID}),
        ("method null", raw('{"jsonrpc":"2.0","id":"a","method":null}'), {"a": INVALID}),
        ("method a number", raw('{"jsonrpc":"2.0","id":"a","method":5}'), {"a": INVALID}),
        ("method a list", raw('{"jsonrpc":"2.0","id":"a","method":[]}'), {"a": INVALID}),
        ("unknown request", message(id="a", method="no/such", params={}), {"a": UNKNOWN}),
        ("unknown request that may be ignored", message(id="a", method="$/no/such"), {"a": UNKNOWN}),
        ("unknown notification", message(method="no/such") + message(method="$/no/such"), {}),
        ("a method of ours sent to us", message(id="a", method="workspace/applyEdit", params={}), {"a": UNKNOWN}),
        ("a python name", message(id="a", method="__class__"), {"a": UNKNOWN}),
        ("lone surrogates in a method", raw('{"id":"a","method":"\\ud800"}'), {"a": UNKNOWN}),
        ("initialize again", message(id="a", method="initialize", params=INITIALIZE), {"a": INVALID}),
        ("a notification as a request", message(id="a", method="textDocument/didSave", params={}), {"a": OK}),
        ("exit as a request", message(id="a", method="exit"), {"a": UNKNOWN}),
        # params
        ("jsonrpc missing", raw('{"id":"a","method":"no/such"}'), {"a": UNKNOWN}),
        ("jsonrpc 1.0", raw('{"jsonrpc":"1.0","id":"a","method":"no/such"}'), {"a": UNKNOWN}),
        ("params a number", message(id="a", method="workspace/executeCommand", params=5), {"a": PARAMS}),
        ("params a list", message(id="a", method="workspace/executeCommand", params=[echo]), {"a": PARAMS}),
        ("params missing", message(id="a", method="workspace/executeCommand"), {"a": PARAMS}),
        ("unknown command", command("a", "no.such"), {"a": PARAMS}),
        ("command a number", message(id="a", method="workspace/executeCommand", params={"command": 5}), {"a": PARAMS}),
        ("command a python name", command("a", "__init__"), {"a": PARAMS}),
        ("arguments an object", message(id="a", method="workspace/executeCommand", params={"command": echo, "arguments": {}}), {"a": PARAMS}),
        ("arguments null", message(id="a", method="workspace/executeCommand", params={"command": echo, "arguments": None}), {"a": OK}),
        ("two arguments", command("a", echo, 1, 2), {"a": PARAMS}),
        ("typed params of a wrong type", message(id="a", method=typed, params={"textDocument": 5, "position": {}}), {"a": PARAMS}),
        ("typed params missing", message(id="a", method=typed), {"a": PARAMS}),
        ("bad UTF-8 in a request", raw(b'{"jsonrpc":"2.0","id":"a","method":"workspace/executeCommand","params":{"command":"\xff\xfe"}}'), {"a": PARAMS}),
        ("bad UTF-8 in a notification", raw(b'{"jsonrpc":"2.0","method":"\xff"}'), {}),
        ("raw surrogates", raw('{"jsonrpc":"2.0","id":"a","method":"x","params":"\ud800"}'), {"a": PARAMS}),
        ("escaped lone surrogates come back", command("a", echo, {"x": "\ud800 \udfff"}), {"a": OK}),
        ("a relayed message inside", command("a", echo, RELAYED), {"a": OK}),
        ("a relayed message as an option", message(method="workspace/didChangeConfiguration", params={"settings": RELAYED}), {}),
        ("keys of python", command("a", echo, {"__class__": 1, "_meta": {"x": 1}, "type_name": "X", "": 0}), {"a": OK}),
        ("shutdown of a handler", command("a", "test.fail", "exit"), {"a": INTERNAL}),
        ("a handler that fails", command("a", "test.fail", "other"), {"a": INTERNAL}),
        ("a result that is no JSON", command("a", "test.fail", "unserialisable"), {"a": INTERNAL}),
        # answers to questions that nobody asked
        ("an answer to nothing", message(id="s1", result={}) + message(id=1, result=None), {}),
        ("an error to nothing", message(id="s1", error={"code": 1, "message": ""}), {}),
        ("an error that is a string", message(id=None, error="no"), {}),
        ("an answer whose id is an object", message(id={}, result=1), {}),
        ("an answer that is also a request", message(id="a", method="no/such", result=1), {"a": UNKNOWN}),
        ("an answer to a request of its own", command("w2", "test.wait") + message(id="w2", result=1) + message(method="$/cancelRequest", params={"id": "w2"}), {"w2": -32800}),
        # cancel, progress, folders, trace
        ("cancel without params", message(method="$/cancelRequest") + message(method="$/cancelRequest", params=[1]), {}),
        ("cancel of an object", message(method="$/cancelRequest", params={"id": {"a": []}}), {}),
        ("cancel of true", message(method="$/cancelRequest", params={"id": True}), {}),
        ("progress cancelled that never was", message(method="window/workDoneProgress/cancel", params={"token": "x"}), {}),
        ("progress cancelled without token", message(method="window/workDoneProgress/cancel", params={}), {}),
        ("trace of an unknown kind", message(method="$/setTrace", params={"value": "loud"}), {}),
        ("folders that never were", message(method="workspace/didChangeWorkspaceFolders", params={"event": {"added": [], "removed": [{"uri": "file:///x", "name": ""}]}}), {}),
        ("folders of a wrong type", message(method="workspace/didChangeWorkspaceFolders", params={"event": {"added": 5}}), {}),
        ("notebooks", message(method="notebookDocument/didChange", params={"notebookDocument": {"uri": "x", "version": 1}, "change": {}}), {}),
        # documents
        ("a change before it was opened", change(textDocument={"uri": "file:///n", "version": 2}, contentChanges=[]), {}),
        ("a close before it was opened", message(method="textDocument/didClose", params={"textDocument": {"uri": "file:///m"}}), {}),
        ("an open without text", message(method="textDocument/didOpen", params={"textDocument": {"uri": URI}}), {}),
        ("an open without params", message(method="textDocument/didOpen") + message(method="textDocument/didOpen", params=[]), {}),
        ("a URI that is a number", message(method="textDocument/didOpen", params={"textDocument": {"uri": 5, "text": ""}}), {}),
        ("a URI that is none", message(method="textDocument/didOpen", params={"textDocument": {"uri": "::%zz\0", "text": ""}}), {}),
        ("a URI of a megabyte", message(method="textDocument/didOpen", params={"textDocument": {"uri": "file:///" + "x" * 2**20, "text": ""}}), {}),
        ("positions beyond 64 bits", change(textDocument={"uri": URI, "version": 2**70}, contentChanges=[{"range": {"start": {"line": 2**70, "character": 2**70}, "end": {"line": 2**70, "character": 2**70}}, "text": "x"}]), {}),
        ("positions that are words", change(textDocument={"uri": URI, "version": 3}, contentChanges=[{"range": {"start": {"line": "a", "character": {}}}, "text": 5}]), {}),
        ("changes that are an object", change(textDocument={"uri": URI, "version": 3}, contentChanges={"text": "x"}), {}),
        ("changes deeply nested", raw(b'{"method":"textDocument/didChange","params":' + DEEP + b"}"), {None: PARSE}),
        # framing
        ("header in lower case", command("a", echo).replace(b"Content-Length", b"content-length"), {"a": OK}),
        ("length of 99999999999", b"Content-Length: 99999999999\r\n\r\n" + command("a", echo), {None: PARSE, "a": OK}),
        ("length negative", b"Content-Length: -1\r\n\r\n" + command("a", echo), {None: PARSE, "a": OK}),
        ("length a word", b"Content-Length: x\r\n\r\n" + command("a", echo), {None: PARSE, "a": OK}),
        ("length too short by one", b"Content-Length: 1\r\n\r\n{}" + command("a", echo), {None: PARSE, "a": OK}),
        ("length too long by three", b"Content-Length: 28\r\n\r\n" + b'{"id":"b","method":"o/such"}'[:25] + b'"}' + command("a", echo), {"b": UNKNOWN, "a": OK}),
        ("length too long by a megabyte", b"Content-Length: 1000000\r\n\r\n" + b'{"id":"b","method":"no/such"}' + command("a", echo), {"b": UNKNOWN, "a": OK}),
        ("length too long of what is cut", b"Content-Length: 1000000\r\n\r\n" + b'{"id":"b","method":' + command("a", echo), {None: PARSE, "a": OK}),
        ("an HTTP request", b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n\r\n" + command("a", echo), {None: PARSE, "a": OK}),
        ("noise before a header", b"npm warn deprecated\n" + command("a", echo), {"a": OK}),
        ("a blank line between", b"\r\n\r\n" + command("a", echo), {None: PARSE, "a": OK}),
        ("a header of a megabyte", b"X" * 2**20 + command("a", echo), {None: PARSE, "a": OK}),
    ]  # fmt: skip


def first(echo: str, wait: str) -> list[Row]:
    """`wait`: a command that never answers by itself."""

    return [
        ("a request before initialize", command("a", echo), {"a": EARLY}),
        ("shutdown before initialize", message(id="a", method="shutdown") + INIT, {"a": EARLY, "i": OK}),
        ("initialize without params", message(id="a", method="initialize") + INIT, {"a": PARAMS, "i": OK}),
        ("initialize with a list", message(id="a", method="initialize", params=[1]) + INIT, {"a": PARAMS, "i": OK}),
        ("initialize as a notification", message(method="initialize", params=INITIALIZE) + command("a", echo) + INIT, {"a": EARLY, "i": OK}),
        ("initialize without capabilities", message(id="i", method="initialize", params={}), {"i": OK}),
        ("capabilities null", message(id="i", method="initialize", params={"capabilities": None}), {"i": OK}),
        ("capabilities odd", message(id="i", method="initialize", params={"capabilities": {"textDocument": 7, "general": {"positionEncodings": 7}}, "trace": "loud", "processId": "x", "rootUri": 5, "workspaceFolders": 3, "clientInfo": 9}), {"i": OK}),
        ("a root that is no URI", message(id="i", method="initialize", params={**INITIALIZE, "rootUri": "::%zz", "rootPath": "relative\0"}), {"i": OK}),
        ("a relayed message as options", message(id="i", method="initialize", params={**INITIALIZE, "initializationOptions": RELAYED}), {"i": OK}),
        ("noise first", b"hello\r\n" + INIT, {"i": OK}),
        ("requests after shutdown", INIT + message(id="s", method="shutdown") + command("a", echo) + message(id="b", method="no/such"), {"i": OK, "s": OK, "a": INVALID, "b": INVALID}),
        ("everything at once", INIT + command("a", wait) + message(id="s", method="shutdown") + message(id="t", method="shutdown"), {"i": OK, "a": -32800, "s": OK, "t": INVALID}),
    ]  # fmt: skip


def outcome(answer: dict[str, Any]) -> int:
    assert set(answer) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    assert answer["jsonrpc"] == "2.0"
    if "result" in answer:
        return OK
    assert isinstance(answer["error"]["message"], str)
    assert answer["error"]["message"]
    assert "Traceback" not in json.dumps(answer["error"])
    return answer["error"]["code"]


def check(seen: list[dict[str, Any]], expected: Answers) -> None:
    unasked = [m for m in seen if "method" in m]
    assert not unasked, "nothing but answers is sent, no message box above all"
    got: Answers = {}
    for answer in seen:
        got.setdefault(answer["id"], outcome(answer))
    assert got == expected
