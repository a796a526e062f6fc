"""CommandLine: validates the params of terminal/create again, exactly, and decides what to run.

Agents send a program with its arguments, or a whole shell line in `command` without arguments (kimi, vibe, crow). The argv
from this module is both shown to the user and run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from sidecar.acp.command import find
from sidecar.acp.errors import Failure, invalid
from sidecar.core.refusal import Kind

CREATE = "terminal/create"
SHELL = "/bin/sh"
OUTPUT_LIMIT = 1024 * 1024
"""The bytes of output that are kept if the agent names no limit."""
MOST_OUTPUT = 4 * 1024 * 1024
"""The most bytes of output that are kept, whatever the agent requests."""
LONGEST = 256 * 1024
"""The most bytes of all words and variables together. Linux accepts 128 KiB in one word; all of it is shown, kept and
logged."""

_FOR_A_SHELL = re.compile(r"""[\s|&;<>()$`"'*?\[\]#~%{}!\\]""")
"""The characters that no program name on PATH contains, but nearly every shell line does."""
_NAME = re.compile(r"[^=\0]+")


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The words to run. `argv[0]` is looked up on PATH unless it is a path."""

    session_id: str
    """The agent's own id of the session."""
    argv: tuple[str, ...]
    cwd: str | None
    env: Mapping[str, str]
    """Variables that the command sets in addition to the agent's environment."""
    limit: int
    """The bytes of output to keep: the last ones."""


@dataclass(frozen=True, slots=True)
class Run:
    """A command line in the form in which this machine runs it."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    limit: int
    """See CommandLine."""
    held: bool = False
    """The command ends when its input ends, so the input stays open."""


def parse(params: Mapping[str, object], path: str | None) -> CommandLine | Failure:
    """The command line, or the error to answer. `path` is the PATH on which programs are found."""
    session_id, command = params.get("sessionId"), params.get("command")
    if not isinstance(session_id, str):
        return invalid("sessionId must be a string", Kind.UNKNOWN_SESSION)
    if not isinstance(command, str) or not command.strip():
        return invalid("command must be a string that is not empty", Kind.BAD_PARAMS)
    args = _strings(params.get("args"))
    env = _environment(params.get("env"))
    cwd, limit = params.get("cwd"), params.get("outputByteLimit")
    if args is None:
        return invalid("args must be a list of strings", Kind.BAD_PARAMS)
    if env is None:
        return invalid("env must be a list of names and values", Kind.BAD_PARAMS)
    if cwd is not None and not isinstance(cwd, str):
        return invalid("cwd must be a string")
    if limit is None:
        limit = OUTPUT_LIMIT
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        return invalid("outputByteLimit must be a whole number from 0", Kind.BAD_RANGE)
    if command.startswith("-"):
        return invalid("command is not the name of a program", Kind.BAD_PARAMS)
    argv = (command, *args)
    if not args and _FOR_A_SHELL.search(command) and find(command, path) is None:
        argv = (SHELL, "-c", command)
    if any("\0" in word for word in argv):
        return invalid("the command has a NUL character in it", Kind.BAD_PARAMS)
    try:
        size = len("\0".join((*argv, *env, *env.values())).encode())
    except UnicodeEncodeError:
        return invalid("the command cannot be encoded", Kind.BAD_PARAMS)
    if size + len(cwd or "") > LONGEST:
        return invalid(
            f"the command has more than {LONGEST} bytes; put long texts into a file", Kind.TOO_LARGE
        )
    return CommandLine(session_id, argv, cwd or None, env, min(limit, MOST_OUTPUT))


def merged(argv: Sequence[str]) -> list[str]:
    """`argv` with stderr redirected to stdout: one pipe keeps their order."""
    return [SHELL, "-c", 'exec "$@" 2>&1', "sh", *argv]


def _strings(value: object) -> list[str] | None:
    if value is None:
        return []
    if not isinstance(value, list):
        return None
    items = cast("list[object]", value)
    return cast("list[str]", items) if all(isinstance(item, str) for item in items) else None


def _environment(value: object) -> dict[str, str] | None:
    """The variables from ACP's list of `{name, value}`. None if the list is malformed."""
    if value is None:
        return {}
    if not isinstance(value, list):
        return None
    found: dict[str, str] = {}
    for item in cast("list[object]", value):
        entry = cast("dict[str, object]", item) if isinstance(item, dict) else {}
        name, text = entry.get("name"), entry.get("value")
        if not isinstance(name, str) or not isinstance(text, str):
            return None
        if _NAME.fullmatch(name) is None or "\0" in text:
            return None
        found[name] = text
    return found
