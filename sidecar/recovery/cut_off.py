"""cut_off: turns whose sidecar ended before they did. Finds what their agents changed on the disk until then, and
journals it as theirs.

An agent does not outlive its sidecar. So what changed during the turn (and for a moment after) is the agent's work: it
is listed, put under review and can be reverted like any other change. Later changes may be the user's. They are listed
as `unknown`, which only preserves their earlier text. The same goes for changes in a turn in which the agent never
reported an action. Files are compared with their texts in the journal, or with the last commit.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import NamedTuple, cast

import anyio.to_thread

from sidecar import disk
from sidecar.core.escape import escape, shorten
from sidecar.core.kept_hunks import from_json, to_json, with_edit
from sidecar.core.ledger import Author, Hunk
from sidecar.core.normal import normal
from sidecar.core.refusal import Kind, Refusal
from sidecar.core.uri import from_path
from sidecar.disk import Decoded, Resolved, Roots, Stat, decode, folder_files, git_head, line_ends, resolve
from sidecar.disk.codec import TextEncoding
from sidecar.journal import SqliteJournal, Store
from sidecar.journal.entry import TAKES_BACK, UNKNOWN, Entry, JournalFailed
from sidecar.journal.turns import CutOff, FolderStart, Written
from sidecar.recovery import files

log = logging.getLogger(__name__)

BEFORE_SECONDS = 2.0
"""How much older than the turn a changed file may claim to be, because file systems and clocks are not exact."""
AFTER_SECONDS = 10.0
"""How long after the sidecar's last sign of life a change is still the agent's. The sidecar gives one every five
seconds.
"""
MAX_CHANGED = 500
"""The most files of one folder that are examined."""
MAX_TEXT = 16 * 1024 * 1024
"""The largest file that is examined, in bytes."""
_NAMED = 5


_UNKNOWN = Refusal(Kind.UNDECODABLE, "its earlier text is unknown")


class Found(NamedTuple):
    """A file that differs from when the turn began."""

    entry: Entry
    sure: bool
    """True if it changed during the turn and the agent did something in the turn that may have changed files."""


class Look(NamedTuple):
    found: Sequence[Found]
    lost: Sequence[str]
    """Names of files that changed during the turn, but whose text before or now is unknown."""
    unnoted: Sequence[tuple[str, Written]] = ()
    """By URI: files with the text of the journal's last write, or on top of it. The sidecar may have ended before it noted its hunks."""


async def at_start(journal: SqliteJournal) -> list[str]:
    """Settles these turns when a sidecar starts. Returns sentences for the user. Never raises."""
    told: list[str] = []
    with suppress(JournalFailed):
        entered: set[str] = set()
        for cut in sorted(await journal.cut_off(), key=_likely_first):
            # Not on the journal's own thread: a folder on a dead network mount must not block its writes.
            seen = await anyio.to_thread.run_sync(look, cut, frozenset(entered))
            entered.update(one.entry.path for one in seen.found)
            for uri, written in seen.unnoted:
                hunks = _missed(written, await journal.load_ledger(uri))
                if hunks is not None:
                    await journal.save_ledger(uri, written.after or "", hunks)
            for one in seen.found:
                entry_id = await journal.begin(one.entry)
                kept = await journal.load_ledger(from_path(one.entry.path)) if one.sure else None
                hunks = _under_review(one, entry_id, kept)
                if hunks is not None:
                    await journal.save_ledger(from_path(one.entry.path), one.entry.after or "", hunks)
                await journal.finish(entry_id, "done" if one.sure else "unknown")
            await journal.session_closed(cut.session)
            await journal.turn_settled(cut.id)
            told += sentences(cut, seen)
    return told


def settle(store: Store) -> list[str]:
    """Settles these turns for the command line. Raises JournalFailed."""
    told: list[str] = []
    entered: set[str] = set()
    for cut in sorted(store.cut_off(), key=_likely_first):
        seen = look(cut, frozenset(entered))
        entered.update(one.entry.path for one in seen.found)
        for uri, written in seen.unnoted:
            hunks = _missed(written, store.load_ledger(uri))
            if hunks is not None:
                store.save_ledger(uri, written.after or "", hunks)
        for one in seen.found:
            entry_id = store.begin(one.entry)
            kept = store.load_ledger(from_path(one.entry.path)) if one.sure else None
            hunks = _under_review(one, entry_id, kept)
            if hunks is not None:
                store.save_ledger(from_path(one.entry.path), one.entry.after or "", hunks)
            store.finish(entry_id, "done" if one.sure else "unknown")
        store.session_closed(cut.session)
        store.turn_settled(cut.id)
        told += sentences(cut, seen)
    return told


