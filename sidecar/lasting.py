"""Lasting: imports that last as long as the process, so that the garbage collector never scans them."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def lasting() -> Generator[None]:
    """Exempt everything that is alive at the end from collection. Scanning all loaded objects takes 50 ms each time, during which no editor gets an
    answer; during the imports, the collector would scan several times and find nothing."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
