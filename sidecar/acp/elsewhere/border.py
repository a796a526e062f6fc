"""Border: translates the paths in each message between an agent and us. Nothing inside knows where an agent runs.

`Border` is for agents that run here and changes nothing. `Mapped` is for agents that run elsewhere: it translates the fields that ACP defines as
paths and `file:` URIs. It leaves all texts alone: prompts, answers, commands, their output, and a tool's raw input and output.

Requests for a path that stands for nothing here are refused. In updates, which only report paths, such a path becomes `remote:/path`, which names
no file here. In the other direction, a session's folder must be mapped, and unmapped URIs in prompts become `local:`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from typing import cast

from sidecar.acp import command_line, errors, files
from sidecar.acp.elsewhere.commands import RunsThere
from sidecar.acp.elsewhere.folders import Folders, unmapped
from sidecar.acp.errors import Failure
from sidecar.acp.sdk import AGENT_METHODS, CLIENT_METHODS
from sidecar.acp.terminal_requests import Runs, RunsHere
from sidecar.config import Transport
from sidecar.core.escape import plain
from sidecar.core.json_types import Json
from sidecar.core.refusal import Kind, Refusal
from sidecar.core.uri import from_path, normalise, to_path
from sidecar.workspace.ports.ports import AgentFailed

log = logging.getLogger(__name__)

_LIST, _PROMPT = AGENT_METHODS["session_list"], AGENT_METHODS["session_prompt"]
_UPDATE, _ASK = CLIENT_METHODS["session_update"], CLIENT_METHODS["session_request_permission"]
_PLACE = {files.READ: "path", files.WRITE: "path", command_line.CREATE: "cwd"}
"""The field with the path on which a request acts."""
_REMOTE, _LOCAL = "remote:", "local:"
_ROOM = 24 * 1024
"""Roughly how many code points of paths and URIs are translated in one message, which takes about ten milliseconds. The rest counts as unmapped."""
_MOST_ROWS, _MOST_FOLDERS = 1000, 10
"""The most sessions of a page that are passed on, and the most additional folders of each."""
_LONGEST_URI = 3 * 4096
"""In code points: every byte of a path may be escaped."""


class Border:
    runs: Runs = RunsHere()
    """How the agent's commands are run."""
    runs_commands = True
    """Whether the agent can have its commands run by us. Not at an address: nothing can be run there, so the agent runs its commands itself."""

    def sent(self, method: str, params: dict[str, object]) -> dict[str, object]:
        """Translate the params of our request for the agent. Raises AgentFailed."""
        return params

    def answered(self, method: str, answer: object) -> object:
        """Translate the agent's answer for us."""
        return answer

    def arrived(self, method: str, params: dict[str, object]) -> Failure | None:
        """Translate the params of the agent's message for us, in place. Returns the error if the message is refused."""
        return None

    def failed(self, failure: Failure, params: Mapping[str, object]) -> Failure:
        """Translate the answer to a refused request for the agent; `params` are the translated ones."""
        return failure


HERE = Border()


