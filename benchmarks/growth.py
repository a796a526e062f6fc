"""What a folder's size costs: the time from a prompt until the agent has it, the look at the folder's files, and the memory that it takes. And what a
file's size costs in memory while an agent's changes of it are under review, and once they are kept (Linux). Before that, what grows with the bytes of a write and
with the number of hunks, documents, sessions, turns, and entries of the journal: each beside the same work done by bare system calls, by xdiff, by a
process that only echoes, or by bare SQLite.

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
import sqlite3
import subprocess
import sys
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks._common import Amount, Case, Missing, Seconds, have, hosts
from benchmarks._common.processes import (
    AgentEnd,
    Scratch,
    Server,
    cpu_seconds,
    resident_bytes,
    sidecar,
    unsupported,
)
from benchmarks._common.texts import MB, code, edited
from sidecar import given_back
from sidecar.core.hunks import line_hunks
from sidecar.journal import Store
from sidecar.journal.entry import Entry
from sidecar.journal.retention import RetentionLimits
from sidecar.workspace.behind.tree_looks import TreeLooks
from sidecar.workspace.behind.tree_starts import TreeStart

WITH_GIT = (1_000, 10_000, 45_000, 300_000)
WITHOUT_GIT = (1_000, 10_000, 100_000)
IN_A_FOLDER = 20
HUNKS_AT = (100, 1_000, 10_000)
DOCUMENTS_AT = (100, 400, 1_600)
SESSIONS_AT = (10, 40, 160)
TURNS_AT = (25, 100, 400)
JOURNAL_AT = (20, 80, 320)
"""Sessions in the journal, of five writes each."""
ECHO = "pipe echo"
Pair = tuple[float, float, Mapping[str, float | str]]
"""Seconds of ours and of the peer, and what else there is to say."""
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
    yield from _bytes()
    yield from _hunks()
    yield from _documents()
    yield from _sessions()
    yield from _turns()
    yield from _journal()
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


def _rows(what: str, beside: str, taken: Sequence[tuple[int, Pair]], target: str) -> Iterator[Case]:
    """One for each size. The exponents are those of ours and of the peer, from the first size on."""
    for at, (size, (ours, theirs, told)) in enumerate(taken):
        facts = dict(told)
        if at:
            facts["exponent"] = f"{exponent([(size, pair[0]) for size, pair in taken[: at + 1]]):.2f}"
            facts["peer's"] = f"{exponent([(size, pair[1]) for size, pair in taken[: at + 1]]):.2f}"
        peers = {beside: lambda theirs=theirs: Seconds(theirs)}
        yield Case(f"{size:,} {what}", lambda ours=ours: Seconds(ours), peers, target, facts)


def _hunks() -> Iterator[Case]:
    """A word in every tenth line is another one: the hunks of that write."""
    pygit2 = have("pygit2")
    taken: list[tuple[int, Pair]] = []
    for many in HUNKS_AT:
        lines = [
            f"    the value of line {number} = {number * 7919 % 1000003}\n" for number in range(10 * many)
        ]
        old = "".join(lines)
        lines[5::10] = [line.replace("value", "worth") for line in lines[5::10]]
        new = "".join(lines)
        assert len(line_hunks(old, new)) == many
        ours = best(partial(line_hunks, old, new))
        if isinstance(pygit2, Missing):
            yield Case(
                f"{many:,} hunks of one write", lambda ours=ours: Seconds(ours), {"libgit2 xdiff": pygit2}
            )
            continue
        create = partial(pygit2.Patch.create_from, context_lines=0, interhunk_lines=0)
        theirs = best(partial(create, old.encode(), new.encode()))
        taken.append((many, (ours, theirs, {})))
    yield from _rows("hunks of one write", "libgit2 xdiff", taken, "≤ 2 × xdiff")


def _bytes() -> Iterator[Case]:
    """An agent's write of a file that is not open, journalled, until it is answered; the least of some."""
    taken: list[tuple[int, Pair]] = []
    for megabytes in FILES_MB:
        with ExitStack() as stack:
            scratch = stack.enter_context(Scratch())
            agent = (server := sidecar(stack, scratch)).agent()
            text = code(megabytes * MB)
            path, bare = scratch.file("large.py", text), scratch.file("bare.py", text)
            times: list[Pair] = []
            for number in range(WRITES):
                text = edited(text, 40, number)
                agent.write(agent.reading(path))
                server.until_line(agent)
                request = agent.request("fs/write_text_file", path=str(path), content=text)
                began = time.perf_counter()
                agent.write(request)
                answer = server.until_line(agent)
                ours = time.perf_counter() - began
                assert b'"error"' not in answer[:200], answer[:1000]
                times.append((ours, replaced(bare, text), {}))
            assert path.read_text() == text
            ours, theirs = min(pair[0] for pair in times), min(pair[1] for pair in times)
            taken.append((megabytes, (ours, theirs, {"first write": f"{times[0][0] * 1000:.0f} ms"})))
    yield from _rows("MB of one write on the disk", "bare write, sync and rename", taken, "in proportion")


