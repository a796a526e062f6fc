"""What each thing costs the sidecar: a session, a turn, an open document, a message. docs/scale.md reckons with these figures.

Everything goes through a real sidecar and its real pipes. The editor and the agent are this process and are not counted. Times are the processor time of all the
sidecar's threads, by the kernel; memory is resident. The exponents say how the time of all grows with their number: 1 is in proportion. Linux only.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack

from benchmarks._common import Amount, Case, Seconds
from benchmarks._common.processes import AgentEnd, Scratch, Server, cpu_seconds, resident_bytes, sidecar
from benchmarks._common.texts import code, edited

SESSIONS_AT = (5, 20, 80)
DOCUMENTS_AT = (50, 200, 800)
TURNS_AT = (50, 200, 800)
"""How many there are when it is measured, one after the other in one sidecar."""
UPDATES = 20
"""Of a turn."""
MESSAGES = 300
SMALL, LARGE = 1_000, 100_000
"""Characters of a text."""
KILOBYTE = 1_000
HUNKS = 1_000
"""In a text under review."""
_TOP = {"line": 0, "character": 0}
_TYPED: dict[str, object] = {"range": {"start": _TOP, "end": _TOP}, "text": "x"}


def cases() -> Iterator[Case]:
    if not sys.platform.startswith("linux"):
        raise SystemExit("only on Linux")
    for growth in (_sessions, _documents, _turns):
        with ExitStack() as stack:
            yield from growth(_Costs(stack, prompted=False))
    with ExitStack() as stack:
        yield from _messages(_Costs(stack, prompted=True))


class _Costs:
    """A sidecar, and what it has used since somebody last asked."""

    def __init__(self, stack: ExitStack, *, prompted: bool) -> None:
        """`prompted`: the agent is in a turn."""
        self.scratch = stack.enter_context(Scratch())
        self.server: Server = sidecar(stack, self.scratch)
        self.agent: AgentEnd = self.server.agent(prompted=prompted)
        self._cpu, self._memory = self._used()

    def since(self) -> tuple[float, float]:
        """Seconds of processor and bytes of memory since the last call."""
        cpu, memory = self._used()
        since = cpu - self._cpu, memory - self._memory
        self._cpu, self._memory = cpu, memory
        return since

    def command(self, name: str, **argument: object) -> int:
        return self.server.ask("workspace/executeCommand", {"command": name, "arguments": [argument]})

    def _used(self) -> tuple[float, float]:
        self.server.barrier()
        cpu, memory = cpu_seconds(self.server.pid), resident_bytes(self.server.pid)
        assert cpu is not None
        assert memory is not None
        return cpu, memory


def _grown(what: str, numbers: tuple[int, ...], costs: _Costs, one: Callable[[int], None]) -> Iterator[Case]:
    """Does it as often as the numbers say in all. Processor time of one, and memory of one, among the most."""
    done, spent, held = 0, list[float](), list[float]()
    costs.since()
    for number in numbers:
        for which in range(done, number):
            one(which)
        done = number
        cpu, memory = costs.since()
        spent.append(sum(spent[-1:]) + cpu)
        held.append(sum(held[-1:]) + memory)
    last = numbers[-1] - numbers[-2]
    growth = math.log(spent[-1] / spent[0]) / math.log(numbers[-1] / numbers[0])
    facts: dict[str, float | str] = {"exponent of the time": f"{growth:.2f}", "with": f"{numbers[-1]:,}"}
    seconds = Seconds((spent[-1] - spent[-2]) / last)
    kilobytes = Amount(max(held[-1] - held[-2], 1) / last / KILOBYTE)
    yield Case(f"{what}, processor", lambda: seconds, {}, "", facts)
    yield Case(f"{what}, memory", lambda: kilobytes, {}, "", {"with": f"{numbers[-1]:,}"}, unit="kB")


def _sessions(costs: _Costs) -> Iterator[Case]:
    """Of one agent, whose process serves them all."""

    def one(which: int) -> None:
        asked = costs.command("sidecar.newSession", agent="bench")
        request = json.loads(costs.server.until_line(costs.agent))
        assert request["method"] == "session/new", request
        answer = {"sessionId": f"session {which}"}
        costs.agent.send({"jsonrpc": "2.0", "id": request["id"], "result": answer})
        costs.server.answer(asked)

    yield from _grown("a session", SESSIONS_AT, costs, one)


def _documents(costs: _Costs) -> Iterator[Case]:
    text = code(10 * SMALL)

    def one(which: int) -> None:
        costs.scratch.file(f"{which}.py", text)
        costs.server.open(f"{which}.py", text)

    yield from _grown("an open document of 10 kB", DOCUMENTS_AT, costs, one)


def _turns(costs: _Costs) -> Iterator[Case]:
    """With recorded words, in one session."""
    words = {"type": "text", "text": "some words of an answer, "}
    update = {"sessionUpdate": "agent_message_chunk", "content": words}
    told = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": update}}

    def one(_: int) -> None:
        asked = costs.command("sidecar.prompt", prompt="go on", wait=True)
        request = json.loads(costs.server.until_line(costs.agent))
        assert request["method"] == "session/prompt", request
        for _update in range(UPDATES):
            costs.agent.send(told)
        costs.agent.send({"jsonrpc": "2.0", "id": request["id"], "result": {"stopReason": "end_turn"}})
        costs.server.answer(asked)

    yield from _grown(f"a turn with {UPDATES} updates", TURNS_AT, costs, one)


def _messages(costs: _Costs) -> Iterator[Case]:
    server, agent, scratch = costs.server, costs.agent, costs.scratch
    small, large = scratch.file("small.py", code(SMALL)), scratch.file("large.py", code(LARGE))
    for path, text in ((small, code(SMALL)), (large, code(LARGE))):
        uri = server.open(path.name, text)
        yield Case(
            f"a keystroke in {len(text):,} characters",
            _each(costs, lambda at=uri: server.send(server.burst(at, [[_TYPED]] * MESSAGES)), 1),
        )
        yield Case(
            f"a read of {len(text):,} characters, open",
            _each(costs, lambda at=path: agent.read(at)),
        )
    yield from _under_review(costs)
    closed = scratch.file("closed.py", code(10 * SMALL))
    yield Case(
        f"a read of {10 * SMALL:,} characters, on the disk",
        _each(costs, lambda: agent.read(closed)),
    )
    texts = [code(10 * SMALL), edited(code(10 * SMALL), 3)]

    def write() -> None:
        texts.reverse()
        agent.write(agent.request("fs/write_text_file", path=str(closed), content=texts[0]))
        answer = server.until_line(agent)
        assert b'"error"' not in answer[:200], answer[:1000]

    yield Case(f"a write of {10 * SMALL:,} characters, on the disk, journalled", _each(costs, write))


def _under_review(costs: _Costs) -> Iterator[Case]:
    """Keystrokes in a text that an agent has changed in very many places."""
    server, agent = costs.server, costs.agent
    lines = [f"line {number}\n" for number in range(4 * HUNKS)]
    path = costs.scratch.file("reviewed.py", "".join(lines))
    lines[::4] = ["changed\n"] * HUNKS
    agent.write(agent.reading(path))  # else it would not know that its text is gone
    server.until_line(agent)
    agent.write(agent.request("fs/write_text_file", path=str(path), content="".join(lines)))
    answer = server.until_line(agent)
    assert b'"error"' not in answer[:200], answer[:1000]
    uri = server.open(path.name, "".join(lines))

    def keys(lines: Iterable[int], *, wrong: bool = False) -> list[list[dict[str, object]]]:
        """A key in each of these lines; `wrong`: and backspace."""
        changes: list[list[dict[str, object]]] = []
        for line in lines:
            start, end = {"line": line, "character": 2}, {"line": line, "character": 3}
            changes.append([{"range": {"start": start, "end": start}, "text": "x"}])
            if wrong:
                changes.append([{"range": {"start": start, "end": end}, "text": ""}])
        return changes

    beside, on_them = range(2, 4 * MESSAGES, 4), range(0, 2 * MESSAGES, 4)
    kinds = {
        f"beside {HUNKS:,} hunks": keys([2] * MESSAGES),
        f"beside {HUNKS:,} hunks, each at another": keys(beside),
        f"beside {HUNKS:,} hunks, wrong and taken back": keys([6] * (MESSAGES // 2), wrong=True),
        f"in one of {HUNKS:,} hunks, wrong and taken back": keys(on_them, wrong=True),
    }
    for kind, changes in kinds.items():
        yield Case(
            f"a keystroke {kind}",
            _each(costs, lambda made=changes: server.send(server.burst(uri, made)), 1),
            target="≤ 0.2 ms",
        )


def _each(costs: _Costs, do: Callable[[], object], times: int | None = None) -> Callable[[], Seconds]:
    """The processor time of one. `times`: how often to call it; None: once a message."""

    def run() -> Seconds:
        costs.since()
        for _ in range(MESSAGES if times is None else times):
            do()
        return Seconds(costs.since()[0] / MESSAGES)

    return run
