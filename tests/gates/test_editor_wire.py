"""editor_wire: hostile and broken editors against the real process over its real pipes, in raw bytes. Every request is answered,
the process lives, nothing pops up. Rows of the protocol are support/hostile_editor.py's; those of our own commands are here."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sidecar.lsp.ext import COMMANDS
from tests.gates.product import all_wrong
from tests.gates.product import command as start
from tests.gates.size import size
from tests.support.hostile_editor import (
    INVALID,
    OK,
    PARAMS,
    PARSE,
    UNKNOWN,
    Answers,
    Row,
    command,
    first,
    outcome,
    raw,
    survived,
)
from tests.support.raw_lsp import RawClient, as_process, message

pytestmark = pytest.mark.timeout(300)
Record = Callable[[str, object], None]

FAILED = -32803
"""LSP's RequestFailed: what a command answers that is understood and cannot be done."""
ECHO = "sidecar.status"
FAR = {"line": 2**70, "character": 2**70}


def asks(name: str, *arguments: Any) -> bytes:
    return command("a", f"sidecar.{name}", *arguments)


def tells(method: str, **params: Any) -> bytes:
    return message(method=method, params=params)


def opens(uri: str, text: str = "x") -> bytes:
    item = {"uri": uri, "languageId": "x", "version": 1, "text": text}
    return tells("textDocument/didOpen", textDocument=item) + tells(
        "textDocument/didSave", textDocument={"uri": uri}, text=text
    )


def wants(method: str, **params: Any) -> bytes:
    return message(id="a", method=method, params=params)


DOCUMENT = "file://$folder/doc.txt"
ZERO = {"line": 0, "character": 0}
ODD_URIS = (
    "git:/etc/hostname",
    "vscode-remote://wsl/etc/hostname",
    "vscode-notebook-cell:/etc/hostname#c1",
    "untitled:Untitled-1",
    "FILE:///etc/hostname",
    "file:/etc/hostname",
    "file:",
    "",
    "\ud800",
    "file:///C%3A/x",
    "file:///a%2Fb",
    "file:///" + "%41" * 5000,
    "data:text/plain,x",
)


def changes(version: int, **change: Any) -> bytes:
    return tells(
        "textDocument/didChange",
        textDocument={"uri": DOCUMENT, "version": version},
        contentChanges=[change],
    )


SHAPED = [name.partition(".")[2] for name in COMMANDS if name not in ("sidecar.status", "sidecar.listAgents")]
"""Commands that take an object with certain fields."""
WORDS = ("agent", "changeId", "changeIds", "configId", "conflictId", "modeId", "prompt", "questionId", "sessionId", "uri")  # fmt: skip

