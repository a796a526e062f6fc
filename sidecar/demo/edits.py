"""Decides what the demo agent changes: `suggest` tries a few fixed rules, the most useful first. No AI, and it says so.

A careful stranger could apply each rule to any file. No rule changes what a program does, except the one for a known
bug (a sum over all items but the last). Lines keep their terminators.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass

from sidecar.demo.buffer import lines_of

SIGNATURE = "The demo agent was here."


@dataclass(frozen=True, slots=True)
class Suggestion:
    text: str
    """The whole text, edited."""
    line: int
    """The line of the edit, from 1."""
    finding: str
    """One sentence: what was found, and the fix."""


def suggest(path: str, text: str) -> Suggestion:
    suffix = os.path.splitext(path)[1].lower()
    lines = lines_of(text)
    if suffix in (".py", ".pyi"):
        found = _sum_without_the_last(lines) or _todo(lines) or _docstring(lines)
    else:
        found = _todo(lines) if suffix in _COMMENTS else None
    return found or _last_line(lines, suffix)


_LOOP = re.compile(
    r"(?P<head>\s*for (?P<index>\w+) in range\(len\((?P<items>\w+)\)) - 1(?P<tail>\):\s*)", re.ASCII
)


def _sum_without_the_last(lines: list[str]) -> Suggestion | None:
    for number, line in enumerate(lines[:-1]):
        loop = _LOOP.fullmatch(line)
        if loop is None:
            continue
        body = rf"\s+\w+ \+= {loop['items']}\[{loop['index']}\]\s*"
        after = lines[number + 2] if number + 2 < len(lines) else ""
        if re.fullmatch(body, lines[number + 1]) and not after.startswith(_indent(lines[number + 1])):
            fixed = loop["head"] + loop["tail"]
            finding = f"`{line.strip()}` leaves out the last item. I make it count all of them."
            return _with(lines, number, fixed, finding)
    return None


_TODO = re.compile(
    r"(?P<before>[^\x22\x27`]*?(?:#|(?<!:)//|--|;|%|/\*|<!--)\s*)(?P<word>todo|fixme)\b[\s:.,-]*(?P<what>\w.*)",
    re.IGNORECASE | re.DOTALL,
)


def _todo(lines: list[str]) -> Suggestion | None:
    for number, line in enumerate(lines):
        todo = _TODO.fullmatch(line)
        if todo is None:
            continue
        what = todo["what"]
        tidy = f"{todo['before']}{todo['word'].upper()}: {what[0].upper()}{what[1:]}"
        if tidy != line:
            return _with(lines, number, tidy, f"`{line.strip()}` is easy to overlook. I tidy it.")
    return None


_FUNCTION = re.compile(
    r"(?P<indent>[ \t]*)(?:async )?def (?P<name>[a-zA-Z]\w*)\(.*\)(?: -> .*)?:[ \t]*(?P<end>\r\n|\n|\r)"
)


def _docstring(lines: list[str]) -> Suggestion | None:
    for number, line in enumerate(lines[:-1]):
        function = _FUNCTION.fullmatch(line)
        body = lines[number + 1]
        indent = _indent(body)
        if function is None or len(indent) <= len(function["indent"]) or not body.strip():
            continue
        if body.strip().startswith(('"', "'", 'r"', 'r"')) or function["name"].startswith("test"):
            continue
        words = function["name"].replace("_", " ").strip()
        docstring = f'{indent}"""{words[0].upper()}{words[1:]}."""{function["end"]}'
        finding = f"`{function['name']}` has no docstring. I add one."
        return Suggestion(
            "".join([*lines[: number + 1], docstring, *lines[number + 1 :]]), number + 2, finding
        )
    return None


_HASH, _SLASHES, _DASHES = "# {}", "// {}", "-- {}"
_COMMENTS: dict[str, str] = {
    **dict.fromkeys(
        (".py", ".pyi", ".rb", ".sh", ".bash", ".toml", ".yaml", ".yml", ".r", ".jl", ".nix", ".cfg"), _HASH
    ),
    **dict.fromkeys(
        (".js", ".ts", ".jsx", ".tsx", ".c", ".h", ".cpp", ".hpp", ".cc", ".cs", ".java", ".kt"), _SLASHES
    ),
    **dict.fromkeys((".go", ".rs", ".swift", ".scala", ".dart", ".zig", ".php", ".jsonc"), _SLASHES),
    **dict.fromkeys((".lua", ".sql", ".hs", ".elm", ".ada"), _DASHES),
    **dict.fromkeys((".css", ".scss", ".less"), "/* {} */"),
    **dict.fromkeys((".html", ".xml", ".svg", ".vue"), "<!-- {} -->"),
    **dict.fromkeys((".el", ".lisp", ".clj", ".scm", ".ini"), "; {}"),
    **dict.fromkeys((".tex", ".erl"), "% {}"),
}
_PROSE = {"", ".md", ".txt", ".rst", ".adoc", ".org"}


def comment(path: str, sentence: str) -> str | None:
    """Return `sentence` as a comment line for this kind of file, without terminator, or None if no such line is harmless."""
    suffix = os.path.splitext(path)[1].lower()
    return (
        sentence if suffix in _PROSE else _COMMENTS[suffix].format(sentence) if suffix in _COMMENTS else None
    )


def _last_line(lines: list[str], suffix: str) -> Suggestion:
    end = next((line[len(line.rstrip("\r\n")) :] for line in lines if line.endswith(("\n", "\r"))), "\n")
    if lines and not lines[-1].endswith(("\n", "\r")):
        lines = [*lines[:-1], lines[-1] + end]
    mark = comment("x" + suffix, SIGNATURE)
    if mark is None:
        finding = (
            f"I do not know how to write a comment in a {suffix} file, so I add an empty line at its end."
        )
        return Suggestion("".join(lines) + end, len(lines) + 1, finding)
    if lines and lines[-1].rstrip("\r\n") == mark:
        return Suggestion(
            "".join(lines[:-1]), len(lines), "My line from last time is still there. I remove it."
        )
    finding = f"I found nothing to tidy, so I add the line {json.dumps(mark)} at the end."
    return Suggestion("".join(lines) + mark + end, len(lines) + 1, finding)


def _with(lines: list[str], number: int, new: str, finding: str) -> Suggestion:
    return Suggestion("".join([*lines[:number], new, *lines[number + 1 :]]), number + 1, finding)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]