def replaced(path: Path, text: str) -> float:
    """Seconds to replace a file as safely by bare system calls."""
    began = time.perf_counter()
    other = path.with_suffix(".new")
    with other.open("wb") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    other.replace(path)
    return time.perf_counter() - began


def _documents() -> Iterator[Case]:
    """Documents of 10 kB that the editor opens, until all are there; the pipe echo is sent the same texts."""
    text = code(10_000)
    taken: list[tuple[int, Pair]] = []
    for many in DOCUMENTS_AT:
        with ExitStack() as stack:
            scratch = stack.enter_context(Scratch())
            server = sidecar(stack, scratch)
            names = [scratch.file(f"{number}.py", text).name for number in range(many + 1)]
            server.open(names[0], text)  # what comes only once
            used, began = cpu_seconds(server.pid), time.perf_counter()
            for name in names[1:]:
                server.open(name, text)
            ours, now = time.perf_counter() - began, cpu_seconds(server.pid)
            facts: dict[str, float | str] = {}
            if used is not None and now is not None:
                facts["CPU each"] = f"{(now - used) / many * 1000:.2f} ms"
            end = hosts.echo(stack, scratch.file("answer", "{}\n"))
            line = json.dumps(text).encode() + b"\n"
            began = time.perf_counter()
            for _ in range(many):
                end.write(line)
                end.line()
            taken.append((many, (ours, time.perf_counter() - began, facts)))
    yield from _rows("documents opened", ECHO, taken, "in proportion")


def _sessions() -> Iterator[Case]:
    """Of one agent: from the first request until all are open."""

    def one(server: Server, agent: AgentEnd, which: int) -> None:
        request = asked(server, agent, "sidecar.newSession", "session/new", {"agent": "bench"})
        agent.send({"jsonrpc": "2.0", "id": request.id, "result": {"sessionId": f"session {which}"}})
        server.answer(request.command)

    yield from _rows("sessions opened", ECHO, list(_beside_echo(SESSIONS_AT, one)), "in proportion")


def _turns() -> Iterator[Case]:
    """Of one session, with words that are recorded."""
    words = {"type": "text", "text": "some words of an answer, "}
    update = {"sessionUpdate": "agent_message_chunk", "content": words}
    told = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": update}}

    def one(server: Server, agent: AgentEnd, _: int) -> None:
        request = asked(server, agent, "sidecar.prompt", "session/prompt", {"prompt": "go on", "wait": True})
        agent.send(told)
        agent.send({"jsonrpc": "2.0", "id": request.id, "result": {"stopReason": "end_turn"}})
        server.answer(request.command)

    yield from _rows("turns of a session", ECHO, list(_beside_echo(TURNS_AT, one)), "in proportion")


