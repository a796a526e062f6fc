"""The test's end of probe_server.py: order a request to the editor, look at what the editor has sent."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.support.waiting import connect, eventually

SERVER = Path(__file__).with_name("probe_server.py")
Message = dict[str, Any]


def replace_line(line: int, text: str) -> Message:
    """An LSP TextEdit for a whole line, from 0, terminator included."""
    return {
        "range": {"start": {"line": line, "character": 0}, "end": {"line": line + 1, "character": 0}},
        "newText": text,
    }


class Probe:
    def __init__(self, folder: Path, encoding: str = "utf-16") -> None:
        self.encoding = encoding
        self.any_order = False
        """Whether the editor's messages overtake each other (Helix' do, on a busy machine): their versions tell the order."""
        self._socket = folder / "probe"
        self.command = [sys.executable, str(SERVER), str(self._socket), "--encoding", encoding]
        """How an editor starts it."""

    def request(self, method: str, params: object, *, within: float = 20) -> Any:
        """The editor's result; AssertionError when it answered an error or nothing in time."""
        answer = self._order({"request": method, "params": params, "within": within}, within + 5)
        assert "result" in answer, f"{method}: {answer or f'no answer within {within:g} s'}"
        return answer["result"]

    def ask(self, method: str, params: object, *, within: float = 20) -> Message:
        """The editor's whole response, also when it is an error; {} when there is none in time."""
        response: Message = self._order({"request": method, "params": params, "within": within}, within + 5)
        return response

    def notify(self, method: str, params: object) -> None:
        self._order({"notify": method, "params": params}, 20)

    def seen(self, method: str = "") -> list[Message]:
        """Every message of the editor so far, in order; only those of a method when one is given."""
        messages: list[Message] = self._order({"seen": 0}, 20)
        return [message for message in messages if not method or message.get("method") == method]

    def wait_for(self, method: str, count: int = 1) -> list[Message]:
        def enough() -> list[Message]:
            found = self.seen(method)
            return found if len(found) >= count else []

        return eventually(enough, f"{count} × {method}", otherwise=lambda: self._summary())

    def version(self, uri: str) -> int:
        """The last version that the editor told for a document."""
        return self._told(uri)[-1]["textDocument"]["version"]

    def _told(self, uri: str) -> list[Message]:
        """The params of a document's didOpen and didChange."""
        told = [
            message["params"]
            for message in self.seen()
            if message.get("method") in {"textDocument/didOpen", "textDocument/didChange"}
            and message["params"]["textDocument"]["uri"] == uri
        ]
        if self.any_order:
            told.sort(key=lambda params: params["textDocument"]["version"])
        return told

    def apply(self, path: Path, version: int, *edits: Message) -> Any:
        """workspace/applyEdit of one document; the editor's answer."""
        change = {"textDocument": {"uri": path.as_uri(), "version": version}, "edits": list(edits)}
        return self.request("workspace/applyEdit", {"label": "probe", "edit": {"documentChanges": [change]}})

    def text(self, path: Path) -> str:
        """What a server holds after all it was told: the last didOpen and the changes since (ASCII texts with \\n only)."""
        text = ""
        for params in self._told(path.as_uri()):
            if "text" in params["textDocument"]:
                text = params["textDocument"]["text"]
            for change in params.get("contentChanges", ()):
                if "range" not in change:
                    text = change["text"]
                    continue
                lines = [*text.splitlines(keepends=True), ""]
                start, end = (
                    sum(map(len, lines[: point["line"]])) + point["character"]
                    for point in (change["range"]["start"], change["range"]["end"])
                )
                text = text[:start] + change["text"] + text[end:]
        return text

    def _summary(self) -> str:
        return "\n".join(json.dumps(message)[:300] for message in self.seen())

    def _order(self, order: Message, within: float) -> Any:
        with connect(self._socket, "the editor starts its server") as connection:
            connection.settimeout(within)
            with connection.makefile("rwb") as stream:
                stream.write(json.dumps(order).encode() + b"\n")
                stream.flush()
                return json.loads(stream.readline())
