"""Real processes and both of their other ends: the editor that types and the agent that asks are this process.

An agent is started by whoever hosts it, as in life; what is started (`_peers/agent.py`) hands its stdin and stdout over to
here. So one clock sees a keystroke leave and an agent's read come back, and nothing of an agent's own work is measured.
Reads and writes here are plain system calls on blocking descriptors. Unix only.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self

from benchmarks._common.measure import Missing
from sidecar.core.uri import from_path
from sidecar.lsp.framing import Fault, Framing

ROOT = Path(__file__).resolve().parent.parent.parent
PEERS = ROOT / "benchmarks" / "_peers"
SIDECAR = (sys.executable, "-m", "sidecar", "lsp")
ROOM = 1024 * 1024
"""Bytes that the pipes hold where Linux allows it: what our own pipes to agents hold."""


def unsupported() -> Missing | None:
    return Missing("only on Unix") if sys.platform == "win32" else None


class Scratch:
    """A folder for the processes' files and their user's home: nothing of the real user's is read or written."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="acp-sidecar-bench-")
        self.path = Path(self._folder.name).resolve()
        self.files = self.path / "files"
        self.files.mkdir()
        home = self.path / "home"
        home.mkdir()
        hidden = {"HOME": str(home)} | {
            name: str(home / name) for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")
        }
        hidden["XDG_CONFIG_HOME"] = str(home)
        self.environment = os.environ | hidden
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)  # each start would compile everything

    def file(self, name: str, text: str) -> Path:
        path = self.files / name
        path.write_bytes(text.encode())
        return path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


