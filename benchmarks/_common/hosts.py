"""Hosts of an agent: ours and the two SDKs', each with its editor and its agent in this process, and the bare pipe."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks._common import node
from benchmarks._common.keystrokes import Key, Keystrokes
from benchmarks._common.measure import Missing
from benchmarks._common.processes import PEERS, SIDECAR, AgentEnd, Scratch, Server, enlarge, sidecar

TYPESCRIPT = "TypeScript SDK"
PYTHON = "Python SDK"


class Host:
    """A server with an agent, and the documents that are open in it."""

    def __init__(self, name: str, server: Server, agent: AgentEnd) -> None:
        self.name = name
        self.server = server
        self.agent = agent

    def open(self, file: str, text: str) -> Open:
        return Open(self, file, text)


class Open:
    """A document open in a host, which is on the disk too, and typed into: its text is not the file's."""

    def __init__(self, host: Host, file: str, text: str) -> None:
        self.host = host
        self.path: Path = host.server.scratch.files / file
        self.uri = host.server.open(file, text)
        self.typist = Keystrokes(text, 1).typist()
        self.key()

    def key_bytes(self) -> tuple[Key, bytes]:
        """The next keystroke, to be sent."""
        (key,) = self.typist.keys(1)
        return key, self.host.server.burst(self.uri, [[key.as_change()]])

    def key(self) -> None:
        """Types one and waits until it was taken."""
        _, data = self.key_bytes()
        self.host.server.send(data)
        self.host.server.barrier()

    def check(self) -> None:
        self.typist.check(self.host.name, self.host.agent.read(self.path))


def ours(stack: ExitStack, scratch: Scratch, *command: str) -> Host:
    server = sidecar(stack, scratch, *(command or SIDECAR))
    return Host("ours", server, server.agent())


def peers(stack: ExitStack, scratch: Scratch) -> dict[str, Host | Missing]:
    """By name."""
    commands: dict[str, list[str] | Missing] = {
        TYPESCRIPT: node.command("lsp_and_agents.mjs", "--expose-gc"),
        PYTHON: [sys.executable, "-m", "benchmarks._peers.pygls_and_acp"],
    }
    found: dict[str, Host | Missing] = {}
    for name, command in commands.items():
        if isinstance(command, Missing):
            found[name] = command
            continue
        server = stack.enter_context(Server(command, scratch))
        server.initialize()
        found[name] = Host(name, server, server.agent("bench/agent"))
    return found


def echo(stack: ExitStack, answer: Path) -> AgentEnd:
    """Two pipes and a process that answers every line with the bytes of a file: no host can be faster."""
    return started(stack, echoing(answer))


def echoing(answer: Path) -> list[str]:
    return [sys.executable, "-S", str(PEERS / "echo.py"), str(answer)]


def started(stack: ExitStack, command: Sequence[str], **how: Any) -> AgentEnd:
    """A process between two pipes. `how`: of Popen."""
    child_in, writing = os.pipe()
    reading, child_out = os.pipe()
    enlarge(writing)
    enlarge(reading)
    process = subprocess.Popen(command, stdin=child_in, stdout=child_out, **how)
    os.close(child_in)
    os.close(child_out)
    end = AgentEnd(reading, writing)
    stack.callback(process.wait)
    stack.callback(end.close)  # first: the end of its input is its end
    return end


__all__ = ["PYTHON", "TYPESCRIPT", "Host", "Open", "echo", "echoing", "ours", "peers", "started"]
