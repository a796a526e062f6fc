"""Inserts one entry into a JSON text, as one piece in one place, and removes it again. Everything else stays unchanged, to the
byte."""

from __future__ import annotations

import json

from sidecar.connect.json_spans import BadJson, Member, Node, parse
from sidecar.connect.piece import SettingsPiece


def find(text: str, container: str, name: str, *, strict: bool) -> object:
    """The entry with this name in the container. None if there is none. Raises BadJson."""
    if not text.strip():
        return None
    at = _container(parse(text, strict=strict), container)
    member = None if at is None else at.member(name)
    return None if member is None else member.value.value


def has(text: str, container: str, *, strict: bool) -> bool:
    """Whether the container exists. Raises BadJson."""
    return _container(parse(text, strict=strict), container) is not None


def inserted(text: str, container: str, name: str, entry: object, *, strict: bool) -> SettingsPiece:
    """The piece to insert. The text must not have the entry. Raises BadJson."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    if not text.strip():
        return SettingsPiece(0, _shown({container: {name: entry}}, "  ", "", line_end) + line_end)
    root = parse(text, strict=strict)
    at = _container(root, container)
    unit = _indent(text, root) or "  "
    if at is None:
        return _into(text, root, container, {name: entry}, unit, line_end)
    return _into(text, at, name, entry, unit, line_end)


def taken_out(text: str, container: str, name: str, *, strict: bool, with_container: bool) -> str:
    """The text without the entry, wherever it is by now and however it is written. `with_container`: remove the container, too, if
    nothing else is in it. Raises BadJson."""
    root = parse(text, strict=strict)
    at = _container(root, container)
    member = None if at is None else at.member(name)
    if at is None or member is None:
        return text
    if with_container and len(at.members) == 1:
        member, at = root.member(container), root
        assert member is not None
    return _without(text, at, member)


def _container(root: Node, name: str) -> Node | None:
    if not root.is_object:
        raise BadJson("it is not a JSON object")
    member = root.member(name)
    if member is not None and not member.value.is_object:
        raise BadJson(f'"{name}" in it is not an object')
    return None if member is None else member.value


def _into(text: str, node: Node, key: str, value: object, unit: str, line_end: str) -> SettingsPiece:
    """A piece that becomes the first member of an object: what follows need not be touched, whether it has comments or a trailing
    comma."""
    after = node.start + 1
    if not node.members:
        outer = _line_indent(text, node.start)
        closed = "" if "\n" in text[after : node.end] else line_end + outer
        return SettingsPiece(
            after, line_end + outer + unit + _member(key, value, unit, outer + unit, line_end) + closed
        )
    first = node.members[0].start
    if "\n" not in text[after:first]:
        return SettingsPiece(after, f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}, ")
    indent = _line_indent(text, first)
    return SettingsPiece(after, line_end + indent + _member(key, value, unit, indent, line_end) + ",")


def _member(key: str, value: object, unit: str, indent: str, line_end: str) -> str:
    return f"{json.dumps(key)}: {_shown(value, unit, indent, line_end)}"


def _shown(value: object, unit: str, indent: str, line_end: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", line_end + indent)


def _indent(text: str, root: Node) -> str:
    """One level of indentation. "" if the text has none."""
    if not root.members or "\n" not in text[root.start : root.members[0].start]:
        return ""
    outer, inner = _line_indent(text, root.start), _line_indent(text, root.members[0].start)
    return inner.removeprefix(outer)


def _line_indent(text: str, at: int) -> str:
    """The blanks at the beginning of the line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _without(text: str, node: Node, member: Member) -> str:
    index = node.members.index(member)
    start = member.start
    before = node.start + 1 if index == 0 else node.members[index - 1].end
    while start > before and text[start - 1] in " \t\r\n":
        start -= 1
    if member.comma >= 0:
        return text[:start] + text[member.comma + 1 :]
    end = member.end
    if index == 0:  # nothing else is in it
        if not text[end : node.end - 1].strip():
            end = node.end - 1
        return text[:start] + text[end:]
    comma = node.members[index - 1].comma
    return text[:comma] + text[comma + 1 : start] + text[end:]
