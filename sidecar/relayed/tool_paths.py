"""ToolPaths: translates a call's paths there into paths here, and an answer's paths into paths there, by the folders that the user mapped.

The tools' schemas (mcp/schemas.py) say which arguments and which fields of answers are paths: `file_path`, `path` and `folder`. Texts of files are left
alone. Messages about a file use the agent's name for it. A row about a file that is unmapped there is left out.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from sidecar.acp.elsewhere.folders import Folders, unmapped
from sidecar.core.uri import is_untitled
from sidecar.mcp.answers import listed
from sidecar.mcp.caller import failed

_ARGUMENTS = ("file_path", "path")
_ITEMS = ("files", "edits")
"""The lists of objects that have such an argument."""
_FIELDS = ("file_path", "path", "folder")
_ROWS = ("documents", "diagnostics", "changes")
"""The lists of rows that have such a field."""
_ONE_FILE = ("Edit", "Write", "Append")
"""The tools whose answers name the file in the first line; the following lines may be the file's text."""
NOWHERE = "this path is in no mapped folder"


class Outside(Exception):
    """A path that stands for nothing here. The message is for the model."""

    def __init__(self, path: str, words: str) -> None:
        super().__init__(words)
        self.path = path


class ToolPaths:
    """The paths of one session. `folder`: its own folder, there."""

    def __init__(self, agent: str, folders: Folders, folder: str) -> None:
        self._agent = agent
        self._folders = folders
        self._folder = folder
        self._names = [
            (re.compile(re.escape(name) + r"(?![\w.-])"), there)
            for there, here in folders.pairs
            for name in dict.fromkeys((here, os.path.realpath(here)))
            if name != os.path.dirname(name)  # a root is in every path
        ]
        self._names.sort(key=lambda pair: -len(pair[0].pattern))

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments for the tools here. Raises Outside. Values that are no paths are left to the tools, which report them."""
        found = self._arguments(given)
        for name in _ITEMS:
            items = given.get(name)
            if isinstance(items, list):
                found[name] = [
                    self._arguments(cast("dict[str, Any]", item)) if isinstance(item, dict) else item
                    for item in cast("list[object]", items)
                ]
        return found

    def here(self, path: str) -> str | None:
        """The path here for a path there. None if it stands for nothing here."""
        return self._folders.here(posixpath.join(self._folder, path))

    def answer(self, tool: str, answer: Mapping[str, Any]) -> dict[str, Any]:
        """The answer in the form that the agent gets."""
        content = cast("list[dict[str, Any]]", answer.get("content", []))
        if answer.get("isError"):
            told = {**answer, "content": [self._words(block) for block in content]}
            if "structuredContent" in answer:
                told["structuredContent"] = self._error(answer["structuredContent"])
            return told
        match tool:
            case "Read" | "ReadBytes" | "Save":
                return dict(answer)
            case "ReadMany":
                return {**answer, "content": list(self._in_turn(content))}
            case "EditMany":
                return {**answer, "content": [self._words(block) for block in content]}
            case _ if tool in _ONE_FILE:
                return {**answer, "content": [self._first_line(block) for block in content]}
            case _:
                return self._listed(answer)

    def _arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        found = dict(given)
        for name in _ARGUMENTS:
            path = given.get(name)
            if not isinstance(path, str) or not path or is_untitled(path) or path[:5].lower() == "file:":
                continue
            here = self.here(path)
            if here is None:
                there = posixpath.join(self._folder, path)
                raise Outside(there, unmapped(self._agent, there, self._folders))
            found[name] = here
        return found

    # answers

    def _listed(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of a tool that reports files: an object with names or with rows."""
        told = answer.get("structuredContent")
        if not isinstance(told, dict):
            return {**answer, "content": [self._words(block) for block in answer.get("content", [])]}
        found = self._row(cast("dict[str, Any]", told))
        if found is None:
            return failed(NOWHERE)
        for name in _ROWS:
            rows = found.get(name)
            if isinstance(rows, list):
                mapped = (self._row(row) for row in cast("list[dict[str, Any]]", rows))
                found[name] = [row for row in mapped if row is not None]
        return {
            **answer,
            "structuredContent": found,
            **({} if not answer.get("content") else {"content": list(listed(found).content)}),
        }

    def _row(self, row: Mapping[str, Any]) -> dict[str, Any] | None:
        found = dict(row)
        for name in _FIELDS:
            path = row.get(name)
            if isinstance(path, str) and os.path.isabs(path):
                there = self._folders.there(path)
                if there is None:
                    return None
                found[name] = there
        return found

    def _error(self, told: object) -> object:
        if not isinstance(told, dict):
            return told
        return {
            name: self._replaced(value)
            if isinstance(value, str)
            else [self._replaced(one) if isinstance(one, str) else one for one in cast("list[object]", value)]
            if isinstance(value, list)
            else value
            for name, value in cast("dict[str, object]", told).items()
        }

    def _in_turn(self, content: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The content of ReadMany: a block that names the file, then one with its text, or the reason why it could not be read."""
        words = True
        for number, block in enumerate(content):
            if number % 2 == 0:
                words = str(block.get("text", "")).startswith("error: ")
                yield self._words(block)
            else:
                yield self._words(block) if words else block

    def _first_line(self, block: dict[str, Any]) -> dict[str, Any]:
        first, end, rest = str(block.get("text", "")).partition("\n")
        return {**block, "text": self._replaced(first) + end + rest}

    def _words(self, block: dict[str, Any]) -> dict[str, Any]:
        return (
            {**block, "text": self._replaced(block["text"])} if isinstance(block.get("text"), str) else block
        )

    def _replaced(self, words: str) -> str:
        """A message with the folders here replaced by their names there."""
        for here, there in self._names:
            words = here.sub(lambda _, there=there: there, words)
        return words
