"""Quirks: special handling for single agents, identified by what the *user configured*: the agent's name in the settings, its
program, or the package that a runner starts. What an agent reports never counts, because a quirk may remove a warning.

A row is here only if the same handling would be wrong for other agents. Common deviations are tolerated for all agents, where they
arrive (docs/clients.md). Each row has its observed reason and a test (tests/acp/test_tolerance.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sidecar.acp.command import Command


@dataclass(frozen=True, slots=True)
class Quirks:
    """The defaults follow ACP."""

    missing_reads_empty: bool = False
    """Reading a file that does not exist succeeds with ""."""
    asks_for_ours: frozenset[str] = frozenset()
    """The actions (`Question.action`) for which the agent asks permission before it asks us to carry them out. It does not carry out
    allowed ones itself."""
    rereads: bool = False
    """Its program reads a file just before it writes it, and the model does not see that. What the model reads is announced as a tool
    call, or comes another way."""
    drops_embedded: bool = False
    """It announces that it accepts embedded texts in prompts, but its model does not get them."""
    names: frozenset[str] = frozenset()
    """The names of the agent, its program and its package, in lower case."""
    reason: str = ""


ALL = frozenset({"read", "write", "execute", "other"})
EDITS = frozenset({"write"})

TABLE: tuple[Quirks, ...] = (
    Quirks(
        asks_for_ours=EDITS,
        missing_reads_empty=True,
        rereads=True,
        names=frozenset({"gemini", "gemini-cli"}),
        reason="its tool that creates a file reads it first, and gives up when that fails, instead of taking it for a new one; its model "
        "reads the disk, and only its tools that edit read and write through the client",
    ),
    Quirks(
        asks_for_ours=ALL,
        rereads=True,
        names=frozenset({"fast-agent", "fast-agent-acp", "fast-agent-mcp"}),
        reason="its read_text_file, write_text_file and execute are the client's fs and terminals; it asks before each by itself, "
        "and reads a file once more before it writes it",
    ),
    Quirks(
        asks_for_ours=EDITS,
        names=frozenset({"qwen", "qwen-code"}),
        reason="its edits are the client's fs/write_text_file; it runs commands by itself",
    ),
    Quirks(
        asks_for_ours=ALL,
        names=frozenset({"kimi", "kimi-cli"}),
        reason="its file system and its shell are the client's",
    ),
    Quirks(
        asks_for_ours=ALL,
        names=frozenset({"claude-code-acp"}),
        reason="its own Read, Edit, Write and Bash are replaced by the client's fs and terminals; claude-agent-acp, which came after it, works by "
        "itself",
    ),
    Quirks(
        drops_embedded=True,
        names=frozenset({"copilot", "copilot-cli"}),
        reason="announces embeddedContext; of a prompt with such a block, its model gets the rest",
    ),
)
NONE = Quirks()

_ENDING = re.compile(r"(?:\.(?:exe|cmd|bat|js|mjs|cjs|py))?(?:@[^/]*)?\Z")
"""The suffix of a program's file, and the version of a package: `gemini.cmd`, `@google/gemini-cli@1.2`."""


def quirks_of(agent: str, command: Command) -> Quirks:
    """The quirks of a configured agent. `agent`: its name in the settings."""
    names = names_of(agent, command)
    return next((quirks for quirks in TABLE if names & quirks.names), NONE)


def names_of(agent: str, command: Command) -> set[str]:
    """What the user calls the agent: its name in the settings, its program, its package.

    Of the arguments, only the words before the first option count: what follows may be anything, such as a model's name.
    """
    words = [agent, command.command]
    for word in command.args:
        if word.startswith("-") and word not in _FLAGS:
            break
        words.append(word)
    return {plain_name(word) for word in words}


def plain_name(word: str) -> str:
    return _ENDING.sub("", word.replace("\\", "/").rpartition("/")[2].lower())


_FLAGS = frozenset({"-y", "--yes", "--from", "-m"})
"""Options of runners, before or beside the package: `npx -y @google/gemini-cli`, `uvx --from fast-agent-mcp fast-agent-acp`."""
