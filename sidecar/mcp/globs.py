"""Globs: `*` and `?` within a name, `**` across folders, `[abc]`, `{a,b}`; as agents' own tools take them."""

from __future__ import annotations

import re
from collections.abc import Callable

from sidecar.mcp.arguments import Wrong

MOST = 64
"""Alternatives that braces may lead to."""


def compiled(pattern: str) -> Callable[[str], bool]:
    """Whether a relative path with `/` matches. A pattern without `/` is looked for in every folder. Raises Wrong."""
    if not pattern:
        raise Wrong("the glob is empty")
    pattern = pattern.removeprefix("./")
    anchored = "/" in pattern
    one = "|".join(_regex(option if anchored else f"**/{option}") for option in _options(pattern))
    found = re.compile(one, re.DOTALL)
    return lambda name: found.fullmatch(name) is not None


def _options(pattern: str) -> list[str]:
    """Braces spelt out."""
    left, done = [pattern], list[str]()
    while left:
        one = left.pop()
        end = one.find("}")
        start = one.rfind("{", 0, end)
        if end < 0 or start < 0:
            done.append(one)
        else:
            left += [one[:start] + part + one[end + 1 :] for part in one[start + 1 : end].split(",")]
        if len(left) + len(done) > MOST:
            raise Wrong(f"the glob has more than {MOST} alternatives")
    return done


def _regex(pattern: str) -> str:
    """Stars are atomic towards what follows them within a name, so that many of them cost no more than one."""
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        if pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] == "/"):
            parts.append("(?:[^/]+/)*")
            at += 3
        elif pattern.startswith("**", at):
            parts.append(".*")
            at += 2
        elif letter == "*":
            parts.append("[^/]*")
            at += 1
        elif letter == "?":
            parts.append("[^/]")
            at += 1
        elif letter == "[" and (end := pattern.find("]", at + 2)) > 0:
            inside = pattern[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            parts.append(f"[{'^' + inside[1:] if inside[0] in '!^' else inside}]")
            at = end + 1
        else:
            parts.append(re.escape(letter))
            at += 1
    return "".join(parts)
