"""led_by: the environment that makes an agent load our plugin. Its files lie in the state folder, and are checked at each start."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import cast

from sidecar.acp.own_tools.row import Plugin
from sidecar.core.json_types import Json
from sidecar.state_folder import make_private, open_private, state_folder

log = logging.getLogger(__name__)

SERVER = "ACP_SIDECAR_TOOLS"
"""How the plugin starts our server, as JSON: `{command, args, env}`."""


def led_by(plugin: Plugin, server: Json, env: Mapping[str, str]) -> dict[str, str]:
    """`server`: ours, as ACP has it. `env`: what the user configured for the agent. Empty when that uses the same variable, and when the
    files cannot be written: the agent then keeps its own tools."""
    if plugin.variable in env:
        log.warning("%s is set by the user, so the agent's own tools are not live", plugin.variable)
        return {}
    program = Path(__file__).with_name(plugin.program).read_bytes()
    folder = state_folder("own_tools", sha256(program).hexdigest()[:16])
    file = (
        folder / f"{plugin.variable.lower()}.json"
    )  # agents that load one program have settings of their own
    settings = json.dumps(plugin.settings(str(folder / plugin.program))).encode()
    try:
        for part in (folder.parent.parent, folder.parent, folder):
            make_private(part)
        _put(folder / plugin.program, program)
        _put(file, settings)
    except OSError as error:
        log.warning("the agent's own tools are not live: %s: %s", error.filename, error.strerror)
        return {}
    return {plugin.variable: str(file), SERVER: started(server)}


def started(server: Json) -> str:
    """The value of SERVER."""
    variables = {pair["name"]: pair["value"] for pair in cast("list[dict[str, str]]", server["env"])}
    return json.dumps({"command": server["command"], "args": server["args"], "env": variables})


def _put(path: Path, content: bytes) -> None:
    """Raises OSError. What stands there and is something else is replaced."""
    with os.fdopen(open_private(path, os.O_RDWR), "r+b") as file:
        if file.read() != content:
            file.seek(0)
            file.truncate()
            file.write(content)