class Mapped(Border):
    def __init__(self, agent: str, transport: Transport, folders: Folders) -> None:
        self.runs = RunsThere(agent, transport, folders)
        self.runs_commands = not transport.url
        self._agent = agent
        self._transport = transport
        self._folders = folders
        self._room = _ROOM

    def sent(self, method: str, params: dict[str, object]) -> dict[str, object]:
        out = dict(params)
        match method:
            case _ if method == _LIST:
                there = self._there(out.pop("cwd", None))
                return (
                    out if there is None else {**out, "cwd": there}
                )  # lists all folders; `answered` drops unmapped ones
            case _ if method == _PROMPT:
                blocks = cast("list[object]", params.get("prompt"))
                return {**out, "prompt": [_block(one, self._uri_there) for one in blocks]}
            case _ if isinstance(cwd := params.get("cwd"), str):
                return {
                    **out,
                    **self._place(cwd, cast("list[str]", params.get("additionalDirectories") or [])),
                }
            case _:
                return out

    def answered(self, method: str, answer: object) -> object:
        if method != _LIST or not isinstance(answer, dict):
            return answer
        page = cast("dict[str, object]", answer)
        return {**page, "sessions": list(self._rows(page.get("sessions")))}

    def arrived(self, method: str, params: dict[str, object]) -> Failure | None:
        if (field := _PLACE.get(method)) is not None:
            return self._asked_about(params, field)
        if method in (_UPDATE, _ASK):
            self._room = _ROOM
            update = params.get("update" if method == _UPDATE else "toolCall")
            if isinstance(update, dict):
                self._told(cast("dict[str, object]", update))
        return None

    def failed(self, failure: Failure, params: Mapping[str, object]) -> Failure:
        path = params.get("path") or params.get("cwd")
        there = self._there(path)
        if not isinstance(path, str) or there is None:
            return failure
        data = {name: there if value == path else value for name, value in failure.data.items()}
        return Failure(failure.code, failure.message.replace(path, there), data)

    # ours to the agent's

    def _place(self, cwd: str, more: list[str]) -> dict[str, object]:
        there = self._there(cwd)
        if there is None:
            raise AgentFailed("refused", self._nowhere(cwd))
        mapped = {folder: self._there(folder) for folder in more}
        for folder in (folder for folder, found in mapped.items() if found is None):
            log.warning(
                "%s is not told of %s: no folder where it runs stands for it", self._agent, plain(folder)
            )
        found = [folder for folder in mapped.values() if folder is not None]
        return {"cwd": there, **({"additionalDirectories": found} if more else {})}

    def _nowhere(self, cwd: str) -> str:
        by = plain(" ".join(self._transport.words), 200)
        pairs = ", ".join(f"{there} stands for {here}" for there, here in self._folders.pairs)
        return (
            f"{self._agent} runs elsewhere ({by}), and no folder there stands for {plain(cwd)}"
            f" ({plain(pairs, 400) or 'none is mapped'}). Say in the settings where it is there:"
            f' "agents": {{"{self._agent}": {{"transport": {{"folders": {{"/folder/there": "{plain(cwd)}"}}}}}}}}.'
        )

    def _there(self, here: object) -> str | None:
        return self._folders.there(here) if isinstance(here, str) and os.path.isabs(here) else None

    def _uri_there(self, uri: str) -> str:
        def mapped(path: str) -> str | None:
            there = self._folders.there(path)
            return None if there is None else from_path(there, windows=False)

        return _mapped(uri, lambda name: to_path(normalise(name)), mapped, _LOCAL)

    # the agent's to ours

    def _asked_about(self, params: dict[str, object], field: str) -> Failure | None:
        path = params.get(field)
        if not isinstance(path, str) or not (path.startswith("/") or os.path.isabs(path)):
            return None  # Anything else is refused later, or is relative to the session's folder
        found = self._folders.here(path)
        if found is not None:
            params[field] = found
            return None
        return errors.failure(Refusal(Kind.OUTSIDE, unmapped(self._agent, path, self._folders)), path)

    def _rows(self, rows: object) -> Iterator[Json]:
        for row in cast("list[object]", rows)[:_MOST_ROWS] if isinstance(rows, list) else []:
            fields = cast("dict[str, object]", row) if isinstance(row, dict) else {}
            cwd, more = fields.get("cwd"), fields.get("additionalDirectories")
            if isinstance(cwd, str) and (here := self._folders.here(cwd)) is not None:
                folders = cast("list[object]", more)[:_MOST_FOLDERS] if isinstance(more, list) else []
                found = [self._folders.here(folder) for folder in folders if isinstance(folder, str)]
                known = [folder for folder in found if folder is not None]
                yield {**fields, "cwd": here, "additionalDirectories": known}

    def _told(self, update: dict[str, object]) -> None:
        """Translate an update or a tool call, in place."""
        if isinstance(summary := update.get("summary"), list):  # of a compaction
            update["summary"] = [_block(one, self._uri_here) for one in cast("list[object]", summary)]
        for name in ("locations", "content"):
            items = update.get(name)
            if isinstance(items, list):
                update[name] = [self._item(item) for item in cast("list[object]", items)]
            elif isinstance(items, dict):  # of a message
                update[name] = _block(cast("object", items), self._uri_here)

    def _item(self, item: object) -> object:
        """Translate a location, a diff, or a content block in its envelope, in place."""
        if not isinstance(item, dict):
            return item
        fields = cast("dict[str, object]", item)
        path, block = fields.get("path"), fields.get("content")
        if isinstance(path, str) and (path.startswith("/") or os.path.isabs(path)):
            mapped = self._folders.here(path) if self._spend(16 + len(path) // 8) else None
            fields["path"] = mapped or _REMOTE + path
        elif isinstance(path, str) and path[:5].lower() == "file:":  # several agents send one
            fields["path"] = self._uri_here(path)
        if isinstance(block, dict):
            fields["content"] = _block(cast("object", block), self._uri_here)
        return fields

    def _spend(self, cost: int) -> bool:
        self._room -= cost
        return self._room >= 0

    def _uri_here(self, uri: str) -> str:
        def mapped(path: str) -> str | None:
            here = self._folders.here(path)
            return None if here is None else from_path(here)

        if uri[:5].lower() == "file:" and not self._spend(2 * len(uri)):
            return _REMOTE + uri[5:]
        return _mapped(
            uri, lambda name: to_path(normalise(name, windows=False), windows=False), mapped, _REMOTE
        )


def _block(block: object, mapped: Callable[[str], str]) -> object:
    """A content block (ACP, "Content") with its URI, and the URI of its resource, translated."""
    if not isinstance(block, dict):
        return block
    fields = dict(cast("dict[str, object]", block))
    if isinstance(uri := fields.get("uri"), str):
        fields["uri"] = mapped(uri)
    if isinstance(resource := fields.get("resource"), dict):
        fields["resource"] = _block(cast("object", resource), mapped)
    return fields


def _mapped(
    uri: str, read: Callable[[str], str | None], mapped: Callable[[str], str | None], otherwise: str
) -> str:
    """The URI of the path to which a URI's path is mapped. If it is unmapped, the URI with `otherwise` as its scheme. Only `file:` URIs name a
    path."""
    if uri[:5].lower() != "file:":
        return uri
    name, mark, lines = uri.partition("#")
    path = read(name) if len(name) <= _LONGEST_URI else None
    found = None if path is None else mapped(path)
    return (otherwise + name[5:] if found is None else found) + mark + lines
