"""Store: the journal itself, synchronous. Use it from one thread at a time; SqliteJournal and the command line build on it.

Every method raises JournalFailed with a message, and nothing else. Before each use, the store checks that the database still has its name. If it was
deleted or moved, a new one is started: writes to the old one could never be found again.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Self, TypeVar

from sidecar.core.file_state import FileState, States
from sidecar.core.kept_files import KeptFile
from sidecar.core.kept_hunks import IN_FILE, AsJson
from sidecar.core.normal import normal
from sidecar.core.retold import Picked, Told, needed_from
from sidecar.core.text import Text
from sidecar.journal import interrupted, retention, selecting, turns, writing
from sidecar.journal.alive import Alive, is_alive, sweep
from sidecar.journal.database import BUSY_SECONDS, NAME, identity, open_database, set_aside
from sidecar.journal.entry import TAKES_BACK, Entry, EntryState, JournalFailed, Recorded, Texts, told
from sidecar.journal.folder import default_folder
from sidecar.journal.gone import TextIds, gone
from sidecar.journal.ids import first_id
from sidecar.journal.interrupted import Interrupted
from sidecar.journal.opened import OpenJournal, transaction
from sidecar.journal.retention import RetentionLimits, Tidied
from sidecar.journal.selecting import Selection, as_blob, as_words
from sidecar.journal.texts import TextLost, TextStore
from sidecar.journal.too_large import largest_share, too_large
from sidecar.journal.turns import CutOff, PreImage, SavedOver, TurnStart
from sidecar.journal.words import explained, is_damaged, was_moved

T = TypeVar("T")

_TOLD = 200
"""The number of a file's writes from which its review is reconstructed."""
_TOLD_CHARACTERS = 64 * 1024 * 1024
"""Characters of their texts together: of a large file, fewer writes. A text that one write left and the next one found counts once."""
_HELD = 32
"""The number of earlier texts of a file that are compared with its content."""
TIDY_EVERY_BYTES = 64 * 1024 * 1024
"""When this process has added this many bytes to the database, old entries are deleted, as at every start."""


