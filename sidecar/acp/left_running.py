"""Ends commands that an agent's own tools leave running after a stop (codex: for 10 s, openhands: for good).

Among the processes below the agent, a command is recognised by what the agent reported about it: it is a shell with that line, or a process
whose own command line is part of it. What these processes started belongs to the command, too. Nothing else that the agent starts in a turn is
touched: its own parts, MCP servers and language servers are no commands. Commands of an earlier turn are not touched either, because the user
has not stopped them. If the agent runs elsewhere, nothing is found.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from sidecar import processes
from sidecar.acp.reaper import descendants
from sidecar.core.escape import plain
from sidecar.processes import EXACT, Process

_PATIENCE = 1.0
"""The seconds between asking a command to end and ending it."""
_NAMED = 3
"""The most commands that a message names; the rest are counted."""
_SHELL = re.compile(r"(?:\S*/)?(?:ba|da|z|k|fi)?sh(?: -\S+)* -\w*c ")
_WINDOWS_SHELL = re.compile(
    r"(?:^|[ /])(?:cmd|powershell|pwsh|bash|sh)(?:\.exe)?(?: [-/]\S+(?: \w+)??)*? (?:/c|-c|-lc|-command) ",
    re.IGNORECASE,
)
"""The shell's path may contain blanks."""
_QUOTES = re.compile(r"""["'\\\s]+""")


async def ended_after(
    begun: Awaitable[Mapping[int, Process]],
    turn: asyncio.Future[Any],
    gone: asyncio.Future[Any],
    patience: float,
) -> list[str]:
    """End the processes that `begun` finds if they still run `patience` seconds after the turn's end. `gone` is done when the agent has ended,
    and everything it started with it. Returns the command lines of the ended processes."""
    found = await begun
    await asyncio.wait({turn, gone}, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.wait({gone}, timeout=patience)
    return [] if gone.done() or not found else await asyncio.to_thread(end, found)


def said(agent: str, ended: Sequence[str]) -> str:
    """The message for the user."""
    named = ", ".join(plain(line, 80) for line in ended[:_NAMED])
    more = f" and {len(ended) - _NAMED} more" if len(ended) > _NAMED else ""
    words = "It was ended" if len(ended) == 1 else "They were ended"
    what = "a command" if len(ended) == 1 else "commands"
    return f"{agent} left {what} running when you stopped it. {words}: {named}{more}."


def commands_below(
    agent: int, since: float, lines: Sequence[str], family: Callable[[], Collection[int]] | None = None
) -> dict[int, Process]:
    """The processes below the agent's process that began since that time (`processes.now`) and belong to commands with these lines, by pid.
    `family`: see `AgentProcess`. Blocks, for at most a second."""
    until = time.monotonic() + _PATIENCE
    while True:
        table = processes.running()
        if agent not in table:
            return {}
        # orphaned processes become children of the reaper
        below = _below([table[agent].parent], table) if family is None else table.keys() & set(family())
        new = {pid for pid in below - {agent} if table[pid].began >= since - EXACT}
        # A process that is being started has no command line for a moment
        if all(table[pid].line for pid in new) or time.monotonic() > until:
            break
        time.sleep(0.02)
    found = {pid for pid in new if any(is_of(table[pid].line, line) for line in lines)}
    return {pid: table[pid] for pid in new & (found | _below(found, table))}


def is_of(process: str, line: str) -> bool:
    """Whether a process with this command line runs this shell line, or a part of it. Shells quote the line in their own ways."""
    process, line = _bare(process), _bare(line)
    if not line or not process:
        return False
    if (_SHELL.match(process) or _WINDOWS_SHELL.search(process)) and _has(process, line):
        return True
    return process == line or (" " in process and _has(line, process))


def end(commands: Mapping[int, Process]) -> list[str]:
    """End those of the processes that still run, with everything they started. Blocks for a moment. Returns the command lines of the topmost
    ones."""
    left = _still(commands)
    if not left:
        return []
    _signal(left, signal.SIGTERM)
    until = time.monotonic() + _PATIENCE
    now = left
    while now and time.monotonic() < until:
        time.sleep(0.02)
        now = _still(left)
    if sys.platform != "win32":
        _signal(now, signal.SIGKILL)
    return list(dict.fromkeys(one.line for one in left.values() if one.parent not in left))


def _still(known: Mapping[int, Process]) -> dict[int, Process]:
    table = processes.running()
    same = {pid for pid, one in known.items() if one.is_same(table.get(pid))}
    return {pid: table[pid] for pid in same | _below(same, table)}


def _below(roots: Iterable[int], table: Mapping[int, Process]) -> set[int]:
    parents = {pid: (one.parent, 0) for pid, one in table.items()}
    return set[int]().union(*(descendants(root, parents) for root in roots))


def _signal(which: Iterable[int], number: int) -> None:
    for pid in which:
        try:
            os.kill(pid, number)
            if sys.platform != "win32":
                os.kill(pid, signal.SIGCONT)  # a stopped process cannot act on a signal
        except OSError:  # gone, or another user's; on Windows, a missing process has no error of its own
            pass


def _bare(text: str) -> str:
    return _QUOTES.sub(" ", text).strip()


def _has(text: str, part: str) -> bool:
    """Whether the text contains the part as whole words."""
    at = text.find(part)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(part) : at + len(part) + 1]
        if not (_is_word(before) and _is_word(part[0])) and not (_is_word(after) and _is_word(part[-1])):
            return True
        at = text.find(part, at + 1)
    return False


def _is_word(character: str) -> bool:
    return character.isalnum() or character in ("_", "-", "/", ".") if character else False
