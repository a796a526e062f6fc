"""cut_off: handles turns whose sidecar ended before they did. It finds what their agents changed on the disk until then, and journals it as theirs.

An agent does not outlive its sidecar. So whatever changed during the turn (and for a moment after) is the agent's work: it is listed, put under
review and can be reverted like any other change. Later changes may be the user's. They are listed as `unknown`, which only preserves their earlier
text, and so are changes in a turn in which the agent never reported an action. Files are compared with their texts in the journal, or with the last
commit.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple, cast

import anyio.to_thread

from sidecar import disk
from sidecar.core.any_text import AnyText
from sidecar.core.escape import escape, shorten
from sidecar.core.file_state import FileState, link
from sidecar.core.kept_files import KEPT, KeptFile, from_kept, to_kept
from sidecar.core.kept_hunks import from_json, to_json, with_edit
from sidecar.core.ledger import Author, Hunk
from sidecar.core.merge import Merged, merge
from sidecar.core.normal import Normal, normal
from sidecar.core.refusal import Kind, Refusal
from sidecar.core.retold import Told, led_to, retold
from sidecar.core.uri import from_path
from sidecar.disk import (
    Decoded,
    Resolved,
    Roots,
    Stat,
    decode,
    encode,
    folder_files,
    git_head,
    line_ends,
    resolve,
)
from sidecar.disk.codec import TextEncoding
from sidecar.disk.folder_files import Entries
from sidecar.disk.states import saying, text_of
from sidecar.journal import SqliteJournal, Store
from sidecar.journal.entry import TAKES_BACK, Entry, JournalFailed, author_of
from sidecar.journal.turns import BYTES, CutOff, FolderStart, LastWrite, SavedOver
from sidecar.recovery import files

log = logging.getLogger(__name__)

BEFORE_SECONDS = 2.0
"""Seconds by which a changed file may seem older than the turn, because file systems and clocks are not exact."""
AFTER_SECONDS = 10.0
"""Seconds after the sidecar's last sign of life during which a change is still the agent's. The sidecar gives one every five seconds."""
MAX_CHANGED = 10_000
"""The number of files of one folder that are examined; the others are only counted and reported."""
MAX_BYTES = 256 * 1024 * 1024
"""The number of bytes that are read of these files."""
TOGETHER = 64
"""The number of changes in one transaction of the journal."""
MAX_TEXT = 16 * 1024 * 1024
"""The largest file that is examined, in bytes."""
_NAMED = 5


_UNKNOWN = Refusal(Kind.UNDECODABLE, "its earlier text is unknown")


class CutOffFile(NamedTuple):
    """A file that differs from when the turn began."""

    entry: Entry
    sure: bool
    """True if it changed during the turn and the agent did something in the turn that may have changed files."""


class Sentence(NamedTuple):
    """A message to the user."""

    words: str
    under_review: str | None = None
    """The path of a text file that the message mentions and that has something to keep or reject."""
    turn: tuple[str, int] | None = None
    """The session and turn whose changes the message reports as under review."""


class Look(NamedTuple):
    found: Sequence[CutOffFile]
    lost: Sequence[str]
    """Names of files that changed during the turn, but whose text before or now is unknown."""
    unnoted: Sequence[tuple[str, LastWrite]] = ()
    """By URI: files that contain the journal's last write, perhaps with changes on top. The sidecar may have ended before it stored that write's hunks."""


async def at_start(journal: SqliteJournal) -> list[Sentence]:
    """Settle these turns when a sidecar starts. Returns messages for the user. Never raises."""
    told: list[Sentence] = []
    with suppress(JournalFailed):
        entered: set[str] = set()
        for cut in sorted(await journal.cut_off(), key=_likely_first):
            # Not on the journal's own thread: a folder on a dead network mount must not block its writes.
            seen = await anyio.to_thread.run_sync(look, cut, frozenset(entered))
            made = await journal.folders_under_review()
            entered.update(one.entry.path for one in seen.found)
            await journal.finish_all(_made_after_all(seen), "done")
            noted = set[str]()
            if any(written.states is not None for _, written in seen.unnoted):
                rows = filter(_is_row, await journal.ledger_uris())
                noted = _writes_in([await journal.load_ledger(name) for name in rows])
            for uri, written in seen.unnoted:
                if written.entry.id in noted:
                    continue
                told_of = await journal.told(written.entry.path)
                missed = _missed(written, await journal.load_ledger(uri), told_of)
                if missed is not None:
                    await journal.save_ledger(*missed)
            for some in _some_at_a_time(seen.found):
                told_of = [await journal.told(one.entry.path) if one.sure else () for one in some]
                ids = await journal.begin_all([_in_folders(one.entry, made) for one in some])
                for one, entry_id, writes in zip(some, ids, told_of, strict=True):
                    kept = await journal.load_ledger(from_path(one.entry.path)) if one.sure else None
                    under_review = _under_review(one, entry_id, kept, writes)
                    if under_review is not None:
                        await journal.save_ledger(*under_review)
                await journal.finish_all(_whose(some, ids, sure=True), "done")
                await journal.finish_all(_whose(some, ids, sure=False), "unknown")
            await journal.session_closed(cut.session)
            await journal.turn_settled(cut.id)
            told += sentences(cut, seen)
    return told


def settle(store: Store) -> list[str]:
    """Settle these turns for the command line. Raises JournalFailed."""
    told: list[str] = []
    entered: set[str] = set()
    for cut in sorted(store.cut_off(), key=_likely_first):
        seen = look(cut, frozenset(entered))
        made = store.folders_under_review()
        entered.update(one.entry.path for one in seen.found)
        store.finish_all(_made_after_all(seen), "done")
        noted = set[str]()
        if any(written.states is not None for _, written in seen.unnoted):
            noted = _writes_in(map(store.load_ledger, filter(_is_row, store.ledger_uris())))
        for uri, written in seen.unnoted:
            if written.entry.id in noted:
                continue
            missed = _missed(written, store.load_ledger(uri), store.told(written.entry.path))
            if missed is not None:
                store.save_ledger(*missed)
        for some in _some_at_a_time(seen.found):
            told_of = [store.told(one.entry.path) if one.sure else () for one in some]
            ids = store.begin_all([_in_folders(one.entry, made) for one in some])
            for one, entry_id, writes in zip(some, ids, told_of, strict=True):
                kept = store.load_ledger(from_path(one.entry.path)) if one.sure else None
                under_review = _under_review(one, entry_id, kept, writes)
                if under_review is not None:
                    store.save_ledger(*under_review)
            store.finish_all(_whose(some, ids, sure=True), "done")
            store.finish_all(_whose(some, ids, sure=False), "unknown")
        store.session_closed(cut.session)
        store.turn_settled(cut.id)
        told += [sentence.words for sentence in sentences(cut, seen)]
    return told


def _made_after_all(seen: Look) -> list[str]:
    """Return the writes whose outcome was unknown and that were made after all: the changes found in their files are on top of them."""
    return [written.entry.id for _, written in seen.unnoted if written.entry.state == "unknown"]


def _some_at_a_time(found: Sequence[CutOffFile]) -> Iterator[Sequence[CutOffFile]]:
    for first in range(0, len(found), TOGETHER):
        yield found[first : first + TOGETHER]


def _whose(found: Sequence[CutOffFile], ids: Sequence[str], *, sure: bool) -> list[str]:
    """Return the entries that are certainly the agent's (`sure`), or those that are not."""
    return [entry_id for one, entry_id in zip(found, ids, strict=True) if one.sure is sure]


