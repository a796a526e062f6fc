"""The demo agent: a real ACP v1 agent on stdin and stdout that follows a script. No AI, no account, no network.

    python -m sidecar.demo.agent [--pace SECONDS]

A prompt names a file. The agent reads it from the client, waits a moment so that the user can go on typing, and writes
it back with one small edit (`edits.py`). It reports each step and its result, including conflicts, refusals and
cancellation. It never touches the disk itself.

It uses raw NDJSON and threads instead of the SDK, so that it starts at once. One thread reads; a turn runs in another
and waits for its inbox.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import queue
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, cast

from sidecar import __version__
from sidecar.core.json_types import JsonDict
from sidecar.core.uri import normalise, to_path
from sidecar.demo.edits import suggest

ATTEMPTS = 3
"""The number of times that it reads and writes before it gives up on a file that somebody else is working on."""
METHOD_NOT_FOUND, INVALID_PARAMS, INVALID_REQUEST, INTERNAL_ERROR = -32601, -32602, -32600, -32603
NO_FILE = (
    "Name a file in your message, or attach one, and I will read it and make one small edit. I use no AI."
)


class Cancelled(Exception):
    pass


class Refused(Exception):
    """The client answered a request with an error."""

    def __init__(self, error: JsonDict) -> None:
        super().__init__(str(error.get("message") or "no reason given"))
        match error.get("data"):
            case {"errorKind": str(kind)}:
                self.kind = kind
            case _:
                self.kind = ""


@dataclass(slots=True)
class Turn:
    session_id: str
    cwd: str
    inbox: queue.SimpleQueue[JsonDict | None] = field(default_factory=queue.SimpleQueue[JsonDict | None])
    """Answers to the one open request. None: the turn was cancelled."""
    cancelled: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        self.cancelled.set()
        self.inbox.put(None)


class Agent:
    def __init__(self, source: IO[bytes], sink: IO[bytes], pace: float) -> None:
        """`pace`: seconds between reading and writing, so that the user can follow."""
        self._source = source
        self._sink = sink
        self._pace = pace
        self._writing = threading.Lock()
        self._ids = itertools.count(1)
        self._sessions: dict[str, str] = {}
        """The working directories by session id."""
        self._turns: dict[str, Turn] = {}
        self._waiting: dict[int, Turn] = {}
        self._threads: list[threading.Thread] = []
        self._files = False

    def serve(self) -> None:
        """Serve until the client closes the input."""
        for line in self._source:
            try:
                message: object = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(message, dict):
                self._receive(cast("JsonDict", message))
        for turn in [*self._turns.values()]:
            turn.cancel()
        for thread in self._threads:
            thread.join(1.0)

    def _receive(self, message: JsonDict) -> None:
        if "method" not in message:
            turn = self._waiting.pop(message.get("id", 0), None)
            if turn is not None:
                turn.inbox.put(message)
            return
        params: JsonDict = message.get("params") or {}
        if message["method"] == "session/cancel":
            turn = self._turns.get(params.get("sessionId", ""))
            if turn is not None:
                turn.cancel()
        elif "id" in message:
            self._answer(message["id"], message["method"], params)

    def _answer(self, number: object, method: str, params: JsonDict) -> None:
        match method:
            case "initialize":
                fs: JsonDict = params.get("clientCapabilities", {}).get("fs", {})
                self._files = bool(fs.get("readTextFile") and fs.get("writeTextFile"))
                self._send(id=number, result=ABOUT)
            case "session/new":
                session_id = f"demo-{len(self._sessions) + 1}"
                self._sessions[session_id] = params.get("cwd", "")
                self._send(id=number, result={"sessionId": session_id})
            case "session/prompt" if params.get("sessionId") in self._turns:
                self._send(
                    id=number, error={"code": INVALID_REQUEST, "message": "a turn of this session is running"}
                )
            case "session/prompt" if params.get("sessionId") in self._sessions:
                turn = Turn(params["sessionId"], self._sessions[params["sessionId"]])
                self._turns[turn.session_id] = turn
                thread = threading.Thread(
                    target=self._run, args=(number, turn, params.get("prompt", [])), daemon=True
                )
                self._threads = [*(one for one in self._threads if one.is_alive()), thread]
                thread.start()
            case "session/prompt":
                self._send(id=number, error={"code": INVALID_PARAMS, "message": "no such session"})
            case _:
                self._send(
                    id=number, error={"code": METHOD_NOT_FOUND, "message": f"the demo agent has no {method}"}
                )

    # One turn

    def _run(self, number: object, turn: Turn, prompt: list[JsonDict]) -> None:
        reason = "end_turn"
        try:
            self._script(turn, prompt)
        except Cancelled:
            reason = "cancelled"
        except Exception as error:  # noqa: BLE001 - the prompt is answered even if the script fails
            del self._turns[turn.session_id]
            self._send(
                id=number, error={"code": INTERNAL_ERROR, "message": f"the demo agent has a bug: {error!r}"}
            )
            return
        del self._turns[turn.session_id]
        self._send(id=number, result={"stopReason": reason})

    def _script(self, turn: Turn, prompt: list[JsonDict]) -> None:
        path = named_file(prompt, turn.cwd)
        if path is None:
            self._say(turn, NO_FILE)
            return
        if not self._files:
            self._say(
                turn,
                "Your editor does not offer me files (fs/read_text_file, fs/write_text_file), and I use nothing else.",
            )
            return
        name = os.path.basename(path)
        for attempt in range(1, ATTEMPTS + 1):
            text = self._read(turn, path, name, attempt)
            if text is None or self._edit(turn, path, name, text, attempt):
                return

    def _read(self, turn: Turn, path: str, name: str, attempt: int) -> str | None:
        if attempt == 1:
            self._say(turn, f"I am a script without AI. I ask your editor for {name}, not the disk.")
        call = f"read-{attempt}"
        self._tool(turn, call, "read", f"Read {name}", locations=[{"path": path}])
        try:
            answer = self._ask(turn, "fs/read_text_file", {"path": path})
        except Refused as refused:
            self._settle(turn, call, "failed")
            self._say(turn, f"I may not read it: {_sentence(refused)} So there is nothing for me to do.")
            return None
        text: str = answer.get("content", "")
        self._settle(turn, call, "completed")
        return text

    def _edit(self, turn: Turn, path: str, name: str, text: str, attempt: int) -> bool:
        """Read and write once. Returns False if it is worth trying again."""
        plan = suggest(path, text)
        self._say(turn, f"{plan.finding} I will write in a moment. Keep typing if you like.")
        if turn.cancelled.wait(self._pace):
            raise Cancelled
        call = f"edit-{attempt}"
        diff = {"type": "diff", "path": path, "oldText": text, "newText": plan.text}
        place = {"path": path, "line": plan.line}
        self._tool(turn, call, "edit", f"Edit {name}", content=[diff], locations=[place])
        try:
            answer = self._ask(turn, "fs/write_text_file", {"path": path, "content": plan.text})
        except Refused as refused:
            self._settle(turn, call, "failed")
            if refused.kind == "conflict" and attempt < ATTEMPTS:
                self._say(
                    turn, "You were typing in the same place, so nothing was changed. I read the file again."
                )
                return False
            unsure = refused.kind in ("outcome_unknown", "editor_misapplied")
            start = f"Please look at {name}" if unsure else "My edit was not accepted"
            self._say(turn, f"{start}: {_sentence(refused)}")
            return True
        self._settle(turn, call, "completed")
        kept = "Your editor has not saved it. " if _saved(answer) is False else ""
        self._say(turn, f"Done. {kept}In an open file, one undo takes it back.")
        return True

    # Talking to the client

    def _ask(self, turn: Turn, method: str, params: JsonDict) -> JsonDict:
        if turn.cancelled.is_set():
            raise Cancelled
        number = next(self._ids)
        self._waiting[number] = turn
        self._send(id=number, method=method, params={"sessionId": turn.session_id, **params})
        answer = (
            turn.inbox.get()
        )  # no limit: the client may be asking its user, and cancels when it has waited long enough
        if answer is None:
            raise Cancelled
        if "error" in answer:
            raise Refused(answer["error"])
        return answer.get("result") or {}

    def _say(self, turn: Turn, words: str) -> None:
        self._update(turn, "agent_message_chunk", content={"type": "text", "text": words + "\n\n"})

    def _tool(self, turn: Turn, call: str, kind: str, title: str, **more: object) -> None:
        self._update(turn, "tool_call", toolCallId=call, kind=kind, title=title, status="in_progress", **more)

    def _settle(self, turn: Turn, call: str, status: str) -> None:
        self._update(turn, "tool_call_update", toolCallId=call, status=status)

    def _update(self, turn: Turn, what: str, **fields: object) -> None:
        if turn.cancelled.is_set():
            raise Cancelled
        self._send(
            method="session/update",
            params={"sessionId": turn.session_id, "update": {"sessionUpdate": what, **fields}},
        )

    def _send(self, **message: object) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        with self._writing:
            try:
                while line:
                    line = line[self._sink.write(line) :]
                self._sink.flush()
            except OSError:
                pass  # nobody listens any more, and the input will end too


ABOUT: JsonDict = {
    "protocolVersion": 1,
    "agentInfo": {"name": "acp-sidecar-demo", "title": "Demo agent (no AI)", "version": __version__},
    "agentCapabilities": {"loadSession": False, "promptCapabilities": {"embeddedContext": True}},
    "authMethods": [],
}


def named_file(prompt: Iterable[JsonDict], cwd: str) -> str | None:
    """Return the absolute path of the file that a prompt is about: the file named in its text, otherwise the first attachment."""
    blocks = list(prompt)
    words = " ".join(block.get("text", "") for block in blocks if block.get("type") == "text")
    attached = list(_attached(blocks))
    for name in _names(words):
        if os.path.isabs(name):
            return name
        for path in attached:
            if os.path.basename(path) == os.path.basename(name):
                return path
        path = os.path.join(cwd, name)
        if os.path.isfile(path):
            return path
    return attached[0] if attached else None


def _attached(blocks: Iterable[JsonDict]) -> Iterator[str]:
    for block in blocks:
        match block:
            case {"type": "resource_link", "uri": str(uri)} | {
                "type": "resource",
                "resource": {"uri": str(uri)},
            }:
                path = to_path(normalise(uri))
                if path is not None:
                    yield path
            case _:
                pass


def _names(words: str) -> Iterator[str]:
    """Yield words that look like file names: first everything in quotes, then words without surrounding punctuation."""
    yield from (quoted for quoted in re.findall(r"[`\"']([^`\"']+)[`\"']", words))
    for word in words.split():
        name = word.strip("`'\",;:!?()[]<>").rstrip(".")
        if name:
            yield (to_path(normalise(name)) or name) if name.startswith("file:") else name


def _saved(answer: JsonDict) -> bool | None:
    """Whether the client says that the text is saved on disk (`_meta.saved`)."""
    match answer.get("_meta"):
        case {"saved": bool(value)}:
            return value
        case _:
            return None


def _sentence(refused: Refused) -> str:
    words = str(refused).strip().split("\n")[0]
    words = words if len(words) <= 300 else words[:299] + "…"
    return words if words.endswith((".", "!", "?", "…")) else words + "."


def main() -> None:
    options = argparse.ArgumentParser(
        prog="python -m sidecar.demo.agent", description="The demo agent (ACP on stdio)."
    )
    options.add_argument(
        "--pace", type=float, default=1.0, help="seconds between reading and writing (default 1)"
    )
    pace: float = options.parse_args().pace
    # Unbuffered: a turn's thread that is still writing must not hold a lock that the interpreter needs to exit.
    with open(sys.stdout.fileno(), "wb", buffering=0, closefd=False) as sink:
        Agent(sys.stdin.buffer, sink, pace).serve()


if __name__ == "__main__":
    main()
