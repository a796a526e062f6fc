"""What a folder's size costs: the time from a prompt until the agent has it, the look at the folder's files, and the memory that it takes. And what a
file's size costs in memory while an agent's changes of it are under review, and once they are kept (Linux).

The prompt goes through a real sidecar, from the editor's command to the agent's line; each turn ends before the next one begins. The look is made in
this process, over the same folder, as a turn makes it: the first one, and one after that in which nothing changed. The exponent says how the
time of the look grows with the number of files: 1 is in proportion.
"""

from __future__ import annotations

import gc
import json
import math
import os
import shutil
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks._common import Amount, Case, Seconds
from benchmarks._common.processes import AgentEnd, Scratch, Server, resident_bytes, sidecar, unsupported
from benchmarks._common.texts import MB, code, edited
from sidecar import given_back
from sidecar.workspace.behind.tree_looks import TreeLooks
from sidecar.workspace.behind.tree_starts import TreeStart

WITH_GIT = (1_000, 10_000, 45_000, 300_000)
WITHOUT_GIT = (1_000, 10_000, 100_000)
IN_A_FOLDER = 20
NEVER = 2**63
FILES_MB = (1, 3, 9)
"""Sizes of the file that an agent writes again and again."""
WRITES = 6
SETTLE = 2 * given_back.QUIET + 1
"""Seconds until what is free was given back."""
COMMIT = ("-c", "user.name=n", "-c", "user.email=n@localhost", "commit", "-q", "-m", "m")


def cases() -> Iterator[Case]:
    if (why := unsupported()) is not None:
        raise SystemExit(why.why)
    if sys.platform.startswith("linux"):
        yield from _files()
    kinds = [("git", WITH_GIT)] if shutil.which("git") else []
    for kind, sizes in [*kinds, ("no git", WITHOUT_GIT)]:
        looks: list[tuple[int, float]] = []
        for size in sizes:
            with ExitStack() as stack:
                scratch = stack.enter_context(Scratch())
                make(scratch.files, size, in_git=kind == "git")
                facts = look(scratch.files, size, looks)
                prompts = _Prompts(stack, scratch)
                facts["first prompt"] = f"{prompts.first * 1000:.0f} ms"
                yield Case(f"{size:,} files, {kind}", prompts.run, {}, "≤ 50 ms; ≤ 100 bytes a file", facts)


def _files() -> Iterator[Case]:
    """In a process of its own each."""
    taken: list[tuple[int, float]] = []
    for megabytes in FILES_MB:
        with ExitStack() as stack:
            scratch = stack.enter_context(Scratch())
            server = sidecar(stack, scratch)
            agent = server.agent()
            written(server, agent, scratch.file("small.py", "x\n"), ["y\n"])  # what comes only once
            before = settled(server)
            text = code(megabytes * MB)
            texts = [edited(text, 40, seed) for seed in range(WRITES)]
            written(server, agent, scratch.file("large.py", text), texts)
            reviewed = max(settled(server) - before, 1)
            keep = {"command": "sidecar.keep", "arguments": [{"all": True}]}
            assert server.request("workspace/executeCommand", keep)["kept"]
            left = settled(server) - before
        taken.append((megabytes, reviewed))
        facts: dict[str, float | str] = {"once kept": f"{left / len(text):.1f} × its text"}
        if len(taken) > 1:
            facts["exponent"] = f"{exponent(taken):.2f}"
        times = Amount(reviewed / len(text))
        yield Case(
            f"{megabytes} MB under review", lambda times=times: times, {}, "≤ 3 × its text", facts, unit="×"
        )


def written(server: Server, agent: AgentEnd, path: Path, texts: Sequence[str]) -> None:
    """Reads the file before each write, as agents do."""
    for text in texts:
        for request in (
            agent.reading(path),
            agent.request("fs/write_text_file", path=str(path), content=text),
        ):
            agent.write(request)
            answer = server.until_line(agent)
            assert b'"error"' not in answer[:200], answer[:1000]
    assert path.read_text() == texts[-1]


def settled(server: Server) -> int:
    """Resident bytes, once what is free was given back."""
    server.barrier()
    time.sleep(SETTLE)
    found = resident_bytes(server.pid)
    assert found is not None
    return found


def exponent(taken: Sequence[tuple[int, float]]) -> float:
    """How it grows from the first to the last: 1 is in proportion. `taken`: sizes, and what each took."""
    (few, least), (many, most) = taken[0], taken[-1]
    return math.log(most / least) / math.log(many / few)


def make(folder: Path, size: int, *, in_git: bool) -> None:
    """Files of which git looked at all after they had been written."""
    for number in range(size):
        path = (
            folder
            / f"part{number // IN_A_FOLDER // 50}"
            / f"module{number // IN_A_FOLDER}"
            / f"name{number}.py"
        )
        if number % IN_A_FOLDER == 0:
            path.parent.mkdir(parents=True)
        path.write_text(f"line = {number}\n" * 5)
        os.utime(path, (1_000_000_000, 1_000_000_000))
    for words in (("init", "-q"), ("add", "."), COMMIT) if in_git else ():
        subprocess.run(["git", *words], cwd=folder, check=True)


def look(folder: Path, size: int, earlier: list[tuple[int, float]]) -> dict[str, float | str]:
    """Times and memory of looks in this process. `earlier`: sizes and times of others of the kind, to which this one is added."""
    looks, times = TreeLooks(), list[float]()
    tracemalloc.start()
    found = looks.now(str(folder), NEVER)
    starts = [TreeStart(note) for note in found.notes]
    gc.collect()
    kept = sum(len(data) for note in found.notes for data in note.kept.values())
    one = tracemalloc.get_traced_memory()[0] - kept
    starts += [TreeStart(note) for note in looks.now(str(folder), NEVER).notes]
    gc.collect()
    more = tracemalloc.get_traced_memory()[0] - kept - one
    tracemalloc.stop()
    looks = TreeLooks()
    for _ in range(2):
        began = time.perf_counter()
        assert sum(len(note.files) for note in looks.now(str(folder), NEVER).notes) == size
        times.append(time.perf_counter() - began)
    earlier.append((size, times[1]))
    facts: dict[str, float | str] = {
        "first look": f"{times[0]:.3f} s",
        "later": f"{times[1]:.3f} s",
        "bytes a file beside contents": f"{one / size:.0f}",
        "each further session": f"{more / size:.0f}",
    }
    if len(earlier) > 1:
        facts["exponent"] = f"{exponent(earlier):.2f}"
    return facts


class _Prompts:
    """A sidecar with a session in the folder."""

    def __init__(self, stack: ExitStack, scratch: Scratch) -> None:
        self._server: Server = sidecar(stack, scratch)
        self._agent: AgentEnd = self._server.agent(prompted=False)
        self.first = self.run()

    def run(self) -> Seconds:
        began = time.perf_counter()
        asked = self._command("sidecar.prompt", prompt="go", wait=True)
        message = json.loads(self._server.until_line(self._agent))
        taken = time.perf_counter() - began
        assert message["method"] == "session/prompt"
        self._agent.send({"jsonrpc": "2.0", "id": message["id"], "result": {"stopReason": "end_turn"}})
        self._server.answer(asked)
        return Seconds(taken)

    def _command(self, name: str, **argument: object) -> int:
        return self._server.ask("workspace/executeCommand", {"command": name, "arguments": [argument]})
