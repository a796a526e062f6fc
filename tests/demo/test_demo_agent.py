"""The demo agent as a client meets it: a process, raw lines, and a transcript that reads like the conversation."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FILES = {"fs": {"readTextFile": True, "writeTextFile": True}}
CONFLICT = {"code": -32602, "message": "somebody typed there", "data": {"errorKind": "conflict"}}
DENIED = {"code": -32602, "message": "denied by the user", "data": {"errorKind": "denied_by_user"}}
UNKNOWN = {"code": -32603, "message": "the editor did not answer", "data": {"errorKind": "outcome_unknown"}}
MISSING = {"code": -32002, "message": "Resource not found"}
READ = {"content": "hello\n"}


class Client:
    """One agent process; `answers` are given to its requests in turn."""

    def __init__(self, cwd: Path, pace: str = "0", capabilities: dict[str, Any] = FILES) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sidecar.demo.agent", "--pace", pace],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.answers: list[dict[str, Any]] = []
        self.transcript: list[str] = []
        self.written: list[str] = []
        self.about = self.call("initialize", protocolVersion=1, clientCapabilities=capabilities)
        self.session = self.call("session/new", cwd=str(cwd), mcpServers=[])["result"]["sessionId"]

    def send(self, message: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def call(self, method: str, **params: object) -> dict[str, Any]:
        self.send({"jsonrpc": "2.0", "id": "c", "method": method, "params": params})
        while (message := self.receive()).get("id") != "c" or "method" in message:
            self.heard(message)
        return message

    def heard(self, message: dict[str, Any]) -> None:
        params = message["params"]
        assert params["sessionId"] == self.session
        if "id" in message:
            self.transcript.append(f"{message['method']} {Path(params['path']).name}")
            self.written += [params["content"]] if "content" in params else []
            answer = self.answers.pop(0)
            self.send({"id": message["id"], ("error" if "code" in answer else "result"): answer})
            return
        update = params["update"]
        match update["sessionUpdate"]:
            case "agent_message_chunk":
                self.transcript.append(f"says: {update['content']['text'].strip()}")
            case "tool_call":
                self.transcript.append(f"{update['toolCallId']} ({update['kind']}): {update['title']}")
            case "tool_call_update":
                self.transcript.append(f"{update['toolCallId']}: {update['status']}")
            case other:
                raise AssertionError(other)

    def prompt(self, *blocks: dict[str, Any] | str) -> str:
        wire = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        answer = self.call("session/prompt", sessionId=self.session, prompt=wire)
        return answer["result"]["stopReason"]

    def close(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        code = self.process.wait(20)
        self.process.stdout.close()
        return code


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    client = Client(tmp_path)
    yield client
    assert client.close() == 0


def test_who_it_is(client: Client) -> None:
    assert client.about["result"]["protocolVersion"] == 1
    assert "no AI" in client.about["result"]["agentInfo"]["title"]


TRIED = """\
read-1 (read): Read notes.txt
fs/read_text_file notes.txt
read-1: completed
says: I found nothing to tidy, so I add the line "The demo agent was here." at the end. I will write in a moment. Keep typing if you like.
edit-1 (edit): Edit notes.txt
fs/write_text_file notes.txt
"""
AGAIN = """\
edit-{0}: failed
says: You were typing in the same place, so nothing was changed. I read the file again.
"""


@pytest.mark.parametrize(
    ("answers", "transcript"),
    [
        (
            [READ, {}],
            TRIED + "edit-1: completed\nsays: Done. In an open file, one undo takes it back.",
        ),
        (
            [READ, {"_meta": {"saved": False}}],
            TRIED
            + "edit-1: completed\nsays: Done. Your editor has not saved it. In an open file, one undo takes it back.",
        ),
        (
            [MISSING],
            TRIED.partition("read-1: completed")[0]
            + "read-1: failed\nsays: I may not read it: Resource not found. So there is nothing for me to do.",
        ),
        ([READ, DENIED], TRIED + "edit-1: failed\nsays: My edit was not accepted: denied by the user."),
        (
            [READ, UNKNOWN],
            TRIED + "edit-1: failed\nsays: Please look at notes.txt: the editor did not answer.",
        ),
        (
            [READ, CONFLICT, READ, {}],
            TRIED + AGAIN.format(1) + TRIED.replace("-1", "-2") + "edit-2: completed\n"
            "says: Done. In an open file, one undo takes it back.",
        ),
        (
            [READ, CONFLICT] * 3,
            TRIED
            + AGAIN.format(1)
            + TRIED.replace("-1", "-2")
            + AGAIN.format(2)
            + TRIED.replace("-1", "-3")
            + "edit-3: failed\nsays: My edit was not accepted: somebody typed there.",
        ),
    ],
    ids=["edited", "unsaved", "missing", "denied", "unknown", "conflict", "conflict for ever"],
)
def test_a_turn(client: Client, answers: list[dict[str, Any]], transcript: str) -> None:
    client.answers = [*answers]
    assert (
        client.prompt(
            "Look at notes.txt", {"type": "resource_link", "uri": "file:///w/notes.txt", "name": "n"}
        )
        == "end_turn"
    )
    assert (
        client.transcript[0]
        == "says: I am a script without AI. I ask your editor for notes.txt, not the disk."
    )
    assert client.transcript[1:] == transcript.splitlines()
    assert client.answers == []
    assert set(client.written) <= {"hello\nThe demo agent was here.\n"}


@pytest.mark.parametrize(
    ("blocks", "path"),
    [
        (["edit /a/b c.py"], "/a/b"),
        (["edit `/a/b c.py`, please"], "/a/b c.py"),
        (["edit file:///a/b%20c.py."], "/a/b c.py"),
        (["edit here.txt."], "CWD/here.txt"),
        (["edit (./here.txt)!"], "CWD/./here.txt"),
        (["what about", {"type": "resource_link", "uri": "file:///x/y.txt", "name": "y"}], "/x/y.txt"),
        (
            [
                "what about z.txt",
                {"type": "resource", "resource": {"uri": "file:///x/y.txt", "text": ""}},
                {"type": "resource", "resource": {"uri": "file:///x/z.txt", "text": ""}},
            ],
            "/x/z.txt",
        ),
        (["here.txt", {"type": "resource_link", "uri": "file:///x/y.txt", "name": "y"}], "CWD/here.txt"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="paths of the rows")
def test_which_file_is_meant(tmp_path: Path, client: Client, blocks: list[Any], path: str) -> None:
    from sidecar.demo.agent import named_file

    (tmp_path / "here.txt").touch()
    wire = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    assert named_file(wire, str(tmp_path)) == path.replace("CWD", str(tmp_path))


def test_no_file_is_meant(client: Client) -> None:
    assert client.prompt("Hello, e.g. you!") == "end_turn"
    (said,) = client.transcript
    assert "Name a file" in said


def test_no_files_offered(tmp_path: Path) -> None:
    client = Client(tmp_path, capabilities={"fs": {"readTextFile": True}})
    assert client.prompt("/a/b.txt") == "end_turn"
    assert "does not offer me files" in client.transcript[0]
    assert client.close() == 0


@pytest.mark.parametrize("when", ["pause", "answer"])
def test_cancel(tmp_path: Path, when: str) -> None:
    client = Client(tmp_path, pace="1000")
    client.send(
        {
            "id": "p",
            "method": "session/prompt",
            "params": {"sessionId": client.session, "prompt": [{"type": "text", "text": "/a/b.txt"}]},
        }
    )
    while "method" in (message := client.receive()):
        if "id" in message and when == "pause":
            client.send({"id": message["id"], "result": READ})
        elif "id" in message or "in a moment" in str(message):
            client.send({"method": "session/cancel", "params": {"sessionId": client.session}})
    assert message == {"jsonrpc": "2.0", "id": "p", "result": {"stopReason": "cancelled"}}
    client.send({"id": 1, "result": READ})  # too late: heard by nobody
    assert client.prompt("nothing") == "end_turn"
    assert client.close() == 0


def test_what_it_does_not_know(client: Client) -> None:
    assert client.process.stdin is not None
    client.process.stdin.write(b"noise\n42\n\n")
    assert client.call("session/load", sessionId="x")["error"]["code"] == -32601
    assert client.call("session/prompt", sessionId="x", prompt=[])["error"]["code"] == -32602


def test_the_client_leaves_in_the_middle(tmp_path: Path) -> None:
    client = Client(tmp_path, pace="1000")
    client.send(
        {
            "id": "p",
            "method": "session/prompt",
            "params": {"sessionId": client.session, "prompt": [{"type": "text", "text": "/a/b.txt"}]},
        }
    )
    client.receive()
    assert client.close() == 0
