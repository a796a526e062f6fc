"""Handshake: what each side announces at `initialize`, and the ways to log in (ACP v2, "Initialization", "Authentication")."""

from __future__ import annotations

from sidecar.acp.facts import at
from sidecar.acp.v2.fields import objects, renamed
from sidecar.core.json_types import Json

VERSION = 2


def request(params: Json) -> Json:
    """Our announcement. What we cannot do in version 2, or need not say, is left out."""
    can = params.get("clientCapabilities")
    told: dict[str, object] = {}
    if at(can, "auth", "terminal") is True:
        told["auth"] = {"terminal": {}}
    for name in ("elicitation", "_meta"):
        if (value := at(can, name)) is not None:
            told[name] = value
    return {"protocolVersion": VERSION, "info": params.get("clientInfo"), "capabilities": told}


def answer(result: Json) -> Json:
    """The agent's announcement. If it speaks another version, it is returned unchanged."""
    if result.get("protocolVersion") != VERSION:
        return result
    session = at(result, "capabilities", "session")
    has_sessions = isinstance(session, dict)
    methods = [_method(method) for method in objects(result.get("authMethods"))]
    can: dict[str, object] = {
        "loadSession": has_sessions,
        "promptCapabilities": {
            name: _offers(session, "prompt", name) for name in ("image", "audio", "embeddedContext")
        },
        "mcpCapabilities": {"http": _offers(session, "mcp", "http"), "sse": False},
        "sessionCapabilities": {
            **({"list": {}, "resume": {}, "close": {}} if has_sessions else {}),
            **{name: {} for name in ("delete", "fork", "additionalDirectories") if _offers(session, name)},
        },
        "auth": {"logout": {}} if methods else {},
    }
    return {
        "protocolVersion": VERSION,
        "agentInfo": result.get("info"),
        "agentCapabilities": can,
        "authMethods": methods,
    }


def takes_programs(result: Json) -> bool:
    """Whether the agent's sessions accept MCP servers that the agent starts."""
    return _offers(at(result, "capabilities", "session"), "mcp", "stdio")


def _offers(session: object, *names: str) -> bool:
    """Whether a capability is offered: an object means yes, absence and null mean no."""
    return isinstance(at(session, *names), dict)


def _method(method: Json) -> Json:
    told = renamed(method, "methodId", "id")
    env = objects(told.get("env"))
    return {**told, "env": {str(one.get("name")): one.get("value") for one in env}} if env else told
