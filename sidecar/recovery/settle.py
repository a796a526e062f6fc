"""settle: finds out at the next start how writes ended that were interrupted because the machine or the sidecar died.

The file's content decides, in the compared form of core.normal: the text after the write means `done`, the text before it means `failed`. Anything
else, or an editor that may have the text unsaved, means `unknown`. A file that was interrupted in the middle of an in-place write gets its old text
back, because nobody wrote that mixture. What a text does not cover (a mode, a link, bytes) is compared exactly. Each result is a message for the
user.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import anyio.to_thread

from sidecar import disk
from sidecar.core.escape import plain
from sidecar.core.file_state import FileState
from sidecar.core.normal import normal
from sidecar.core.refusal import Refusal
from sidecar.disk import Missing, Resolved
from sidecar.disk.states import text_of
from sidecar.journal import SqliteJournal, Store
from sidecar.journal.entry import EntryState, JournalFailed, Recorded, Texts
from sidecar.journal.interrupted import Interrupted
from sidecar.recovery import cut_off, files
from sidecar.recovery.cut_off import Sentence
from sidecar.recovery.torn import is_torn

log = logging.getLogger(__name__)

TOLD = 5
"""The number of results that are reported one by one."""


class Verdict(NamedTuple):
    entry: Recorded
    state: EntryState
    sentence: str


async def at_start(journal: SqliteJournal) -> list[Sentence]:
    """Settle interrupted writes. Returns messages for the user. Never raises."""
    try:
        interrupted = await journal.interrupted()
        # Not on the journal's own thread: a file on a dead network mount must not block its writes.
        verdicts = await anyio.to_thread.run_sync(_judge_all, interrupted)
        told = [verdict for verdict in verdicts if await journal.settle(verdict.entry.id, verdict.state)]
    except JournalFailed as failed:
        words = f"The journal of agents' changes cannot be used: {failed}. Until this is fixed, agents cannot write."
        return [Sentence(words)]
    cut_short = await cut_off.at_start(journal)
    return [*map(Sentence, sentences(told)), *cut_short]


def settle(store: Store) -> list[str]:
    """Settle interrupted writes for the command line. Raises JournalFailed."""
    verdicts = _judge_all(store.interrupted())
    told = sentences([verdict for verdict in verdicts if store.settle(verdict.entry.id, verdict.state)])
    return [*told, *cut_off.settle(store)]


def sentences(verdicts: Sequence[Verdict]) -> list[str]:
    told = [verdict.sentence for verdict in verdicts[:TOLD]]
    if len(verdicts) > TOLD:
        told.append(f"{len(verdicts) - TOLD} more writes were interrupted.")
    return told


def _judge_all(interrupted: Sequence[Interrupted]) -> list[Verdict]:
    return [judge(one) for one in interrupted]


def judge(one: Interrupted) -> Verdict:
    """Decide from the file's content how one interrupted write ended. Writes only to repair a half-written file."""
    entry, texts = one.entry, one.texts
    if one.states is not None:
        return _whole(one, *one.states)
    if texts is None:
        return _verdict(entry, "unknown", "and its texts in the journal are damaged.")
    if one.later:
        return _compared(entry, texts, one.found)
    with files.at(entry.root, entry.path, "read") as found:
        if isinstance(found, Missing):
            return _compared(entry, texts, None)
        if isinstance(found, Refusal):
            return _verdict(entry, "unknown", f"and the file cannot be opened ({found.message}).")
        data = found.read_bytes(files.AT_MOST)
        if not isinstance(data, Refusal) and _put_right(entry, texts, found, data):
            return _verdict(entry, "failed", "in the middle; the earlier text was restored.")
        decoded = data if isinstance(data, Refusal) else disk.decode(data, entry.path)
        if isinstance(decoded, Refusal):
            return _verdict(entry, "unknown", f"and the file cannot be read ({decoded.message}).")
        return _compared(entry, texts, decoded.text)


def _whole(one: Interrupted, before: FileState | None, after: FileState | None) -> Verdict:
    """Judge a change of a whole file: a text does not cover modes, links, or bytes that are no text."""
    entry = one.entry
    if one.found_whole is not None:
        now = one.found_whole[0]
    elif one.later:  # the later write was of the text alone
        return _compared(entry, Texts(text_of(before), text_of(after)), one.found)
    else:
        now = disk.found(files.folder_of(entry.root, entry.path), entry.path, at_most=files.AT_MOST)
    if isinstance(now, Refusal):
        return _verdict(entry, "unknown", f"and the file cannot be opened ({now.message}).")
    if before is not None and after is not None and now is not None and before.data == after.data:
        before, after = replace(now, mode=before.mode), replace(now, mode=after.mode)
    if now == after:
        return _verdict(entry, "done", "but it is complete.")
    if now == before:
        return _verdict(entry, "failed", "before anything was written; the file is unchanged.")
    return _verdict(entry, "unknown", "and the file has neither its earlier state nor the new one.")


def _compared(entry: Recorded, texts: Texts, now: str | None) -> Verdict:
    if _same(now, texts.after):
        return _verdict(entry, "done", "but it is complete.")
    if entry.via == "disk" and _same(now, texts.before):
        return _verdict(entry, "failed", "before anything was written; the file is unchanged.")
    if entry.via == "editor" and _same(now, texts.before):
        return _verdict(
            entry,
            "unknown",
            "and the file on disk is unchanged; the editor may have the new text, unsaved.",
        )
    return _verdict(
        entry,
        "unknown",
        "and the file has neither the earlier nor the new text; the journal has both.",
    )


def _same(a: str | None, b: str | None) -> bool:
    if a is None or b is None:
        return a is b
    return normal(a) == normal(b)


def _put_right(entry: Recorded, texts: Texts, file: Resolved, data: bytes) -> bool:
    """Repair the file if it is half written, by restoring its old text. Return whether it was repaired."""
    if entry.via != "disk" or texts.before is None or texts.after is None:
        return False
    old = disk.encode(texts.before, entry.encoding, entry.bom)
    new = disk.encode(texts.after, entry.encoding, entry.bom)
    if isinstance(old, Refusal) or isinstance(new, Refusal) or not is_torn(data, old, new):
        return False
    saved = disk.save(file, old, file.stat, before=data)
    if isinstance(saved, Refusal):
        log.error("%s is half written and cannot be put right: %s", entry.path, saved.message)
        return False
    return True


def _verdict(entry: Recorded, state: EntryState, what: str) -> Verdict:
    path = plain(files.shown(entry.path, entry.root))
    return Verdict(entry, state, f"{plain(entry.agent)}'s write to {path} was interrupted {what}")