# $folder is the workspace's
OURS: list[Row] = [
    # commands
    ("a session with a number", asks("newSession", 5), {"a": PARAMS}),
    ("a session with nobody", asks("newSession", "nobody"), {"a": FAILED}),
    ("a session without an agent", asks("newSession"), {"a": FAILED}),
    ("a session in a relative folder", asks("newSession", {"agent": "demo", "cwd": "ws"}), {"a": FAILED}),
    ("a session in a folder of no name", asks("newSession", {"agent": "demo", "cwd": "/a\0b"}), {"a": FAILED}),
    ("a session nowhere", asks("newSession", {"agent": "demo", "cwd": "/no/such/folder"}), {"a": FAILED}),
    ("a session in a number", asks("newSession", {"agent": "demo", "cwd": 7}), {"a": PARAMS}),
    ("a session with servers of no form", asks("newSession", {"agent": "demo", "mcpServers": [1]}), {"a": PARAMS}),
    ("a session with an agent of surrogates", asks("newSession", "\ud800"), {"a": FAILED}),
    ("a session with a very long name", asks("newSession", "x" * 2**20), {"a": FAILED}),
    ("a prompt of nothing", asks("prompt"), {"a": PARAMS}),
    ("a prompt of blanks", asks("prompt", "  \n"), {"a": PARAMS}),
    ("a prompt of numbers", asks("prompt", {"prompt": [1]}), {"a": PARAMS}),
    ("a prompt in a session of nobody", asks("prompt", {"sessionId": "x", "prompt": "y"}), {"a": FAILED}),
    ("a prompt to no agent", asks("prompt", {"prompt": "y"}), {"a": FAILED}),
    ("cancel of nothing", asks("cancel", "x"), {"a": FAILED}),
    ("close of nothing", asks("closeSession", "x"), {"a": FAILED}),
    ("a chat of nobody", asks("openChat", "x"), {"a": FAILED}),
    ("send of no chat", asks("send", "file:///x"), {"a": FAILED}),
    ("an answer to no question", asks("answer", {"questionId": "x", "optionId": "y"}), {"a": FAILED}),
    ("an answer of nothing", asks("answer"), {"a": PARAMS}),
    ("changes of a URI that is none", asks("listChanges", "::%zz\0"), {"a": OK}),
    ("keep of nothing", asks("keep"), {"a": FAILED}),
    ("keep of what is not there", asks("keep", "x"), {"a": OK}),
    ("keep of all of nothing", asks("keep", {"all": True}), {"a": OK}),
    ("reject of a list", asks("reject", []), {"a": PARAMS}),
    ("reject of all of nothing", asks("reject", {"all": True}), {"a": OK}),
    ("revert of a turn of words", asks("revertTurn", {"sessionId": "x", "turn": "y"}), {"a": PARAMS}),
    ("revert of a turn of nobody", asks("revertTurn", {"sessionId": "x", "turn": 2**70}), {"a": OK}),
    *((f"{name} of a number", asks(name, 5), {"a": PARAMS}) for name in SHAPED),
    *((f"{name} of numbers", asks(name, dict.fromkeys(WORDS, 5)), {"a": PARAMS}) for name in SHAPED),
    ("a session in a FIFO", asks("newSession", {"agent": "demo", "cwd": "$folder/fifo"}), {"a": FAILED}),
    ("a session in a folder of surrogates", asks("newSession", {"agent": "demo", "cwd": "/\ud800"}), {"a": FAILED}),
    ("a session in a very long folder", asks("newSession", {"agent": "demo", "cwd": "/" + "a" * 100_000}), {"a": FAILED}),
    ("a session with more folders of no form", asks("newSession", {"agent": "nobody", "additionalDirectories": ["relative", "/a\0", ""]}), {"a": FAILED}),
    ("1,200 sessions with nobody", b"".join(command(f"n{n}", "sidecar.newSession", "nobody") for n in range(1200)), {f"n{n}": FAILED for n in range(1200)}),
    ("a prompt nested deeply", raw(b'{"jsonrpc":"2.0","id":"a","method":"workspace/executeCommand","params":{"command":"sidecar.prompt","arguments":[{"prompt":' + b"[" * 500 + b"]" * 500 + b"}]}}"), {"a": PARAMS}),
    ("a prompt that waits for a word", asks("prompt", {"prompt": "x", "wait": "yes"}), {"a": PARAMS}),
    ("send of a folder", asks("send", "file://$folder"), {"a": FAILED}),
    ("send of NULs", asks("send", "file:///%00"), {"a": FAILED}),
    ("the text before nothing", asks("textBefore", {"uri": "::%zz", "turn": 2**70}), {"a": OK}),
    ("changes of a very long session", asks("listChanges", {"sessionId": "x" * 2**20}), {"a": OK}),
    ("keep of 10,000", asks("keep", {"changeIds": ["x"] * 10_000}), {"a": OK}),
    ("a conflict of nobody's taken by nobody", asks("resolveConflict", {"conflictId": "x", "take": "theirs"}), {"a": PARAMS}),
    ("a mode of nobody", asks("setMode", {"sessionId": "x", "modeId": "y"}), {"a": FAILED}),
    ("an option of nobody", asks("setConfigOption", {"sessionId": "x", "configId": "y", "value": True}), {"a": FAILED}),
    ("a session loaded from above", asks("loadSession", "../../../../etc/passwd"), {"a": FAILED}),
    ("a transcript from above", asks("transcript", "../../../../etc/passwd"), {"a": FAILED}),
    ("a transcript of NUL", asks("transcript", "a\0b"), {"a": FAILED}),
    ("a transcript of surrogates", asks("transcript", "\ud800"), {"a": FAILED}),
    ("a very long transcript", asks("transcript", "x" * 10_000), {"a": FAILED}),
    ("a session above deleted", asks("deleteSession", "../../x"), {"a": FAILED}),
    ("a login of nobody", asks("authenticate", "nobody"), {"a": FAILED}),
    ("a logout of nobody", asks("logout", "nobody"), {"a": FAILED}),
    ("sessions of nobody", asks("listSessions", "nobody"), {"a": FAILED}),
    # features
    ("lenses of a number", wants("textDocument/codeLens", textDocument={"uri": 5}), {"a": OK}),
    ("lenses of no document", wants("textDocument/codeLens", textDocument={"uri": "file:///none"}), {"a": OK}),
    ("actions without a context", wants("textDocument/codeAction", textDocument={"uri": "file:///none"}), {"a": PARAMS}),
    ("actions far away", wants("textDocument/codeAction", textDocument={"uri": "file:///none"}, range={"start": FAR, "end": FAR}, context={"diagnostics": []}), {"a": PARAMS}),
    ("what we do not have", wants("textDocument/hover", textDocument={"uri": "file:///none"}, position={"line": 0, "character": 0}), {"a": UNKNOWN}),
    # notifications
    ("renames of no form", tells("workspace/didRenameFiles", files=[{"oldUri": 5}]), {}),
    ("renames of URIs that are none", tells("workspace/didRenameFiles", files=[{"oldUri": "::%zz\0", "newUri": "\ud800"}]), {}),
    ("opaque of nothing", tells("sidecar/opaque") + tells("sidecar/opaque", uri=5, dirty="x"), {}),
    ("settings changed to nonsense", tells("workspace/didChangeConfiguration", settings=5), {}),
    ("folders that are elsewhere", tells("workspace/didChangeWorkspaceFolders", event={"added": [{"uri": "vscode-remote://x/y", "name": ""}, {"uri": "::%zz\0", "name": "x"}], "removed": []}), {}),
    ("watched files of no form", tells("workspace/didChangeWatchedFiles", changes=5) + tells("workspace/didChangeWatchedFiles", changes=[{"uri": 5, "type": 9}, None, {"uri": "file:///x", "type": "y"}]), {}),
    ("watched files that are none", tells("workspace/didChangeWatchedFiles", changes=[{"uri": uri, "type": 2} for uri in ("file:///proc/self/environ", "file:///dev/zero", "file://$folder/fifo", "::%zz")]), {}),
    ("5,000 watched files", tells("workspace/didChangeWatchedFiles", changes=[{"uri": f"file://$folder/w{n}", "type": 2} for n in range(5000)]), {}),
    ("the folder renamed to the root", tells("workspace/didRenameFiles", files=[{"oldUri": "file://$folder", "newUri": "file:///"}]), {}),
    ("1,000 cancels of nothing", tells("$/cancelRequest", id="nope") * 1000, {}),
    # changes
    ("a version that is a word", tells("textDocument/didOpen", textDocument={"uri": DOCUMENT, "languageId": "x", "version": "1", "text": "x"}), {}),
    ("versions that go back", opens(DOCUMENT) + changes(5, text="a") + changes(3, text="b") + changes(3, text="c"), {}),
    ("a range backwards", opens(DOCUMENT, "abc\ndef\n") + changes(2, range={"start": {"line": 1, "character": 2}, "end": ZERO}, text="x"), {}),
    ("a range below 0", opens(DOCUMENT, "abc\n") + changes(2, range={"start": {"line": -1, "character": -2}, "end": ZERO}, text="x"), {}),
    ("a range of fractions", opens(DOCUMENT, "abc\n") + changes(2, range={"start": {"line": 0.5, "character": 0}, "end": ZERO}, text="x"), {}),
    ("a range that is null", opens(DOCUMENT, "abc\n") + changes(2, range=None, text="x"), {}),
    ("a text that is null", opens(DOCUMENT, "abc\n") + changes(2, range={"start": ZERO, "end": ZERO}, text=None), {}),
    ("a change within half a character", opens(DOCUMENT, "\U0001f600\n") + changes(2, range={"start": {"line": 0, "character": 1}, "end": {"line": 0, "character": 1}}, text="x"), {}),
    ("half characters", opens(DOCUMENT, "\ud83d") + changes(2, range={"start": ZERO, "end": {"line": 0, "character": 1}}, text="\udc00"), {}),
    ("20,000 changes at once", opens(DOCUMENT, "") + tells("textDocument/didChange", textDocument={"uri": DOCUMENT, "version": 2}, contentChanges=[{"range": {"start": ZERO, "end": ZERO}, "text": "x"}] * 20_000), {}),
    ("opened three times, closed three times", opens(DOCUMENT) * 3 + tells("textDocument/didClose", textDocument={"uri": DOCUMENT}) * 3, {}),
    ("saved with another text", opens(DOCUMENT, "abc") + tells("textDocument/didSave", textDocument={"uri": DOCUMENT}, text="other"), {}),
    ("saved with a number", opens(DOCUMENT, "abc") + tells("textDocument/didSave", textDocument={"uri": DOCUMENT}, text=5), {}),
    # framing
    ("a length without a blank", b"Content-Length:2\r\n\r\n{}", {None: INVALID}),
    ("a length with a sign", b"Content-Length: +2\r\n\r\n{}" + wants("no/such"), {None: PARSE, "a": UNKNOWN}),
    ("a length on a line of its own", b"Content-Length:\r\n 2\r\n\r\n{}" + wants("no/such"), {None: PARSE, "a": UNKNOWN}),
    ("two lengths", b"Content-Length: 5\r\nContent-Length: 2\r\n\r\n{}", {None: INVALID}),
    ("bare line feeds", b"Content-Length: 2\n\n{}", {None: INVALID}),
    ("another charset", b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-16\r\n\r\n{}", {None: INVALID}),
    ("1,000 empty bodies", b"Content-Length: 0\r\n\r\n" * 1000, {None: PARSE}),
    # documents whose files are none
    ("a document that is a FIFO", opens("file://$folder/fifo"), {}),
    ("a document that is a device", opens("file:///dev/zero"), {}),
    ("a document that is a folder", opens("file://$folder"), {}),
    ("a document in /proc", opens("file:///proc/self/environ"), {}),
    ("a document on another host", opens("file://host/share/x"), {}),
    ("a document of no scheme", opens("x"), {}),
    ("a document by a path of NULs", opens("file:///%00%00"), {}),
    ("a document by a path that goes up", opens("file:///..%2F..%2Fetc/passwd"), {}),
    ("a document of bytes", opens("file://$folder/%FF%FE"), {}),
    *((f"a document {uri[:40]!r}", opens(uri) + asks("textBefore", {"uri": uri}), {"a": OK}) for uri in ODD_URIS),
    ("a document of 1,000,000 empty lines", opens("file://$folder/lines", "\n" * 1_000_000), {}),
]  # fmt: skip

ROWS = [*(row for row in survived(ECHO, "textDocument/codeLens") if b"test." not in row[1]), *OURS]


def starts(**options: Any) -> bytes:
    """An initialize with settings of an editor that merges whatever it finds."""
    params = {"processId": None, "rootUri": None, "capabilities": {}, "initializationOptions": options}
    return message(id="i", method="initialize", params=params) + asks("listAgents")


BEGUN: Answers = {"i": OK, "a": OK}
# settings: said in words, and everything else goes on
SETTINGS: list[Row] = [
    ("agents that are a list", starts(agents=[1]), BEGUN),
    ("agents of no form", starts(agents={"x": 5, "y": {}, "": {"command": ""}, "z": {"command": "a\0b", "args": [1], "env": {"A": 1}}}), BEGUN),
    ("an agent by a name that runs backwards", starts(agents={"\u202ex\x1b[2J": {"command": "no-such-agent"}}), BEGUN),
    ("10,000 agents", starts(agents={f"a{n}": {"command": f"no-such-{n}"} for n in range(10_000)}), BEGUN),
    ("patterns of no form", starts(secretPatterns=5, protectedPatterns=["!", "[", "\\", "", "\ud800", 7]), BEGUN),
    ("10,000 patterns", starts(secretPatterns=[f"*.{n}" for n in range(10_000)]), BEGUN),
    ("folders of no form", starts(allowedRoots=["relative", "/a\0", "", "/\ud800", "/nonexistent"]), BEGUN),
    ("numbers below 0", starts(maxFileBytes=-1, writes="nobody", afterWrite=[], beforePrompt={}), BEGUN),
    ("servers of no form", starts(mcpServers={"": {}, "x": {"command": "a", "url": "javascript:x"}, "y": [1]}), BEGUN),
    ("a client of no form", starts(client={"name": {"x": 1}, "save": "yes", "nobody": True}), BEGUN),
    ("settings nobody knows", starts(**{"__class__": 1, "jsonrpc": "2.0", "x" * 2**16: []}), BEGUN),
    ("settings that are a list", message(id="i", method="initialize", params={"capabilities": {}, "initializationOptions": [1]}) + asks("listAgents"), BEGUN),
]  # fmt: skip
FIRST = [*(row for row in first(ECHO, "test.wait") if b"test." not in row[1]), *SETTINGS]
"""Rows with commands of the test server stay with it (tests/lsp)."""

LATER = 30.0
"""Seconds an answer may take before it counts as none."""
BOXES = ("window/showMessage", "window/showMessageRequest")
MEANT = ("acp-sidecar settings:", "The transcript of this chat:")
"""Boxes that are no pop-ups: what is wrong in the user's settings, and where a chat is that was asked for."""


def wrong_with(name: str, seen: Sequence[dict[str, Any]], expected: Answers) -> list[str]:
    boxes = [m["params"]["message"] for m in seen if m.get("method") in BOXES]
    boxes = [box for box in boxes if not box.startswith(MEANT)]
    got: Answers = {}
    for answer in seen:
        if "method" not in answer:
            got.setdefault(answer["id"], outcome(answer))
    wrong = [f"{name}: a message box: {box}" for box in boxes]
    return wrong if got == expected else [*wrong, f"{name}: answered {got}, not {expected}"]


@asynccontextmanager
async def a_process(planted: str | None = None) -> AsyncIterator[RawClient]:
    """Ends in order; fails when it did not."""
    async with as_process(*start(planted)) as client:
        yield client
        client.send(message(id="end", method="shutdown") + message(method="exit"))
        code, errors = await client.exit_code()
        assert code == 0, errors
        assert "Traceback" not in errors, errors


async def table(folder: Path, planted: str | None = None, only: str | None = None) -> list[str]:
    """What is wrong with any row (or with one), sent one after the other to one process."""
    os.mkfifo(folder / "fifo")
    wrong: list[str] = []
    async with a_process(planted) as client:
        await client.initialize(rootUri=folder.as_uri())
        for name, data, expected in ROWS:
            if only not in (None, name):
                continue
            start = len(client.seen)
            client.send(reframed(data, str(folder)))
            probe = await client.request("workspace/executeCommand", {"command": ECHO})
            answered = [m for m in client.seen[start:] if m is not probe]
            try:
                # what waits for the disk or for an agent may be answered after the probe
                async with asyncio.timeout(LATER):
                    while missing := set(expected) - {m.get("id") for m in answered}:
                        answered.append(await client.receive_until(lambda m, ids=missing: m.get("id") in ids))
            except TimeoutError:
                pass
            wrong += wrong_with(name, answered, expected)
    return wrong


def reframed(data: bytes, folder: str) -> bytes:
    """With `$folder` filled in; only rows of whole, plain frames have it."""
    if b"$folder" not in data:
        return data
    bodies = [part.partition(b"\r\n\r\n")[2] for part in data.split(b"Content-Length: ")[1:]]
    bodies = [body.replace(b"$folder", folder.encode()) for body in bodies]
    return b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)


