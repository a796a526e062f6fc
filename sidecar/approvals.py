"""Approvals: the agents' commands that the user allowed to start on this machine, as hashes of (command, args, env, transport).

Editors merge settings, and some read them from the repository, so a configured agent may be somebody else's idea. A change of any part asks again:
exchanging a configuration after its approval is a known attack.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from pathlib import Path
from typing import cast

from sidecar.config import SIDECAR, AgentCommand
from sidecar.state_folder import replace_private, state_folder

log = logging.getLogger(__name__)

_FILE = "approvals.json"


class Approvals:
    """Reads the file at every lookup, because several sidecars share it. Nothing here raises: what cannot be read is not approved."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder if folder is not None else state_folder()

    def knows(self, command: AgentCommand) -> bool:
        """Whether exactly this command was approved."""
        return fingerprint(command) in self._read()

    def remember(self, command: AgentCommand) -> None:
        """Approve this command from now on."""
        try:
            known = sorted({*self._read(), fingerprint(command)})
            replace_private(self._folder, _FILE, json.dumps({"agents": known}).encode())
        except OSError as error:
            log.warning("the approval cannot be remembered in %s: %s", self._folder, error)

    def _read(self) -> set[str]:
        try:
            with open(os.path.join(self._folder, _FILE), "rb") as file:
                raw = json.loads(file.read())
        except FileNotFoundError:
            return set()
        except (OSError, ValueError) as error:
            log.warning("the approvals in %s cannot be read: %s", self._folder, error)
            return set()
        agents: object = cast("dict[str, object]", raw).get("agents") if isinstance(raw, dict) else None
        return {str(one) for one in cast("list[object]", agents)} if isinstance(agents, list) else set()


def fingerprint(command: AgentCommand) -> str:
    """Return a hash that is equal only for the same program, arguments, environment and transport."""
    parts: list[object] = [command.command, list(command.args), sorted(command.env.items())]
    if (by := command.transport) is not None:
        parts.append([list(by.command), sorted(by.folders.items()), by.shell])
        if by.sidecar != SIDECAR:
            parts.append(by.sidecar)
        if by.url:
            parts.append([by.url, sorted(by.headers.items())])
    return hashlib.blake2b(json.dumps(parts).encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
