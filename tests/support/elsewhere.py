"""Places where agents of the tests run elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from sidecar.config import WORKSPACE_FOLDER, Transport

THERE = "/mnt"


def skip_unless_permitted(prefix: Sequence[str]) -> None:
    """Skips the test where these words, which mount something, cannot start a program: in most containers."""
    if subprocess.run([*prefix, "true"], capture_output=True, timeout=30, check=False).returncode:
        pytest.skip("NOT TESTED HERE: mounting is not permitted")


def by_namespace(project: Path) -> Transport:
    """A mount namespace in which the project is at THERE, and nothing is where it is here. Skips the test where there can be none."""
    unshare = shutil.which("unshare")
    if unshare is None or sys.platform != "linux":
        pytest.skip("NOT TESTED HERE: no unshare")
    script = f'mount --bind "$0" {THERE}; mount -t tmpfs none "$0"; exec "$@"'
    own = [unshare, "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    prefix = [*own, "sh", "-ec", script, str(project)]
    skip_unless_permitted(prefix)
    return Transport(tuple(prefix), {THERE: WORKSPACE_FOLDER})
