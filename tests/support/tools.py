"""Finds the installed editors and agents for the end-to-end tests, or skips the test and names what is missing.

`make tools` installs them and writes .cache/tools/tools.json. With CI=true, a missing tool fails its tests unless
ACP_SIDECAR_MAY_SKIP names it (comma-separated, or "all"). ACP_SIDECAR_TOOL_<NAME> (upper case, - and . as _) selects
another copy of a tool. PATH is never used: a test must not pass because of what a machine happens to have.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
MISSING = "missing tool "
"""The start of the reason for such a skip or failure. The summary of a run lists them."""
MANIFEST = ROOT / ".cache" / "tools" / "tools.json"


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    command: str
    """An absolute path. A launcher may need a shell, but nothing else from the environment."""
    version: str


def find(name: str) -> Tool | str:
    """The tool; otherwise why it is missing, in words."""
    override = os.environ.get("ACP_SIDECAR_TOOL_" + re.sub(r"[^A-Z0-9]", "_", name.upper()))
    if override:
        return Tool(name, override, "from the environment")
    try:
        entry = json.loads(MANIFEST.read_text())["tools"][name]
    except (OSError, ValueError, KeyError):
        return "not installed; run: make tools"
    command = entry.get("command", "")
    if not command:
        return str(entry.get("problem", "not installed"))
    if not os.path.exists(command):
        return "no longer where make tools put it; run: make tools"
    return Tool(name, command, entry["version"])


def may_skip(name: str) -> bool:
    if os.environ.get("CI", "").lower() not in {"1", "true"}:
        return True
    allowed = {word.strip() for word in os.environ.get("ACP_SIDECAR_MAY_SKIP", "").split(",")}
    return name in allowed or "all" in allowed


def require(name: str) -> Tool:
    """The tool. If it is missing, skips the calling test, or with CI=true fails it, and says why."""
    found = find(name)
    if isinstance(found, Tool):
        return found
    lacking(name, found)


def lacking(name: str, why: str) -> NoReturn:
    """As `require`, for whatever else a test needs of the machine and has not found."""
    words = f"{MISSING}{name}: {why}"
    if may_skip(name):
        pytest.skip(words)
    pytest.fail(words, pytrace=False)
