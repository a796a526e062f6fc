"""OwnedOutput: the output of commands that an agent runs itself. A dialect reports it as session updates of our
own.

| update | fields |
|---|---|
| `terminal_output` | `terminalId`, `output` |
| `terminal_ended` | `terminalId`, `exitCode` (a number or null), `signal` (a text or null) |

An agent can send these updates itself. So only ids count that no terminal of ours can have.
"""

from __future__ import annotations

from typing import Final

from sidecar.acp.dialect import OWNED
from sidecar.acp.workspace_port import AnyWorkspace
from sidecar.core.escape import plain
from sidecar.core.json_types import Json
from sidecar.workspace.ports.session_ports import CommandEnd

OUTPUT: Final = "terminal_output"
ENDED: Final = "terminal_ended"


def is_one(update: Json) -> bool:
    return update.get("sessionUpdate") in (OUTPUT, ENDED)


def hand_over(service: AnyWorkspace, session_id: str, update: Json) -> None:
    terminal, output = update.get("terminalId"), update.get("output")
    if not isinstance(terminal, str) or not terminal.startswith(OWNED):
        return
    if update["sessionUpdate"] == OUTPUT:
        if isinstance(output, str):
            service.terminal_output(session_id, terminal, output)
        return
    code, signal = update.get("exitCode"), update.get("signal")
    end = CommandEnd(
        code if isinstance(code, int) and not isinstance(code, bool) else None,
        plain(signal, 20) if isinstance(signal, str) else None,
    )
    service.display_ended(session_id, terminal, end)
