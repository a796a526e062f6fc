"""opencode: a plugin (opencode.js). It is named in a settings file of ours, which opencode reads beside the user's.

OPENCODE_CONFIG_DIR would also work, but opencode then no longer reads the user's own AGENTS.md, and installs packages into that
folder.
"""

from __future__ import annotations

import json
from pathlib import Path

from sidecar.acp.own_tools.row import OwnTools, Plugin


def _settings(program: str) -> str:
    # without `$schema`, opencode would write it into the file
    return json.dumps({"$schema": "https://opencode.ai/config.json", "plugin": [Path(program).as_uri()]})


OPENCODE = OwnTools(
    names=frozenset({"opencode", "opencode-ai"}),
    seen=("1.18.33",),
    plugin=Plugin("opencode.js", "OPENCODE_CONFIG", _settings),
)
