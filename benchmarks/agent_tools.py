"""`acp-sidecar mcp`, as an agent has it: its start until `tools/list` is answered, a Read, and a Search in 10,000 files.

The agent that it belongs to is in a turn, in a session of a real sidecar; the file that is read is open there with a keystroke that is not on the
disk. The calls go from here by the MCP server's process and the bridge to the sidecar, and back.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from benchmarks._common import Case, Missing, Seconds
from benchmarks._common.hosts import Host, Open, started
from benchmarks._common.measure import Run
from benchmarks._common.processes import (
    ROOT,
    SIDECAR,
    AgentEnd,
    Scratch,
    Server,
    Waiting,
    encoded,
    unsupported,
)
from benchmarks._common.texts import MB, code

FILES = 10_000
FILE = 2000
"""Bytes of each."""
WORD = "needle_in_the_haystack"
TIMES = 10
"""Reads in a round."""


def cases() -> Iterator[Case]:
    if (why := unsupported()) is not None:
        raise SystemExit(why.why)
    with ExitStack() as stack:
        scratch = stack.enter_context(Scratch())
        server = stack.enter_context(Server(SIDECAR, scratch))
        server.initialize(initializationOptions={**Waiting.settings(scratch), "ownTools": "all"})
        host = Host("ours", server, server.agent())
        ours = host.agent.offered[0]

        def starts() -> Seconds:
            with ExitStack() as round_:
                begun = time.perf_counter()
                Tools(round_, ours, scratch)
                return Seconds(time.perf_counter() - begun)

        yield Case("start to tools/list answered", starts, {"bare Python": _bare(scratch)}, "< 0.3 s")
        tools = Tools(stack, ours, scratch)
        open_ = host.open("read.txt", code(MB))
        peers = {"fs/read_text_file": _reads(open_, lambda: host.agent.read(open_.path))}
        read = _reads(open_, lambda: tools.call("Read", file_path=str(open_.path)))
        yield Case("Read of 1 MB", read, peers, "≤ 3 × fs/read_text_file")
        yield _search(tools, scratch)


class Tools:
    """The MCP server, with its handshake done and its list told."""

    def __init__(self, stack: ExitStack, server: Any, scratch: Scratch) -> None:
        env = scratch.environment | {pair["name"]: pair["value"] for pair in server["env"]}
        self._end: AgentEnd = started(stack, [server["command"], *server["args"]], env=env, cwd=ROOT)
        self._serial = 0
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
        self._ask("initialize", {**hello, "clientInfo": {"name": "bench", "version": "1"}})
        self._send({"method": "notifications/initialized"})
        assert self._ask("tools/list", {})["tools"]

    def call(self, tool: str, **arguments: object) -> str:
        result = self._ask("tools/call", {"name": tool, "arguments": arguments})
        text = "".join(block["text"] for block in result["content"])
        assert not result.get("isError"), text
        return text

    def _ask(self, method: str, params: object) -> Any:
        self._serial += 1
        self._send({"id": self._serial, "method": method, "params": params})
        answer = json.loads(self._end.line())
        assert answer["id"] == self._serial, answer
        return answer["result"]

    def _send(self, message: dict[str, object]) -> None:
        self._end.write(encoded({"jsonrpc": "2.0", **message}) + b"\n")


def _bare(scratch: Scratch) -> Callable[[], Seconds]:
    def run() -> Seconds:
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", ""], env=scratch.environment, check=True)
        return Seconds(time.perf_counter() - begun)

    return run


def _reads(open_: Open, read: Callable[[], str]) -> Callable[[], Seconds]:
    def run() -> Seconds:
        begun = time.perf_counter()
        for _ in range(TIMES):
            text = read()
        taken = (time.perf_counter() - begun) / TIMES
        assert text == open_.typist.expected(), "something else was answered"
        return Seconds(taken)

    return run


def _search(tools: Tools, scratch: Scratch) -> Case:
    """One file in a hundred has the word, which `git grep` is started anew for; the index is warm for both."""
    folder = scratch.files / "tree"
    text = code(FILE)
    for number in range(FILES):
        path = folder / f"{number // 100:03}" / f"{number % 100:03}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}{WORD} = {number}\n" if number % 100 == 0 else text)
    found = -(-FILES // 100)
    facts: dict[str, float | str] = {"files": f"{FILES:,}", "with the word": found}
    git = shutil.which("git")
    peer: Run | Missing = Missing("git is not installed")
    if git is not None:
        env = scratch.environment | {"GIT_CONFIG_NOSYSTEM": "1"}
        for words in (("init", "--quiet"), ("add", "--all")):
            subprocess.run([git, *words], cwd=folder, env=env, check=True)

        def grep() -> Seconds:
            begun = time.perf_counter()
            said = subprocess.run(
                [git, "grep", "--line-number", "--fixed-strings", WORD],
                cwd=folder,
                env=env,
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            taken = time.perf_counter() - begun
            assert said.count(WORD) == found
            return Seconds(taken)

        peer = grep

    def search() -> Seconds:
        begun = time.perf_counter()
        said = tools.call("Search", pattern=WORD, literal=True, path=os.fspath(folder), max_matches=10_000)
        taken = time.perf_counter() - begun
        assert said.count(WORD) >= found, said[-500:]
        return Seconds(taken)

    return Case("Search in 10,000 files", search, {"git grep": peer}, "ahead of git grep", facts)
