"""Sockets need short paths, and pytest's own folders have long ones."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest


@pytest.fixture
def tmp_path() -> Generator[Path]:
    """In the place of pytest's own."""
    short = "/tmp" if os.path.isdir("/tmp") else None
    with tempfile.TemporaryDirectory(prefix="m", dir=short, ignore_cleanup_errors=True) as folder:
        yield Path(os.path.realpath(folder))
