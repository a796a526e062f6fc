"""cut_off: turns whose sidecar ended before they did. What their agents changed on the disk until then is found, and journalled as theirs.

An agent does not outlive its sidecar, so what changed while the turn ran (and a moment longer) is its work, and is listed, under
review and revertible like any other. What changed later may as well be the user's: it is listed as `unknown`, so that its text before
is not lost, and nothing else is made of it. So is what changed in a turn in which the agent never said that it does anything. Files are compared with what the journal kept of them, or with the last commit.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple, cast

import anyio.to_thread

from sidecar.core.escape import escape, shorten
from sidecar.core.kept_hunks import from_json, to_json, with_edit
from sidecar.core.ledger import Author, Hunk
from sidecar.core.normal import normal
from sidecar.core.refusal import Kind, Refusal
from sidecar.core.uri import from_path
from sidecar.disk import Decoded, Resolved, Roots, Stat, decode, folder_files, git_head, resolve
from sidecar.disk.codec import TextEncoding
from sidecar.journal import SqliteJournal, Store
from sidecar.journal.entry import Entry, JournalFailed
from sidecar.journal.turns import CutOff

log = logging.getLogger(__name__)

BEFORE_SECONDS = 2.0
"""How much older than the turn a file may say it is: file systems and clocks are not exact."""
AFTER_SECONDS = 10.0
"""How long after the sidecar was seen last a change is the agent's: it tells every five seconds that it lives."""
MAX_CHANGED = 500
"""Files of one folder that are looked at."""
MAX_TEXT = 16 * 1024 * 1024
"""Bytes of a file now."""
_NAMED = 5


_UNKNOWN = Refusal(Kind.UNDECODABLE, "its earlier text is unknown")


class Found(NamedTuple):
    """A file that is not what it was when the turn began."""

    entry: Entry
    sure: bool
    """It changed while the turn ran, and the agent did something in it that may have changed files."""


class Look(NamedTuple):
    found: Sequence[Found]
    lost: Sequence[str]
    """Names of files that changed while the turn ran, and nobody knows what they said before, or what they say."""


async def at_start(journal: SqliteJournal) -> list[str]:
    """What the user should be told, in sentences. Never raises."""
    told: list[str] = []
    with suppress(JournalFailed):
        entered: set[str] = set()
        for cut in sorted(await journal.cut_off(), key=_likely_first):
            # Not on the journal's own thread: a folder on a dead network mount must not hold up its writes.
            seen = await anyio.to_thread.run_sync(look, cut, frozenset(entered))
            entered.update(one.entry.path for one in seen.found)
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
    """The same for the command line. Raises JournalFailed."""
    told: list[str] = []
    entered: set[str] = set()
    for cut in sorted(store.cut_off(), key=_likely_first):
        seen = look(cut, frozenset(entered))
        entered.update(one.entry.path for one in seen.found)
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
    """Several may have the same folder: first those that did something, and those that worked there."""
    return not cut.acted, cut.start.folder != os.path.realpath(cut.root)


def look(cut: CutOff, without: frozenset[str] = frozenset()) -> Look:
    """The files of one folder that changed since the turn began, and are not as the journal knows that they were made. `without`: paths of
    those that are somebody's already."""
    start = cut.start
    names = folder_files.names(start.folder)
    if names is None:
        return Look((), ())
    head = git_head.head(start.folder, start.head) if start.head else {}
    then = (set(head) | set(start.texts) | set(start.unknown)) - set(start.absent)
    now = folder_files.stats(start.folder, dict.fromkeys([*names, *then]))
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
    return Look(found, lost)


def _may_have_moved(cut: CutOff, stat: Stat | None) -> bool:
    return stat is None or _changed_at(stat) >= cut.began - BEFORE_SECONDS


def _changed_at(stat: Stat) -> float:
    return max(stat.ctime_ns, stat.mtime_ns) / 1e9


def _before(cut: CutOff, name: str, then: set[str], committed: bytes | None) -> Decoded | Refusal | None:
    """None: there was no file."""
    image = cut.start.texts.get(name)
    if image is not None:
        return Decoded(image.text, cast("TextEncoding", image.encoding), image.bom)
    if name not in then:
        return None
    if name in cut.start.unknown or committed is None:
        return _UNKNOWN
    return decode(committed)


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
        was = cut.written[path]
    says = None if after is None else after.text
    if was is says or (was is not None and says is not None and normal(was) == normal(says)):
        return
    sure = cut.acted and _when(cut, name, stat) <= cut.seen + AFTER_SECONDS
    if was is None and not sure:
        return  # a new file, and nothing to lose
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
    )
    yield Found(entry, sure)


def _when(cut: CutOff, name: str, stat: Stat | None) -> float:
    """When the file changed last; of one that is gone: when something was made or removed beside it."""
    if stat is not None:
        return _changed_at(stat)
    try:
        return _changed_at(Stat.of(os.stat(os.path.dirname(os.path.join(cut.start.folder, name)))))
    except OSError:
        return float("inf")


def _under_review(found: Found, entry_id: str, kept: tuple[str, bytes] | None) -> bytes | None:
    """The hunks of the file with this change; None: it is not one to be reviewed in a text."""
    entry = found.entry
    if not found.sure or entry.after is None:
        return None
    author = Author(entry.session, entry.turn, entry_id, None, entry.before is None, entry.agent)
    hunks: tuple[str, list[Hunk]] | None = None
    if kept is not None:
        with suppress(ValueError, KeyError, TypeError):
            hunks = kept[0], from_json(kept[1])
    try:
        return to_json(with_edit(hunks, entry.before or "", entry.after, author))
    except ValueError:
        log.exception("the review of %s cannot be continued", entry.path)
        return None