def sentences(cut: CutOff, seen: Look) -> list[Sentence]:
    agent = shorten(escape(cut.agent), 60)
    sure = [one.entry.path for one in seen.found if one.sure]
    perhaps = [one.entry.path for one in seen.found if not one.sure]
    told = [
        (sure, f"changed by {agent} in a turn that was interrupted (now under review)"),
        (
            perhaps,
            f"changed during or after an interrupted turn of {agent}, perhaps not by it; the journal has the earlier text",
        ),
        (seen.lost, f"changed by {agent} in a turn that was interrupted, and cannot be taken back"),
    ]
    shown = next((one.entry.path for one in seen.found if one.sure and one.entry.after is not None), None)
    return [
        Sentence(_were(paths, words), shown, (cut.session, cut.turn))
        if paths is sure
        else Sentence(_were(paths, words))
        for paths, words in told
        if paths
    ]


def _were(paths: Sequence[str], words: str) -> str:
    names = [shorten(escape(os.path.basename(path)), 80) for path in dict.fromkeys(paths)]
    more = f" and {len(names) - _NAMED} more files" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more} {'was' if len(names) == 1 else 'were'} {words}."


def _likely_first(cut: CutOff) -> tuple[bool, bool]:
    """Sort key for turns that share a folder: first those that may have changed files, then those that worked in that folder."""
    return not cut.acted, cut.start.folder != os.path.realpath(cut.root)


