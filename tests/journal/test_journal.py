"""The journal for the event loop, and several processes on one file."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from sidecar.journal import SqliteJournal, Store, calls
from sidecar.journal.database import NAME
from sidecar.journal.entry import Entry, JournalFailed
from sidecar.journal.journal import LOCKED
from sidecar.workspace.ports.ports import Journal
from tests.support.journals import entry

ROOT = Path(__file__).parents[2]


async def test_it_is_what_the_workspace_needs(tmp_path: Path) -> None:
    async with SqliteJournal.opened(tmp_path / "j") as journal:
        port: Journal = journal
        await journal.session_opened("s", "agent", "/w")
        write = await port.begin(entry("a", "b"))
        await port.finish(write, "done")
        await port.save_ledger("file:///a", "b", b"hunks")
        assert await port.load_ledger("file:///a") == ("b", b"hunks")
        assert await port.ledger_uris() == ["file:///a"]
        await port.forget_ledger("file:///a")
        assert await port.load_ledger("file:///a") is None
        assert [found.state for found in await journal.entries()] == ["done"]
        assert await journal.texts(write) == ("a", "b")
        await journal.session_closed("s")
        await journal.tidy()


async def test_it_is_durable_when_begin_returns(tmp_path: Path) -> None:
    async with SqliteJournal.opened(tmp_path / "j") as journal:
        write = await journal.begin(entry("a", "b"))
        level = journal._store._open.connection.execute("PRAGMA synchronous").fetchone()
        assert level == (2,)  # FULL
        other = sqlite3.connect(tmp_path / "j" / NAME)
        assert other.execute("SELECT id, state FROM writes").fetchall() == [(write, "intent")]
        other.close()


async def test_writes_are_numbered_in_the_order_they_were_begun(tmp_path: Path) -> None:
    async with SqliteJournal.opened(tmp_path / "j") as journal:
        ids = await asyncio.gather(*(journal.begin(entry("", str(i), f"/w/{i}")) for i in range(20)))
        assert ids == sorted(ids)


async def test_those_that_wait_together_wait_for_the_disk_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are: the first, and then all that came meanwhile. One that is not waited for any more is not journalled."""
    waits: list[int] = []
    begin_all = Store.begin_all

    def counted(self: Store, entries: Sequence[Entry], *more: Any) -> list[str]:
        waits.append(len(entries))
        if len(waits) == 1:
            asyncio.run_coroutine_threadsafe(others(), loop).result(10)
        return begin_all(self, entries, *more)

    monkeypatch.setattr(Store, "begin_all", counted)
    loop = asyncio.get_running_loop()
    rest: list[asyncio.Task[str]] = []

    async def others() -> None:
        """While the first waits for the disk."""
        rest.extend(asyncio.create_task(journal.begin(entry("", str(i), f"/w/{i}"))) for i in range(20))
        await asyncio.sleep(0)
        rest.pop(3).cancel()
        await asyncio.sleep(0)

    async with SqliteJournal.opened(tmp_path / "j") as journal:
        ids = [await journal.begin(entry("", "first"))]
        ids += await asyncio.gather(*rest)
        assert waits == [1, 19]
        assert ids == sorted(set(ids))
        assert len(await journal.entries()) == 20


