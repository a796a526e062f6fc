"""Running turns: the state of a session's files when a turn began, stored so that it outlives the sidecar.

An agent's commands change files without reporting it; the changes are found when the turn ends. If the sidecar dies first, the next one finds them
(`recovery.cut_off`) with what is stored here: the commit, the texts that differ from it, and the names of files whose contents are unknown. Until a
large folder has been looked at, it is stored as not noted. Rows are deleted when their turn ends.
"""

from __future__ import annotations

import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from sidecar.journal.entry import Recorded
from sidecar.journal.opened import OpenJournal, transaction
from sidecar.journal.selecting import Selection, as_blob, as_path, as_words, entries
from sidecar.journal.texts import TextLost, TextStore
from sidecar.journal.writing import States, states

_ABSENT, _UNKNOWN, _CRLF, _UNNOTED, _FOLDERS, _LINKS, _MODES = (
    b"-",
    b"?",
    b"\r",
    b"!",
    b"/",
    b"@",
    b"m",
)


_LEADS_TO = "//"
"""Separates a link's name, which never contains it, from its target."""
BYTES = "bytes"
"""The encoding of a pre-image that is no text: one character per byte."""


class PreImage(NamedTuple):
    """The content of a file. The text is raw."""

    text: str
    encoding: str
    bom: bytes


class SavedOver(NamedTuple):
    """The user saved `text` where the file had `over`; both in the compared form."""

    over: str
    text: str


@dataclass(frozen=True, slots=True)
class FolderStart:
    """The state of a folder when a turn began. Names are relative to it."""

    folder: str
    """A canonical path."""
    head: str
    """The id of git's last commit in it; "" if there is none."""
    texts: Mapping[str, PreImage]
    """Files that differed from the commit."""
    absent: Sequence[str] = ()
    """Files of the commit that did not exist."""
    unknown: Sequence[str] = ()
    """Files that existed with unknown content: not text, or too large."""
    crlf: Sequence[str] = ()
    """Files as in the commit, but with CR LF for each LF."""
    folders: Sequence[str] | None = None
    """All folders in it, less those that agents had made before. None: unknown."""
    links: Mapping[str, str] = field(default_factory=dict[str, str])
    """The targets of symbolic links."""
    modes: Mapping[int, Sequence[str]] | None = None
    """The files by their permission bits. Files with the most common bits are not listed: the name "" stands for them. None: unknown."""
    saves: Mapping[str, SavedOver] = field(default_factory=dict[str, SavedOver])
    """What the user saved on top of changes that were not attributed yet."""
    noted: bool = True
    """False: nothing of this is known yet, because the prompt does not wait until a large folder has been looked at."""


@dataclass(frozen=True, slots=True)
class TurnStart:
    session: str
    agent: str
    turn: int
    root: str
    """The session's folder."""
    began: float
    """Wall clock, in seconds since the epoch, before the first file was examined."""
    folders: Sequence[FolderStart]


class LastWrite(NamedTuple):
    """The journal's last write of a file. The texts are raw; None: there was no file."""

    entry: Recorded
    before: str | None
    after: str | None
    states: States | None
    """The whole states before and after it, if texts do not cover them."""
    unsaved: tuple[str | None, ...]
    """Texts that the file may still have, because nobody knows whether this write, and those directly before it, have reached it: they were
    interrupted, or made in the editor and perhaps not saved."""
    mode: int | None
    """The file's permission bits, if the journal knows them from this write or an earlier one."""


@dataclass(frozen=True, slots=True)
class CutOff:
    """One folder of a turn whose sidecar ended before the turn did."""

    id: int
    session: str
    agent: str
    turn: int
    root: str
    began: float
    seen: float
    """When the sidecar was last known to be alive, in seconds since the epoch, accurate to some seconds."""
    acted: bool
    """Whether the agent reported a tool call, or started a command, that may have changed files."""
    start: FolderStart
    written: Mapping[str, LastWrite]
    """By path: the journal's last write of each file in this turn, unless `start` has something newer."""