def look(cut: CutOff, without: frozenset[str] = frozenset()) -> Look:
    """Find the files of one folder that changed since the turn began, except for changes that the journal already has. `without`: paths of files
    whose changes were already assigned to another turn.
    """
    start = cut.start
    if not start.noted:
        return Look((), list(_unnoted(cut, folder_files.names(start.folder) or ())))
    tree, _ = folder_files.own(start.folder)  # nested repositories have starts of their own
    if tree is None:
        return Look((), ())
    head = git_head.head(start.folder, start.head) if start.head else {}
    then = (set(head) | set(start.texts) | set(start.unknown)) - set(start.absent)
    then = set(filter(_is_within, then))
    top = os.path.join(start.folder, "")
    written = {
        path[len(top) :] for path in cut.written if path.startswith(top)
    }  # by us, since the turn began
    now = folder_files.entries(start.folder, dict.fromkeys([*tree.names, *then, *start.links, *written]))
    moved = [
        name
        for name in sorted(then | written | set(start.links) | set(now.stats) | set(now.links))
        if _may_have_moved(cut, name, now) and os.path.join(start.folder, name) not in without
    ]
    moved, lost = _within_bounds(cut, moved, now)
    held = git_head.contents(
        start.folder, {head[name].object_id for name in moved if name in head and name not in start.texts}
    )
    found: list[CutOffFile] = []
    saved_over: list[str] = []
    with Roots([start.folder]) as roots:
        for name in moved:
            stat = now.stats.get(name)
            after = _now(roots, name, now)
            before = _before(cut, name, then, held.get(head[name].object_id) if name in head else None, after)
            if isinstance(before, Refusal) or isinstance(after, Refusal):
                if before is not None and _is_in_turn(cut, name, stat):
                    lost.append(name)
                continue
            if name in start.saves:
                path = os.path.join(start.folder, name)
                before = _with_save(before, start.saves[name], path)
                saved_over.append(path)
            found += _compared(cut, name, before, after, stat, _removed(cut, name))
    changed = {one.entry.path for one in found}.union(saved_over)
    return Look(found, lost, list(_with_last_write(cut, changed)))


def _within_bounds(cut: CutOff, names: Sequence[str], now: Entries) -> tuple[list[str], list[str]]:
    """Return the names that are examined, and, of the others, those that changed in the turn."""
    within: list[str] = []
    beyond: list[str] = []
    left = MAX_BYTES
    for name in names:
        stat = now.stats.get(name)
        left -= 0 if stat is None else min(stat.size, MAX_TEXT)
        if len(within) < MAX_CHANGED and left >= 0:
            within.append(name)
        elif _is_in_turn(cut, name, stat):
            beyond.append(name)
    return within, beyond


def _is_in_turn(cut: CutOff, name: str, stat: Stat | None) -> bool:
    """Whether a change of the file counts as the agent's."""
    return cut.acted and _when(cut, name, stat) <= cut.seen + AFTER_SECONDS


def _unnoted(cut: CutOff, names: Sequence[str]) -> Iterator[str]:
    """Yield the files of a folder that was not yet noted when the sidecar ended, if they changed since the turn began and no write in the journal
    explains it."""
    for name, stat in folder_files.stats(cut.start.folder, names).items() if cut.acted else ():
        at = _changed_at(stat)
        if (
            cut.began <= at <= cut.seen + AFTER_SECONDS
            and os.path.join(cut.start.folder, name) not in cut.written
        ):
            yield name


def _is_within(name: str) -> bool:
    """Whether a name from the journal or the last commit stays in its folder. A sidecar never notes any other name, and such a file has nothing to do
    with the turn."""
    return not os.path.isabs(name) and os.pardir not in name.replace(os.sep, "/").split("/")


