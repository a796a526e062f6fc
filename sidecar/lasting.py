"""Lasting: imports that last as long as the process, which the garbage collector therefore never looks at."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def lasting() -> Generator[None]:
    """Everything that lives at its end is left alone by the collector. Walking over all that is loaded takes 50 ms each time, during
    which no editor gets an answer; while it is being loaded, the collector would do so several times and find nothing."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
