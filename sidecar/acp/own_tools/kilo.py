"""Kilo, which is made of opencode: the same plugin, named by the variable and with the schema that Kilo knows."""

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
