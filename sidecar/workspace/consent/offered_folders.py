"""OfferedFolders: the folders of a conversation that an agent offers (ACP, `session/list`). Only the user grants folders.

Folders within the editor's folders or `allowedRoots` are the user's. The user is asked about any other one by its real
path, and it is left out if they refuse. A conversation whose working directory is refused is not resumed. Its record keeps the
real paths: when it is resumed again, only they need no question, because a link may have been put in their place.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sidecar.core.policy import check_request
from sidecar.disk import Roots
from sidecar.records import About
from sidecar.workspace.consent.consent import Consent
from sidecar.workspace.ports.ports import AgentFailed
from sidecar.workspace.state.sessions import Session

log = logging.getLogger(__name__)

MOST_ASKED = 8
"""About how many folders of one conversation the user is asked. An agent may name any number."""


@dataclass(frozen=True, slots=True)
class Granted:
    """What is needed to resume a conversation."""

    about: About
    """The conversation, with the folders that were granted."""
    folders: frozenset[str]
    """The real paths that these folders had when they were granted, and the user's own folders."""

    def refuse_others(self, roots: Roots) -> None:
        """Raises AgentFailed if a folder that is held now was not granted: it was exchanged meanwhile."""
        for root in roots.roots:
            if not _is_within(root.path, self.folders):
                raise AgentFailed(
                    "refused", "a folder of this conversation was exchanged while you were asked"
                )


class OfferedFolders:
    """`users`: the editor's folders and `allowedRoots`."""

    def __init__(self, consent: Consent, users: Sequence[str]) -> None:
        self._consent = consent
        self._users = frozenset(map(os.path.realpath, users))

    async def grant(self, session: Session, about: About) -> Granted:
        """Asks the user about the folders where that is needed. The session must exist, so that it can be asked in.
        Raises AgentFailed."""
        granted, asked = dict[str, str](), 0
        known = self._users | set(about.granted)
        for path in dict.fromkeys((about.cwd, *about.additional_directories)):
            folder = _folder(path)
            users = folder is not None and _is_within(folder, known)
            if folder is not None and not users and asked < MOST_ASKED:
                asked += 1
                users = await self._consent.to_enter(session, folder)
            if folder is not None and users:
                granted[path] = folder
            elif path == about.cwd:
                raise AgentFailed(
                    "refused", "this conversation was not taken up, because its folder was not allowed"
                )
            else:
                log.warning("%s offers a conversation with a folder that is left out", about.agent)
        more = tuple(path for path in granted if path != about.cwd)
        real = frozenset(granted.values())
        kept = replace(about, additional_directories=more, granted=tuple(sorted(real)))
        return Granted(kept, self._users | real)


def _folder(path: str) -> str | None:
    """The real path of a folder; None if the path is not a folder, or is on another machine."""
    if check_request(path, windows=os.name == "nt") is not None or path.startswith((r"\\", "//")):
        return None
    folder = os.path.realpath(path)
    return folder if os.path.isdir(folder) else None


def _is_within(path: str, folders: frozenset[str]) -> bool:
    return any(path == folder or path.startswith(os.path.join(folder, "")) for folder in folders)