def _may_have_moved(cut: CutOff, name: str, now: Entries) -> bool:
    if name in now.links or name in cut.start.links:
        # Written in the turn: the last write is what it is compared with. It may be as at the start and the agent's all the same.
        rewritten = os.path.join(cut.start.folder, name) in cut.written
        return rewritten or now.links.get(name) != cut.start.links.get(name)
    stat = now.stats.get(name)
    return stat is None or _changed_at(stat) >= cut.began - BEFORE_SECONDS


def _changed_at(stat: Stat) -> float:
    return max(stat.ctime_ns, stat.mtime_ns) / 1e9


def _before(
    cut: CutOff, name: str, then: set[str], committed: bytes | None, now: FileState | Refusal | None
) -> FileState | Refusal | None:
    """Return the file's state before the changes that the journal does not have. None: there was no file. An unknown mode is replaced by the file's
    current one."""
    start, path = cut.start, os.path.join(cut.start.folder, name)
    written = cut.written.get(path)
    mode = now.mode if isinstance(now, FileState) and not now.is_link else 0o644
    known = written.mode if written is not None and written.mode is not None else _mode_then(start, name)
    mode = mode if known is None else known
    if written is not None:
        return _last_written(written, now, mode)
    if name in start.links:
        return link(start.links[name])
    image = start.texts.get(name)
    if image is not None and image.encoding == BYTES:
        return FileState(image.text.encode("latin-1"), mode)
    if image is not None:
        return _encoded(image.text, image.encoding, image.bom, mode)
    if name not in then:
        return None
    if name in start.unknown or committed is None:
        return _UNKNOWN
    return FileState(line_ends.to_crlf(committed) if name in start.crlf else committed, mode)


def _last_written(
    written: LastWrite, now: FileState | Refusal | None, mode: int
) -> FileState | Refusal | None:
    """Return the state that the journal's last write left. The file itself shows whether that write, and those before it, have reached the disk."""
    if written.states is not None:
        before, after = written.states
        return before if written.unsaved and now == before else after
    says = None if isinstance(now, Refusal) else text_of(now)
    text = says if any(_is_same(one, says) for one in written.unsaved) else written.after
    return None if text is None else _encoded(text, written.entry.encoding, written.entry.bom, mode)


def _removed(cut: CutOff, name: str) -> FileState | None:
    """Return what the journal's last write in the turn removed at this path, or None. A file that is there now was created in its place."""
    written = cut.written.get(os.path.join(cut.start.folder, name))
    return (
        None
        if written is None or written.states is None or written.states[1] is not None
        else written.states[0]
    )


def _with_save(before: FileState | None, save: SavedOver, path: str) -> FileState | None:
    """Return `before` with the user's save merged in. The user saved on top of changes that were still being attributed when the sidecar ended. The
    save is the user's, so it counts as if it had come before the changes that the journal does not have."""
    text = text_of(before)
    merged = None if text is None else merge(save.over, normal(text), save.text)
    if before is None or text is None or not isinstance(merged, Merged):
        return before
    return saying(before, Normal(text).changes_in_raw(merged.changes).apply(text), path)


def _encoded(text: str, encoding: str, bom: bytes, mode: int) -> FileState | Refusal:
    data = encode(text, cast("TextEncoding", encoding), bom)
    return data if isinstance(data, Refusal) else FileState(data, mode)


def _mode_then(start: FolderStart, name: str) -> int | None:
    """Return the file's permission bits when the turn began, or None if they are unknown."""
    commonest = None
    for mode, names in (start.modes or {}).items():
        if name in names:
            return mode
        commonest = mode if "" in names else commonest
    return commonest


def _now(roots: Roots, name: str, now: Entries) -> FileState | Refusal | None:
    if name in now.links:
        return link(now.links[name])
    if name not in now.stats:
        return None
    file = resolve(roots, os.path.join(roots.roots[0].path, name), access="read")
    if not isinstance(file, Resolved):
        return _UNKNOWN
    with file:
        data = file.read_bytes(MAX_TEXT)
        return data if isinstance(data, Refusal) else FileState(bytes(data), now.modes[name])


