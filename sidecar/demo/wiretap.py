"""Wiretap: records what really went over the wire between the sidecar and an agent, as evidence.

It is run by its path in place of the agent (`python wiretap.py LOG COMMAND…`; standard library only). It starts the
agent, passes on every byte, and copies each line to LOG: `>` before lines to the agent, `<` before lines from it. `Tap`
reads that file as it grows. So the demo need not believe the sidecar's or the agent's own account of what was read.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, BinaryIO, cast

from sidecar.core.json_types import JsonDict


@dataclass(slots=True)
class Read:
    path: str
    line: int | None
    limit: int | None
    text: str | None = None
    """None if unanswered or refused."""
    error: str = ""


@dataclass(slots=True)
class Write:
    path: str
    content: str
    answered: bool = False
    error: str = ""


class Tap:
    def __init__(self, log: str) -> None:
        self.reads: list[Read] = []
        self.writes: list[Write] = []
        self.embedded: list[tuple[str, str]] = []
        """Texts that were sent inside prompts: (URI, text)."""
        self._log = log
        self._offset = 0
        self._open: dict[object, Read | Write] = {}

    def poll(self) -> None:
        """Read what was logged since the last call; nothing if there is no log yet."""
        for mark, message in self._lines():
            method, params = message.get("method"), cast("JsonDict", message.get("params") or {})
            if mark == "<" and method == "fs/read_text_file":
                read = Read(params.get("path", ""), params.get("line"), params.get("limit"))
                self.reads.append(read)
                self._open[message.get("id")] = read
            elif mark == "<" and method == "fs/write_text_file":
                write = Write(params.get("path", ""), params.get("content", ""))
                self.writes.append(write)
                self._open[message.get("id")] = write
            elif mark == ">" and method == "session/prompt":
                blocks: list[JsonDict] = params.get("prompt") or []
                for block in blocks:
                    if block.get("type") == "resource":
                        self.embedded.append((block["resource"]["uri"], block["resource"].get("text", "")))
            elif mark == ">" and method is None:
                self._answered(message)

    def _answered(self, message: JsonDict) -> None:
        asked = self._open.pop(message.get("id"), None)
        if asked is None:
            return
        if "error" in message:
            asked.error = str(message["error"].get("message"))
        if isinstance(asked, Read):
            result: JsonDict = message.get("result") or {}
            asked.text = result.get("content")
        else:
            asked.answered = True

    def _lines(self) -> Iterator[tuple[str, JsonDict]]:
        try:
            with open(self._log, "rb") as log:
                log.seek(self._offset)
                for line in log:
                    if not line.endswith(b"\n"):
                        break  # half a line: the rest will come
                    self._offset += len(line)
                    try:
                        message: object = json.loads(line[1:])
                    except ValueError:
                        continue
                    if isinstance(message, dict):
                        yield line[:1].decode(), cast("JsonDict", message)
        except FileNotFoundError:
            pass


def main(log_path: str, command: list[str]) -> int:
    agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert agent.stdin is not None
    assert agent.stdout is not None
    lock = threading.Lock()
    with open(log_path, "ab") as log:
        arguments = (sys.stdin.buffer, agent.stdin, b">", log, lock)
        threading.Thread(target=_copy, args=arguments, daemon=True).start()
        _copy(agent.stdout, sys.stdout.buffer, b"<", log, lock)
    code = agent.wait()
    os._exit(code)  # the other thread may be blocked reading stdin, whose lock a normal exit would wait for


def _copy(source: IO[bytes], sink: IO[bytes], mark: bytes, log: BinaryIO, lock: threading.Lock) -> None:
    try:
        for line in source:
            with lock:
                log.write(mark + line)
                log.flush()
            sink.write(line)
            sink.flush()
    except (OSError, ValueError):
        pass  # one side is gone or the log is closed: the other side will end too
    finally:
        try:
            sink.close()
        except OSError:
            pass


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
