"""What open text costs in memory: resident bytes by the character, and what a process holds before there is any.

Every process is asked before and after the same documents were opened and typed into (Node after a collection). Linux only.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack

from benchmarks._common import Amount, Case, Missing, hosts, node
from benchmarks._common.keystrokes import Keystrokes
from benchmarks._common.measure import Run
from benchmarks._common.processes import Scratch, Server, resident_bytes, unsupported
from benchmarks._common.texts import MB, code
from sidecar.core.rope import Rope
from sidecar.core.text import Encoding

NODE = "vscode-languageserver"
PYGLS = "pygls"
DOCUMENTS = 5
KEYS = 100
MEGABYTES = 1_000_000


def cases() -> Iterator[Case]:
    text = code(10 * MB)
    yield Case("the rope alone, 10 MB", lambda: _rope(text), {}, "≤ 1.3", unit="bytes/char")
    if (unsupported() or (None if sys.platform == "linux" else Missing("only on Linux"))) is not None:
        return
    with ExitStack() as stack:
        scratch = stack.enter_context(Scratch())
        host = hosts.ours(stack, scratch)
        commands: dict[str, list[str] | Missing] = {
            NODE: node.command("lsp_server.mjs", "--expose-gc"),
            PYGLS: [sys.executable, "-m", "benchmarks._peers.pygls_server"],
        }
        servers: dict[str, Server | Missing] = {"": host.server}
        for peer, command in commands.items():
            if isinstance(command, Missing):
                servers[peer] = command
            else:
                servers[peer] = server = stack.enter_context(Server(command, scratch))
                server.initialize()
        others: dict[str, hosts.Host | Missing] = hosts.peers(stack, scratch)
        idle: dict[str, Run | Missing] = {
            f"{peer} and its agent library": one if isinstance(one, Missing) else _resident(one.server)
            for peer, one in others.items()
        }
        yield Case("idle, with an agent", _resident(host.server), idle, "≤ 70 MB", unit="MB")
        runs = {
            peer: server if isinstance(server, Missing) else _opened(server, text, host)
            for peer, server in servers.items()
        }
        ours = runs.pop("")
        assert not isinstance(ours, Missing)
        yield Case(
            f"{DOCUMENTS} × 10 MB open in the process, on the disk too",
            ours,
            runs,
            "≤ 1.3",
            unit="bytes/char",
        )


def _rope(text: str) -> Amount:
    """The text, after edits that are spread over it, with a snapshot taken in between."""
    keys = Keystrokes(text, 1).typist().keys(KEYS)
    tracemalloc.start()
    try:
        rope = Rope(text)
        for key in keys:
            rope.apply(key.range, key.text, Encoding.UTF_16)
        snapshot = rope.snapshot()
        size, _ = tracemalloc.get_traced_memory()
        assert len(snapshot) == len(text) + KEYS
    finally:
        tracemalloc.stop()
    return Amount(size / len(text))


def _opened(server: Server, text: str, host: hosts.Host) -> Callable[[], Amount]:
    """Opened once; the rounds after the first look again."""
    found: list[Amount] = []

    def run() -> Amount:
        if not found:
            before = _collected(server)
            for number in range(DOCUMENTS):
                path = server.scratch.file(f"{number}.txt", text)
                uri = server.open(path.name, text)
                keys = Keystrokes(text, 1).typist().keys(KEYS)
                server.send(server.burst(uri, [[key.as_change()] for key in keys]))
                server.barrier()
                if server is host.server:
                    host.agent.read(path, 1, 50)
            found.append(Amount((_collected(server) - before) / DOCUMENTS / len(text)))
        return found[0]

    return run


def _resident(server: Server) -> Callable[[], Amount]:
    return lambda: Amount(_collected(server) / MEGABYTES)


def _collected(server: Server) -> int:
    if "node" in str(server.process.args):
        server.request("bench/memory", {})
    found = resident_bytes(server.pid)
    assert found is not None
    return found