def _compared(
    cut: CutOff,
    name: str,
    before: FileState | None,
    after: FileState | None,
    stat: Stat | None,
    removed: FileState | None,
) -> Iterator[CutOffFile]:
    path = os.path.join(cut.start.folder, name)
    sure = _is_in_turn(cut, name, stat)
    if before == after or (before is None and not sure):  # a new file has no earlier text to lose
        return
    was, says = _decoded(before), _decoded(after)
    like = says or was or Decoded("", "utf-8", b"")
    made = _made_folders(cut.start, path) if before is None else ()
    text = Entry(
        cut.session,
        cut.agent,
        cut.turn,
        None,
        cut.root,
        path,
        None if was is None else was.text,
        None if says is None else says.text,
        like.encoding,
        like.bom,
        "disk",
        made=made,
    )
    is_new = before is None and (removed is None or text_of(removed) is not None)
    if says is not None and (was is not None or (is_new and says.text)):
        if not _is_same(text.before, text.after):
            yield CutOffFile(text, sure)
        had = before or removed
        if had is not None and after is not None and had.mode != after.mode:
            states = replace(after, mode=had.mode), after
            yield CutOffFile(replace(text, before=text.after, states=states), sure)
    else:
        yield CutOffFile(replace(text, states=(before, after)), sure)


def _decoded(state: FileState | None) -> Decoded | None:
    decoded = None if state is None or state.is_link else decode(state.data)
    return decoded if isinstance(decoded, Decoded) else None


def _is_same(one: AnyText | None, other: AnyText | None) -> bool:
    if one is None or other is None:
        return one is other
    return normal(one) == normal(other)


def _said(text: AnyText | None) -> str | None:
    return None if text is None else str(text)


def _made_folders(start: FolderStart, path: str) -> tuple[str, ...]:
    """Return the folders above a file that did not exist when the turn began."""
    if start.folders is None:
        return ()
    were = {start.folder, *(os.path.join(start.folder, name) for name in start.folders)}
    return tuple(takewhile(lambda folder: folder not in were, disk.folders_above(path)))


def _in_folders(entry: Entry, made: Collection[str]) -> Entry:
    """Add to the entry of a created file the folders that were created for other files earlier (`made`). They are removed together with the file if
    it is the last one in them."""
    created = entry.before is None and (entry.states is None or entry.states[0] is None)
    above = set(disk.folders_above(entry.path)).intersection(made) if created else ()
    return replace(entry, made=(*dict.fromkeys([*entry.made, *above]),))


def _when(cut: CutOff, name: str, stat: Stat | None) -> float:
    """Return when the file last changed. For a file that is gone, this is when something was last created or removed in its folder, or in the nearest
    folder above that exists."""
    if stat is not None:
        return _changed_at(stat)
    for folder in disk.folders_above(os.path.join(cut.start.folder, name)):
        with suppress(OSError):
            return _changed_at(Stat.of(os.stat(folder)))
    return float("inf")


def _under_review(
    found: CutOffFile, entry_id: str, kept: tuple[str, bytes] | None, writes: Sequence[Told]
) -> tuple[str, str, bytes] | None:
    """Return what to store for the review, as `save_ledger` takes it: the file's hunks with this change, or a change of the whole file. None: the
    change is not certainly the agent's."""
    entry = found.entry
    created = entry.before is None and (entry.states is None or entry.states[0] is None)
    author = Author(entry.session, entry.turn, entry_id, None, created, entry.agent)
    uri = from_path(entry.path)
    if not found.sure:
        return None
    if entry.states is not None:
        return f"{KEPT}{entry_id}:{uri}", *to_kept(KeptFile(entry.path, *entry.states, author))
    return _on_top(
        entry.path, Told(author, _said(entry.before), _said(entry.after), "open"), _hunks(kept), writes
    )


def _with_last_write(cut: CutOff, changed_since: set[str]) -> Iterator[tuple[str, LastWrite]]:
    for path, written in cut.written.items():
        entry = written.entry
        is_made = entry.state == "done" or (entry.state == "unknown" and path in changed_since)
        if not is_made or entry.agent in TAKES_BACK:
            continue
        if written.states is not None:
            found = disk.found(files.folder_of(entry.root, path), path, at_most=files.AT_MOST)
            if path in changed_since or found == written.states[1]:
                yield from_path(path), written
            continue
        if written.after is None:
            continue
        with files.at(entry.root, path, "read") as file:
            read = files.read(file) if isinstance(file, Resolved) else None
        says = None if read is None or isinstance(read, Refusal) else read[1].text
        if path in changed_since or (says is not None and normal(says) == normal(written.after)):
            yield from_path(path), written


