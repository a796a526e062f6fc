"""Codex' requests to its environment about a file: which lines of its protocol we answer, and how.

The protocol is that of `codex exec-server`: one JSON object a line, paths as `file:` URLs, contents in base64. Codex' own
exec-server answers whatever is not understood here, so a version that does it another way works as it does without us.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from sidecar.core.json_types import Json, JsonDict
from sidecar.core.uri import normalise, to_path

_BEGINNING = 1024
"""The bytes of a line within which its method is found. Contents may be long, and only a few lines are parsed."""
READ, WRITE, REMOVE = "fs/readFile", "fs/writeFile", "fs/remove"
_DENIED = ("denied_by_user", "denied_by_policy")
_ELSEWHERE = ("no_sidecar", "path_outside_workspace", "symlink_escape")
"""The `errorKind`s of calls that the sidecar leaves to the disk."""
_FAILED = -32603
"""JSON-RPC's code of an internal error; the model reads the message."""


class FileRequest(NamedTuple):
    """A request for a file's content, or to replace it. We only take notice of a request to remove a file."""

    id: object
    method: str
    path: str
    content: str | None = None
    """The content to write. None for other requests."""

    @property
    def call(self) -> tuple[str, JsonDict]:
        """Our tool that carries out the request, and its arguments."""
        if self.content is None:
            return "Read", {"file_path": self.path}
        return "Write", {"file_path": self.path, "content": self.content}


def asked(line: bytes) -> FileRequest | None:
    """The request in a line. None if it is for Codex' own exec-server."""
    beginning = line[:_BEGINNING]
    if not any(f'"{method}"'.encode() in beginning for method in (READ, WRITE, REMOVE)):
        return None
    try:
        message = _fields(json.loads(line))
    except (ValueError, RecursionError):
        return None
    number, params = message.get("id"), _fields(message.get("params"))
    path = _path(params.get("path"))
    if path is None or not isinstance(number, int | str):
        return None
    match message.get("method"), params.get("dataBase64"):
        case str(method), None if method in (READ, REMOVE):
            return FileRequest(number, method, path)
        case "fs/writeFile", str(data) if _may_write(params.get("sandbox"), path):
            content = _text(data)
            return None if content is None else FileRequest(number, WRITE, path, content)
        case _:
            return None


def _may_write(sandbox: object, path: str) -> bool:
    """Whether Codex' sandbox permits writing this file, as far as is understood here. If not, Codex' own exec-server says so."""
    permissions = _fields(_fields(sandbox).get("permissions"))
    files = _fields(permissions.get("file_system"))
    if sandbox is None or permissions.get("type") == "disabled" or files.get("type") == "unrestricted":
        return True
    roots = [_path(root) for root in _items(_fields(sandbox).get("workspaceRoots"))]
    rules = [_rule(_fields(entry), roots) for entry in _items(files.get("entries"))]
    allowed = [place for access, places in rules for place in places if access == "write"]
    kept = [place for access, places in rules for place in places if access != "write"]
    return None not in kept and _below(path, allowed) and not _below(path, kept)


def _rule(entry: Mapping[str, object], roots: Sequence[str | None]) -> tuple[object, list[str | None]]:
    """(access, the folders below which it applies). None among the folders: a place that is not understood."""
    access, place = entry.get("access"), _fields(entry.get("path"))
    value = _fields(place.get("value"))
    match place.get("type"), value.get("kind"), value.get("subpath"):
        case "path", _, _:
            return access, [_path(place.get("path"))]
        case "special", "project_roots", None:
            return access, [*roots]
        case "special", "project_roots", str(below):
            return access, [root and os.path.join(root, below) for root in roots]
        case "special", "root" | "slash_tmp" | "tmpdir" | "minimal", _ if access in ("read", "write"):
            return (
                access,
                [],
            )  # what is readable there may be writable elsewhere; temporary folders are not the sidecar's
        case _:
            return "", [None]


def _path(uri: object) -> str | None:
    return to_path(normalise(uri)) if isinstance(uri, str) else None


def _fields(value: object) -> JsonDict:
    return cast("JsonDict", value) if isinstance(value, dict) else {}


def _items(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _below(path: str, places: Sequence[str | None]) -> bool:
    return any(place and (path == place or path.startswith(place.rstrip("/") + "/")) for place in places)


def answer(request: FileRequest, result: Mapping[str, Any]) -> bytes | None:
    """The answer of our tool as a line. None: Codex' own exec-server must answer."""
    words = "".join(str(block.get("text", "")) for block in result.get("content", ()))
    if not result.get("isError"):
        if request.content is None and any(block.get("type") != "text" for block in result["content"]):
            return None  # a picture
        done: Json = {} if request.content is not None else {"dataBase64": _base64(words)}
        return _line({"id": request.id, "result": done})
    kind = str(cast("Json", result.get("structuredContent") or {}).get("errorKind", ""))
    # Codex reads unreadable texts as bytes itself, and reports missing files in its own way
    ours = kind in _DENIED if request.content is None else kind not in _ELSEWHERE
    return _line({"id": request.id, "error": {"code": _FAILED, "message": words}}) if ours else None


def _text(data: str) -> str | None:
    try:
        return base64.b64decode(data, validate=True).decode()
    except ValueError:
        return None


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _line(message: Json) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