def begin(db: OpenJournal, start: TurnStart) -> None:
    """Store a turn, replacing the session's previous one. Durable when this returns."""
    prepared = [
        (
            folder,
            [
                (name, image, db.texts.prepare(image.text), as_blob(name))
                for name, image in folder.texts.items()
            ],
        )
        for folder in start.folders
    ]
    now = time.time()
    with transaction(db, durable=True):
        _forget(db.connection, _of_session(db.connection, start.session, db.alive.owner))
        for folder, images in prepared:
            row = db.connection.execute(
                "INSERT INTO turns (owner, session, agent, turn, root, folder, head, began, seen, others) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    db.alive.owner,
                    as_words(start.session),
                    as_words(start.agent),
                    start.turn,
                    as_blob(start.root),
                    as_blob(folder.folder),
                    folder.head,
                    start.began,
                    now,
                    _pack(folder),
                ),
            ).lastrowid
            for _, image, text, name in images:
                text_id = db.texts.put(text) or db.texts.put(db.texts.prepare(image.text))
                db.connection.execute(
                    "INSERT INTO pre_images VALUES (?, ?, ?, ?, ?, ?)",
                    (row, name, text_id, image.encoding, image.bom, start.began),
                )


def saving(db: OpenJournal, session: str, path: str, save: SavedOver) -> None:
    """Record that the user saved a file (canonical path) in one of the running turn's folders, on top of an agent's changes that may not be recorded
    yet. `saved` follows once they are."""
    for row, name in _named(db, session, path):
        prepared = [db.texts.prepare(text) for text in save]
        with transaction(db, durable=False):
            over, text = (
                db.texts.put(one) or db.texts.put(db.texts.prepare(said))
                for one, said in zip(prepared, save, strict=True)
            )
            db.connection.execute(
                "INSERT OR REPLACE INTO saves VALUES (?, ?, ?, ?)", (row, as_blob(name), over, text)
            )


def saved(db: OpenJournal, session: str, path: str, image: PreImage) -> None:
    """Record that the user saved a file (canonical path) in one of the running turn's folders. This is its content before the agent's next change."""
    prepared = None
    for row, name in _named(db, session, path):
        prepared = prepared or db.texts.prepare(image.text)
        with transaction(db, durable=False):
            text = db.texts.put(prepared) or db.texts.put(db.texts.prepare(image.text))
            db.connection.execute(
                "INSERT OR REPLACE INTO pre_images VALUES (?, ?, ?, ?, ?, ?)",
                (row, as_blob(name), text, image.encoding, image.bom, time.time()),
            )
            db.connection.execute("DELETE FROM saves WHERE turn = ? AND name = ?", (row, as_blob(name)))


def _named(db: OpenJournal, session: str, path: str) -> Iterator[tuple[int, str]]:
    """Yield the rows of the running turn's folders that contain the file, with its name there."""
    rows = db.connection.execute(
        "SELECT id, folder FROM turns WHERE session = ? AND owner = ?", (as_words(session), db.alive.owner)
    ).fetchall()
    for row, folder in rows:
        prefix = os.path.join(as_path(folder), "")
        if path.startswith(prefix):
            yield row, path[len(prefix) :]


def seen(db: OpenJournal) -> None:
    """Record that this process is alive and its turns are running."""
    with transaction(db, durable=False):
        db.connection.execute("UPDATE turns SET seen = ? WHERE owner = ?", (time.time(), db.alive.owner))


def acted(db: OpenJournal, session: str) -> None:
    """Record that the turn's agent does something that may change files."""
    with transaction(db, durable=False):
        db.connection.execute(
            "UPDATE turns SET acted = 1 WHERE session = ? AND owner = ?", (as_words(session), db.alive.owner)
        )


