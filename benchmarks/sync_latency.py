"""From a keystroke that leaves the editor until an agent has read it in 50 lines, through real processes.

Editor and agent are this process. The agent reads until the key is there: the two pipes are not ordered among each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

from benchmarks._common import Case, Missing, Seconds, hosts
from benchmarks._common.measure import Run
from benchmarks._common.processes import Scratch, content, unsupported
from benchmarks._common.texts import MB, code

LINES = 50
STACKS = {
    hosts.TYPESCRIPT: "vscode-languageserver + TypeScript SDK",
    hosts.PYTHON: "pygls + Python SDK",
}


def cases() -> Iterator[Case]:
    if (why := unsupported()) is not None:
        raise SystemExit(why.why)
    with ExitStack() as stack:
        scratch = stack.enter_context(Scratch())
        ours = hosts.ours(stack, scratch)
        others = hosts.peers(stack, scratch)
        for name, size, target in (("10 MB", 10 * MB, "≥ 8 × vscode's"), ("100 KB", MB // 10, "")):
            text = code(size)
            file = name.replace(" ", "") + ".txt"
            scratch.file(file, text)
            opened = [ours.open(file, text)]
            peers: dict[str, Run | Missing] = {}
            for peer, host in others.items():
                if isinstance(host, Missing):
                    peers[STACKS[peer]] = host
                else:
                    opened.append(host.open(file, text))
                    peers[STACKS[peer]] = _latency(opened[-1], 2 if size > MB else 20)
            facts: dict[str, float | str] = {}
            yield Case(name, _latency(opened[0], 20, facts), peers, target, facts)
            for open_ in opened:
                open_.check()


def _latency(
    open_: hosts.Open, times: int, facts: dict[str, float | str] | None = None
) -> Callable[[], Seconds]:
    def run() -> Seconds:
        total, reads = 0.0, 0
        for _ in range(times):
            agent = open_.host.agent
            key, data = open_.key_bytes()
            wanted = _line(open_, key.line)
            first = max(1, key.line + 1 - LINES // 2)
            requests = [agent.reading(open_.path, first, LINES) for _ in range(1000)]
            start = time.perf_counter()
            open_.host.server.send(data)
            for request in requests:
                agent.write(request)
                reads += 1
                lines = content(agent.line()).split("\n")
                if lines[key.line + 1 - first] == wanted:
                    break
            else:
                raise AssertionError(f"{open_.host.name} never showed the key")
            total += time.perf_counter() - start
        if facts is not None:
            facts["reads until it was seen"] = round(reads / times, 1)
        return Seconds(total / times)

    return run


def _line(open_: hosts.Open, line: int) -> str:
    return open_.typist.expected().splitlines()[line]
