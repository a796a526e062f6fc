"""A sidecar that does the demo's job in the simplest way, or does it badly in one way: `python stub_sidecar.py FAULT`.

With it the demo is seen to tell good from bad. Faults: `good`; `disk` serves the file on disk; `overwrite` puts the agent's
whole text in place of the buffer; `twice` sends the edit in two; `saves` writes the disk; `lies` tells the agent that it
wrote, and does nothing; `refuses` every write; `stays` sends the edit again after the undo; `dies`.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urlsplit

from tests.demo.stub_server import Stub

HALF = "# half\n"


class StubSidecar(Stub):
    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault
        self.inbox: queue.Queue[tuple[str, Any]] = queue.Queue()
        self.agent: subprocess.Popen[bytes] | None = None
        self.options: dict[str, Any] = {}
        self.prompted: Any = None
        self.belief = ""
        self.edited: str | None = None
        self.open_write: tuple[object, dict[str, Any]] | None = None
        self.is_half = False
        """`twice`: the first of the two edits is made."""

    def serve(self) -> None:
        threading.Thread(target=self.listen, daemon=True).start()
        while True:
            source, message = self.inbox.get()
            if message is None:
                if source == "editor":
                    break
            elif source == "editor":
                self.from_editor(message)
            else:
                self.from_agent(message)
        if self.agent is not None:
            assert self.agent.stdin is not None
            self.agent.stdin.close()
            self.agent.wait()

    def listen(self) -> None:
        while (message := self.receive()) is not None:
            self.inbox.put(("editor", message))
        self.inbox.put(("editor", None))

    def listen_to_agent(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            self.inbox.put(("agent", json.loads(line)))

    def from_editor(self, message: dict[str, Any]) -> None:
        params = message.get("params")
        match message.get("method"):
            case "initialize":
                self.options = params["initializationOptions"]
                self.send(id=message["id"], result={"capabilities": {}})
            case "workspace/executeCommand" if params["command"] == "sidecar.newSession":
                self.start(params["arguments"][0])
                self.send(id=message["id"], result={"sessionId": "s"})
            case "workspace/executeCommand" if params["command"] == "sidecar.status":
                self.send(id=message["id"], result={})
            case "workspace/executeCommand":
                if self.fault == "dies":
                    raise SystemExit("I was asked to die")
                self.prompted = message["id"]
                prompt = params["arguments"][0]["prompt"]
                self.tell_agent(
                    id="prompt", method="session/prompt", params={"sessionId": "demo-1", "prompt": prompt}
                )
            case "shutdown":
                self.send(id=message["id"], result=None)
            case "textDocument/didOpen" | "textDocument/didChange":
                self.sync(message["method"], params)
                if self.fault == "stays" and self.edited is not None and self.text != self.edited:
                    self.apply(params["textDocument"]["uri"], self.edited, None)
            case None if message["id"] == "edit":
                self.answered(message["result"]["applied"])
            case _:
                pass

    def start(self, arguments: dict[str, Any]) -> None:
        settings = self.options["agents"][arguments["agent"]]
        command = [settings["command"], *settings["args"]]
        self.agent = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=arguments["cwd"]
        )
        threading.Thread(target=self.listen_to_agent, args=(self.agent.stdout,), daemon=True).start()
        files = {"readTextFile": True, "writeTextFile": True}
        self.tell_agent(id="i", method="initialize", params={"clientCapabilities": {"fs": files}})
        self.tell_agent(id="n", method="session/new", params={"cwd": arguments["cwd"]})

    def tell_agent(self, **message: object) -> None:
        assert self.agent is not None
        assert self.agent.stdin is not None
        self.agent.stdin.write(json.dumps(message).encode() + b"\n")
        self.agent.stdin.flush()

    def from_agent(self, message: dict[str, Any]) -> None:
        match message.get("method"):
            case "session/update":
                self.send(method="sidecar/sessionUpdate", params=message["params"])
            case "fs/read_text_file":
                path = Path(message["params"]["path"])
                text = path.read_bytes().decode() if self.fault == "disk" else self.text
                self.belief = text
                self.tell_agent(id=message["id"], result={"content": text})
            case "fs/write_text_file":
                self.write(message["id"], message["params"])
            case None if message["id"] == "prompt":
                self.send(id=self.prompted, result={"stopReason": "end_turn"})
            case _:
                pass

    @property
    def text(self) -> str:
        ((_, rope),) = self.documents.values()
        return str(rope.snapshot())

    def write(self, number: object, params: dict[str, Any]) -> None:
        if self.fault == "refuses":
            self.tell_agent(id=number, error={"code": -32603, "message": "the editor takes no edits"})
            return
        self.open_write = number, params
        theirs = params["content"]
        text = theirs if self.fault == "overwrite" else moved(self.belief, theirs, self.text)
        ((uri, (version, _)),) = self.documents.items()
        if self.fault == "saves":
            Path(unquote(urlsplit(uri).path)).write_text(text)
        if self.fault == "lies":
            self.tell_agent(id=number, result={})
        elif self.fault == "twice" and not self.is_half:
            self.apply(uri, HALF + self.text, version)
        else:
            self.edited = text.removeprefix(HALF)
            self.apply(uri, self.edited, None if self.fault == "overwrite" else version)

    def answered(self, applied: bool) -> None:
        """By the editor, to an edit. A stale one is made again; the last one's answer is the agent's."""
        is_first = self.fault == "twice" and not self.is_half
        if self.open_write is not None and (is_first or not applied):
            self.is_half |= applied
            self.write(*self.open_write)
        elif self.open_write is not None:
            self.tell_agent(id=self.open_write[0], result={})
            self.open_write = None

    def apply(self, uri: str, text: str, version: int | None) -> None:
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 10**6, "character": 0}}
        document = {"uri": uri, "version": version}
        edits = [{"textDocument": document, "edits": [{"range": whole, "newText": text}]}]
        self.send(id="edit", method="workspace/applyEdit", params={"edit": {"documentChanges": edits}})


def common(a: str, b: str) -> int:
    """Length of the common start."""
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def moved(base: str, theirs: str, ours: str) -> str:
    """The one change between `base` and `theirs`, made in `ours`, where it is found by what stands before it."""
    start = common(base, theirs)
    end = common(base[start:][::-1], theirs[start:][::-1])
    before, old, new = (
        base[max(0, start - 12) : start],
        base[start : len(base) - end],
        theirs[start : len(theirs) - end],
    )
    at = ours.index(before + old) + len(before)
    return ours[:at] + new + ours[at + len(old) :]


if __name__ == "__main__":
    try:
        StubSidecar(sys.argv[1]).serve()
    except BaseException:  # noqa: BLE001 - the listening thread holds stdin's lock, which a normal end would wait for
        traceback.print_exc()
        os._exit(1)
