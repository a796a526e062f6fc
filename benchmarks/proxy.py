"""`acp-sidecar proxy` in the way: a message from the client to the agent and the answer back, with it and without it.

The agent answers every line with the same bytes, and is a process in both. What the proxy adds is the difference of the two, and in the notes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

from benchmarks._common import Case, Seconds
from benchmarks._common.hosts import echoing, started
from benchmarks._common.processes import ROOT, AgentEnd, Scratch, unsupported
from benchmarks._common.texts import MB, code

TIMES = 300
PROXY = (sys.executable, "-m", "sidecar", "proxy", "--")


def cases() -> Iterator[Case]:
    if (why := unsupported()) is not None:
        raise SystemExit(why.why)
    with ExitStack() as stack:
        scratch = stack.enter_context(Scratch())
        for name, size, times in (("a small message", 0, TIMES), ("1 MB", MB, max(1, TIMES // 30))):
            yield _case(stack, scratch, name, code(size) if size else "", times)


def _case(stack: ExitStack, scratch: Scratch, name: str, text: str, times: int) -> Case:
    line = b'{"jsonrpc":"2.0","id":1,"result":{"text":"%b"}}\n' % text.encode().hex().encode()
    answer = scratch.path / f"{len(line)}.answer"
    answer.write_bytes(line)
    where = {"env": scratch.environment, "cwd": ROOT}
    through = started(stack, [*PROXY, *echoing(answer)], **where)
    bare = started(stack, echoing(answer), **where)
    facts: dict[str, float | str] = {}
    taken: dict[str, float] = {}

    def run(end: AgentEnd, whose: str) -> Callable[[], Seconds]:
        def rounds() -> Seconds:
            start = time.perf_counter()
            for _ in range(times):
                end.write(b'{"jsonrpc":"2.0","id":1,"method":"_x","params":{"sessionId":"s"}}\n')
                got = end.line()
            each = (time.perf_counter() - start) / times
            assert len(got) == len(line) - 1
            taken[whose] = each
            if len(taken) == 2:
                facts["added"] = f"{(taken['through'] - taken['bare']) * 1e3:.3g} ms"
            return Seconds(each)

        return rounds

    target = "≤ 1 ms more than without" if not text else ""
    return Case(name, run(through, "through"), {"without the proxy": run(bare, "bare")}, target, facts)
