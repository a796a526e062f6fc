"""An agent's whole-file write: its request's first byte leaves, the whole workspace/applyEdit is there, through real processes.

The edits are applied here and must give the agent's text; the editor then tells them back as its didChange, as editors do.
The journal's commit is in between, so the same is measured with a journal that forgets at once. Each write is of a text that
nobody has seen before. "CPU" is the least processor time of all the sidecar's threads until then (Linux): on a busy machine it
tells the journal's part better than the clock does.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

from benchmarks._common import Case, Missing, Seconds, have, hosts
from benchmarks._common.measure import Run
from benchmarks._common.processes import Scratch, cpu_seconds, unsupported
from benchmarks._common.texts import MB, code, edited

WITHOUT_COMMITS = (sys.executable, "-m", "benchmarks._peers.sidecar_without_commits")


def cases() -> Iterator[Case]:
    if (why := unsupported()) is not None:
        raise SystemExit(why.why)
    with ExitStack() as stack:
        without = hosts.ours(stack, stack.enter_context(Scratch()), *WITHOUT_COMMITS)
        whole = hosts.ours(stack, stack.enter_context(Scratch()))
        others = hosts.peers(stack, stack.enter_context(Scratch()))
        for name, size, edits, target in (
            ("10 MB, 100 edits", 10 * MB, 100, "≤ 25 ms without the journal; size ≤ 1.0 × xdiff's"),
            ("100 KB, 5 edits", MB // 10, 5, ""),
        ):
            text = code(size)
            facts: dict[str, float | str] = {"journal": "none"}
            ours = _Writes(without, name, text, edits, facts, "CPU")
            peers: dict[str, Run | Missing] = {
                "ours with the journal": _Writes(whole, name, text, edits, facts, "CPU with the journal").run
            }
            for peer, host in others.items():
                # They have no edit to make of it: this is what it takes to be handed the text.
                words = f"{peer}, only taken in"
                peers[words] = (
                    host if isinstance(host, Missing) else _taken_in(host, name, edited(text, edits))
                )
            yield Case(name, ours.run, peers, target, facts)


class _Writes:
    """One document of ours, edited once more in each round."""

    def __init__(
        self, host: hosts.Host, name: str, text: str, edits: int, facts: dict[str, float | str], cpu: str
    ) -> None:
        """`cpu`: what its processor time is called among the facts."""
        self._host = host
        self._text, self._edits, self._round = text, edits, 0
        self._cpu, self._least = cpu, math.inf
        self._path = host.server.scratch.file(f"{name}.txt".replace(" ", ""), text)
        self._uri = host.server.open(self._path.name, text)
        assert host.agent.read(self._path) == text
        self._facts = facts

    def run(self) -> Seconds:
        self._round += 1
        before, wanted = self._text, edited(self._text, self._edits, self._round)
        agent, server = self._host.agent, self._host.server
        request = agent.request("fs/write_text_file", path=str(self._path), content=wanted)
        used = cpu_seconds(server.pid)
        start = time.perf_counter()
        agent.write(request)
        while b'"workspace/applyEdit"' not in (message := server.receive_bytes())[:100]:
            server.decline(json.loads(message))
        taken = time.perf_counter() - start
        if used is not None and (now := cpu_seconds(server.pid)) is not None:
            self._least = min(self._least, now - used)
            self._facts[self._cpu] = f"{self._least * 1000:.1f} ms"
        asked = json.loads(message)
        (change,) = asked["params"]["edit"]["documentChanges"]
        assert change["textDocument"] == server.document(self._uri)
        after, size = _applied(before, change["edits"])
        assert after == wanted, "the edits do not give the text"
        self._measured(before, wanted, len(change["edits"]), size, len(message))
        server.send(server.burst(self._uri, [[_told(edit) for edit in reversed(change["edits"])]]))
        server.reply(asked["id"], {"applied": True})
        answer = server.until_line(agent)
        assert b'"error"' not in answer[:200], answer[:1000]
        self._text = wanted
        return Seconds(taken)

    def _measured(self, before: str, wanted: str, edits: int, size: int, message: int) -> None:
        if "edits" in self._facts:
            return
        self._facts |= {"edits": edits, "edit size": size, "applyEdit": f"{message} bytes"}
        pygit2 = have("pygit2")
        if not isinstance(pygit2, Missing):
            patch = pygit2.Patch.create_from(
                before.encode(), wanted.encode(), context_lines=0, interhunk_lines=0
            )
            lines = (line for hunk in patch.hunks for line in hunk.lines if line.origin in "+-")
            self._facts["of xdiff's"] = round(size / max(1, sum(len(line.content) for line in lines)), 3)


def _taken_in(host: hosts.Host, name: str, text: str) -> Callable[[], Seconds]:
    path = host.server.scratch.file(f"{name}.txt".replace(" ", ""), "")

    def run() -> Seconds:
        request = host.agent.request("fs/write_text_file", path=str(path), content=text)
        start = time.perf_counter()
        host.agent.write(request)
        answer = host.agent.line()
        taken = time.perf_counter() - start
        assert b'"result"' in answer, answer
        return Seconds(taken)

    return run


def _applied(text: str, edits: list[dict[str, object]]) -> tuple[str, int]:
    """The text that TextEdits lead to, and how many characters they delete and insert. ASCII only."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    parts: list[str] = []
    done = size = 0
    for edit in edits:
        start, end = (starts[place["line"]] + place["character"] for place in _places(edit))
        new = str(edit["newText"])
        assert start >= done, "the edits are out of order"
        parts += [text[done:start], new]
        done = end
        size += end - start + len(new)
    return "".join([*parts, text[done:]]), size


def _places(edit: dict[str, object]) -> tuple[dict[str, int], dict[str, int]]:
    span = edit["range"]
    assert isinstance(span, dict)
    return span["start"], span["end"]


def _told(edit: dict[str, object]) -> dict[str, object]:
    return {"range": edit["range"], "text": edit["newText"]}
