"""Whether a process still runs: one that runs, one that nobody collects, one that is gone, one of another user."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sidecar import processes
from tests.support.waiting import eventually

LINUX = sys.platform.startswith("linux")


@pytest.mark.skipif(sys.platform != "win32", reason="elsewhere it can be told")
def test_windows_does_not_tell() -> None:
    assert processes.runs(os.getpid()) is None


@pytest.mark.skipif(sys.platform == "win32", reason="it cannot be told there")
def test_a_process_until_it_is_gone() -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert processes.runs(child.pid) is True
        assert child.stdin is not None
        child.stdin.close()
        if LINUX:
            eventually(
                lambda: processes.runs(child.pid) is False, "what ended and is not collected has ended"
            )
        child.wait()
        assert processes.runs(child.pid) is False


@pytest.mark.skipif(sys.platform == "win32", reason="it cannot be told there")
def test_the_first_process_runs_whoever_asks() -> None:
    assert processes.runs(1) is True


@pytest.mark.skipif(sys.platform == "win32", reason="it cannot be told there")
def test_a_number_that_is_no_process_id() -> None:
    with pytest.raises(OverflowError):
        processes.runs(2**70)