def sentences(cut: CutOff, seen: Look) -> list[str]:
    told: list[str] = []
    agent = shorten(escape(cut.agent), 60)
    for paths, words in (
        (
            [one.entry.path for one in seen.found if one.sure],
            f"changed by {agent} in a turn that was interrupted; `acp-sidecar changes` lists it",
        ),
        (
            [one.entry.path for one in seen.found if not one.sure],
            f"changed during or after an interrupted turn of {agent}, perhaps not by it; `acp-sidecar changes` has the earlier text",
        ),
        (seen.lost, f"changed by {agent} in a turn that was interrupted, and cannot be taken back"),
    ):
        names = [shorten(escape(os.path.basename(path)), 80) for path in paths]
        if names:
            more = f" and {len(names) - _NAMED} more files" if len(names) > _NAMED else ""
            told.append(f"{', '.join(names[:_NAMED])}{more} {'was' if len(names) == 1 else 'were'} {words}.")
    return told


def _likely_first(cut: CutOff) -> tuple[bool, bool]:
    """Sorts turns that share a folder: first those that may have changed files, then those that worked in that folder."""
    return not cut.acted, cut.start.folder != os.path.realpath(cut.root)


def look(cut: CutOff, without: frozenset[str] = frozenset()) -> Look:
    """Finds the files of one folder that changed since the turn began, except for changes that the journal already has.

    `without`: paths of files whose changes were already assigned to another turn.
    """
    start = cut.start
    if not start.noted:
        return Look((), list(_unnoted(cut, folder_files.names(start.folder) or ())))
    tree, _ = folder_files.own(start.folder)  # those in it have starts of their own
    if tree is None:
        return Look((), ())
    head = git_head.head(start.folder, start.head) if start.head else {}
    then = (set(head) | set(start.texts) | set(start.unknown)) - set(start.absent)
    then = set(filter(_is_within, then))
    now = folder_files.stats(start.folder, dict.fromkeys([*tree.names, *then]))
    moved = [
        name
        for name in sorted(then | set(now))
        if _may_have_moved(cut, now.get(name)) and os.path.join(start.folder, name) not in without
    ][:MAX_CHANGED]
    held = git_head.contents(
        start.folder, {head[name].object_id for name in moved if name in head and name not in start.texts}
    )
    found: list[Found] = []
    lost: list[str] = []
    with Roots([start.folder]) as roots:
        for name in moved:
            before = _before(cut, name, then, held.get(head[name].object_id) if name in head else None)
            after = _now(roots, os.path.join(start.folder, name), now.get(name))
            if isinstance(before, Refusal) or isinstance(after, Refusal):
                if (
                    before is not None
                    and cut.acted
                    and _when(cut, name, now.get(name)) <= cut.seen + AFTER_SECONDS
                ):
                    lost.append(name)
                continue
            found += _compared(cut, name, before, after, now.get(name))
    return Look(found, lost, list(_with_last_write(cut, {one.entry.path for one in found})))


def _unnoted(cut: CutOff, names: Sequence[str]) -> Iterator[str]:
    """Of a folder that had not been looked at when the sidecar ended: what changed since the turn began, and is not known from elsewhere."""
    for name, stat in folder_files.stats(cut.start.folder, names).items() if cut.acted else ():
        at = _changed_at(stat)
        if (
            cut.began <= at <= cut.seen + AFTER_SECONDS
            and os.path.join(cut.start.folder, name) not in cut.written
        ):
            yield name


def _is_within(name: str) -> bool:
    """Whether a name from the journal or the last commit stays in its folder. Any other was never noted by a sidecar, and names a file that the
    turn had nothing to do with."""
    return not os.path.isabs(name) and os.pardir not in name.replace(os.sep, "/").split("/")


def _may_have_moved(cut: CutOff, stat: Stat | None) -> bool:
    return stat is None or _changed_at(stat) >= cut.began - BEFORE_SECONDS


def _changed_at(stat: Stat) -> float:
    return max(stat.ctime_ns, stat.mtime_ns) / 1e9


