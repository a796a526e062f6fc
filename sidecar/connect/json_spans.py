"""spans: parses JSON and says where each object's members are, so that a text can be changed without rewriting it.

`strict`: plain JSON. Otherwise comments and a trailing comma are allowed, too, as in VS Code and opencode.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_BLANK = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_OTHER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
DEEPEST = 100
"""The most levels. Settings have a handful."""


class BadJson(Exception):
    """The message is for the user: what is wrong, and in which line."""


@dataclass(slots=True)
class Member:
    """Offsets are in code points."""

    key: str
    start: int
    """The start of the key."""
    end: int
    """The end of the value."""
    comma: int
    """The offset of the comma after it. -1 if there is none."""
    value: Node


@dataclass(slots=True)
class Node:
    start: int
    end: int
    value: object
    """The value as plain Python."""
    members: list[Member] = field(default_factory=list[Member])
    """The members of an object."""

    def member(self, key: str) -> Member | None:
        """The member with this key. None if there is none. Raises BadJson if there are several: which one counts
        depends on the reader."""
        found = [member for member in self.members if member.key == key]
        if len(found) > 1:
            raise BadJson(f'it has "{key}" twice in one object')
        return found[0] if found else None

    @property
    def is_object(self) -> bool:
        return isinstance(self.value, Mapping)


def parse(text: str, *, strict: bool) -> Node:
    """The root of a JSON text. Raises BadJson."""
    parser = _Parser(text, strict)
    node = parser.value(parser.blank(0), 0)
    if parser.blank(node.end) != len(text):
        parser.fail(parser.blank(node.end), "there is more after its end")
    return node


class _Parser:
    def __init__(self, text: str, strict: bool) -> None:
        self._text = text
        self._strict = strict

    def fail(self, at: int, what: str) -> None:
        raise BadJson(f"{what} (line {self._text.count(chr(10), 0, at) + 1})")

    def blank(self, at: int) -> int:
        """The end of the blanks and comments that begin there."""
        while True:
            at = _match(_BLANK, self._text, at)
            comment = None if self._strict else _COMMENT.match(self._text, at)
            if comment is None:
                return at
            at = comment.end()

    def value(self, at: int, depth: int) -> Node:
        if depth > DEEPEST:
            self.fail(at, f"it is nested more than {DEEPEST} levels deep")
        match self._text[at : at + 1]:
            case "{":
                return self._object(at, depth)
            case "[":
                return self._list(at, depth)
            case _:
                found = _STRING.match(self._text, at) or _OTHER.match(self._text, at)
                if found is None:
                    self.fail(at, "that is not a JSON value")
                    raise AssertionError
                return Node(at, found.end(), self._plain(found.group(), at))

    def _plain(self, token: str, at: int) -> object:
        try:
            return json.loads(token)
        except ValueError:
            self.fail(at, "that is not a JSON value")

    def _object(self, start: int, depth: int) -> Node:
        members: list[Member] = []
        at = self.blank(start + 1)
        while self._text[at : at + 1] != "}":
            if members and members[-1].comma < 0:
                self.fail(at, "there is no comma")
            key = _STRING.match(self._text, at)
            if key is None:
                self.fail(at, "that is no key")
                raise AssertionError
            name = self._plain(key.group(), at)
            colon = self.blank(key.end())
            if self._text[colon : colon + 1] != ":":
                self.fail(colon, "there is no colon")
            value = self.value(self.blank(colon + 1), depth + 1)
            member = Member(str(name), at, value.end, -1, value)
            members.append(member)
            at = self._comma(value.end, "}")
            if self._text[at : at + 1] == ",":
                member.comma, at = at, self.blank(at + 1)
        return Node(start, at + 1, {member.key: member.value.value for member in members}, members)

    def _list(self, start: int, depth: int) -> Node:
        items: list[object] = []
        comma = True
        at = self.blank(start + 1)
        while self._text[at : at + 1] != "]":
            if not comma:
                self.fail(at, "there is no comma")
            value = self.value(at, depth + 1)
            items.append(value.value)
            at = self._comma(value.end, "]")
            comma = self._text[at : at + 1] == ","
            if comma:
                at = self.blank(at + 1)
        return Node(start, at + 1, items)

    def _comma(self, at: int, end: str) -> int:
        """The offset of the comma after a value, or of what comes there instead."""
        at = self.blank(at)
        after = self._text[at : at + 1]
        if after == "," and self._strict:
            following = self.blank(at + 1)
            if self._text[following : following + 1] == end:
                self.fail(at, "there is a comma after the last one")
        return at


def _match(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()
