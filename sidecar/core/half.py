"""has_half_of: whether a text is another one that was changed since, and not a new one."""

from __future__ import annotations

from sidecar.core.hunks import line_hunks
from sidecar.core.normal import normal


def has_half_of(text: str, wanted: str) -> bool:
    """Whether `text` still has at least half of `wanted`, which is how git recognises renames by default."""
    old, new = normal(wanted), normal(text)
    changed = sum(hunk.old_end - hunk.old_start for hunk in line_hunks(old, new))
    return 2 * (len(old) - changed) >= len(old) > 0