class Asked(NamedTuple):
    command: int
    """To be answered by the sidecar."""
    id: object
    """Of its request to the agent."""


def asked(server: Server, agent: AgentEnd, command: str, expected: str, argument: object) -> Asked:
    """Has the sidecar carry out a command, for which it asks the agent something."""
    serial = server.ask("workspace/executeCommand", {"command": command, "arguments": [argument]})
    request = json.loads(server.until_line(agent))
    assert request["method"] == expected, request
    return Asked(serial, request["id"])


def _beside_echo(
    numbers: Sequence[int], one: Callable[[Server, AgentEnd, int], None]
) -> Iterator[tuple[int, Pair]]:
    """Each number in a sidecar of its own, which has done it once before."""
    for many in numbers:
        with ExitStack() as stack:
            scratch = stack.enter_context(Scratch())
            server = sidecar(stack, scratch)
            agent = server.agent(prompted=False)
            one(server, agent, many)
            began = time.perf_counter()
            for which in range(many):
                one(server, agent, which)
            ours = time.perf_counter() - began
            end = hosts.echo(stack, scratch.file("answer", "{}\n"))
            began = time.perf_counter()
            for _ in range(2 * many):  # the way to the sidecar, and from there to the agent
                end.write(b"{}\n")
                end.line()
            yield many, (ours, time.perf_counter() - began, {"each": f"{ours / many * 1000:.1f} ms"})


def _journal() -> Iterator[Case]:
    """So many closed sessions of five writes each; four fifths are too much."""
    taken: list[tuple[int, Pair]] = []
    for many in JOURNAL_AT:
        with ExitStack() as stack:
            folder = stack.enter_context(Scratch()).path
            texts = [os.urandom(3_000).hex() for _ in range(5 * many)]
            store = stack.enter_context(Store(folder / "journal"))
            for number, text in enumerate(texts):
                store.finish(store.begin(written_by(f"s{number // 5}", f"/w/{number}", text)), "done")
            for session in range(many):
                store.session_closed(f"s{session}")
            store.tidy()
            limits = RetentionLimits(bytes=(folder / "journal" / "journal.sqlite3").stat().st_size // 5)
            slices: list[float] = []
            done = False
            while not done:
                began = time.perf_counter()
                done = store.tidy_slice(limits) is not None
                slices.append(time.perf_counter() - began)
            facts = {"longest slice": f"{max(slices) * 1000:.0f} ms", "slices": len(slices)}
            taken.append((5 * many, (sum(slices), bare_sqlite(folder, texts), facts)))
    yield from _rows("entries of the journal, to a fifth", "bare SQLite", taken, "in proportion")


def written_by(session: str, path: str, text: str) -> Entry:
    return Entry(session, "agent", 1, None, "/w", path, None, text, "utf-8", b"", "disk")


def bare_sqlite(folder: Path, texts: Sequence[str]) -> float:
    """Seconds to delete four fifths of as many rows as safely, in one go."""
    connection = sqlite3.connect(folder / "bare", isolation_level=None)
    with closing(connection):
        for words in ("secure_delete = ON", "auto_vacuum = INCREMENTAL", "journal_mode = WAL"):
            connection.execute(f"PRAGMA {words}")
        connection.execute("CREATE TABLE texts (id INTEGER PRIMARY KEY, data BLOB NOT NULL)")
        rows = ((zlib.compress(text.encode(), 1),) for text in texts)
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO texts (data) VALUES (?)", rows)
        connection.execute("COMMIT")
        began = time.perf_counter()
        connection.execute("DELETE FROM texts WHERE id <= ?", (len(texts) * 4 // 5,))
        connection.executescript("PRAGMA incremental_vacuum")
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        return time.perf_counter() - began


def best(work: Callable[[], object]) -> float:
    """Seconds, the least of three."""
    times: list[float] = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


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