class Server:
    """A language server and its editor."""

    def __init__(self, command: Sequence[str], scratch: Scratch) -> None:
        self.scratch = scratch
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `close`
        self.process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=scratch.environment,
            cwd=ROOT,
            bufsize=0,
            pipesize=ROOM if sys.platform == "linux" else -1,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        self._framing = Framing()
        self._serial = 0
        self._versions: dict[str, int] = {}
        self._agents: list[AgentEnd] = []

    @property
    def pid(self) -> int:
        return self.process.pid

    def initialize(self, **options: object) -> Any:
        answer = self.request("initialize", initialize_params(self.scratch, **options))
        self.notify("initialized", {})
        return answer

    def open(self, name: str, text: str) -> str:
        """Opens a document, whose file need not exist, and waits until it was taken; its URI."""
        uri = from_path(str(self.scratch.files / name))
        self.send(did_open(uri, text))
        self._versions[uri] = 1
        self.barrier()
        return uri

    def document(self, uri: str) -> dict[str, object]:
        """As in `VersionedTextDocumentIdentifier`."""
        return {"uri": uri, "version": self._versions[uri]}

    def burst(self, uri: str, changes: Sequence[Sequence[dict[str, object]]]) -> bytes:
        """The bytes of one didChange for each of `changes`, as VS Code writes them."""
        return b"".join(self._did_change(uri, each) for each in changes)

    def _did_change(self, uri: str, changes: Sequence[dict[str, object]]) -> bytes:
        self._versions[uri] += 1
        params = {"textDocument": self.document(uri), "contentChanges": changes}
        return framed("textDocument/didChange", params)

    def barrier(self) -> None:
        """A request that no server knows: its refusal says that everything before it was dealt with."""
        self.send(self.barrier_bytes())
        self.pass_barrier()

    def barrier_bytes(self) -> bytes:
        self._serial += 1
        return framed("bench/nothing", {}, self._serial)

    def pass_barrier(self) -> None:
        while self.receive().get("id") != self._serial:
            pass

    def send(self, data: bytes) -> None:
        write_all(self._in, data)

    def notify(self, method: str, params: object) -> None:
        self.send(framed(method, params))

    def ask(self, method: str, params: object) -> int:
        self._serial += 1
        self.send(framed(method, params, self._serial))
        return self._serial

    def request(self, method: str, params: object) -> Any:
        return self.answer(self.ask(method, params))

    def answer(self, serial: int) -> Any:
        """The result of a request; the server's own requests meanwhile are answered with null."""
        while True:
            message = self.receive()
            if message.get("id") == serial and "method" not in message:
                if "error" in message:
                    raise RuntimeError(f"{self.process.args}: {message['error']}")
                return message["result"]
            self.decline(message)

    def decline(self, message: dict[str, Any]) -> None:
        """Answers a request of the server's with null, except for the question whether the agent may be started."""
        if "method" not in message or "id" not in message:
            return
        actions = (message.get("params") or {}).get("actions") or []
        start = [action for action in actions if str(action.get("title")).startswith("Start it")]
        self.reply(message["id"], start[0] if start else None)

    def until_line(self, agent: AgentEnd) -> bytes:
        """The agent's next line; what the server asks of its editor meanwhile is declined."""
        while not agent.is_ready(self._out):
            self.decline(self.receive())
        return agent.line()

    def reply(self, request_id: object, result: object) -> None:
        self.send(framed_body({"jsonrpc": "2.0", "id": request_id, "result": result}))

    def receive(self) -> dict[str, Any]:
        return json.loads(self.receive_bytes())

    def receive_bytes(self) -> bytes:
        while (item := self._framing.next()) is None:
            data = os.read(self._out, ROOM)
            if not data:
                raise RuntimeError(f"{self.process.args} ended:\n{self._last_words()}")
            self._framing.feed(data)
        if isinstance(item, Fault):
            raise RuntimeError(f"{self.process.args} wrote no LSP: {item.reason}")  # noqa: TRY004 - a value that came, not a type that was passed
        return item

    def agent(self, start: str = "sidecar.newSession", *, prompted: bool = True) -> AgentEnd:
        """The other end of an agent that the server starts when it is told to.

        `start`: the sidecar's command, or the peers' own request. `prompted`: it is in a turn that lasts, because writes count in a turn only."""
        waiting = Waiting(self.scratch)
        if start == "sidecar.newSession":
            command = {"command": start, "arguments": [{"agent": "bench"}]}
            asked = self.ask("workspace/executeCommand", command)
        else:
            asked = self.ask(start, {**waiting.command(), "cwd": str(self.scratch.files)})
        while not waiting.is_here(self._out):
            message = self.receive()
            if message.get("id") == asked and "method" not in message:
                raise RuntimeError(f"no agent was started: {message}")
            self.decline(message)
        agent = waiting.arrived()
        self.answer(asked)
        self._agents.append(agent)
        if start == "sidecar.newSession" and prompted:
            prompt = {"command": "sidecar.prompt", "arguments": [{"prompt": "go", "wait": True}]}
            self.ask("workspace/executeCommand", prompt)
            assert json.loads(self.until_line(agent))["method"] == "session/prompt"
        return agent

    def close(self) -> None:
        for agent in self._agents:
            agent.close()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
        self._errors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _last_words(self) -> str:
        self._errors.seek(0)
        return self._errors.read()[-3000:].decode("utf-8", "replace")


class Waiting:
    """A place where an agent that somebody is about to start will arrive."""

    def __init__(self, scratch: Scratch) -> None:
        self._address = str(scratch.path / "agent")
        Path(self._address).unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.settimeout(60)
        self._listener.bind(self._address)
        self._listener.listen(1)

    @staticmethod
    def settings(scratch: Scratch) -> dict[str, object]:
        """The sidecar's, with the agent that arrives here."""
        return {"agents": {"bench": agent_command(str(scratch.path / "agent"))}}

    def command(self) -> dict[str, object]:
        return agent_command(self._address)

    def is_here(self, other: int) -> bool:
        """Waits until the agent is there, or something to be read on another descriptor; True when it is the agent."""
        ready, _, _ = select.select([self._listener, other], [], [], 60)
        if not ready:
            raise RuntimeError("no agent was started within a minute")
        return self._listener in ready

    def arrived(self) -> AgentEnd:
        """Waits for the agent, and shakes hands as it."""
        with self._listener as listener:
            connection, _ = listener.accept()
        connection.settimeout(None)
        _, fds, _, _ = socket.recv_fds(connection, 16, 2)
        agent = AgentEnd(fds[0], fds[1], connection)
        agent.shake_hands()
        return agent


