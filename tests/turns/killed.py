"""killed: runs a part of a run in a process of its own, which is killed in the middle: nothing of it is closed, nor ended."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import NoReturn

CAN = hasattr(os, "fork")


def killed(part: Callable[[Callable[[object], NoReturn]], None]) -> object:
    """What `part` handed to the function that it is given, by which its process is killed at once; or an Exception, which ended it before."""
    sys.stdout.flush()
    sys.stderr.flush()
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # of Python 3.12: whoever forks has no other threads that hold locks
        child = os.fork()
    if not child:
        os.close(read)
        _play(part, write)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(data)


def _play(part: Callable[[Callable[[object], NoReturn]], None], pipe: int) -> NoReturn:
    def die(state: object) -> NoReturn:
        sys.stdout.flush()
        left = memoryview(pickle.dumps(state))
        while left:
            left = left[os.write(pipe, left) :]
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("nobody comes here")

    try:
        part(die)
        die(AssertionError("it ended by itself"))
    except BaseException as error:  # noqa: BLE001 - nothing of the parent's may be gone through here
        die(AssertionError("".join(traceback.format_exception(error))))
