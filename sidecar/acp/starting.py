"""Starts an agent's process, in the way of this system: posix.py or windows.py.

Not here: the process once it runs (process.py), and the folder in which it starts (starting_folder.py).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from sidecar.acp.process import AgentProcess


async def start(
    argv: Sequence[str], env: Mapping[str, str], cwd: str, name: str, *, stderr: int | None = None
) -> AgentProcess:
    """Start argv[0], an absolute path. `name` is for the log. `stderr`: a descriptor for the process's stderr; nothing of it is then kept or
    logged here (not on Windows). Raises OSError if the program cannot be executed."""
    # imported late: an editor's start should not wait for what only agents need
    if sys.platform == "win32":
        from sidecar.acp import windows

        return await windows.start(argv, env, cwd, name)
    from sidecar.acp import posix

    return await posix.start(argv, env, cwd, name, stderr=stderr)