async def test_calls_that_wait_together_are_handed_to_the_thread_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine, handing over takes longer than most of them. They are carried out in the order in which they were made."""
    handed: list[int] = []
    carry_out = calls.carry_out

    def counted(some: Sequence[Any]) -> None:
        handed.append(len(some))
        carry_out(some)

    async with SqliteJournal.opened(tmp_path / "j") as journal:
        monkeypatch.setattr(calls, "carry_out", counted)
        await asyncio.gather(
            *(journal.save_ledger(f"file:///{i % 10}", f"{i}", b"hunks") for i in range(100)),
            *(journal.held(f"/w/{i}", "text") for i in range(100)),
        )
        assert handed == [200, 100]  # saved, held; has the journal grown?
        assert [await journal.load_ledger(f"file:///{i}") for i in range(10)] == [
            (f"{90 + i}", b"hunks") for i in range(10)
        ]


async def test_a_cancelled_call_is_withdrawn_or_waited_for(tmp_path: Path) -> None:
    """It is withdrawn if it has not begun. One that has begun fails or succeeds for itself alone."""
    begun, may_end, done = threading.Event(), threading.Event(), list[str]()

    def long() -> None:
        begun.set()
        assert may_end.wait(10)
        done.append("long")

    async def make(work: Callable[[], None]) -> None:
        await of_journal.make(work)

    async def cancelled(scope: anyio.CancelScope, work: Callable[[], None]) -> None:
        with scope:
            await make(work)
        done.append("its caller goes on")
        gone_on.set()

    def fails() -> None:
        raise ValueError("for its caller")

    of_journal, gone_on = calls.Calls(), asyncio.Event()
    first, second = anyio.CancelScope(), anyio.CancelScope()
    async with anyio.create_task_group() as group:
        group.start_soon(cancelled, first, long)
        assert await anyio.to_thread.run_sync(begun.wait, 10)
        group.start_soon(cancelled, second, lambda: done.append("withdrawn"))
        last = asyncio.gather(
            make(fails), make(lambda: done.append("last")), make(fails), return_exceptions=True
        )
        await asyncio.sleep(0)
        first.cancel()
        second.cancel()
        await gone_on.wait()
        assert done == ["its caller goes on"]  # the second's
        may_end.set()
        assert [type(one) for one in await last] == [ValueError, type(None), ValueError]
    assert sorted(done) == ["its caller goes on"] * 2 + ["last", "long"]
    assert done.index("long") < done.index("last")


async def test_a_call_whose_caller_was_cancelled_in_that_moment_is_not_carried_out() -> None:
    """The thread is free before the caller has heard of it."""
    of_journal, done = calls.Calls(), list[str]()
    call = asyncio.ensure_future(of_journal.make(lambda: done.append("withdrawn")))
    await asyncio.sleep(0)
    call.cancel()
    await of_journal.make(lambda: done.append("the next"))
    assert call.cancelled()
    assert done == ["the next"]


async def test_where_no_thread_can_be_started_the_callers_hear_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def none_left(*_: Any, **__: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(anyio.to_thread, "run_sync", none_left)
    of_journal = calls.Calls()
    both = await asyncio.gather(*(of_journal.make(list) for _ in range(2)), return_exceptions=True)
    assert [type(one) for one in both] == [RuntimeError, RuntimeError]


async def test_one_that_cannot_be_journalled_takes_no_other_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_all = Store.begin_all

    def failing(self: Store, entries: Sequence[Entry], *more: Any) -> list[str]:
        if any(one.path == "/w/7" for one in entries):
            raise JournalFailed("this one is too much")
        return begin_all(self, entries, *more)

    async with SqliteJournal.opened(tmp_path / "j") as journal:
        await journal.begin(entry("", "first"))
        monkeypatch.setattr(Store, "begin_all", failing)
        done = await asyncio.gather(
            *(journal.begin(entry("", str(i), f"/w/{i}")) for i in range(20)), return_exceptions=True
        )
        assert [i for i, one in enumerate(done) if isinstance(one, JournalFailed)] == [7]
        assert len(await journal.entries()) == 20
        assert len({one for one in done if isinstance(one, str)}) == 19


async def test_calls_that_queue_behind_a_lock_wait_together_and_a_person_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patience: list[float] = []
    wait = Store.wait_at_most
    monkeypatch.setattr(
        Store, "wait_at_most", lambda self, seconds: (patience.append(seconds), wait(self, seconds))
    )
    async with SqliteJournal.opened(tmp_path / "j", busy_seconds=0.3) as journal:
        told: list[str] = []
        journal.tell = told.append
        await journal.begin(entry("a", "b"))
        other = sqlite3.connect(tmp_path / "j" / NAME, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        patience.clear()
        done = await asyncio.gather(
            *(journal.begin(entry("", "x")) for _ in range(8)), return_exceptions=True
        )
        assert [str(one) for one in done] == [
            "another program keeps the journal's file locked; try again"
        ] * 8
        assert sum(patience) < 2 * 0.3
        other.close()
        assert await journal.begin(entry("b", "c"))
        assert told == [LOCKED]


async def test_a_cancelled_writer_still_says_what_became_of_it(tmp_path: Path) -> None:
    async with SqliteJournal.opened(tmp_path / "j") as journal:
        write = await journal.begin(entry("a", "b"))
        with anyio.CancelScope() as scope:
            scope.cancel()
            await journal.finish(write, "done")
        assert (await journal.entries())[0].state == "done"


async def test_failures_are_raised_or_logged_as_the_port_says(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    async with SqliteJournal.opened(tmp_path / "file" / "j") as journal:
        with pytest.raises(JournalFailed):
            await journal.begin(entry("a", "b"))
        with caplog.at_level(logging.ERROR):
            await journal.finish("x", "done")
            await journal.save_ledger("u", "t", b"")
            assert await journal.load_ledger("u") is None
        assert str(tmp_path / "file") in caplog.text
        (tmp_path / "file").unlink()
        assert await journal.begin(entry("a", "b"))  # as soon as it can


async def test_the_user_is_told_what_happened_to_the_journal(tmp_path: Path) -> None:
    (tmp_path / "j").mkdir(mode=0o700)
    (tmp_path / "j" / NAME).write_bytes(b"junk" * 1000)
    told: list[str] = []
    async with SqliteJournal.opened(tmp_path / "j") as journal:
        journal.tell = told.append
        await journal.begin(entry("a", "b"))
    assert len(told) == 1
    assert "It was renamed to" in told[0]


def test_several_sidecars_share_one_file(tmp_path: Path) -> None:
    """They open it at the same moment, and none loses a write or waits for ever."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.journal.writer", str(tmp_path / "j"), f"p{i}", "12"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
        )
        for i in range(5)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.close()
    assert [process.wait(60) for process in processes] == [0] * 5
    with Store(tmp_path / "j") as store:
        found = store.entries()
        assert not store.notices
        assert len(found) == len({one.id for one in found}) == 60
        assert {one.state for one in found} == {"done"}
        for one in found:
            before, after = store.texts(one.id)
            assert before is not None
            assert after is not None
            assert before.split()[0] == after.split()[0] == one.session
    assert not list((tmp_path / "j" / "alive").iterdir())
