"""Whether a process still runs: one that runs, one that nobody collects, one that is gone, one of another user."""

from __future__ import annotations

import os
import subprocess
import sys
import time

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


def test_all_that_run() -> None:
    """Also this one, with its command line, its parent and about when it began."""
    before = processes.now()
    line = f"import sys; sys.stdin.read()  # {before}"
    with subprocess.Popen([sys.executable, "-S", "-c", line], stdin=subprocess.PIPE) as child:
        eventually(lambda: str(before) in processes.running()[child.pid].line, "it runs its program")
        found = processes.running()[child.pid]
        assert found.parent in processes.running(), "this one, or on Windows what starts Python in its place"
        assert abs(found.began - before) < 60
        child.communicate(b"")
    assert not found.is_same(processes.running().get(child.pid))


def test_on_windows_the_id_of_a_parent_may_be_another_processs_by_now() -> None:
    at = 133_500_000_000_000_000  # 2024-01-17
    rows = [(1, 0, at, "a"), (2, 1, at + 5, "b"), (3, 4, at + 6, "c"), (4, 1, at + 70_000_000, "d")]
    found = processes.of_windows(rows)
    assert {pid: one.parent for pid, one in found.items()} == {1: 0, 2: 1, 3: 0, 4: 1}
    assert found[4].began - found[1].began == 7
    assert time.gmtime(found[1].began)[:3] == (2024, 1, 17)
