"""gone_at: when a file was removed, as far as its folder tells."""

from __future__ import annotations

import os

from sidecar.disk import Stat
from sidecar.workspace.state.acts import changed_at
from sidecar.workspace.state.acts import now as file_time


def gone_at(path: str) -> int:
    """The latest time (acts.py) at which a missing file can have been removed: when the nearest folder above it that
    exists was last changed."""
    folder = os.path.dirname(path)
    while folder != os.path.dirname(folder):
        try:
            return changed_at(Stat.of(os.stat(folder)))
        except OSError:
            folder = os.path.dirname(folder)
    return file_time()
