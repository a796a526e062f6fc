"""A language server that only listens, and asks the editor whatever a test tells it to: what editors do, without the sidecar.

    python probe_server.py CONTROL [--encoding utf-8|utf-16|utf-32]

CONTROL is a unix socket that it makes. Each connection carries one JSON line in and one out:
    {"request": METHOD, "params": …, "within": seconds}  →  the editor's whole response, {} when there was none
    {"notify": METHOD, "params": …}                      →  {}
    {"seen": FROM}                                       →  every message that came from the editor, from number FROM on
Standard library only; run by the editor, as any server.
"""

from __future__ import annotations

import json
import queue
import socket
import sys
import threading
from pathlib import Path
from typing import Any

Message = dict[str, Any]


class Server:
    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._writing = threading.Lock()
        self._answers: dict[int, queue.SimpleQueue[Message]] = {}
        self._next = 0
        self._asked: dict[int, str] = {}
        """The texts of the user's open questions, as `sidecar.status` names them."""
        self.seen: list[Message] = []

    def run(self) -> None:
        while (message := self._receive()) is not None:
            self.seen.append(message)
            method = message.get("method")
            if method == "exit":
                return
            if method is None:
                self._asked.pop(message["id"], None)
                waiting = self._answers.pop(message["id"], None)
                if waiting is not None:
                    waiting.put(message)
            elif "id" in message:
                self._send({"jsonrpc": "2.0", "id": message["id"], "result": self._result(method, message)})

    def _result(self, method: str, message: Message) -> object:
        if method == "workspace/executeCommand" and message["params"]["command"] == "sidecar.status":
            return {"questions": [{"text": text} for text in self._asked.values()]}
        if method != "initialize":
            return None
        offered = message["params"].get("capabilities", {}).get("general", {}).get("positionEncodings")
        capabilities: Message = {
            "textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": True}},
            "executeCommandProvider": {"commands": ["sidecar.prompt"]},
        }
        if offered and self._encoding in offered:
            capabilities["positionEncoding"] = self._encoding
        return {"capabilities": capabilities, "serverInfo": {"name": "probe"}}

    def request(self, method: str, params: Any, within: float) -> Message:
        self._next += 1
        number = self._next
        if method == "window/showMessageRequest":
            self._asked[number] = params["message"]
        answer: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._answers[number] = answer
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            return answer.get(timeout=within)
        except queue.Empty:
            return {}

    def notify(self, method: str, params: object) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def _receive(self) -> Message | None:
        length = 0
        while line := sys.stdin.buffer.readline():
            if line == b"\r\n":
                return json.loads(sys.stdin.buffer.read(length))
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return None

    def _send(self, message: Message) -> None:
        body = json.dumps(message).encode()
        with self._writing:
            sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            sys.stdout.buffer.flush()


def control(path: Path, server: Server) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection, server), daemon=True).start()


def serve(connection: socket.socket, server: Server) -> None:
    with connection, connection.makefile("rwb") as stream:
        order = json.loads(stream.readline())
        if "request" in order:
            answer: object = server.request(order["request"], order["params"], order["within"])
        elif "notify" in order:
            server.notify(order["notify"], order["params"])
            answer = {}
        else:
            answer = server.seen[order["seen"] :]
        stream.write(json.dumps(answer).encode() + b"\n")


def main() -> None:
    encoding = sys.argv[sys.argv.index("--encoding") + 1] if "--encoding" in sys.argv else "utf-16"
    server = Server(encoding)
    threading.Thread(target=control, args=(Path(sys.argv[1]), server), daemon=True).start()
    server.run()


if __name__ == "__main__":
    main()