class Store:
    """Opens the database at first use, and again if its file has disappeared. Close it, or use it as a context manager."""

    def __init__(self, folder: Path | None = None, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.folder = folder if folder is not None else default_folder()
        self.notices: list[str] = []
        """Sentences for the user. Whoever shows them clears the list."""
        self._busy_seconds = busy_seconds
        self._open: OpenJournal | None = None
        self._pages_at_tidying = 0
        self._tidying: tuple[OpenJournal, Generator[None, None, Tidied]] | None = None
        self._told_bytes = 0

    @property
    def exists(self) -> bool:
        """Whether anything was ever journalled here. Asking does not create the journal."""
        return os.path.lexists(self.folder / NAME)

    def wait_at_most(self, seconds: float) -> None:
        """Set how many seconds the next calls wait for another program that keeps the file locked. Never raises."""
        self._busy_seconds = seconds
        if self._open is not None:
            with suppress(sqlite3.Error):
                self._open.connection.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")

    def close(self) -> None:
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Writing

    def open(self) -> None:
        """Open the database and create what is missing. Otherwise this happens at first use."""
        self._do(lambda db: None)

    def begin(self, entry: Entry, takes_back: Iterable[str] = ()) -> str:
        """Journal a write that is about to be made. Returns its id; durable when this returns. `takes_back`: ids of writes that become `undone` when
        this one is done (`rejected` if it is a rejection).
        """
        return self.begin_all([entry], [tuple(takes_back)])[0]

    def begin_all(self, entries: Sequence[Entry], takes_back: Sequence[Sequence[str]] = ()) -> list[str]:
        """Like `begin`, for many, with one wait for the disk. All are journalled, or none. `takes_back`: one list for each entry, or empty."""
        return self._do(lambda db: writing.begin(db, entries, takes_back), repair=True)

    def finish(self, entry_id: str, state: EntryState, after: str | None = None) -> None:
        """Record how a write ended. `after`: the text it left, if it differs from the planned text. Not synced to the disk: if a crash of the machine
        loses it, the next start finds it out.
        """
        if after is None:
            self.finish_all([entry_id], state)
        else:
            self._do(lambda db: writing.finish(db, entry_id, state, after))

    def finish_all(self, entry_ids: Sequence[str], state: EntryState) -> None:
        """Like `finish`, for many with the same outcome."""
        self._do(lambda db: writing.finish_all(db, entry_ids, state))

    def session_opened(self, session: str, agent: str, cwd: str) -> None:
        """Protect the session's entries while this process is running and has not closed the session. A session's first write has the same effect."""

        def work(db: OpenJournal) -> None:
            with transaction(db, durable=False):
                writing.know_session(db, session, agent, cwd)

        self._do(work)

    def session_closed(self, session: str) -> None:
        def work(db: OpenJournal) -> None:
            with transaction(db, durable=False):
                db.connection.execute(
                    "UPDATE sessions SET closed = ? WHERE id = ? AND owner = ? AND closed IS NULL",
                    (time.time(), as_words(session), db.alive.owner),
                )

        self._do(work)

    def save_ledger(
        self,
        uri: str,
        text: str | Text,
        hunks: bytes | AsJson,
        in_file: tuple[Text, AsJson] | None = None,
    ) -> None:
        """Store the unreviewed hunks of a document and the text that contains them. `in_file`: those of its file, and their text, if the document has
        unsaved work."""
        self._do(lambda db: writing.save_ledger(db, as_words(uri), text, hunks, in_file), repair=True)

    def save_rows(
        self, rows: Mapping[str, KeptFile], forgotten: Collection[str] = (), rejected: Collection[str] = ()
    ) -> None:
        """Store rows of the review of whole files by their names, forget others, and record that these writes were rejected: all of it, or nothing."""
        self._do(lambda db: writing.save_rows(db, rows, forgotten, rejected), repair=True)

    def save_picked(self, path: str, text: str, hunks: bytes) -> None:
        """Store hunks of a file (canonical path) that the user has kept while others of the same writes are under review, and the text that contains them."""
        self._do(lambda db: writing.save_picked(db, path, text, hunks), repair=True)

    def forget_ledger(self, *uris: str) -> None:
        def work(db: OpenJournal) -> None:
            with transaction(db, durable=False):
                for uri in uris:
                    writing.forget_ledger(db.connection, as_words(uri))

        self._do(work)

    # Turns: see turns.py

    def turn_began(self, start: TurnStart) -> None:
        """Store the state of the files in the turn's folders; durable when this returns."""
        self._do(lambda db: turns.begin(db, start), repair=True)

    def turn_saved(self, session: str, path: str, image: PreImage) -> None:
        """Record that the user saved a file during the session's running turn."""
        self._do(lambda db: turns.saved(db, session, path, image))

    def turn_saving(self, session: str, path: str, save: SavedOver) -> None:
        """Record that the user saved a file during the session's running turn, on top of changes that may not be recorded yet."""
        self._do(lambda db: turns.saving(db, session, path, save))

    def turns_seen(self) -> None:
        """Record that this process is alive and its turns are running."""
        self._do(turns.seen)

    def turn_acted(self, session: str) -> None:
        """Record that the agent of the running turn does something that may change files."""
        self._do(lambda db: turns.acted(db, session))

    def turn_ended(self, session: str) -> None:
        self._do(lambda db: turns.ended(db, session))

    def cut_off(self) -> list[CutOff]:
        """Return the turns whose process ended before they did. Each is now claimed by this process, which must examine and settle it."""
        return self._do(lambda db: turns.cut_off(db, self.is_running))

    def turn_settled(self, row: int) -> None:
        self._do(lambda db: turns.settled(db, row))

    def last_turn(self, session: str) -> int:
        """Return the highest number of a turn in the session that wrote something, or 0 if none did."""

        def work(db: OpenJournal) -> int:
            row = db.connection.execute(
                "SELECT max(turn) FROM writes WHERE session = ?", (as_words(session),)
            ).fetchone()
            return row[0] or 0

        return self._do(work)

    # Reading

    def load_ledger(self, uri: str) -> tuple[str, bytes] | None:
        return self._do(lambda db: writing.ledger(db, as_words(uri)))

    def load_ledger_in_file(self, uri: str) -> tuple[str, bytes] | None:
        """Return what is under review in a document's file, if that was stored beside what is under review in its unsaved text."""
        return self._do(lambda db: writing.ledger(db, f"{IN_FILE}{as_words(uri)}"))

    def ledger_uris(self) -> list[str]:
        """Return the documents with unreviewed hunks, from all workspaces."""
        rows = self._do(lambda db: db.connection.execute("SELECT uri FROM ledgers ORDER BY uri").fetchall())
        return [uri for (uri,) in rows if not uri.startswith(IN_FILE)]

    def entries(self, selection: Selection | None = None) -> list[Recorded]:
        """Return the entries, newest first."""
        return self._do(lambda db: selecting.entries(db.connection, selection or Selection()))

    def count(self, selection: Selection) -> int:
        return self._do(lambda db: selecting.count(db.connection, selection))

    def named(self, name: str) -> list[Recorded]:
        """Return every write whose id is, begins with or ends with `name`."""
        return self._do(lambda db: selecting.named(db.connection, name))

    def sessions_named(self, name: str) -> list[str]:
        """Return every session with writes whose id is or begins with `name`."""
        return self._do(lambda db: selecting.sessions_named(db.connection, name))

    def texts(self, entry_id: str) -> Texts:
        """Return the raw texts before and after a write. Raises JournalFailed if there is no such write."""

        def work(db: OpenJournal) -> Texts:
            row = db.connection.execute(
                "SELECT before, after FROM writes WHERE id = ?", (entry_id,)
            ).fetchone()
            if row is None:
                raise JournalFailed(f"there is no write {entry_id} in the journal")
            before, after = (None if text is None else db.texts.get(text) for text in row)
            return Texts(before, after)

        return self._do(work)

    def states(self, entry_id: str) -> States | None:
        """Return the whole states under a write's path before and after it, or None if its texts cover them."""
        return self._do(lambda db: writing.states(db.connection, entry_id))

    def made_folders(self, entry_ids: Sequence[str]) -> list[str]:
        """Return the folders (canonical) that were created for the files of these writes."""
        return self._do(lambda db: writing.made_folders(db, entry_ids))

    def undone(self, entry_ids: Collection[str], *, or_rejected: bool = False) -> set[str]:
        """Return those of the writes that a revert has taken back. `or_rejected`: or of which nothing is under review any more since a rejection."""
        states = ("undone", "rejected") if or_rejected else ("undone",)
        return {entry.id for entry in self._these(entry_ids) if entry.state in states}

    def removal(self, path: str) -> tuple[Recorded, FileState] | None:
        """Return the newest write of this file (canonical path) that is not taken back, and the state before the row that it ends (`_row`). None unless that
        write removed the file."""
        every = self._of(path)
        newest = next((one for one in every if one.agent not in TAKES_BACK and _stands(one)), None)
        states = None if newest is None else self.states(newest.id)
        if newest is None or states is None or states[1] is not None:
            return None
        first = self.states(self._row(newest, every)[-1].id)
        return None if first is None or first[0] is None else (newest, first[0])

    def _row(self, last: Recorded, every: Sequence[Recorded]) -> list[Recorded]:
        """Return the writes that are one row of the review of whole files, which ends with `last`, newest first: those of one turn, each of which found
        what the one before it had left. `every`: all writes of the file, newest first."""
        found, states = [last], self.states(last.id)
        for one in every:
            if one.id >= last.id or one.state == "failed":
                continue
            older = self.states(one.id)
            same = (one.session, one.turn, one.agent) == (last.session, last.turn, last.agent)
            if not (same and _stands(one)) or older is None or states is None or older[1] != states[0]:
                break
            found.append(one)
            states = older
        return found

    def _of(self, path: str) -> list[Recorded]:
        return [one for one in self.entries(Selection(paths=(path,))) if one.path == path]

    def gone(self, write: Recorded) -> list[tuple[Texts, States | None]]:
        """Return what was taken back of the earlier writes of the same file after `write` was made, newest first; see gone.py."""
        return gone(self, write, self._of(write.path))

    def text_ids(self, path: str) -> dict[str, TextIds]:
        """Return the ids of the texts before and after each write of this file (canonical path), by the write's id. Equal texts have the same id; None:
        no file, or no text."""

        def work(db: OpenJournal) -> dict[str, TextIds]:
            rows = db.connection.execute(
                "SELECT id, before, after FROM writes WHERE path = ?", (as_blob(path),)
            ).fetchall()
            return {row[0]: (row[1], row[2]) for row in rows}

        return self._do(work)

    def gone_before(self, entry_id: str) -> list[tuple[Texts, States | None]]:
        """Return what `gone` finds for the row of the review of whole files that this write ends, as if that were one write."""
        found: list[tuple[Texts, States | None]] = []
        for write in self._these([entry_id]):
            every = self._of(write.path)
            *later, first = self._row(write, every)
            found += gone(self, first, [one for one in every if one not in later])
        return found

    def moved_to(self, entry_id: str) -> list[Recorded]:
        """For a write that removed a file: return the writes of the same turn that created another file with its text, newest first."""

        def work(db: OpenJournal) -> list[Recorded]:
            rows = db.connection.execute(
                "SELECT made.id FROM writes AS gone JOIN writes AS made ON made.session = gone.session AND made.turn = gone.turn "
                "AND made.after = gone.before AND made.path != gone.path "
                "WHERE gone.id = ? AND gone.after IS NULL AND made.before IS NULL AND made.state != 'failed'",
                (entry_id,),
            ).fetchall()
            ids = tuple(row[0] for row in rows)
            return selecting.entries(db.connection, Selection(ids=ids)) if ids else []

        return self._do(work)

    def paths(self, entry_ids: Collection[str]) -> list[str]:
        """Return the files (canonical paths) of these writes, each once."""
        return list(dict.fromkeys(entry.path for entry in self._these(entry_ids)))

    def _these(self, entry_ids: Collection[str]) -> list[Recorded]:
        return self.entries(Selection(ids=tuple(entry_ids))) if entry_ids else []

    def folders_under_review(self) -> list[str]:
        """Return the folders (canonical) that were created for agents' files, in writes that nobody has kept or taken back."""
        return self._do(writing.folders_under_review)

    def told(self, path: str, text: str | None = None) -> list[Told]:
        """Return the newest finished writes of this file (canonical path), oldest first, in the form from which its review is reconstructed. `text` (raw):
        only those on which the review of this text depends, if one of them left the file with it. A change of the mode alone is left out: the text
        recorded with it is the one from the turn's start, whatever the file contained by then."""
        entries = self.entries(Selection(paths=(path,), limit=_TOLD))
        found: list[Told] = []
        for one in reversed(entries):
            if one.path != path or one.state in ("failed", "intent"):
                continue
            picked, states = self._picked(one.id), self.states(one.id)
            takes_back = one.agent in TAKES_BACK
            if _is_mode(states) and not takes_back:
                found[-1:] = [replace(last, picked=[*last.picked, *picked]) for last in found[-1:]]
                continue
            took_back = self.taken_back_by(one.id) if takes_back else ()
            found.append(told(one, picked, took_back, whole=states is not None))
        return self._with_texts(found, text)

    def _with_texts(self, writes: Sequence[Told], text: str | None) -> list[Told]:
        """Return the newest of these writes with their texts, oldest first: as many as `text` needs and _TOLD_CHARACTERS has room for, but one at least.
        Equal texts are one string."""
        compared = None if text is None else normal(text)

        def work(db: OpenJournal) -> list[Told]:
            known, found, room = dict[int, str](), list[Told](), _TOLD_CHARACTERS
            first: int | None = None
            for number in reversed(range(len(writes))):
                row = db.connection.execute(
                    "SELECT before, after FROM writes WHERE id = ?", (writes[number].author.write,)
                ).fetchone()
                for one in row or ():
                    if one is not None and one not in known:
                        known[one] = db.texts.get(one)
                        room -= len(known[one])
                if row is None or (room < 0 and found):
                    break
                before, after = (None if one is None else known[one] for one in row)
                found.append(replace(writes[number], before=before, after=after))
                if first is None and compared is not None and after is not None and normal(after) == compared:
                    first = needed_from(writes, number)
                if first is not None and number <= first:
                    break
            return found[::-1]

        return self._do(work)

    def _picked(self, entry_id: str) -> list[Picked]:
        return self._do(lambda db: writing.picked(db, entry_id))

    def put_back(self, path: str, text: str | None, since: int = 0) -> bool:
        """Whether the newest write of this file (canonical path) took others back, not before `since` (nanoseconds since the epoch), and left the file
        with this text (compared form; None: removed)."""

        def work(db: OpenJournal) -> bool:
            row = db.connection.execute(
                f"SELECT id, agent, after, {selecting.EXISTS} FROM writes "
                "WHERE path = ? AND state NOT IN ('failed', 'intent') ORDER BY id DESC LIMIT 1",
                (as_blob(path),),
            ).fetchone()
            if row is None or row[1] not in TAKES_BACK or row[0] < first_id(since / 1e9):
                return False
            _, _, after, exists = row  # a file that was restored as a whole exists, but has no text here
            return not exists if text is None else after is not None and normal(db.texts.get(after)) == text

        return self._do(work)

    def held(self, path: str, text: str) -> bool:
        """Whether one of the newest writes of this file (canonical path) started from this text (compared form). Only writes since the user last kept that the
        file was removed count: what is there after that is a new one."""

        def work(db: OpenJournal) -> bool:
            removed = (
                f"SELECT max(id) FROM writes WHERE path = ? AND state = 'kept' AND NOT {selecting.EXISTS}"
            )
            rows = db.connection.execute(
                "SELECT DISTINCT before FROM writes WHERE path = ? AND before IS NOT NULL "
                f"AND id > coalesce(({removed}), '') ORDER BY id DESC LIMIT ?",
                (as_blob(path), as_blob(path), _HELD),
            ).fetchall()
            return any(normal(db.texts.get(row[0])) == text for row in rows)

        return self._do(work)

    def taken_back_by(self, entry_id: str) -> list[str]:
        """Return the ids of the writes that a revert took back."""

        def work(db: OpenJournal) -> list[str]:
            rows = db.connection.execute("SELECT write FROM taken_back WHERE by = ?", (entry_id,))
            return [row[0] for row in rows]

        return self._do(work)

    def is_running(self, owner: str) -> bool:
        """Whether the process that journalled a write is still running."""
        return is_alive(self.folder, owner)

    # What other processes left behind

    def interrupted(self) -> list[Interrupted]:
        """Return unfinished writes of processes that have ended, oldest first."""
        return self._do(lambda db: interrupted.find(db.connection, db.texts, self.is_running))

    def settle(self, entry_id: str, state: EntryState) -> bool:
        """Record how an interrupted write ended. Returns False if another process has already done so."""

        def work(db: OpenJournal) -> bool:
            with transaction(db, durable=True):
                return writing.set_state(db.connection, entry_id, state, only_if="intent")

        return self._do(work)

    def tidy(self, limits: RetentionLimits | None = None, now: float | None = None) -> Tidied:
        """Delete entries by age and size, but nothing from an open session of a running process."""
        while (tidied := self.tidy_slice(limits, now)) is None:
            pass
        return tidied

    def tidy_slice(self, limits: RetentionLimits | None = None, now: float | None = None) -> Tidied | None:
        """Start or continue tidying, for a slice that takes milliseconds. None: there is more to do. The limits are those of the first slice."""

        def work(db: OpenJournal) -> Tidied | None:
            if self._tidying is None or self._tidying[0] is not db:
                at = time.time() if now is None else now
                self._tidying = (db, retention.tidying(db, self.is_running, limits or RetentionLimits(), at))
            try:
                next(self._tidying[1])
            except StopIteration as end:
                self._tidying = None
                self._pages_at_tidying = retention.pages(db.connection)
                self._tell_size(db, (limits or RetentionLimits()).bytes)
                return end.value
            except BaseException:
                self._tidying = None  # a generator that failed has ended
                raise
            return None

        tidied = self._do(work)
        if tidied is not None:
            sweep(self.folder)
            with suppress(OSError):
                retention.remove_damaged(self.folder, (limits or RetentionLimits()).seconds)
        return tidied

    def _tell_size(self, db: OpenJournal, limit: int) -> None:
        """Report a size above the limit although everything deletable is gone, and the session that has the most of it: once, and again when it has
        doubled."""
        used = retention.used_bytes(db.connection)
        if used <= max(limit, 2 * self._told_bytes):
            return
        self._told_bytes = used
        self.notices.append(too_large(used, limit, largest_share(db.connection)))

    def purge(self, selection: Selection) -> int:
        """Delete these writes and every text that only they need. Returns the number of writes. Nothing of them stays in the file. An empty selection
        means everything, including databases that were moved aside as damaged.
        """

        def work(db: OpenJournal) -> int:
            with transaction(db, durable=True):
                removed = retention.purge(db.connection, db.texts, selection, self.is_running)
            db.texts.forget()
            retention.shrink(db.connection)
            return removed

        removed = self._do(work)
        if selection == Selection():
            with suppress(OSError):
                retention.remove_damaged(self.folder, None)
        return removed

    def has_grown(self) -> bool:
        """Whether this process has written so much since the last time that `tidy` is due."""

        def grown(db: OpenJournal) -> bool:
            pages = retention.pages(db.connection)
            if not self._pages_at_tidying or pages < self._pages_at_tidying:
                self._pages_at_tidying = pages
            return (pages - self._pages_at_tidying) * retention.PAGE_BYTES > TIDY_EVERY_BYTES

        return self._do(grown)

    # Internals

    def _do(self, work: Callable[[OpenJournal], T], *, repair: bool = False) -> T:
        """Run `work` on the open database. With `repair`, run it again on a new one if the database proves to be damaged."""
        try:
            try:
                return work(self._ready())
            except sqlite3.DatabaseError as error:
                if was_moved(error):
                    self._close()
                elif is_damaged(error) and repair:
                    self._put_aside()
                else:
                    raise
                return work(self._ready())
        except (OSError, sqlite3.Error, TextLost) as error:
            raise explained(error) from error

    def _ready(self) -> OpenJournal:
        if self._open is not None and not self._is_there(self._open):
            self._close()
            self.notices.append(
                "The journal of agents' changes was removed while it was in use; a new one was started."
            )
        if self._open is None:
            opened = open_database(self.folder, self._busy_seconds)
            self.notices += opened.notices
            try:
                alive = Alive(self.folder)
            except BaseException:
                opened.connection.close()
                raise
            self._open = OpenJournal(opened.connection, opened.identity, TextStore(opened.connection), alive)
        return self._open

    def _is_there(self, db: OpenJournal) -> bool:
        try:
            return identity(self.folder) == db.identity
        except OSError:
            return False

    def _put_aside(self) -> None:
        if self._open is not None:
            damaged = self._open.identity
            self._close()
            self.notices += set_aside(self.folder, damaged, self._busy_seconds)

    def _close(self) -> None:
        db, self._open = self._open, None
        if db is not None:
            with suppress(sqlite3.Error):
                db.connection.close()
            db.alive.close()


def _stands(one: Recorded) -> bool:
    """Whether nobody has kept the write or taken it back."""
    return one.state in ("done", "unknown")


def _is_mode(states: States | None) -> bool:
    """Whether only the file's mode changed."""
    before, after = states or (None, None)
    return before is not None and after is not None and replace(before, mode=after.mode) == after
