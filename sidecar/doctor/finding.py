"""Finding: one line of the doctor's report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mark = Literal["ok", "note", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line. `mark`: ok; note (worth knowing); warn (something works less well); fail (the sidecar does not work).
    `todo`: what the user can do about it.
    """

    area: str
    mark: Mark
    words: str
    todo: str = ""
