"""Arguments: the checked arguments of a tool call. Nothing is converted: "3" is not 3."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import cast

from sidecar.core.any_text import AnyText
from sidecar.core.escape import escape, shorten
from sidecar.core.text import Text
from sidecar.core.uri import is_untitled
from sidecar.mcp.kept import KeptMemory

LONGEST_PATH = 4096
"""In bytes: PATH_MAX of Linux."""
LARGEST = 2**31 - 1
"""The most for every number: more lines or bytes than any file that is served has."""
LONGEST_NAME = 60
"""The most characters of a name that is repeated in an answer."""


class Wrong(Exception):
    """An argument does not match the schema. The message is for the model."""


class ToolArguments:
    """`folder`: the base of relative paths. `of`: words that say to which item of a list these arguments belong. `kept`: the memory
    that their texts take."""

    def __init__(
        self, given: Mapping[str, object], folder: str, of: str = "", kept: KeptMemory | None = None
    ) -> None:
        self.kept = kept
        self._given = given
        self._folder = folder
        self._of = of

    def only(self, *names: str) -> None:
        """Raises Wrong for an argument that the tool does not have: a misspelt one must not be ignored."""
        for name in self._given:
            if name not in names:
                raise Wrong(
                    f"{self._of}there is no argument {quoted(name)}; there are: {', '.join(names) or 'none'}"
                )

    def text(self, name: str, default: str | None = None) -> str:
        value = self._given.get(name, default)
        if not isinstance(value, str):
            raise Wrong(f"{self._of}{name} must be a string")
        return value

    def any_text(self, name: str) -> AnyText:
        """The text of a write. A long one need not be a string."""
        value = self._given.get(name)
        return value if isinstance(value, Text) else self.text(name)

    def flag(self, name: str) -> bool:
        value = self._given.get(name, False)
        if not isinstance(value, bool):
            raise Wrong(f"{self._of}{name} must be true or false")
        return value

    def number(self, name: str, least: int, most: int = LARGEST) -> int | None:
        """None if the argument is missing."""
        value = self._given.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise Wrong(f"{self._of}{name} must be a whole number from {least}")
        if value > most:
            raise Wrong(f"{self._of}{name} must be at most {most}")
        return value

    def path(self, name: str = "file_path", default: str | None = None) -> str:
        """An absolute path, or the URI of a document without a file. The workspace decides whether it may be accessed."""
        value = self.text(name, default)
        if value[:5].lower() == "file:":
            raise Wrong(f"{self._of}{name} must be a path, not a URI")
        if not value or "\0" in value:
            raise Wrong(f"{self._of}{name} must be a path")
        path = value if is_untitled(value) else os.path.join(self._folder, value)
        try:
            length = len(os.fsencode(path))
        except UnicodeEncodeError:
            raise Wrong(f"{self._of}{name} cannot be a file name") from None
        if length > LONGEST_PATH:
            raise Wrong(f"{self._of}{name} is longer than {LONGEST_PATH} bytes")
        return path

    def items(self, name: str, most: int) -> Sequence[ToolArguments]:
        value = self._given.get(name)
        if not isinstance(value, list) or not value:
            raise Wrong(f"{name} must be a list that is not empty")
        items = cast("list[object]", value)
        if len(items) > most:
            raise Wrong(f"{name} may have {most} items at most")
        found: list[ToolArguments] = []
        for number, item in enumerate(items, 1):
            if not isinstance(item, dict):
                raise Wrong(f"item {number} of {name} must be an object")
            found.append(
                ToolArguments(cast("dict[str, object]", item), self._folder, f"item {number} of {name}: ")
            )
        return found


def quoted(name: object) -> str:
    """An unknown name, for an answer about it: shortened, however long it is."""
    return f"'{escape(shorten(name, LONGEST_NAME))}'" if isinstance(name, str) else "of this type"
