"""Kilo, which is made of opencode: the same plugin, named by the variable and with the schema that Kilo knows."""

from __future__ import annotations

from pathlib import Path

from sidecar.acp.own_tools.row import OwnTools, Plugin
from sidecar.core.json_types import Json


def _settings(program: str) -> Json:
    # without `$schema`, Kilo would write it into the file
    return {"$schema": "https://app.kilo.ai/config.json", "plugin": [Path(program).as_uri()]}


KILO = OwnTools(
    names=frozenset({"kilo", "kilocode"}),
    seen=("7.7.7",),
    plugin=Plugin("opencode.js", "KILO_CONFIG", _settings),
)
