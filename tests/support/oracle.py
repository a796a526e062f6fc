"""The oracle: LSP's text model, written like the specification and without regard to speed.

It shares no code with sidecar.core. A UTF-16 editor is modelled as a list of units, so that an edit inside a surrogate
pair has the same effect as in such an editor.
"""

from __future__ import annotations

Place = tuple[int, int]
"""Line and character (in units of the encoding), both from 0."""


def widths(text: str, encoding: str) -> list[int]:
    """The number of units of each code point."""
    if encoding == "utf-32":
        return [1 for _ in text]
    if encoding == "utf-16":
        return [2 if ord(c) > 0xFFFF else 1 for c in text]
    return [1 if ord(c) < 0x80 else 2 if ord(c) < 0x800 else 3 if ord(c) < 0x10000 else 4 for c in text]


def split_lines(text: str) -> list[str]:
    """The lines with their terminators. The last line has none and may be empty."""
    lines, line, index = [], "", 0
    while index < len(text):
        step = 2 if text[index : index + 2] == "\r\n" else 1
        line += text[index : index + step]
        if text[index] in "\r\n":
            lines.append(line)
            line = ""
        index += step
    return [*lines, line]


def offset_at(text: str, place: Place, encoding: str) -> int:
    """The offset of a place in code points from 0, clamped to the line and the text and moved back to a character's
    start.
    """
    lines = split_lines(text)
    line, units = place
    if line >= len(lines):
        return len(text)
    offset = sum(map(len, lines[:line]))
    for width in widths(lines[line].rstrip("\r\n"), encoding):
        if units < width:
            break
        units -= width
        offset += 1
    return offset


def position_at(text: str, offset: int, encoding: str) -> Place:
    """The place of an offset. Between a carriage return and its newline, the place before both."""
    lines = split_lines(text)
    number = 0
    while number + 1 < len(lines) and offset >= len(lines[number]):
        offset -= len(lines[number])
        number += 1
    content = lines[number].rstrip("\r\n")
    return number, sum(widths(content[:offset], encoding))


def replace(text: str, start: Place, end: Place, new: str, encoding: str) -> str:
    """The text after the change in an editor that counts in `encoding`."""
    if encoding != "utf-16":
        return text[: offset_at(text, start, encoding)] + new + text[offset_at(text, end, encoding) :]
    units = to_units(text)
    return from_units(units[: _unit_offset(units, start)] + to_units(new) + units[_unit_offset(units, end) :])


def to_units(text: str) -> list[int]:
    """The 16-bit units of a text, surrogates included."""
    units: list[int] = []
    for code in map(ord, text):
        if code > 0xFFFF:
            units += [0xD800 + (code - 0x10000 >> 10), 0xDC00 + (code - 0x10000 & 0x3FF)]
        else:
            units.append(code)
    return units


def from_units(units: list[int]) -> str:
    """The text of 16-bit units. A high surrogate followed by a low one is one character."""
    text, index = "", 0
    while index < len(units):
        unit = units[index]
        following = units[index + 1] if index + 1 < len(units) else 0
        index += 1
        if 0xD800 <= unit < 0xDC00 <= following < 0xE000:
            unit = 0x10000 + (unit - 0xD800 << 10) + following - 0xDC00
            index += 1
        text += chr(unit)
    return text


def _unit_offset(units: list[int], place: Place) -> int:
    line, character = place
    lines = split_lines("".join(map(chr, units)))
    if line >= len(lines):
        return len(units)
    return sum(map(len, lines[:line])) + min(character, len(lines[line].rstrip("\r\n")))
