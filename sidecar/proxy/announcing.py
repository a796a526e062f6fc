"""What is added to the handshake. Nothing else in it is changed, not even how a number is written."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sidecar.proxy.heads import Head, fields_of, value_of

_TRUE = msgspec.Raw(b"true")
VERSION = 1
"""The version of ACP that has `fs`. Later ones do not."""


def with_files(line: bytes) -> bytes:
    """The line of an `initialize`, announcing that the client reads and writes files. Unchanged if it is of another version or malformed."""
    message = fields_of(msgspec.Raw(line)) or {}
    params = fields_of(message.get("params", msgspec.UNSET))
    if params is None or _version(params) != VERSION:
        return line
    return _with(line, ("params", "clientCapabilities", "fs"), ("readTextFile", "writeTextFile"))


def with_mcp(line: bytes) -> bytes:
    """The line of an answer to `proxy/initialize`, announcing MCP over ACP: every link of a chain passes it on."""
    message = fields_of(msgspec.Raw(line)) or {}
    if fields_of(message.get("result", msgspec.UNSET)) is None:
        return line
    return _with(line, ("result", "agentCapabilities", "mcpCapabilities"), ("acp",))


def version_of(head: Head) -> int:
    """The version of ACP in the agent's answer to `initialize`; 1 if the answer names none."""
    result = fields_of(head.result)
    version = None if result is None else _version(result)
    return version if isinstance(version, int) and not isinstance(version, bool) else VERSION


def _with(line: bytes, path: Sequence[str], names: Sequence[str]) -> bytes:
    """The line with these fields set to true in the object at `path`, which is created if it is missing."""
    return bytes(_set(msgspec.Raw(line), path, names))


def _set(value: msgspec.Raw | msgspec.UnsetType, path: Sequence[str], names: Sequence[str]) -> msgspec.Raw:
    fields = fields_of(value) or {}
    if path:
        fields[path[0]] = _set(fields.get(path[0], msgspec.UNSET), path[1:], names)
    else:
        fields |= dict.fromkeys(names, _TRUE)
    return msgspec.Raw(msgspec.json.encode(fields))


def _version(params: dict[str, msgspec.Raw]) -> object:
    version = params.get("protocolVersion")
    return None if version is None else value_of(version)
