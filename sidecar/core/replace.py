"""Replacement: "replace this text by that", as agents' edit tools mean it: a text that occurs once, or every occurrence.

Pure. Texts are in the compared form of `core.normal`, so a document with other line ends matches what an agent sends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sidecar.core.normal import normal
from sidecar.core.refusal import Kind, Refusal

SHOWN = 400
"""Code points of the searched text that an error repeats."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """Replaces `old` by `new` at its only occurrence or, with `everywhere`, at every occurrence."""

    old: str
    new: str
    everywhere: bool = False


def replaced(text: str, steps: Sequence[Replacement], path: str) -> str | Refusal:
    """`text` after all steps, each applied to the result of the one before. If one step cannot be made, the refusal of that
    step."""
    for number, step in enumerate(steps, 1):
        which = f"edit {number} of {len(steps)}: " if len(steps) > 1 else ""
        done = _replaced(text, step, path, which)
        if isinstance(done, Refusal):
            return done
        text = done
    return text


def _replaced(text: str, step: Replacement, path: str, which: str) -> str | Refusal:
    old, new = normal(step.old), normal(step.new)
    if old == new:
        return Refusal(
            Kind.BAD_PARAMS, f"{which}No changes to make: old_string and new_string are exactly the same."
        )
    if not old:
        return Refusal(
            Kind.BAD_PARAMS,
            f"{which}old_string is empty and {path} is not. Name the text to replace, or write the whole file",
        )
    found = text.count(old)
    if found == 0:
        return Refusal(
            Kind.NO_MATCH,
            f"{which}String to replace not found in file. The text of {path} is what the user sees now, unsaved text "
            f"included; read it again.\nString: {_short(step.old)}",
        )
    if found > 1 and not step.everywhere:
        return Refusal(
            Kind.SEVERAL_MATCHES,
            f"{which}Found {found} matches of the string to replace, but replace_all is false. To replace all occurrences, "
            "set replace_all to true. To replace only one occurrence, please provide more context to uniquely identify the "
            f"instance.\nString: {_short(step.old)}",
            {"matches": found},
        )
    return text.replace(old, new)


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
