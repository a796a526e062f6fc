"""Glob and Search: matched in the tool's own process. The sidecar says which files may be looked at and what is unsaved in them."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio.to_thread

from sidecar.core.json_types import JsonDict
from sidecar.disk.searching import MatchingLine, lines_with
from sidecar.mcp.answers import failed, listed
from sidecar.mcp.arguments import ToolArguments, Wrong
from sidecar.mcp.globs import compiled

Ask = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
Local = Callable[[Ask, Mapping[str, Any]], Awaitable[JsonDict]]

MAX_FOUND = 10_000
"""The most files of one Glob."""
SECONDS = 60.0
"""The most seconds that a search may take. Whatever it has found until then is returned."""
MAX_LINE = 500
"""The most code points that are shown of a line."""


async def glob(ask: Ask, given: Mapping[str, Any]) -> JsonDict:
    arguments = ToolArguments(given, "")
    try:
        arguments.only("pattern", "path")
        pattern = compiled(arguments.text("pattern"))
    except Wrong as wrong:
        return dict(failed(f"Glob: {wrong}").as_json())
    answer = await ask("Files", _where(given, texts=False))
    if answer.get("isError"):
        return answer
    files: JsonDict = answer["structuredContent"]
    found = sorted(name for name in files["names"] if pattern(name))
    told: JsonDict = {"folder": files["folder"], "files": found[:MAX_FOUND], **_left_out(files)}
    if len(found) > MAX_FOUND:
        told["leftOut"] = f"{len(found) - MAX_FOUND} more files match"
    return dict(listed(told).as_json())


async def search(ask: Ask, given: Mapping[str, Any]) -> JsonDict:
    arguments = ToolArguments(given, "")
    try:
        arguments.only("pattern", "path", "glob", "literal", "ignore_case", "max_matches")
        pattern = _expression(arguments)
        names = compiled(arguments.text("glob")) if "glob" in given else None
        most = arguments.number("max_matches", 1, 10_000) or 200
    except Wrong as wrong:
        return dict(failed(f"Search: {wrong}").as_json())
    answer = await ask("Files", _where(given, texts=True))
    if answer.get("isError"):
        return answer
    files: JsonDict = answer["structuredContent"]
    looked_at = [name for name in files["names"] if names is None or names(name)]
    late = time.monotonic() + SECONDS

    def look() -> tuple[list[MatchingLine], bool]:
        found: list[MatchingLine] = []
        for line in lines_with(pattern, files["folder"], looked_at, files["texts"]):
            if len(found) == most:
                return found, True
            found.append(line)
            if time.monotonic() > late:
                return found, True
        return found, False

    found, more = await anyio.to_thread.run_sync(look, abandon_on_cancel=True)
    told: JsonDict = {
        "folder": files["folder"],
        "matches": [{"file": at.name, "line": at.number, "text": at.text[:MAX_LINE]} for at in found],
        "filesLookedAt": len(looked_at),
        **_left_out(files),
    }
    if more:
        told["leftOut"] = "there are more matches; narrow the search, or raise max_matches"
    return dict(listed(told).as_json())


LOCAL: Mapping[str, Local] = {"Glob": glob, "Search": search}


def _where(given: Mapping[str, Any], *, texts: bool) -> JsonDict:
    return {"texts": texts, **({"path": given["path"]} if "path" in given else {})}


def _left_out(files: JsonDict) -> JsonDict:
    told: JsonDict = {}
    if files["needPermission"]:
        told["needPermission"] = (
            f"{files['needPermission']} files need the user's permission and were left out"
        )
    if files["tooMany"]:
        told["tooMany"] = "the folder has too many files to look at; give a path below it"
    return told


def _expression(arguments: ToolArguments) -> re.Pattern[str]:
    pattern = arguments.text("pattern")
    if not pattern:
        raise Wrong("pattern is empty")
    try:
        return re.compile(
            re.escape(pattern) if arguments.flag("literal") else pattern,
            re.MULTILINE | (re.IGNORECASE if arguments.flag("ignore_case") else 0),  # of each line
        )
    except (re.error, RecursionError) as error:
        raise Wrong(
            f"pattern is not a regular expression: {error}; set literal to search for it as it stands"
        ) from None
