"""The methods of the bridge: a table from names to functions, with plain JSON as input and output.

    status          {}                 → as `sidecar.status`
    openDocuments   {}                 → {"documents": [{"uri", "dirty", "desynchronised"}]}
    isOpen          {path}             → {"open": true | false}
    look            {path}             → {}: the file was changed on the disk, and the document has the change now
    apply           {path, steps: [{base, wanted}], label, session?, takesBack?: [id]}
                    → {"result": "applied" | "conflict" | "not_open" | "refused", "reason", "saved"}

See `workspace.applying` for what `apply` means.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, cast

from sidecar.bridge.server import Method, Refused
from sidecar.core.text import Text
from sidecar.workspace.ports.aside import aside
from sidecar.workspace.review.applying import ApplyResult, Change, Step


class Applying(Protocol):
    def is_open(self, path: str) -> bool: ...
    async def look(self, path: str) -> None: ...
    async def apply(self, change: Change) -> ApplyResult: ...


class BridgeWorkspace(Protocol):
    """The part of the workspace that the bridge uses."""

    def status(self) -> Mapping[str, Any]: ...
    @property
    def applier(self) -> Applying: ...


def methods(service: BridgeWorkspace) -> dict[str, Method]:
    """The methods of every sidecar, by name. Doors add their own to the table."""

    async def status(params: Mapping[str, Any]) -> object:
        return service.status()

    async def open_documents(params: Mapping[str, Any]) -> object:
        return {
            "documents": [
                {"uri": d["uri"], "dirty": not d["clean"], "desynchronised": d["desynchronised"]}
                for d in service.status()["documents"]
            ]
        }

    async def is_open(params: Mapping[str, Any]) -> object:
        return {"open": service.applier.is_open(_text(params, "path"))}

    async def look(params: Mapping[str, Any]) -> object:
        await service.applier.look(_text(params, "path"))
        return {}

    async def apply(params: Mapping[str, Any]) -> object:
        change = Change(
            _text(params, "path"),
            tuple([await _step(step) for step in _list(params, "steps")]),
            _text(params, "label"),
            _text(params, "session") if "session" in params else "",
            tuple(str(one) for one in _list(params, "takesBack")) if "takesBack" in params else (),
        )
        applied = await service.applier.apply(change)
        return {"result": applied.result, "reason": applied.reason, "saved": applied.saved}

    return {
        "status": status,
        "openDocuments": open_documents,
        "isOpen": is_open,
        "look": look,
        "apply": apply,
    }


def _text(params: Mapping[str, Any], name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise Refused(f"{name} should be a text")
    return value


def _list(params: Mapping[str, Any], name: str) -> list[object]:
    value = params.get(name)
    if not isinstance(value, list):
        raise Refused(f"{name} should be a list")
    return cast("list[object]", value)


async def _step(value: object) -> Step:
    match value:
        case {"base": str() | Text() as base, "wanted": str() | Text() as wanted}:
            return Step(*[await aside(len(text), lambda text=text: str(text)) for text in (base, wanted)])
        case _:
            raise Refused("a step should have the texts base and wanted")
