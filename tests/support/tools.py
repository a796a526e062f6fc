"""The installed editors and agents of the end-to-end tests: where they are, or a skip that names what is missing.

`make tools` installs them and writes .cache/tools/tools.json. With CI=true a missing tool fails its tests instead, unless
ACP_SIDECAR_MAY_SKIP names it (comma-separated, or "all"). ACP_SIDECAR_TOOL_<NAME> (upper case, - and . as _) points at
another copy of a tool. Nothing here looks at PATH: a test must not pass because of what a machine happens to have.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
MISSING = "missing tool "
"""How the reason of such a skip or failure begins; the end of a run lists them."""
MANIFEST = ROOT / ".cache" / "tools" / "tools.json"


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    command: str
    """An absolute path; a launcher that needs nothing of the environment but a shell."""
    version: str


def find(name: str) -> Tool | str:
    """The tool, or in words why it is not there."""
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
    """The tool; else the calling test skips, or with CI=true fails, saying which one and why."""
    found = find(name)
    if isinstance(found, Tool):
        return found
    words = f"{MISSING}{name}: {found}"
    if may_skip(name):
        pytest.skip(words)
    pytest.fail(words, pytrace=False)
