"""fs/read_text_file and fs/write_text_file: validates the agent's params again, exactly, on arrival.

The SDK's models turn `line: -1` into None and `"3"` into 3, and accept any path. Here a request is either well formed
or answered with -32602. `_meta` is ignored. The workspace decides whether a path may be accessed. This module only
rejects a path that is neither absolute nor the URI of a document without a file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sidecar.acp.errors import Failure, invalid
from sidecar.core.any_text import AnyText
from sidecar.core.refusal import Kind
from sidecar.core.text import Text
from sidecar.core.uri import is_untitled

READ = "fs/read_text_file"
WRITE = "fs/write_text_file"

_LONGEST_PATH = 4096
"""In bytes: PATH_MAX of Linux."""


@dataclass(frozen=True, slots=True)
class FileParams:
    """Well-formed params. `content` is None for reads."""

    access: Literal["read", "write"]
    session_id: str
    """The agent's own id of the session."""
    path: str
    line: int | None = None
    limit: int | None = None
    content: AnyText | None = None


def parse(method: str, params: Mapping[str, object]) -> FileParams | Failure:
    """The params of READ or WRITE, or the error to answer."""
    session_id, path = params.get("sessionId"), params.get("path")
    if not isinstance(session_id, str):
        return invalid("sessionId must be a string", Kind.UNKNOWN_SESSION)
    if not isinstance(path, str):
        return invalid("path must be a string")
    if (wrong := _wrong_with(path)) is not None:
        return invalid(wrong)
    if method == WRITE:
        content = params.get("content")
        if not isinstance(content, (str, Text)):
            return invalid("content must be a string", Kind.BAD_PARAMS)
        return FileParams("write", session_id, path, content=content)
    for name in ("line", "limit"):
        value = params.get(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            return invalid(f"{name} must be a whole number from 0", Kind.BAD_RANGE)
    line, limit = params.get("line"), params.get("limit")
    return FileParams("read", session_id, path, line, limit)  # type: ignore[arg-type]  # checked by name just above


def written(saved: bool | None, note: str) -> dict[str, object]:
    """The result of WRITE. `saved`, `note`: see service.Written."""
    if saved is None and not note:
        return {}
    return {"_meta": {"saved": saved, **({"note": note} if note else {})}}


def _wrong_with(path: str) -> str | None:
    if not path:
        return "path is empty"
    if "\0" in path:
        return "path has a NUL character in it"
    if path[:5].lower() == "file:":
        return "path is a URI; ACP paths are absolute paths"
    if not os.path.isabs(path) and not is_untitled(path):
        return "path is not absolute"
    try:
        length = len(path) if path.isascii() else len(os.fsencode(path))
    except UnicodeEncodeError:
        return "path cannot be a file name"
    return f"path is longer than {_LONGEST_PATH} bytes" if length > _LONGEST_PATH else None