def ended(db: OpenJournal, session: str) -> None:
    """Record that the turn's changes were found. Its texts are deleted when the journal is tidied, because the next turn needs most of them again."""
    with transaction(db, durable=False):
        _forget(db.connection, _of_session(db.connection, session, db.alive.owner))


# What other processes left behind


def cut_off(db: OpenJournal, is_running: Callable[[str], bool]) -> list[CutOff]:
    """Claim and return the turns of processes that have ended. No other process examines them while this one is running."""
    found: list[CutOff] = []
    owners: dict[str, bool] = {db.alive.owner: True}
    for row, owner, claimed in db.connection.execute("SELECT id, owner, claimed FROM turns").fetchall():
        for one in (owner, claimed):
            if one is not None and one not in owners:
                owners[one] = is_running(one)
        if owners[owner] or (claimed is not None and owners[claimed]):
            continue
        with transaction(db, durable=True):
            mine = db.connection.execute(
                "UPDATE turns SET claimed = ? WHERE id = ? AND claimed IS ?", (db.alive.owner, row, claimed)
            ).rowcount
        if mine:
            found.append(_cut_off(db.connection, db.texts, row))
    return found


def settled(db: OpenJournal, row: int) -> None:
    with transaction(db, durable=True):
        _forget(db.connection, [row])


# Deleting


def forget_old(connection: sqlite3.Connection, before: float, is_running: Callable[[str], bool]) -> None:
    """Delete turns that began before `before` and whose process has ended; within a transaction."""
    rows = connection.execute("SELECT id, owner FROM turns WHERE began < ?", (before,)).fetchall()
    _forget(connection, [row for row, owner in rows if not is_running(owner)])


def purge(connection: sqlite3.Connection, selection: Selection, is_running: Callable[[str], bool]) -> None:
    """Delete what `selection` selects from turns that have ended; within a transaction."""
    if selection.ids is not None or selection.turn is not None:
        return
    for row, owner, session, folder in connection.execute(
        "SELECT id, owner, session, folder FROM turns"
    ).fetchall():
        if is_running(owner) or (selection.session is not None and as_words(selection.session) != session):
            continue
        if selection.paths is None:
            _forget(connection, [row])
            continue
        for (name,) in connection.execute("SELECT name FROM pre_images WHERE turn = ?", (row,)).fetchall():
            path = os.path.join(as_path(folder), as_path(name))
            if any(path == given or path.startswith(os.path.join(given, "")) for given in selection.paths):
                for table in ("pre_images", "saves"):
                    connection.execute(f"DELETE FROM {table} WHERE turn = ? AND name = ?", (row, name))
                _mark_unknown(connection, row, as_path(name))


def _mark_unknown(connection: sqlite3.Connection, row: int, name: str) -> None:
    (packed,) = connection.execute("SELECT others FROM turns WHERE id = ?", (row,)).fetchone()
    others = _unpack(packed)
    others[_UNKNOWN].append(name)
    connection.execute("UPDATE turns SET others = ? WHERE id = ?", (_packed(others), row))


def _of_session(connection: sqlite3.Connection, session: str, owner: str) -> list[int]:
    rows = connection.execute(
        "SELECT id FROM turns WHERE session = ? AND owner = ?", (as_words(session), owner)
    )
    return [row[0] for row in rows]


def _forget(connection: sqlite3.Connection, rows: Iterable[int]) -> None:
    for row in rows:
        for table in ("pre_images", "saves"):
            connection.execute(f"DELETE FROM {table} WHERE turn = ?", (row,))
        connection.execute("DELETE FROM turns WHERE id = ?", (row,))