def _as_told(
    known: tuple[str, list[Hunk]] | None, writes: Sequence[Told], text: str
) -> tuple[str, list[Hunk]] | None:
    """Return the review of `text` (raw). `known`: the review in the journal. That may belong to another text, or lack the newest write that led to
    this text, because the editor reported the text before the write was noted."""
    last = led_to(writes, text)
    if known is not None and normal(known[0]) == normal(text):
        noted = {version.author.write for hunk in known[1] for version in hunk.versions}
        newest = None if last is None or writes[last].whole else writes[last]
        if newest is None or newest.became != "open" or newest.author.write in noted:
            return known
    hunks = retold(writes, text)
    return known if hunks is None else (text, hunks)


def _is_ahead(known: tuple[str, list[Hunk]] | None, before: str, after: str) -> bool:
    """Whether the stored review already belongs to the text `after` a change that it does not contain. This happens if the editor reported that text
    first, so that the change counted as the user's."""
    return known is not None and normal(known[0]) == normal(after) != normal(before)


def _after_the_last(writes: Sequence[Told]) -> tuple[str, list[Hunk]] | None:
    """Return the review after the last of these writes, or None if nothing is known about it."""
    text = writes[-1].after if writes else None
    hunks = None if text is None else retold(writes, text)
    return None if text is None or hunks is None else (text, hunks)


def _is_row(name: str) -> bool:
    """Whether the journal keeps a change of a whole file under this name."""
    return name.startswith(KEPT)


def _writes_in(rows: Iterable[tuple[str, bytes] | None]) -> set[str]:
    """Return the newest writes of these changes, each of which may include earlier writes of the same turns. For a moved file, the write that removed
    it from its old name is included."""
    found = (from_kept(*row) for row in rows if row is not None)
    return {write for row in found if row is not None for write in (row.author.write, row.removal)}


def _missed(
    written: LastWrite, kept: tuple[str, bytes] | None, writes: Sequence[Told]
) -> tuple[str, str, bytes] | None:
    """Return what to store for the review, as `save_ledger` takes it: the file's hunks with this write, or a change of the whole file. None if the
    write is already noted."""
    entry, known = written.entry, _hunks(kept)
    uri = from_path(entry.path)
    if written.states is None and written.after is None:
        return None
    if written.states is None and known is not None and normal(known[0]) != normal(written.before or ""):
        if normal(known[0]) != normal(written.after or ""):
            return None
        told = _as_told(known, writes, known[0])
        return None if told is None or told is known else (uri, told[0], to_json(told[1]))
    created = not entry.existed if written.states is None else written.states[0] is None
    author = author_of(entry, created=created)
    if written.states is not None:
        return f"{KEPT}{entry.id}:{uri}", *to_kept(KeptFile(entry.path, *written.states, author))
    before = [one for one in writes if one.author.write < entry.id]
    return _on_top(entry.path, Told(author, written.before, written.after, "open"), known, before)


def _on_top(
    path: str, write: Told, known: tuple[str, list[Hunk]] | None, writes: Sequence[Told]
) -> tuple[str, str, bytes] | None:
    """Return what to store: this write on top of the stored review and of the file's earlier writes."""
    before, author, after = write.before, write.author, write.after or ""
    if before is None:  # if an agent had removed the file, this is one change of the earlier content
        removed = writes[-1] if writes and writes[-1].became == "open" else None
        before = removed.before if removed is not None and removed.after is None else None
        before = known[0] if before is None and known is not None else before
        author = replace(author, created=author.created and before is None)
    told = _as_told(known, writes, before or "")
    if told is known and _is_ahead(known, before or "", after):
        told = _after_the_last(writes) or known
    try:
        hunks = with_edit(told, before or "", after, author)
    except ValueError:
        log.exception("the review of %s cannot be continued", path)
        return None
    return from_path(path), after, to_json(hunks)


def _hunks(kept: tuple[str, bytes] | None) -> tuple[str, list[Hunk]] | None:
    if kept is not None:
        with suppress(ValueError, KeyError, TypeError):
            return kept[0], from_json(kept[1])
    return None
