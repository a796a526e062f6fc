"""The memory that texts took is given back once, soon after the last of them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from sidecar import given_back
from sidecar.given_back import LARGE, MANY, GivesBack


def test_once_after_the_last_large_text() -> None:
    given: list[bool] = []
    done = threading.Event()

    def give() -> None:
        given.append(threading.current_thread() is threading.main_thread())
        done.set()

    async def work() -> None:
        gives = GivesBack(give, quiet=0.05)
        for _ in range(2):
            for _ in range(5):
                gives.soon(LARGE + 1)
                assert not done.is_set()
                await asyncio.sleep(0)
            assert await asyncio.to_thread(done.wait, 10)
            done.clear()
        gives.soon(LARGE)
        await asyncio.sleep(0.2)

    asyncio.run(work())
    assert given == [False, False]


def test_many_small_texts_count_like_a_large_one() -> None:
    given = threading.Event()

    async def work() -> None:
        gives = GivesBack(given.set, quiet=0.05)
        for _ in range(MANY // LARGE - 1):
            gives.soon(LARGE)
        assert gives._waits is None, "nothing is due yet"
        gives.soon(LARGE)
        assert await asyncio.to_thread(given.wait, 10)
        gives.soon(LARGE)
        assert gives._waits is None, "they are counted anew"

    asyncio.run(work())


def test_work_that_does_not_pause_does_not_keep_it() -> None:
    given = threading.Event()

    async def work() -> None:
        gives = GivesBack(given.set, quiet=10, latest=0.05)
        async with asyncio.timeout(10):
            while not given.is_set():
                gives.soon(LARGE + 1)
                await asyncio.sleep(0)

    asyncio.run(work())


def test_a_loop_that_ended_before_is_not_waited_for() -> None:
    done = threading.Event()
    gives = GivesBack(done.set, quiet=0.05)

    async def works() -> None:
        gives.soon(LARGE + 1)

    async def waits() -> bool:
        gives.soon(LARGE + 1)
        return await asyncio.to_thread(done.wait, 10)

    asyncio.run(works())
    assert asyncio.run(waits())


def test_where_libc_has_no_such_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given_back, "_mallopt", None)
    monkeypatch.setattr(given_back, "_malloc_trim", None)
    given_back.one_arena()
    given_back._trim()  # either would call nothing as a function


MAPPED = """
import ctypes
from sidecar import given_back

class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd".split()] + [("rest", ctypes.c_size_t * 5)]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Info

def mapped(size):
    before = libc.mallinfo2().hblkhd
    block = bytearray(size)
    return libc.mallinfo2().hblkhd > before

given_back.one_arena()
print(mapped(given_back.SETTLED - 4096), mapped(given_back.SETTLED * 2))
"""
"""Whether blocks of these sizes are mapped by themselves."""


@pytest.mark.skipif(given_back._malloc_trim is None, reason="only glibc does that")
@pytest.mark.skipif(given_back._of_libc("mallinfo2") is None, reason="glibc tells it from 2.33 on")
def test_where_blocks_lie_is_settled_at_the_start() -> None:
    told = subprocess.run([sys.executable, "-c", MAPPED], check=True, capture_output=True, text=True)
    assert told.stdout.split() == ["False", "True"]
