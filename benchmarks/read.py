"""fs/read_text_file through real processes: an agent's request leaves, the whole answer is back.

The agent is this process, whoever hosts it; the documents are open in the host with a keystroke that is not on the disk. The
raw pipe is a process that sends the very bytes of our answer for every line it gets.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks._common import Case, Missing, Seconds, hosts
from benchmarks._common.hosts import PYTHON, TYPESCRIPT
from benchmarks._common.measure import Run
from benchmarks._common.processes import AgentEnd, Scratch, content, unsupported
from benchmarks._common.texts import MB, code

LINES = 50
IN_FLIGHT = 100
PIPE = "raw pipe"


def cases() -> Iterator[Case]:
    if (why := unsupported()) is not None:
        raise SystemExit(why.why)
    with ExitStack() as stack:
        scratch = stack.enter_context(Scratch())
        ours = hosts.ours(stack, scratch)
        peers = hosts.peers(stack, scratch)
        limits = "≤ 2 × raw pipe, ≥ 2 × TypeScript's"
        documents: dict[str, _Documents] = {}
        for name, size, times in (("1 KB", MB // 1000, 100), ("1 MB", MB, 10), ("10 MB", 10 * MB, 1)):
            documents[name] = _Documents(ours, peers, f"{name}.txt".replace(" ", ""), code(size))
            yield documents[name].case(stack, name, limits, times)
        large = documents["10 MB"]
        yield large.case(
            stack, "10 MB, after a keystroke", "", 1, before=True, facts={"first read": large.first}
        )
        lines = code(10 * MB).count("\n")
        yield large.case(stack, f"{LINES} lines of 10 MB", limits, 100, line=lines // 2)
        yield documents["1 KB"].case(
            stack, f"1 KB, {IN_FLIGHT} in flight, by the read", "≥ 3 × TypeScript's", 10, in_flight=IN_FLIGHT
        )


class _Documents:
    """One text, open in every host."""

    def __init__(
        self, ours: hosts.Host, peers: dict[str, hosts.Host | Missing], name: str, text: str
    ) -> None:
        path = ours.server.scratch.file(name, text)
        self._name = name
        self._ours = ours.open(name, text)
        start = time.perf_counter()
        first = ours.agent.read(path)
        self.first = f"{(time.perf_counter() - start) * 1e3:.3g} ms"
        self._ours.typist.check("ours", first)
        self._peers = {
            peer: host if isinstance(host, Missing) else host.open(name, text) for peer, host in peers.items()
        }

    def case(
        self,
        stack: ExitStack,
        name: str,
        target: str,
        times: int,
        *,
        line: int | None = None,
        in_flight: int = 1,
        before: bool = False,
        facts: dict[str, float | str] | None = None,
    ) -> Case:
        """`line`: read so many LINES from there. `before`: a key is typed before every read."""
        facts = {} if facts is None else facts

        def reads(open_: hosts.Open) -> Callable[[], Seconds]:
            def run() -> Seconds:
                if before:
                    open_.key()
                taken, last = _reads(open_.host.agent, open_.path, times, in_flight, line)
                wanted = open_.typist.expected()
                if line is not None:
                    wanted = "".join(wanted.splitlines(keepends=True)[line - 1 : line - 1 + LINES])
                assert last == wanted, f"{open_.host.name} answered something else"
                return taken

            return run

        peers: dict[str, Run | Missing] = {}
        if not before:
            peers[PIPE] = self._pipe(stack, times, in_flight, line)
        for peer in (TYPESCRIPT, PYTHON):
            open_ = self._peers[peer]
            peers[peer] = open_ if isinstance(open_, Missing) else reads(open_)
        ours = reads(self._ours)

        def noted() -> Seconds:
            taken = ours()
            if in_flight > 1:
                facts["reads/s"] = f"{1 / taken:,.0f}"
            return taken

        return Case(name, noted, peers, target, facts)

    def _pipe(self, stack: ExitStack, times: int, in_flight: int, line: int | None) -> Run:
        agent, path = self._ours.host.agent, self._ours.path
        agent.write(agent.reading(path, line, None if line is None else LINES))
        answer = agent.line() + b"\n"
        file = self._ours.host.server.scratch.path / "answer"
        file.write_bytes(answer)
        end = hosts.echo(stack, file)

        def run() -> Seconds:
            taken, last = _reads(end, path, times, in_flight, line)
            assert last == content(answer)
            return taken

        run()
        return run


def _reads(agent: AgentEnd, path: Path, times: int, in_flight: int, line: int | None) -> tuple[Seconds, str]:
    """Seconds by the read, and what the last one said."""
    limit = None if line is None else LINES
    requests = [b"".join(agent.reading(path, line, limit) for _ in range(in_flight)) for _ in range(times)]
    answers: list[bytes] = []
    start = time.perf_counter()
    for request in requests:
        agent.write(request)
        answers = [agent.line() for _ in range(in_flight)]
    taken = time.perf_counter() - start
    assert len({len(content(answer)) for answer in answers}) == 1
    return Seconds(taken / times / in_flight), content(answers[-1])
