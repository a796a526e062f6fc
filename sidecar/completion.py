"""Shell completions, made by shtab from the parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import cast

SHELLS = ("bash", "zsh", "fish")


def completions(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script for a shell of `SHELLS`. Arguments whose metavar contains PATH are completed with file names."""
    import shtab

    for action in _actions(parser):
        if isinstance(action.metavar, str) and "PATH" in action.metavar:
            action.complete = shtab.FILE  # pyright: ignore[reportAttributeAccessIssue] - where shtab looks for it
    return shtab.complete(parser, shell) + "\n"


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:  # argparse has no other way
        yield action
        if action.nargs == argparse.PARSER:
            for below in cast("dict[str, argparse.ArgumentParser]", action.choices).values():
                yield from _actions(below)
