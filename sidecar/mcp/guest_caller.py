"""GuestCaller: passes the calls of a guest's tools to the right sidecar, or carries them out on the disk if there is none.

A guest has no sidecar of its own. The sidecar is chosen anew for each call, by the file that the call names or by the folder in which
the guest was started: editors come and go while it works.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import anyio

from sidecar.core.json_types import JsonDict
from sidecar.core.refusal import Kind
from sidecar.mcp.caller import GONE, carried_out, failed, not_done
from sidecar.mcp.sidecars import Sidecar, Sidecars

_OF_EDITORS = frozenset({"OpenDocuments", "Selection", "Diagnostics"})
"""Tools about editors rather than files: any window in the folder can answer."""
OLDER = (
    "The acp-sidecar of the editor that has this folder open is of another version than this one. Ask the user to restart the editor; until "
    "then, use your own file tools"
)
NOBODY_TO_ASK = "No editor with acp-sidecar has this folder open, so the user cannot be asked. Ask them to open it there, or to do it themselves"


class GuestCaller:
    def __init__(
        self,
        agent: str,
        folder: str,
        sidecars: Sidecars,
        on_disk: Callable[[], Awaitable[Sidecar]],
        *,
        numbered: bool = False,
        secret: str = "",
    ) -> None:
        """`agent`: a key of guest_names.py. `folder`: absolute. `on_disk`: carries out the calls if no sidecar runs. `secret`: the
        secret of an agent that joined a sidecar from behind the proxy, which makes the calls belong to its session there; see
        `tool_process.JOINED`."""
        self._agent = agent
        self._folder = folder
        self._sidecars = sidecars
        self._on_disk = on_disk
        self._numbered = numbered
        self._secret = secret
        self._tokens: dict[int, tuple[Sidecar, str]] = {}
        """By the connection for which they are valid."""
        self._arriving = anyio.Lock()

    async def hello(self) -> None:
        """Does nothing: nobody waits for a guest."""

    async def call(self, name: str, arguments: Mapping[str, Any], session: str = "") -> JsonDict:
        """MCP's CallToolResult as JSON. Never raises for a fault of a sidecar."""
        given = absolute(arguments, self._folder)
        if name in ("Glob", "Search") and "path" not in given:
            given["path"] = self._folder

        async def ask(name: str, arguments: Mapping[str, Any]) -> JsonDict:
            return await self.ask(name, arguments, session)

        return await carried_out(ask, name, given, numbered=self._numbered)

    def _of_session(self, session: str) -> str:
        return f"{self._secret}:{session}" if session else self._secret

    async def ask(self, name: str, arguments: Mapping[str, Any], session: str = "") -> JsonDict:
        given = dict(arguments)
        if name == "ListFolder":
            given.setdefault("path", self._folder)
        try:
            async with self._arriving:  # calls are sent in the order in which they came
                sidecar = await self._meant(name, given)
                disk = sidecar is None
                if sidecar is None:
                    sidecar = await self._on_disk()
                token = self._of_session(session) if self._secret and not disk else await self._token(sidecar)
        except (ConnectionError, OSError) as error:
            return not_done(str(error))
        if isinstance(token, dict):
            return token
        try:
            answer: JsonDict = await sidecar.call("tool", {"token": token, "name": name, "arguments": given})
        except ConnectionError as error:
            self._tokens.pop(id(sidecar), None)
            return failed(f"{GONE} ({error}). Read the file again: it is not known whether this was done")
        except ValueError as error:
            return failed(str(error))
        if "refused" in answer:
            self._tokens.pop(id(sidecar), None)  # the session was closed in the editor
            return not_done(f"{answer['refused']}")
        return _explained(answer) if disk else answer

    async def _meant(self, name: str, arguments: JsonDict) -> Sidecar | None:
        file = _first_file(arguments)
        if file is not None:
            return await self._sidecars.for_file(file)
        folder = arguments.get("path")
        return await self._sidecars.for_folder(
            folder if isinstance(folder, str) else self._folder, within=name in _OF_EDITORS
        )

    async def _token(self, sidecar: Sidecar) -> str | JsonDict:
        known = self._tokens.get(id(sidecar))
        if known is not None:
            return known[1]
        try:
            answer: JsonDict = await sidecar.call("visit", {"agent": self._agent, "folder": self._folder})
        except ValueError as error:  # it has no support for guests
            return not_done(f"{OLDER} ({error})")
        if "token" not in answer:
            return not_done(str(answer.get("refused", "")))
        self._tokens[id(sidecar)] = sidecar, answer["token"]
        return answer["token"]


def absolute(arguments: Mapping[str, Any], folder: str) -> JsonDict:
    """The arguments with absolute paths, which mean the same in every folder. Anything but a path stays unchanged."""

    def placed(name: str, value: object) -> object:
        if (
            name in ("file_path", "path")
            and isinstance(value, str)
            and value
            and value[:5].lower() != "file:"
        ):
            return os.path.join(folder, value)
        if name in ("files", "edits") and isinstance(value, list):
            items = cast("list[object]", value)
            return [
                absolute(cast("Mapping[str, Any]", item), folder) if isinstance(item, dict) else item
                for item in items
            ]
        return value

    return {name: placed(name, value) for name, value in arguments.items()}


def _first_file(arguments: JsonDict) -> str | None:
    """The file that a call names, or the first of several."""
    path = arguments.get("file_path")
    if isinstance(path, str) and path and "\0" not in path:
        return path
    for name in ("files", "edits"):
        items: object = arguments.get(name)
        first: object = cast("list[object]", items)[0] if isinstance(items, list) and items else None
        if isinstance(first, dict):
            return _first_file(cast("JsonDict", first))
    return None


def _explained(answer: JsonDict) -> JsonDict:
    """The answer. If it is refused because the user would have to be asked, it also says why nobody asked."""
    told = cast("JsonDict", answer.get("structuredContent") or {})
    if not answer.get("isError") or told.get("errorKind") != Kind.DENIED_BY_USER:
        return answer
    content = [*answer["content"], {"type": "text", "text": NOBODY_TO_ASK}]
    return {**answer, "content": content}