class AgentEnd:
    """An agent, as far as its host can tell: lines of JSON on two descriptors."""

    def __init__(self, reading: int, writing: int, held: socket.socket | None = None) -> None:
        self._in, self._out, self._held = reading, writing, held
        self._rest = b""
        self._serial = 0
        self.offered: list[Any] = []
        """The MCP servers that its session was offered."""

    def shake_hands(self) -> None:
        request = json.loads(self.line())
        assert request["method"] == "initialize", request
        capabilities = {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": capabilities})
        request = json.loads(self.line())
        assert request["method"] == "session/new", request
        self.offered = request["params"]["mcpServers"]
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": {"sessionId": "s1"}})

    def request(self, method: str, **params: object) -> bytes:
        """The bytes of one; to be written by `write`."""
        self._serial += 1
        message = {"jsonrpc": "2.0", "id": self._serial, "method": method}
        return encoded({**message, "params": {"sessionId": "s1", **params}}) + b"\n"

    def reading(self, path: Path, line: int | None = None, limit: int | None = None) -> bytes:
        slice_ = {key: value for key, value in (("line", line), ("limit", limit)) if value is not None}
        return self.request("fs/read_text_file", path=str(path), **slice_)

    def read(self, path: Path, line: int | None = None, limit: int | None = None) -> str:
        self.write(self.reading(path, line, limit))
        return content(self.line())

    def send(self, message: object) -> None:
        self.write(encoded(message) + b"\n")

    def write(self, data: bytes) -> None:
        write_all(self._out, data)

    def is_ready(self, other: int) -> bool:
        """Waits until there is something to read here or on another descriptor; True when it is here."""
        if self._rest:
            return True
        ready, _, _ = select.select([self._in, other], [], [], 60)
        if not ready:
            raise RuntimeError("no answer within a minute")
        return self._in in ready

    def line(self) -> bytes:
        """The next line, of any length."""
        rest, self._rest = self._rest, b""
        parts = [rest]
        while (end := parts[-1].find(b"\n")) < 0:
            data = os.read(self._in, ROOM)
            if not data:
                raise RuntimeError("the agent's host ended")
            parts.append(data)
        self._rest = parts[-1][end + 1 :]
        parts[-1] = parts[-1][:end]
        return b"".join(parts)

    def close(self) -> None:
        os.close(self._in)
        os.close(self._out)
        if self._held is not None:
            self._held.close()


def agent_command(address: str) -> dict[str, object]:
    return {"command": sys.executable, "args": ["-S", str(PEERS / "agent.py"), address]}


def sidecar(stack: ExitStack, scratch: Scratch, *command: str) -> Server:
    """Ours, initialized, with the agent "bench" configured."""
    server = stack.enter_context(Server(command or SIDECAR, scratch))
    server.initialize(initializationOptions=Waiting.settings(scratch))
    return server


def initialize_params(scratch: Scratch, **options: object) -> dict[str, object]:
    folder = from_path(str(scratch.files))
    edits = {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}
    return {
        "processId": os.getpid(),
        "rootUri": folder,
        "workspaceFolders": [{"uri": folder, "name": "files"}],
        "capabilities": {"workspace": edits},
        **options,
    }


def did_open(uri: str, text: str) -> bytes:
    item = {"uri": uri, "languageId": "plaintext", "version": 1, "text": text}
    return framed("textDocument/didOpen", {"textDocument": item})


def framed(method: str, params: object, serial: int | None = None) -> bytes:
    head = {"jsonrpc": "2.0"} if serial is None else {"jsonrpc": "2.0", "id": serial}
    return framed_body({**head, "method": method, "params": params})


def framed_body(message: object) -> bytes:
    body = encoded(message)
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def encoded(message: object) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def content(line: bytes) -> str:
    """What a read was answered with. Raises RuntimeError for an error."""
    answer = json.loads(line)
    if "result" not in answer:
        raise RuntimeError(f"a read was refused: {answer}")
    return answer["result"]["content"]


def write_all(fd: int, data: bytes) -> None:
    written = os.write(fd, data)
    if written < len(data):
        rest = memoryview(data)[written:]
        while rest:
            rest = rest[os.write(fd, rest) :]


def enlarge(fd: int) -> None:
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):  # the user's quota is used up
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, ROOM)


def cpu_seconds(pid: int) -> float | None:
    """What a process's threads have computed so far. Linux; elsewhere None."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
    except (OSError, IndexError):
        return None


def resident_bytes(pid: int) -> int | None:
    """What a process holds in memory. Linux; elsewhere None."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), None)
