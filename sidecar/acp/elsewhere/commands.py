"""RunsThere: runs the commands of an agent's terminals where the agent runs, by the same transport.

They run there because the agent's programs, dependencies and services are there. A command that ran here would build and test something else.

Ending ssh, docker or kubectl here does not end what they started there. So a command's input stays open while it may run. A background subshell
there waits for the end of that input, and then ends the command and everything it started. This needs only a POSIX sh.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sidecar.acp.command import by_transport
from sidecar.acp.command_line import CommandLine, Run, merged
from sidecar.acp.elsewhere.folders import Folders, unmapped
from sidecar.config import Transport
from sidecar.core.escape import plain
from sidecar.core.refusal import Kind, Refusal

_RUN = (
    'cd -- "$1" || exit 126; shift; '
    'until [ "$1" = -- ]; do export "$1"; shift; done; shift; '
    "exec 3<&0 </dev/null 2>&1; "
    "all=-$$; kill -s 0 -- -$$ 2>/dev/null || "
    'if command -v setsid >/dev/null; then set -- setsid "$@"; else all=$$; fi; '
    '(trap "" HUP TERM; cat <&3; kill -s TERM -- $all; sleep 1; kill -s KILL -- $all) >/dev/null 2>&1 & '
    'exec "$@" 3<&-'
)
"""Arguments: the folder, variables as NAME=VALUE, --, the command. The script is one line without `!`, so that it also works if the user's shell
there is csh.

The subshell ends the command's process group. Behind docker, kubectl and, with most login shells, ssh, the command leads a group of its own. If it
does not, `setsid` gives it one. Without `setsid`, only the command itself is ended, because others may be in its group.
"""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class RunsThere:
    """A `terminal_requests.Runs` for an agent that runs elsewhere."""

    def __init__(self, agent: str, transport: Transport, folders: Folders) -> None:
        self._agent = agent
        self._transport = transport
        self._folders = folders

    def shown(self, line: CommandLine) -> Sequence[str]:
        return (*self._transport.command, *line.argv)

    def run(self, line: CommandLine, folder: str, env: Mapping[str, str]) -> Run | Refusal:
        """See `terminal_requests.Runs`. The agent's own variables are for the command there, and never for the program here, which they could
        change."""
        there = self._folders.there(folder)
        if there is None:
            return Refusal(Kind.OUTSIDE, unmapped(self._agent, folder, self._folders))
        if odd := next((name for name in line.env if _VARIABLE.fullmatch(name) is None), None):
            return Refusal(Kind.BAD_PARAMS, f"{plain(odd, 60)} cannot be the name of a variable")
        words = [
            "/bin/sh",
            "-c",
            _RUN,
            "sh",
            there,
            *(f"{k}={v}" for k, v in line.env.items()),
            "--",
            *line.argv,
        ]
        return Run(merged(by_transport(self._transport, words)), env, folder, line.limit, held=True)
