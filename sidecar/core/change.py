"""Edit: one replacement in a text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the code points start..end of the text before the change by `new`."""

    start: int
    end: int
    new: str