async def connection(name: str, data: bytes, expected: Answers, planted: str | None = None) -> list[str]:
    """What is wrong with a row of FIRST."""
    async with as_process(*start(planted)) as client:
        client.send(data)
        while set(expected) - {m.get("id") for m in client.seen if "method" not in m}:
            await client.receive()
        client.notify("exit")
        while await client.receive() is not None:
            pass
        await client.exit_code()
        return wrong_with(name, client.seen, expected)


async def connections(planted: str | None = None) -> list[str]:
    """In CI a third of them: each is a process, and tests/lsp sends all of them to a smaller one."""
    return await all_wrong([connection(*row, planted) for row in size(FIRST[::3], FIRST)], 3)


async def test_every_request_is_answered(tmp_path: Path, record_property: Record) -> None:
    assert await table(tmp_path) == []
    record_property("inputs", len(ROWS))


async def test_on_a_new_connection_too(record_property: Record) -> None:
    assert await connections() == []
    record_property("inputs", len(size(FIRST[::3], FIRST)))


def test_the_tables_are_as_large_as_promised() -> None:
    names = [name for name, _, _ in [*ROWS, *FIRST]]
    assert len(names) >= 25
    assert len(set(names)) == len(names)
    said = b"".join(data for _, data, _ in OURS)
    assert [name for name in COMMANDS if name.encode() not in said] == ["sidecar.listAgents", ECHO]


@pytest.mark.parametrize(
    ("defect", "row", "words"),
    [
        ("wrong_params_go_unanswered", "params a list", "answered {}"),
        ("bad_input_pops_up", "not JSON", "a message box"),
    ],
)
async def test_the_gate_can_fail(
    tmp_path: Path, defect: str, row: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.gates.test_editor_wire.LATER", 0.2)
    found = await table(tmp_path, defect, row)
    assert words in "\n".join(found)
