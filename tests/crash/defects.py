"""Planted defects: what a careless change could make of the journal or the disk. The matrix has to notice every one of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sidecar import disk
from sidecar.disk import Resolved, Stat
from sidecar.journal import writing
from sidecar.journal.entry import Entry
from sidecar.journal.store import Store


def journalled_after_the_change() -> None:
    """The entry is written when the write is finished, not before it is made."""
    begin_all, finish = Store.begin_all, Store.finish
    waiting: dict[str, Entry] = {}

    def late_begin(self: Store, entries: Sequence[Entry], takes_back: Any = ()) -> list[str]:
        ids = [f"later {len(waiting) + i}" for i in range(len(entries))]
        waiting.update(zip(ids, entries, strict=True))
        return ids

    def late_finish(self: Store, entry_id: str, state: Any, after: str | None = None) -> None:
        finish(self, begin_all(self, [waiting[entry_id]])[0], state, after)

    Store.begin_all, Store.finish = late_begin, late_finish


def never_committed() -> None:
    """`begin` returns before its transaction is committed."""
    real = writing.transaction
    from contextlib import contextmanager

    @contextmanager
    def transaction(db: Any, *, durable: bool) -> Any:
        if db.connection.in_transaction:
            db.connection.execute("COMMIT")
        if not durable:
            with real(db, durable=durable):
                yield
            return
        db.connection.execute("BEGIN IMMEDIATE")
        yield

    writing.transaction = transaction


def saved_by_overwriting() -> None:
    """The file is emptied and written again."""

    def save(target: Resolved, content: bytes, expected: Stat, **more: Any) -> Stat:
        descriptor = os.open(target.path, os.O_WRONLY | os.O_TRUNC)
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
            return Stat.of(os.fstat(descriptor))
        finally:
            os.close(descriptor)

    disk.save = save


def text_after_is_not_kept() -> None:
    """The entry has the text before only."""
    real = writing._prepare

    def prepare(db: Any, entry: Entry, hunks: Any) -> Any:
        before, _ = real(db, entry, hunks)
        return before, before

    writing._prepare = prepare


DEFECTS: Mapping[str, Callable[[], None]] = {
    defect.__name__: defect
    for defect in (
        journalled_after_the_change,
        never_committed,
        saved_by_overwriting,
        text_after_is_not_kept,
    )
}
