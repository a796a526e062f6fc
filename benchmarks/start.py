"""From starting a server's process to its answer to `initialize`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from benchmarks._common import Case, Missing, Seconds, node
from benchmarks._common.measure import Run
from benchmarks._common.processes import SIDECAR, Scratch, Server, initialize_params, unsupported

NODE = "vscode-languageserver"
PYGLS = "pygls"


def cases() -> Iterator[Case]:
    if (why := unsupported()) is not None:
        raise SystemExit(why.why)
    with ExitStack() as stack:
        scratch = stack.enter_context(Scratch())
        by_node = node.command("lsp_server.mjs")
        peers: dict[str, Run | Missing] = {
            NODE: by_node if isinstance(by_node, Missing) else _start(by_node, scratch),
            PYGLS: _start([sys.executable, "-m", "benchmarks._peers.pygls_server"], scratch),
        }
        yield Case("start to initialize answered", _start(SIDECAR, scratch), peers, "ahead of vscode's")


def _start(command: Sequence[str], scratch: Scratch) -> Callable[[], Seconds]:
    def run() -> Seconds:
        start = time.perf_counter()
        with Server(command, scratch) as server:
            answer = server.request("initialize", initialize_params(scratch))
            taken = time.perf_counter() - start
            assert "capabilities" in answer
        return Seconds(taken)

    return run
