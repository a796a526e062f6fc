"""Kilo, which is derived from opencode: the same plugin, named by Kilo's variable and in Kilo's schema."""

from __future__ import annotations

import json
from pathlib import Path

from sidecar.acp.own_tools.row import OwnTools, Plugin


def _settings(program: str) -> str:
    # without `$schema`, Kilo would write it into the file
    return json.dumps({"$schema": "https://app.kilo.ai/config.json", "plugin": [Path(program).as_uri()]})


KILO = OwnTools(
    names=frozenset({"kilo", "kilocode"}),
    seen=("7.7.7",),
    plugin=Plugin("opencode.js", "KILO_CONFIG", _settings),
)