def _cut_off(connection: sqlite3.Connection, texts: TextStore, row: int) -> CutOff:
    owner, session, agent, turn, root, folder, head, began, seen, others, acted_ = connection.execute(
        "SELECT owner, session, agent, turn, root, folder, head, began, seen, others, acted FROM turns WHERE id = ?",
        (row,),
    ).fetchone()
    others = _unpack(others)
    unknown = others[_UNKNOWN]
    images: dict[str, PreImage] = {}
    since: dict[str, float] = {}
    path_of = as_path(folder)
    for name, text, encoding, bom, at in connection.execute(
        "SELECT name, text, encoding, bom, at FROM pre_images WHERE turn = ?", (row,)
    ).fetchall():
        since[os.path.join(path_of, as_path(name))] = at
        try:
            images[as_path(name)] = PreImage(texts.get(text), encoding, bom)
        except TextLost:
            unknown.append(as_path(name))
    written: dict[str, LastWrite] = {}
    for entry_id, path, before, after, created, state in connection.execute(
        "SELECT id, path, before, after, created, state FROM writes "
        "WHERE (owner = ? OR session = ? OR agent = 'revert') AND created >= ? ORDER BY id",
        (owner, session, began),  # by session, too: a process may have died while it settled this turn
    ).fetchall():
        if state == "failed" or created < since.get(as_path(path), began):
            continue
        (entry,) = entries(connection, Selection(ids=(entry_id,)))
        with suppress(TextLost):
            was, now = (None if text is None else texts.get(text) for text in (before, after))
            whole, known = states(connection, entry_id), written.get(as_path(path))
            mode = None if known is None else known.mode
            unsaved: tuple[str | None, ...] = ()
            if state in ("unknown", "intent") or entry.via == "editor":
                unsaved = (was, *(() if known is None else known.unsaved))
            if whole is not None and whole[1] is not None:
                mode = whole[1].mode
            written[as_path(path)] = LastWrite(entry, was, now, whole, unsaved, mode)
    saves: dict[str, SavedOver] = {}
    for name, over, text in connection.execute(
        "SELECT name, over, text FROM saves WHERE turn = ?", (row,)
    ).fetchall():
        with suppress(TextLost):
            saves[as_path(name)] = SavedOver(texts.get(over), texts.get(text))
    folders = others[_FOLDERS][1:] if others[_FOLDERS] else None
    links = dict(one.split(_LEADS_TO, 1) for one in others[_LINKS])
    modes: dict[int, list[str]] = {}
    for bits, _, name in (one.partition(" ") for one in others[_MODES]):
        modes.setdefault(int(bits, 8), []).append(name)
    start = FolderStart(
        path_of,
        head,
        images,
        others[_ABSENT],
        unknown,
        others[_CRLF],
        folders,
        links,
        modes or None,
        saves,
        not others[_UNNOTED],
    )
    return CutOff(row, session, agent, turn, as_path(root), began, seen, bool(acted_), start, written)


def _pack(folder: FolderStart) -> bytes:
    unnoted = [] if folder.noted else [""]
    folders = [] if folder.folders is None else ["", *folder.folders]
    return _packed(
        {
            _ABSENT: folder.absent,
            _UNKNOWN: folder.unknown,
            _CRLF: folder.crlf,
            _UNNOTED: unnoted,
            _FOLDERS: folders,
            _LINKS: [f"{name}{_LEADS_TO}{target}" for name, target in folder.links.items()],
            _MODES: [f"{bits:o} {name}" for bits, names in (folder.modes or {}).items() for name in names],
        }
    )


def _packed(others: Mapping[bytes, Iterable[str]]) -> bytes:
    return zlib.compress(
        b"\0".join(mark + as_blob(name) for mark, names in others.items() for name in names), 1
    )


def _unpack(packed: bytes) -> dict[bytes, list[str]]:
    """Return the names by their marks."""
    rows = zlib.decompress(packed).split(b"\0")
    return {
        mark: [as_path(row[1:]) for row in rows if row[:1] == mark]
        for mark in (_ABSENT, _UNKNOWN, _CRLF, _UNNOTED, _FOLDERS, _LINKS, _MODES)
    }
