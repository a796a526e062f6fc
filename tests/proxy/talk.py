"""A client of raw bytes, of an agent or of a proxy with the agent behind it. Every byte of both directions is kept."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pytest

from tests.gates.product import COMMAND
from tests.support import agents

processes = pytest.mark.skipif(sys.platform == "win32", reason="the proxy is not available on Windows yet")
Message = dict[str, Any]
HANGS = 60.0
"""Seconds: a bound on hanging."""
LIMIT = 80 * 1024 * 1024


def behind_proxy(argv: Sequence[str], *options: str) -> list[str]:
    """The command of a proxy with this agent behind it."""
    return [COMMAND[0], "proxy", *options, "--", *argv]


def agent(script: Message, trace: Path | None = None, file: Path | None = None) -> list[str]:
    return agents.argv(script, trace, file)


class Talk:
    def __init__(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None) -> None:
        self.argv = list(argv)
        self.cwd = cwd
        self.env = {**os.environ, **(env or {})}
        self.received = b""
        self.asked: list[Message] = []
        """What the agent asked for or told, and the client got."""
        self.answer: Callable[[Message], Message | None] = lambda message: {
            "error": {"code": -32601, "message": "Method not found"}
        }
        """Of the client, to a request of the agent's: `result` or `error`; None: it says nothing."""
        self.errors = b""
        self._answers: dict[Any, asyncio.Future[Message]] = {}
        self._serial = 100
        self.changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            *self.argv, stdin=pipe, stdout=pipe, stderr=pipe, cwd=self.cwd, env=self.env, limit=LIMIT
        )
        self._reading = asyncio.gather(self._read(), self._read_errors())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process.returncode is None:
            await self.hang_up()

    async def hang_up(self) -> int:
        """The end of input; the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await self.ended()

    async def ended(self) -> int:
        async with asyncio.timeout(HANGS):
            await self._reading
            return await self.process.wait()

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    async def ask(self, method: str, params: object = None, **more: object) -> Message:
        """The whole answer."""
        self._serial += 1
        message = {"jsonrpc": "2.0", "id": self._serial, "method": method, "params": params or {}, **more}
        return await self.ask_raw(json.dumps(message).encode() + b"\n", self._serial)

    async def ask_raw(self, line: bytes, number: object) -> Message:
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self.write(line)
        async with asyncio.timeout(HANGS):
            return await answer

    def tell(self, method: str, params: object = None) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}}).encode() + b"\n")

    async def session(self, cwd: Path | str | None = None, capabilities: Message | None = None) -> str:
        """Shakes hands and opens one."""
        await self.ask("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities or {}})
        opened = await self.ask("session/new", {"cwd": str(cwd or self.cwd), "mcpServers": []})
        assert "result" in opened, opened
        return str(opened["result"]["sessionId"])

    async def prompt(self, session: str, text: str = "go") -> Message:
        blocks = [{"type": "text", "text": text}]
        return await self.ask("session/prompt", {"sessionId": session, "prompt": blocks})

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(HANGS):
            while not condition():
                self.changed.clear()
                await self.changed.wait()

    def said(self) -> list[str]:
        """The texts of the agent's messages."""
        updates = [m["params"]["update"] for m in self.asked if m.get("method") == "session/update"]
        return [u["content"]["text"] for u in updates if u.get("sessionUpdate") == "agent_message_chunk"]

    def answers(self) -> list[Message]:
        """What the agent was answered, where its script says so by `{"say": {"answer": …}}`."""
        return [json.loads(text) for text in self.said()]

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            self.received += line
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(message, dict):
                self._heard(message)
            self.changed.set()
        self.changed.set()

    def _heard(self, message: Message) -> None:
        if "method" in message:
            self.asked.append(message)
            if "id" in message and (answer := self.answer(message)) is not None:
                self.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}).encode() + b"\n")
        elif (waiting := self._answers.pop(message.get("id"), None)) is not None:
            waiting.set_result(message)

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(65536):
            self.errors += data
