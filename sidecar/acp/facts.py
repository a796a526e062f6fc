"""Facts: what an agent announces at `initialize`, as far as this package needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from sidecar.core.escape import plain
from sidecar.core.json_types import Json


@dataclass(frozen=True, slots=True)
class Facts:
    """The defaults assume the least."""

    name: str = ""
    version: str = ""
    embedded_context: bool = False
    additional_directories: bool = False
    images: bool = False
    close: bool = False
    list: bool = False
    load: bool = False
    resume: bool = False
    delete: bool = False
    fork: bool = False
    logout: bool = False
    mcp_http: bool = False
    mcp_sse: bool = False
    auth_methods: tuple[Json, ...] = ()
    """As the agent sent them; each has an `id`."""


def facts_of(answer: object) -> Facts:
    """Read the facts from the raw answer. Where the SDK's model repairs a bad field, it leaves dicts in place of
    models."""
    info = at(answer, "agentInfo")
    can = at(answer, "agentCapabilities")
    methods = at(answer, "authMethods")
    name = at(info, "title") or at(info, "name")
    version = at(info, "version")
    return Facts(
        name=plain(name, 60) if isinstance(name, str) else "",
        version=plain(version, 40) if isinstance(version, str) else "",
        embedded_context=at(can, "promptCapabilities", "embeddedContext") is True,
        images=at(can, "promptCapabilities", "image") is True,
        additional_directories=_offers(can, "additionalDirectories"),
        close=_offers(can, "close"),
        list=_offers(can, "list"),
        load=at(can, "loadSession") is True,
        resume=_offers(can, "resume"),
        delete=_offers(can, "delete"),
        fork=_offers(can, "fork"),
        logout=isinstance(at(can, "auth", "logout"), dict),
        mcp_http=at(can, "mcpCapabilities", "http") is True,
        mcp_sse=at(can, "mcpCapabilities", "sse") is True,
        auth_methods=tuple(
            cast("Json", method)
            for method in (cast("list[object]", methods) if isinstance(methods, list) else ())
            if isinstance(at(method, "id"), str)
        ),
    )


def _offers(capabilities: object, name: str) -> bool:
    """Whether the agent has a session capability (ACP, `sessionCapabilities`): an object means yes, absence or
    null means no."""
    return isinstance(at(capabilities, "sessionCapabilities", name), dict)


def at(value: object, *keys: str) -> object:
    """The value in nested objects. None if it is missing."""
    for key in keys:
        value = cast("dict[str, object]", value).get(key) if isinstance(value, dict) else None
    return value
