"""name_of: the name of an agent, from the command that starts it."""

from __future__ import annotations

from collections.abc import Sequence

from sidecar.acp.command import runs_packages
from sidecar.acp.quirks import plain_name

_INTERPRETERS = ("python", "node", "deno", "bun", "ruby", "uv")


def name_of(argv: Sequence[str]) -> str:
    """The name of the command's program. If that only runs others (npx, python, node), the name of what it runs."""
    program = plain_name(argv[0])
    if not runs_packages(argv) and not program.startswith(_INTERPRETERS):
        return program
    words = iter(argv[1:])
    for word in words:
        if word == "-m":
            return next(words, program)
        if word == "-c":
            break
        if not word.startswith("-") and word not in ("exec", "x", "dlx", "run"):
            return plain_name(word) or program
    return program
