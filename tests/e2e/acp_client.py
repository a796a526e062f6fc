"""A tiny ACP client: what an agent does, without the sidecar. Files are a dictionary; every permission is granted."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

Message = dict[str, Any]


class AcpClient:
    def __init__(self, command: Sequence[str], env: dict[str, str], cwd: Path, *, fs: bool = True) -> None:
        self.files: dict[str, str] = {}
        self.received: list[Message] = []
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | env,
            cwd=cwd,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._next = 0
        capabilities = {"fs": {"readTextFile": fs, "writeTextFile": fs}}
        self.request("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
        self._session = self.request("session/new", {"cwd": str(cwd), "mcpServers": []})["sessionId"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout=10)
        self._reader.join(timeout=10)
        self._process.stdout.close()

    def prompt(self, text: str) -> str:
        """One turn; its stop reason."""
        blocks = [{"type": "text", "text": text}]
        return str(
            self.request("session/prompt", {"sessionId": self._session, "prompt": blocks})["stopReason"]
        )

    def said(self) -> str:
        """The text of all messages of the agent so far."""
        updates = [
            message["params"]["update"]
            for message in self.received
            if message.get("method") == "session/update"
        ]
        return "".join(
            update["content"]["text"]
            for update in updates
            if update["sessionUpdate"] == "agent_message_chunk"
        )

    def requests(self, method: str) -> list[Message]:
        """The parameters of every request of the agent for this method."""
        return [message["params"] for message in self.received if message.get("method") == method]

    def request(self, method: str, params: Message) -> Any:
        self._next += 1
        self._send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        while True:
            line = self._lines.get(timeout=60)
            assert line is not None, "the agent ended"
            message = json.loads(line)
            self.received.append(message)
            if "method" in message and "id" in message:
                self._send(
                    {
                        "jsonrpc": "2.0",
                        "id": message["id"],
                        **self._answer(message["method"], message["params"]),
                    }
                )
            elif message.get("id") == self._next:
                assert "result" in message, message
                return message["result"]

    def _answer(self, method: str, params: Message) -> Message:
        match method:
            case "fs/read_text_file" if params["path"] in self.files:
                lines = self.files[params["path"]].splitlines(keepends=True)
                first = (params.get("line") or 1) - 1
                return {"result": {"content": "".join(lines[first:][: params.get("limit")])}}
            case "fs/read_text_file":
                return {"error": {"code": -32002, "message": "Resource not found"}}
            case "fs/write_text_file":
                self.files[params["path"]] = params["content"]
                return {"result": {}}
            case "session/request_permission":
                return {
                    "result": {
                        "outcome": {"outcome": "selected", "optionId": params["options"][0]["optionId"]}
                    }
                }
            case _:
                return {"error": {"code": -32601, "message": "Method not found"}}

    def _send(self, message: Message) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)
