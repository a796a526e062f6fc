"""Where an agent's own program is started: for its work, or in a terminal for a login."""

from __future__ import annotations

from collections.abc import Sequence

from sidecar.acp.command import runs_packages
from sidecar.core.escape import plain
from sidecar.state_folder import make_private, state_folder
from sidecar.workspace.ports.ports import AgentFailed


def starting_folder(argv: Sequence[str], cwd: str) -> str:
    """`cwd`, or an empty folder of ours for a package runner, which would otherwise take packages from `cwd`. ACP sends the
    session's folder anyway ("session/new"). Raises AgentFailed."""
    if not runs_packages(argv):
        return cwd
    try:
        return str(make_private(state_folder("runner")))
    except OSError as error:
        raise AgentFailed(
            "start_failed", f"{plain(argv[0])} cannot be started outside of the folder that is open: {error}."
        ) from error