def _before(cut: CutOff, name: str, then: set[str], committed: bytes | None) -> Decoded | Refusal | None:
    """The file's content when the turn began; None if it did not exist."""
    image = cut.start.texts.get(name)
    if image is not None:
        return Decoded(image.text, cast("TextEncoding", image.encoding), image.bom)
    if name not in then:
        return None
    if name in cut.start.unknown or committed is None:
        return _UNKNOWN
    return decode(line_ends.to_crlf(committed) if name in cut.start.crlf else committed)


def _now(roots: Roots, path: str, stat: Stat | None) -> Decoded | Refusal | None:
    if stat is None:
        return None
    file = resolve(roots, path, access="read")
    if not isinstance(file, Resolved):
        return _UNKNOWN
    with file:
        data = file.read_bytes(MAX_TEXT)
        return data if isinstance(data, Refusal) else decode(data)


def _compared(
    cut: CutOff, name: str, before: Decoded | None, after: Decoded | None, stat: Stat | None
) -> Iterator[Found]:
    path = os.path.join(cut.start.folder, name)
    was = None if before is None else before.text
    if path in cut.written:
        was = cut.written[path].after
    says = None if after is None else after.text
    if was is says or (was is not None and says is not None and normal(was) == normal(says)):
        return
    sure = cut.acted and _when(cut, name, stat) <= cut.seen + AFTER_SECONDS
    if was is None and not sure:
        return  # a new file: there is no earlier text to lose
    like = after or before
    entry = Entry(
        cut.session,
        cut.agent,
        cut.turn,
        None,
        cut.root,
        path,
        was,
        says,
        like.encoding if like is not None else "utf-8",
        like.bom if like is not None else b"",
        "disk",
        made=_made_folders(cut.start, path) if was is None else (),
    )
    yield Found(entry, sure)


def _made_folders(start: FolderStart, path: str) -> tuple[str, ...]:
    """The folders above a file that were not there when the turn began."""
    if start.folders is None:
        return ()
    were = {start.folder, *(os.path.join(start.folder, name) for name in start.folders)}
    return tuple(takewhile(lambda folder: folder not in were, disk.folders_above(path)))


def _when(cut: CutOff, name: str, stat: Stat | None) -> float:
    """When the file last changed. For a file that is gone: when something was last created or removed in its folder."""
    if stat is not None:
        return _changed_at(stat)
    try:
        return _changed_at(Stat.of(os.stat(os.path.dirname(os.path.join(cut.start.folder, name)))))
    except OSError:
        return float("inf")


def _under_review(found: Found, entry_id: str, kept: tuple[str, bytes] | None) -> bytes | None:
    """The file's hunks including this change, as JSON. None if the change cannot be reviewed in a text."""
    entry = found.entry
    if not found.sure or entry.after is None:
        return None
    author = Author(entry.session, entry.turn, entry_id, None, entry.before is None, entry.agent)
    return _entered(entry.path, entry.before, entry.after, author, _hunks(kept))


def _with_last_write(cut: CutOff, changed_since: set[str]) -> Iterator[tuple[str, Written]]:
    for path, written in cut.written.items():
        entry = written.entry
        if entry.state != "done" or entry.agent in TAKES_BACK or written.after is None:
            continue
        with files.at(entry.root, path, "read") as file:
            read = files.read(file) if isinstance(file, Resolved) else None
        says = None if read is None or isinstance(read, Refusal) else read[1].text
        if path in changed_since or (says is not None and normal(says) == normal(written.after)):
            yield from_path(path), written


def _missed(written: Written, kept: tuple[str, bytes] | None) -> bytes | None:
    """The file's hunks including this write, as JSON; None if they are noted already."""
    entry, known = written.entry, _hunks(kept)
    if written.after is None or (known is not None and normal(known[0]) != normal(written.before or "")):
        return None
    unknown = entry.agent == UNKNOWN
    author = Author(
        entry.session,
        entry.turn,
        entry.id,
        entry.tool_call,
        not entry.existed,
        "" if unknown else entry.agent,
        unknown=unknown,
    )
    return _entered(entry.path, written.before, written.after, author, known)


def _hunks(kept: tuple[str, bytes] | None) -> tuple[str, list[Hunk]] | None:
    if kept is not None:
        with suppress(ValueError, KeyError, TypeError):
            return kept[0], from_json(kept[1])
    return None


def _entered(
    path: str, before: str | None, after: str, author: Author, kept: tuple[str, list[Hunk]] | None
) -> bytes | None:
    try:
        return to_json(with_edit(kept, before or "", after, author))
    except ValueError:
        log.exception("the review of %s cannot be continued", path)
        return None
