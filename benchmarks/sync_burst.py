"""A burst of didChange through real server processes, by the change: from its first byte to the proof that all are applied.

The proof is the answer to a request behind them that no server knows. Every server is asked for its text afterwards (ours
through an agent's read). All get the same keystrokes in the same bytes; the slower ones fewer of them in a round.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack

from benchmarks._common import Case, Missing, Seconds, node
from benchmarks._common.keystrokes import Keystrokes
from benchmarks._common.measure import Run
from benchmarks._common.processes import Scratch, Server, cpu_seconds, sidecar, unsupported
from benchmarks._common.texts import MB, code

NODE = "vscode-languageserver"
PYGLS = "pygls"
WORD = 20


def cases() -> Iterator[Case]:
    if (why := unsupported()) is not None:
        raise SystemExit(why.why)
    with ExitStack() as stack:
        scratch = stack.enter_context(Scratch())
        ours = sidecar(stack, scratch)
        agent = ours.agent()
        text, small = code(10 * MB), code(MB // 10)

        def document(server: Server, name: str, text: str, words: int) -> _Burst:
            return _Burst(server, name, text, words)

        mine = document(ours, "10MB.txt", text, 250)
        mine_small = document(ours, "100KB.txt", small, 250)
        for burst in (mine, mine_small):
            agent.read(scratch.files / burst.name, 1, 1)  # it has looked for the file by now

        peers: dict[str, Run | Missing] = {}
        bursts: dict[str, _Burst] = {}
        for peer, command, words in (
            (NODE, node.command("lsp_server.mjs", "--expose-gc"), 3),
            (PYGLS, [sys.executable, "-m", "benchmarks._peers.pygls_server"], 1),
        ):
            if isinstance(command, Missing):
                peers[peer] = command
                continue
            server = stack.enter_context(Server(command, scratch))
            server.initialize()
            bursts[peer] = document(server, "10MB.txt", text, words)
            peers[peer] = bursts[peer].run
        yield Case(
            "10 MB",
            mine.run,
            peers,
            "≥ 100 × vscode's; ≤ 10 µs of CPU",
            mine.facts,
        )
        yield Case(
            "10 MB against 100 KB",
            mine.run,
            {"ours at 100 KB": mine_small.run},
            "≥ 0.67 ×",
        )
        for burst in (mine, mine_small):
            burst.typist.check("ours", agent.read(scratch.files / burst.name))
        for peer, burst in bursts.items():
            burst.typist.check(peer, burst.server.request("bench/check", {"uri": burst.uri}))


class _Burst:
    """One document of one server, typed into."""

    def __init__(self, server: Server, name: str, text: str, words: int) -> None:
        self.server = server
        self.name = name
        self.uri = server.open(name, text)
        self.typist = Keystrokes(text, WORD).typist()
        self.facts: dict[str, float | str] = {}
        self._words = words

    def run(self) -> Seconds:
        keys = self.typist.keys(self._words)
        server = self.server
        data = server.burst(self.uri, [[key.as_change()] for key in keys]) + server.barrier_bytes()
        before = cpu_seconds(server.pid)
        start = time.perf_counter()
        server.send(data)
        server.pass_barrier()
        taken = time.perf_counter() - start
        after = cpu_seconds(server.pid)
        if before is not None and after is not None:
            self.facts["CPU by the change"] = f"{(after - before) / len(keys) * 1e6:.2f} µs"
        self.facts["bytes by the change"] = round(len(data) / len(keys))
        return Seconds(taken / len(keys))
