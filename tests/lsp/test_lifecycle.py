"""The life of a connection: what is answered when, how it ends and with which exit code."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from sidecar.lsp import server as server_module
from sidecar.lsp.framing import Framing
from sidecar.lsp.greeting import Greeting
from sidecar.lsp.server import SidecarServer
from sidecar.workspace.ports.ports import EditorGone, EditorRefused
from tests.support.raw_lsp import INITIALIZE, as_process, framed, in_process, message

WINDOWS = sys.platform == "win32"


def error_of(answer: dict[str, Any]) -> Any:
    return answer.get("error", {}).get("code")


async def test_requests_before_initialize_are_refused() -> None:
    async with in_process() as client:
        assert error_of(await client.request("shutdown")) == -32002
        assert error_of(await client.request("workspace/executeCommand", {"command": "test.state"})) == -32002
        assert error_of(await client.request("no/such")) == -32002
        client.notify("textDocument/didOpen", {"textDocument": {"uri": "file:///a", "text": "x"}})
        await client.initialize()
        assert (await client.command("test.state"))["applied"] == 0


async def test_initialize_twice_is_refused_and_the_first_counts() -> None:
    async with in_process() as client:
        await client.initialize(capabilities={"general": {"positionEncodings": ["utf-32"]}})
        assert error_of(await client.request("initialize", INITIALIZE)) == -32600
        assert (await client.command("test.state"))["encoding"] == "utf-32"


async def test_initialize_can_be_tried_again_after_it_was_refused() -> None:
    async with in_process() as client:
        assert error_of(await client.request("initialize", 42)) == -32602
        assert "capabilities" in await client.initialize()


async def test_after_shutdown_every_request_is_refused_and_notifications_are_ignored() -> None:
    async with in_process() as client:
        await client.initialize()
        assert (await client.request("shutdown"))["result"] is None
        for method in ("shutdown", "initialize", "workspace/executeCommand", "no/such"):
            assert error_of(await client.request(method, {"command": "test.state"})) == -32600
        client.notify("textDocument/didOpen", {"textDocument": {"uri": "file:///a", "text": "x"}})
        client.notify("exit")
        assert await client.exit_code() == 0


async def test_shutdown_cancels_what_is_running_and_all_of_it_is_answered() -> None:
    async with in_process() as client:
        await client.initialize()
        waiting = [client.ask("workspace/executeCommand", {"command": "test.wait"}) for _ in range(20)]
        assert (await client.request("shutdown")) == {"jsonrpc": "2.0", "id": "c22", "result": None}
        client.notify("exit")
        assert await client.exit_code() == 0
        while await client.receive() is not None:
            pass
        answers = {m["id"]: error_of(m) for m in client.seen if "error" in m}
        assert answers == {f"c{serial}": -32800 for serial in waiting}


async def test_shutdown_sent_together_with_exit_is_answered() -> None:
    async with in_process() as client:
        await client.initialize()
        client.send(
            message(id=7, method="workspace/executeCommand", params={"command": "test.wait"})
            + message(id=8, method="shutdown")
            + message(method="exit")
        )
        assert await client.exit_code() == 0
        while await client.receive() is not None:
            pass
        assert {m["id"]: "error" in m for m in client.seen[1:]} == {7: True, 8: False}


async def test_shutdown_waits_for_the_feature_and_survives_its_failure() -> None:
    order: list[str] = []

    async with in_process_with(order, fail=True) as client:
        await client.initialize()
        answer = await client.request("shutdown")
        order.append("answered")
        assert answer["result"] is None
        assert order == ["feature", "answered"]


def in_process_with(order: list[str], *, fail: bool) -> Any:
    @asynccontextmanager
    async def build() -> Any:
        server = SidecarServer(lambda _: None)

        @server.feature(types.SHUTDOWN)
        async def shutdown(params: None) -> None:
            await asyncio.sleep(0)
            order.append("feature")
            if fail:
                raise RuntimeError("an agent did not stop")

        yield server

    return in_process(build)


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        ([message(method="exit")], 1),
        ([message(id=1, method="initialize", params=INITIALIZE), message(method="exit")], 1),
        ([message(id=1, method="initialize", params=INITIALIZE), message(id=2, method="shutdown"), message(method="exit")], 0),
        ([message(id=1, method="initialize", params=INITIALIZE), message(id=2, method="shutdown")], 1),
        ([message(id=1, method="initialize", params=INITIALIZE)], 1),
        ([b"Content-Length: 100\r\n\r\n{"], 1),
        ([b""], 1),
    ],
    ids=["exit at once", "exit without shutdown", "in order", "end of input after shutdown", "end of input", "end within a message", "nothing"],
)  # fmt: skip
async def test_exit_codes(messages: list[bytes], code: int) -> None:
    async with in_process() as client:
        client.send(b"".join(messages))
        client.close()
        assert await client.exit_code() == code


async def test_nothing_is_handled_after_exit() -> None:
    async with in_process() as client:
        await client.initialize()
        client.send(message(method="exit") + message(id=9, method="shutdown"))
        assert await client.exit_code() == 1
        while (received := await client.receive()) is not None:
            assert received["id"] != 9 or error_of(received) == -32600


async def test_a_process_ends_in_order_and_prints_nothing_into_the_protocol() -> None:
    async with as_process() as client:
        await client.initialize()
        assert await client.command("test.print") is None
        assert (await client.request("shutdown"))["result"] is None
        client.notify("exit")
        code, errors = await client.exit_code()
        assert code == 0
        assert "a stray line" in errors


@pytest.mark.skipif(WINDOWS, reason="a POSIX shell")
async def test_a_process_without_stderr_keeps_the_protocol_clean() -> None:
    command = f"exec {shlex.quote(sys.executable)} -m tests.support.lsp_only 2>&-"
    async with as_process("/bin/sh", "-c", command) as client:
        await client.initialize()
        assert await client.command("test.print") is None
        assert await client.command("test.echo", "é") == "é"
        await client.request("shutdown")
        client.notify("exit")
        assert await client.exit_code() == (0, "")


@pytest.mark.skipif(WINDOWS, reason="signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_signals_end_a_process_in_order(number: signal.Signals) -> None:
    async with as_process() as client:
        await client.initialize()
        waiting = client.ask("workspace/executeCommand", {"command": "test.wait"})
        await client.command("test.state")
        client.process.send_signal(number)
        answer = await client.receive_until(lambda m: m.get("id") == f"c{waiting}")
        assert error_of(answer) == -32800
        code, errors = await client.exit_code()
        assert code == 128 + number
        assert "Traceback" not in errors


async def test_a_process_whose_input_ends_before_anything_was_said_ends() -> None:
    async with as_process() as client:
        client.close()
        code, errors = await client.exit_code()
        assert (code, errors) == (1, "")


@pytest.mark.skipif(WINDOWS, reason="os.kill(pid, 0) is no question there")
async def test_the_death_of_the_editors_process_ends_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "EDITOR_CHECK", 0.01)
    editor = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "input()", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    async with in_process() as client:
        await client.initialize(processId=editor.pid)
        for _ in range(5):
            await client.command("test.state")
            await asyncio.sleep(0.01)
        assert editor.stdin is not None
        editor.stdin.close()
        await editor.wait()
        assert await client.exit_code() == 1


@pytest.mark.skipif(WINDOWS, reason="os.kill(pid, 0) is no question there")
async def test_an_editor_that_dies_at_once_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its death comes before the first look that is by the clock."""
    monkeypatch.setattr(server_module, "EDITOR_CHECK", 1.0)
    editor = await asyncio.create_subprocess_exec(
        sys.executable, "-S", "-c", "input()", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    async with in_process() as client:
        await client.initialize(processId=editor.pid)
        editor.kill()
        await editor.wait()
        assert await client.exit_code() == 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere init collects what has ended")
async def test_an_editor_that_nobody_collects_has_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first process of many containers never collects its children: a zombie is there for good."""
    monkeypatch.setattr(server_module, "EDITOR_CHECK", 0.01)
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as editor:
        async with in_process() as client:
            await client.initialize(processId=editor.pid)
            for _ in range(5):
                await client.command("test.state")
                await asyncio.sleep(0.01)
            assert editor.stdin is not None
            editor.stdin.close()
            assert await client.exit_code() == 1
        assert Path(f"/proc/{editor.pid}/stat").read_text().rpartition(") ")[2].startswith("Z")


@pytest.mark.skipif(WINDOWS, reason="os.kill(pid, 0) is no question there")
async def test_a_process_that_lives_elsewhere_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "EDITOR_CHECK", 0.001)
    gone = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await gone.wait()
    async with in_process() as client:
        await client.initialize(processId=gone.pid)
        await asyncio.sleep(0.02)
        assert await client.command("test.echo", 1) == 1


async def test_cancelling_a_request_cancels_its_work_and_answers_once() -> None:
    async with in_process() as client:
        await client.initialize()
        serial = client.ask("workspace/executeCommand", {"command": "test.wait"})
        await client.command("test.state")
        client.notify("$/cancelRequest", {"id": f"c{serial}"})
        client.notify("$/cancelRequest", {"id": f"c{serial}"})
        client.notify("$/cancelRequest", {"id": "unknown"})
        answer = await client.receive_until(lambda m: m.get("id") == f"c{serial}")
        assert error_of(answer) == -32800
        assert (await client.command("test.state"))["cancelled"] == 1
        assert [m["id"] for m in client.seen].count(f"c{serial}") == 1


async def test_errors_are_words_for_a_person() -> None:
    async with in_process() as client:
        await client.initialize()

        async def failure(argument: str) -> Any:
            answer = await client.request(
                "workspace/executeCommand", {"command": "test.fail", "arguments": [argument]}
            )
            return answer["error"]

        assert await failure("words") == {
            "code": -32803,
            "message": "The kettle is empty: fill it and try again.",
        }
        for argument in ("exit", "unserialisable", "other"):
            error = await failure(argument)
            assert error["code"] == -32603
            assert "secret" not in json.dumps(error)
            assert "Traceback" not in json.dumps(error)


async def test_requests_to_the_editor_and_their_ends() -> None:
    outcomes: asyncio.Queue[Any] = asyncio.Queue()
    servers: list[SidecarServer] = []

    @asynccontextmanager
    async def build() -> Any:
        server = SidecarServer(lambda _: None)
        servers.append(server)
        yield server

    async def ask(method: str) -> None:
        try:
            outcomes.put_nowait(await servers[0].request(method, {"x": 1}))
        except (EditorRefused, EditorGone) as error:
            outcomes.put_nowait(error)

    async with in_process(build) as client:
        await client.initialize()
        asked = [
            asyncio.ensure_future(ask(f"test/{name}")) for name in ("good", "bad", "odd", "dropped", "open")
        ]
        ids = {}
        for _ in asked:
            request = await client.receive()
            assert request is not None
            ids[request["method"]] = request["id"]
        client.send(message(id=ids["test/good"], result={"jsonrpc": "2.0", "id": 5}))
        assert await outcomes.get() == {"jsonrpc": "2.0", "id": 5}
        client.send(message(id=ids["test/bad"], error={"code": 32603, "message": "no"}))
        refused = await outcomes.get()
        assert isinstance(refused, EditorRefused)
        assert refused.args == ("no", 32603)
        client.send(message(id=ids["test/odd"], error="just words"))
        assert (await outcomes.get()).args == ("just words", None)
        asked[3].cancel()
        withdrawn = await client.receive()
        assert withdrawn is not None
        assert (withdrawn["method"], withdrawn["params"]) == ("$/cancelRequest", {"id": ids["test/dropped"]})
        client.send(message(id=ids["test/dropped"], result="late") + message(id="s999", result=1))
        assert error_of(await client.request("no/such")) == -32601
        client.close()
        assert await client.exit_code() == 1
        assert isinstance(await outcomes.get(), EditorGone)
        with pytest.raises(EditorGone):
            await servers[0].request("test/late")
        servers[0].notify("test/late")


async def test_the_generated_methods_give_typed_results() -> None:
    servers: list[SidecarServer] = []

    @asynccontextmanager
    async def build() -> Any:
        servers.append(SidecarServer(lambda _: None))
        yield servers[0]

    async with in_process(build) as client:
        await client.initialize()
        answer = asyncio.ensure_future(
            servers[0].workspace_apply_edit_async(
                types.ApplyWorkspaceEditParams(edit=types.WorkspaceEdit(changes={}), label="x")
            )
        )
        request = await client.receive()
        assert request is not None
        assert request["method"] == "workspace/applyEdit"
        assert request["params"] == {"edit": {"changes": {}}, "label": "x"}
        client.send(message(id=request["id"], result={"applied": True}))
        assert await answer == types.ApplyWorkspaceEditResult(applied=True)
        servers[0].window_log_message(types.LogMessageParams(type=types.MessageType.Info, message="é"))
        logged = await client.receive()
        assert logged is not None
        assert logged["params"] == {"type": 3, "message": "é"}


async def test_an_early_answer_is_not_given_again() -> None:
    framing = Framing()
    body = message(id=1, method="initialize", params=INITIALIZE).partition(b"\r\n\r\n")[2]
    framing.feed(message(id=2, method="workspace/executeCommand", params={"command": "test.state"}))
    greeting = Greeting(framing, body, {"capabilities": {}})
    async with in_process(greeting=greeting) as client:
        answer = await client.receive()
        assert answer is not None
        assert answer["id"] == 2


async def test_registering_an_asynchronous_initialize_is_refused() -> None:
    server = SidecarServer(lambda _: None)

    async def initialize(params: Any) -> None: ...

    with pytest.raises(TypeError, match="plain def"):
        server.feature(types.INITIALIZE)(initialize)


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("sidecar.lsp.server", {"acp"}),
        ("sidecar.lsp.main", {"acp", "pygls", "lsprotocol", "anyio", "asyncio"}),
    ],
)
def test_what_is_not_needed_yet_is_not_imported(module: str, absent: set[str]) -> None:
    code = f"import sys, {module}; sys.exit(' '.join({absent} & set(sys.modules)) or 0)"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.getcwd()}, check=True)


def test_framed_is_what_the_specification_says() -> None:
    assert framed(b"{}") == b"Content-Length: 2\r\n\r\n{}"


@pytest.mark.skipif(WINDOWS, reason="a terminal is made with Unix' pty")
@pytest.mark.parametrize("terminal", [True, False])
def test_at_a_terminal_it_says_what_it_is_for(terminal: bool) -> None:
    ours, theirs = os.openpty() if terminal else os.pipe()[::-1]
    server = subprocess.Popen(
        [sys.executable, "-P", "-m", "sidecar", "lsp"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.close(theirs)
    if terminal:
        os.write(ours, b"\x04")  # Ctrl-D: the end of the input
    else:
        os.close(ours)
    out, err = server.communicate(timeout=60)
    if terminal:
        os.close(ours)
    assert out == b""
    assert (b"Your editor starts it" in err) == terminal
    assert (b"acp-sidecar setup EDITOR" in err) == terminal
