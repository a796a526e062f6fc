"""Running sidecars, from their entries for the local socket, and the folder of these entries."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import datetime

from sidecar.bridge import UNSUPPORTED, folder
from sidecar.bridge.finding import find_all
from sidecar.core.escape import plain
from sidecar.doctor.finding import Finding

_LISTED = 20


def look(cwd: str | None = None, env: Mapping[str, str] | None = None) -> Iterator[Finding]:
    area = "running"
    if UNSUPPORTED:
        yield Finding(area, "note", UNSUPPORTED)
        return
    env = os.environ if env is None else env
    for path in folder.candidates(env):
        if os.path.lexists(path) and (why := folder.why_not(path)):
            words = f"{path} cannot hold the local socket: {why}"
            yield Finding(
                area, "warn", words, "make it a folder that only you can access (chmod 700), or remove it"
            )
    count = 0
    for client in find_all(os.getcwd() if cwd is None else cwd, env):
        with client:
            entry = client.entry
        count += 1
        if count <= _LISTED:
            since = datetime.fromtimestamp(entry.started).strftime("%Y-%m-%d %H:%M")
            roots = ", ".join(plain(root) for root in entry.roots[:3]) or "no folder"
            yield Finding(area, "ok", f"process {entry.pid} since {since}, for {roots}")
    if count > _LISTED:
        yield Finding(area, "note", f"and {count - _LISTED} more")
    if not count:
        yield Finding(area, "ok", "no sidecar is running")
