"""gone_at: when a file was taken away, which nothing says but its folder."""

from __future__ import annotations

import os

from sidecar.disk import Stat
from sidecar.workspace.state.acts import changed_at
from sidecar.workspace.state.acts import now as file_time


def gone_at(path: str) -> int:
    """When a file that is gone was taken away, at the latest: when its folder changed last. See acts.py."""
    folder = os.path.dirname(path)
    while folder != os.path.dirname(folder):
        try:
            return changed_at(Stat.of(os.stat(folder)))
        except OSError:
            folder = os.path.dirname(folder)
    return file_time()
