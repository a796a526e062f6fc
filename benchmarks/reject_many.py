"""Reject all, over the files that an agent changed: from the command's first byte to its answer, against the bare system calls.

The peer writes the same bytes as safely as can be, one file after another: a temporary file, fsync, rename, and fsync of the folder.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks._common import Case, Seconds
from benchmarks._common.processes import AgentEnd, Scratch, Server, cpu_seconds, sidecar, unsupported
from benchmarks._common.texts import code, edited

FILES = 500
SIZE = 4_000
"""Characters of each."""
PAUSE = 0.005
"""Seconds between two requests that the server is asked meanwhile."""


def cases() -> Iterator[Case]:
    if (why := unsupported()) is not None:
        raise SystemExit(why.why)
    with ExitStack() as stack:
        scratch = stack.enter_context(Scratch())
        server = sidecar(stack, scratch)
        work = _Work(server, server.agent(), scratch)
        peers = {"one file after another, bare": work.bare}
        yield Case(f"{FILES} files", work.run, peers, "≤ 1 s; the loop held ≤ 20 ms", work.facts)


class _Work:
    def __init__(self, server: Server, agent: AgentEnd, scratch: Scratch) -> None:
        self._server = server
        self._agent = agent
        self._before = code(SIZE)
        self._after = edited(self._before, 3)
        folder = scratch.files / "many"
        folder.mkdir()
        self._bare = scratch.files / "bare"
        self._bare.mkdir()
        self._paths = [folder / f"f{i}.py" for i in range(FILES)]
        for path in self._paths:
            path.write_text(self._before, "utf-8")
        self.facts: dict[str, float | str] = {}

    def run(self) -> Seconds:
        for path in self._paths:
            self._agent.write(self._agent.reading(path))  # else it would not know that its text is gone
            self._server.until_line(self._agent)
            self._agent.write(self._agent.request("fs/write_text_file", path=str(path), content=self._after))
            answer = self._server.until_line(self._agent)
            assert b'"error"' not in answer[:200], answer[:1000]
        self._server.barrier()
        assert all(path.read_text("utf-8") == self._after for path in self._paths), "nothing to reject"
        cpu = cpu_seconds(self._server.pid)
        start = time.perf_counter()
        asked = self._server.ask(
            "workspace/executeCommand", {"command": "sidecar.reject", "arguments": [{"all": True}]}
        )
        result, waited = self._answer(asked)
        taken = time.perf_counter() - start
        assert not result["impossible"], result["impossible"][:3]
        assert all(path.read_text("utf-8") == self._before for path in self._paths)
        computed = cpu_seconds(self._server.pid)
        if cpu is not None and computed is not None:
            self.facts["CPU"] = f"{computed - cpu:.2f} s"
        self.facts["answers meanwhile, p99"] = f"{sorted(waited)[len(waited) * 99 // 100] * 1000:.0f} ms"
        self.facts["longest"] = f"{max(waited) * 1000:.0f} ms"
        return Seconds(taken)

    def _answer(self, asked: int) -> tuple[dict[str, list[object]], list[float]]:
        """The command's answer, and how long each request waited for its answer meanwhile."""
        waited, sent, barrier = list[float](), 0.0, 0
        while True:
            if not barrier:
                time.sleep(PAUSE)
                sent, barrier = time.perf_counter(), self._server.ask("bench/nothing", {})
            message = self._server.receive()
            if message.get("id") == barrier:
                waited.append(time.perf_counter() - sent)
                barrier = 0
            elif message.get("id") == asked and "method" not in message:
                while barrier and self._server.receive().get("id") != barrier:
                    pass
                return message["result"], waited
            else:
                self._server.decline(message)

    def bare(self) -> Seconds:
        start = time.perf_counter()
        folder = os.open(self._bare, os.O_RDONLY)
        for i in range(FILES):
            name = self._bare / f"f{i}.py"
            _put(name, self._before.encode())
            os.fsync(folder)
        os.close(folder)
        return Seconds(time.perf_counter() - start)


def _put(name: Path, data: bytes) -> None:
    temporary = os.open(f"{name}.new", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.write(temporary, data)
    os.fsync(temporary)
    os.close(temporary)
    os.rename(f"{name}.new", name)
