"""Which of Codex' requests are about a file's text, and what Codex is answered."""

from __future__ import annotations

import base64
import json
import os
from typing import Any

import pytest

from sidecar.mcp.codex_files import FileRequest, answer, asked

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no bridge on Windows yet")
READ = FileRequest(7, "fs/readFile", "/ws/a.txt")
WRITE = FileRequest(8, "fs/writeFile", "/ws/a.txt", "text\n")


def in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def line(method: str, path: str = "/ws/a.txt", number: object = 7, **params: Any) -> bytes:
    message = {"id": number, "method": method, "params": {"path": f"file://{path}", **params}}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def write(path: str = "/ws/a.txt", sandbox: object = None, data: bytes = b"text\n") -> bytes:
    return line("fs/writeFile", path, 8, dataBase64=in_base64(data), sandbox=sandbox)


def special(kind: str, access: str, **more: str) -> dict[str, Any]:
    return {"path": {"type": "special", "value": {"kind": kind, **more}}, "access": access}


def sandbox(*entries: dict[str, Any]) -> dict[str, Any]:
    files = {"type": "restricted", "entries": list(entries)}
    return {"permissions": {"type": "managed", "file_system": files}, "workspaceRoots": ["file:///ws"]}


WORKSPACE = (
    special("root", "read"),
    special("project_roots", "write"),
    special("slash_tmp", "write"),
    special("project_roots", "read", subpath=".git"),
    {"path": {"type": "path", "path": "file:///ws/.codex"}, "access": "read"},
)
"""As Codex' default mode has it."""


def test_what_is_ours() -> None:
    assert asked(line("fs/readFile", sandbox=sandbox(*WORKSPACE))) == READ
    assert asked(line("fs/readFile", "/ws/a%20b.txt")) == FileRequest(7, "fs/readFile", "/ws/a b.txt")
    assert asked(line("fs/remove")) == FileRequest(7, "fs/remove", "/ws/a.txt")
    assert asked(write()) == WRITE
    assert READ.call == ("Read", {"file_path": "/ws/a.txt"})
    assert WRITE.call == ("Write", {"file_path": "/ws/a.txt", "content": "text\n"})


OTHERS = [
    line("fs/getMetadata"),
    line("process/start"),
    b'{"method":"fs/readFile","params":{"path":"file:///ws/a.txt"}}\n',
    b'{"id":1,"method":"fs/readFile","params":{"path":"http://x/a"}}\n',
    b'{"id":1,"method":"fs/readFile","params":[]}\n',
    b'{"id":1,"method":"fs/readFile"\n',
    b'["fs/readFile"]\n',
    b'{"id":1,"method":"x","params":{"method":"fs/readFile","path":"file:///ws/a.txt"}}\n',
    b'{"id":1,"method":"fs/writeFile","params":{"path":"file:///ws/a.txt"}}\n',
    b'{"id":1,"method":"fs/writeFile","params":{"path":"file:///ws/a.txt","dataBase64":"%"}}\n',
    write(data=b"\xff\xfe"),
]


@pytest.mark.parametrize("other", OTHERS)
def test_what_is_its_own_exec_servers(other: bytes) -> None:
    assert asked(other) is None


ALLOWED: list[tuple[str, Any, bool]] = [
    ("/ws/a.txt", None, True),
    ("/ws/a.txt", {"permissions": {"type": "disabled"}}, True),
    ("/ws/a.txt", {"permissions": {"type": "managed", "file_system": {"type": "unrestricted"}}}, True),
    ("/ws/a.txt", sandbox(*WORKSPACE), True),
    ("/ws/.gitignore", sandbox(*WORKSPACE), True),
    ("/ws/.git/config", sandbox(*WORKSPACE), False),
    ("/ws/.codex/config.toml", sandbox(*WORKSPACE), False),
    ("/wsx/a.txt", sandbox(*WORKSPACE), False),
    ("/ws/a.txt", sandbox(special("root", "read")), False),
    ("/ws/a.txt", sandbox(*WORKSPACE, special("something new", "none")), False),
    ("/ws/a.txt", sandbox(*WORKSPACE, {"access": "none"}), False),
    ("/ws/a.txt", {}, False),
]


@pytest.mark.parametrize(("path", "rules", "ours"), ALLOWED)
def test_codex_sandbox_holds(path: str, rules: object, ours: bool) -> None:
    """What it does not allow, or what is not understood, goes to Codex' own exec-server, which says no."""
    assert (asked(write(path, rules)) is not None) is ours


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], **more}


def refused(kind: str) -> dict[str, Any]:
    return text("words", isError=True, structuredContent={"errorKind": kind})


def test_answers() -> None:
    def told(request: FileRequest, result: dict[str, Any]) -> Any:
        line = answer(request, result)
        return None if line is None else json.loads(line)

    assert told(READ, text("é\r\n")) == {"id": 7, "result": {"dataBase64": in_base64("é\r\n".encode())}}
    assert told(WRITE, text("done")) == {"id": 8, "result": {}}
    assert told(READ, {"content": [{"type": "image", "data": "x"}]}) is None
    assert told(READ, refused("denied_by_user")) == {"id": 7, "error": {"code": -32603, "message": "words"}}
    assert told(WRITE, refused("conflict")) == {"id": 8, "error": {"code": -32603, "message": "words"}}
    for kind in ("binary", "too_large", "not_found", "no_sidecar", "path_outside_workspace"):
        assert told(READ, refused(kind)) is None, "as it is on the disk"
    for kind in ("no_sidecar", "path_outside_workspace", "symlink_escape"):
        assert told(WRITE, refused(kind)) is None
    assert told(WRITE, text("gone", isError=True)) is not None, "perhaps it was written"
