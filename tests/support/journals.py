"""Short words for tests of the journal."""

from __future__ import annotations

from typing import Any

from sidecar.journal.entry import Entry


def entry(before: str | None, after: str | None, path: str = "/w/a.txt", **more: Any) -> Entry:
    """A write by session "s" in /w."""
    values: dict[str, Any] = {
        "session": "s",
        "agent": "agent",
        "turn": 1,
        "tool_call": None,
        "root": "/w",
        "path": path,
        "before": before,
        "after": after,
        "encoding": "utf-8",
        "bom": b"",
        "via": "disk",
    }
    return Entry(**{**values, **more})


def numbered(count: int, width: int = 40) -> str:
    """A text of this many different lines."""
    return "".join(f"{i} {i * 7919 % 1000003} ".ljust(width - 1, "x") + "\n" for i in range(count))
