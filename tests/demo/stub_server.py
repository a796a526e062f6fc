"""A small LSP server, only as wide as the tests of the headless editor need: it mirrors documents and does as it is told.

Commands: `mirror uri` → text and version; `ask method params` → the editor's answer (result or error) to that request;
`withdraw method params` the same for a request that is withdrawn in the same write; `tell method params`; `garbage` writes something that is not LSP; `die` ends at once.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from sidecar.core.rope import Rope
from sidecar.core.text import Encoding, Position, Range


class Stub:
    def __init__(self) -> None:
        self.documents: dict[str, tuple[int, Rope]] = {}
        self.asked = 0
        self.encoding = Encoding.UTF_16

    def receive(self) -> dict[str, Any] | None:
        length = 0
        while line := sys.stdin.buffer.readline().strip():
            length = int(line.split(b":")[1])
        return json.loads(sys.stdin.buffer.read(length)) if length else None

    def send(self, **message: object) -> None:
        self.queue(**message)
        sys.stdout.buffer.flush()

    def queue(self, **message: object) -> None:
        """Sends it with the next message."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        sys.stdout.buffer.write(b"content-length: %d\r\nContent-Type: x\r\n\r\n%s" % (len(body), body))

    def serve(self) -> None:
        while (message := self.receive()) is not None:
            params = message.get("params")
            match message.get("method"):
                case "initialize":
                    general = params["capabilities"].get("general", {"positionEncodings": ["utf-16"]})
                    self.encoding = Encoding(general["positionEncodings"][0])
                    result = {"capabilities": {"positionEncoding": self.encoding}, "initialized with": params}
                    self.send(id=message["id"], result=result)
                case "workspace/executeCommand":
                    self.execute(message["id"], params["command"], *params["arguments"])
                case "shutdown":
                    self.send(id=message["id"], result=None)
                case "exit":
                    return
                case method:
                    self.sync(method, params)

    def sync(self, method: str, params: dict[str, Any]) -> None:
        item = params.get("textDocument")
        if method == "textDocument/didOpen":
            self.documents[item["uri"]] = item["version"], Rope(item["text"])
        elif method == "textDocument/didClose":
            del self.documents[item["uri"]]
        elif method == "textDocument/didChange":
            _, rope = self.documents[item["uri"]]
            for change in params["contentChanges"]:
                where = change.get("range")
                if where is not None:
                    start, end = (Position(where[s]["line"], where[s]["character"]) for s in ("start", "end"))
                    where = Range(start, end)
                rope.apply(where, change["text"], self.encoding)
            self.documents[item["uri"]] = item["version"], rope

    def execute(self, number: int, command: str, *arguments: Any) -> None:
        match command, arguments:
            case "mirror", (uri,):
                version, rope = self.documents[uri]
                self.send(id=number, result={"version": version, "text": str(rope.snapshot())})
            case (("ask" | "withdraw"), (method, params)):
                self.asked += 1
                self.queue(id=f"s{self.asked}", method=method, params=params)
                if command == "withdraw":
                    self.queue(method="$/cancelRequest", params={"id": f"s{self.asked}"})
                sys.stdout.buffer.flush()
                while True:
                    answer = self.receive()
                    assert answer is not None
                    if answer.get("id") == f"s{self.asked}":
                        break
                    self.sync(answer["method"], answer["params"])
                self.send(id=number, result=answer)
            case "tell", (method, params):
                self.send(method=method, params=params)
                self.send(id=number, result=None)
            case "garbage", ():
                sys.stdout.buffer.write(b"print!\r\n\r\n")
                sys.stdout.buffer.flush()
            case "die", ():
                sys.stderr.write("why I died\n")
                sys.stderr.flush()
                raise SystemExit(3)
            case _:
                self.send(id=number, error={"code": -32602, "message": f"no command {command}"})


if __name__ == "__main__":
    Stub().serve()
