"""led_by: the environment that makes an agent load our plugin. The plugin's files are in the state folder and are checked at each start."""

from __future__ import annotations

import errno
import json
import logging
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import cast

from sidecar.acp.command import find, path_of
from sidecar.acp.own_tools.row import Plugin
from sidecar.core.json_types import Json
from sidecar.processes import runs
from sidecar.state_folder import make_private, open_private, state_folder

log = logging.getLogger(__name__)

SERVER = "ACP_SIDECAR_TOOLS"
"""The variable that tells the plugin how to start our server, as JSON: `{command, args, env}`."""
NAMED = "server-"
"""The prefix of the names of files that name our server; the sidecar's process id follows."""
DOOR = "door.mjs"
"""The module through which all plugins reach our server."""


def led_by(plugin: Plugin, server: Json | None, env: Mapping[str, str]) -> dict[str, str]:
    """The environment variables that make the agent load the plugin. `server`: our server, in ACP's shape; None: the agent's own tools are not redirected.
    `env`: the variables that the user configured for the agent. Empty, so that the agent keeps its own tools, if the user has set the same variable, if
    the program that the plugin starts is missing, or if the files cannot be written."""
    if plugin.variable in env:
        log.warning("%s is set by the user, so the agent's own tools are not live", plugin.variable)
        return {}
    if plugin.starts is not None and find(plugin.starts, path_of(env)) is None:
        return {}  # the agent's own message says best what is missing
    programs = {name: Path(__file__).with_name(name).read_bytes() for name in (plugin.program, DOOR)}
    folder = state_folder("own_tools", sha256(b"".join(programs.values())).hexdigest()[:16])
    # agents that load the same program have different files
    file = folder / f"{plugin.variable.lower()}{plugin.suffix}"
    try:
        for part in (folder.parent.parent, folder.parent, folder):
            make_private(part)
        for name, program in programs.items():
            _put(folder / name, program)
        _put(file, plugin.file(str(folder / plugin.program)).encode())
        if plugin.starts is not None:
            file.chmod(0o700)
            if not os.access(file, os.X_OK):
                raise PermissionError(errno.EACCES, "no programs may be run there", str(file))
    except OSError as error:
        log.warning("the agent's own tools are not live: %s: %s", error.filename, error.strerror)
        return {}
    return {plugin.variable: str(file)} | ({} if server is None else {SERVER: started(server)})


def started(server: Json) -> str:
    """The value of SERVER."""
    return json.dumps(_command(server))


def _command(server: Json) -> Json:
    variables = {pair["name"]: pair["value"] for pair in cast("list[dict[str, str]]", server["env"])}
    return {"command": server["command"], "args": server["args"], "env": variables}


class NamedServer:
    """A file that names our server, for as long as the agent's process that was started with it runs. The file contains the secret, which everybody on
    this machine could read in a command line."""

    def __init__(self, agent: str, server: Json) -> None:
        """Raises OSError."""
        folder = state_folder("own_tools")
        for part in (folder.parent, folder):
            make_private(part)
        _remove_left_over(folder)
        name = sha256(agent.encode()).hexdigest()[:16]
        self.path = folder / f"{NAMED}{os.getpid()}-{name}.json"
        told = {"type": "local", "tools": ["*"], **_command(server)}
        _put(self.path, json.dumps({"mcpServers": {str(server["name"]): told}}).encode())

    def close(self) -> None:
        self.path.unlink(missing_ok=True)


def _remove_left_over(folder: Path) -> None:
    """Remove the files of sidecars that were killed. Their secrets are no longer valid. Raises OSError."""
    for path in folder.glob(f"{NAMED}*.json"):
        pid = path.name.removeprefix(NAMED).partition("-")[0]
        if pid.isdecimal() and runs(int(pid)) is False:
            path.unlink(missing_ok=True)


def _put(path: Path, content: bytes) -> None:
    """Write a file, unless it has this content already. Raises OSError."""
    with os.fdopen(open_private(path, os.O_RDWR), "r+b") as file:
        if file.read() != content:
            file.seek(0)
            file.truncate()
            file.write(content)
