"""Review: lists, keeps and rejects agents' unreviewed changes, and takes back turns.

A rejection is an edit like any other: versioned, verified, one undo step; later typing and writes stay. For a file that is not open, it is done
through the editor if the editor can open the file, otherwise on the disk, journalled first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import anyio
import anyio.to_thread

from sidecar.core.hunk import writes_of
from sidecar.core.json_types import Json
from sidecar.core.kept_hunks import to_json
from sidecar.core.ledger import Author, Hunk
from sidecar.core.text import Position, Text
from sidecar.core.uri import DocumentUri, from_path, to_path
from sidecar.workspace.behind.file_change import FileChange, row
from sidecar.workspace.behind.file_reviews import FileReviews
from sidecar.workspace.edits.keeper import Keeper
from sidecar.workspace.edits.verdicts import Verdicts
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.in_steps import in_steps
from sidecar.workspace.ports.ports import Editor, Journal
from sidecar.workspace.review.closed_files import ClosedFiles
from sidecar.workspace.review.committed import Committed
from sidecar.workspace.review.decided import Decided, Tell
from sidecar.workspace.review.rejecting import Rejecter
from sidecar.workspace.review.rejection import Job, PlanRejection
from sidecar.workspace.review.taking_back import TakingBack
from sidecar.workspace.review.units import Unit, units
from sidecar.workspace.state.ledgers import Reviewed
from sidecar.workspace.state.state import State
from sidecar.workspace.state.tracked import Tracked
from sidecar.workspace.state.turns import Turns

CANCEL_SECONDS = 10.0
"""Seconds to wait for a running turn to end before its changes are taken back."""
MAX_CLOSED = 4096
"""How many decided writes are remembered, whose state in the journal changes again when an undo goes back to before the decision."""


@dataclass(frozen=True, slots=True)
class Selector:
    """Selects hunks: given ones, those of a document, a turn or a session, or all."""

    change_ids: frozenset[str] | None = None
    uri: DocumentUri | None = None
    session_id: str | None = None
    turn: int | None = None
    everything: bool = False
    known_only: bool = False
    """Without changes by unknown authors."""

    def whose(self, author: Author) -> bool:
        if self.known_only and author.unknown:
            return False
        return (self.session_id is None or author.session == self.session_id) and (
            self.turn is None or author.turn == self.turn
        )


@dataclass(slots=True)
class Result:
    """The ids of the changes that were kept or rejected, and the reason for each that failed."""

    done: list[str] = field(default_factory=list[str])
    impossible: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    told: list[str] = field(default_factory=list[str])
    """The changes for which the agent is told the user's reason in the answer to its write."""
    untouched: int = 0
    """The number of files that were not begun because the user stopped it."""


class Review:
    """Keep, reject, revert, over all documents of a workspace."""

    def __init__(
        self,
        state: State,
        editor: Editor,
        keeper: Keeper,
        rejecter: Rejecter,
        turns: Turns,
        journal: Journal,
        tasks: Background,
        files: FileReviews,
        left: Mapping[tuple[str, int], Mapping[str, str]],
        verdicts: Verdicts,
        told: Tell,
        folders: Callable[[], Sequence[str]],
    ) -> None:
        """`left`: for each session and turn, the paths that changed in it and cannot be taken back, with the reason. `told` receives the
        decisions. `folders` returns the workspace's folders."""
        self.files = files
        files.goes_back = lambda change: rejecter.reject_files(files, [change])
        self._left = left
        self._verdicts = verdicts
        self._decided = Decided(told)
        self._journal = journal
        self._tasks = tasks
        self._state = state
        self._editor = editor
        self._keeper = keeper
        self._rejecter = rejecter
        self._turns = turns
        self._closed: dict[str, None] = {}
        """The writes of which the journal knows that they were kept or rejected, and nothing is under review: the last MAX_CLOSED of them."""
        state.ledgers.on_moved.append(self._moved)
        self.closed_files = ClosedFiles(state, journal, files, keeper, folders)
        self.committed = Committed(state, keeper, files, self.keep_these)

    async def listed(self, selector: Selector) -> list[Json]:
        """Like `changes`, after checking the files that are not open: somebody may have restored them."""
        await self.closed_files.look(None if selector.uri is None else {selector.uri})
        await self.files.look()
        await self.committed.look()
        return self.changes(selector)

    def changes(self, selector: Selector) -> list[Json]:
        """The changes under review, in order of place."""
        return [
            {**row, "oldText": str(row["oldText"]), "newText": str(row["newText"])}
            for row in self.rows(selector)
        ]

    def rows(self, selector: Selector) -> list[Json]:
        """Like `changes`, with the texts in their stored form."""
        rows: list[Json] = []
        for reviewed, hunks in self._selected(selector):
            text = self._keeper.text_of(reviewed)
            tracked = self._state.documents.get(reviewed.uri)
            uri = tracked.document.client_uri if tracked is not None else reviewed.uri
            place = self._editor.capabilities.coordinates.places(text)
            version = self._version(tracked) if tracked is not None and reviewed.live else None
            rows += [_row(reviewed, uri, version, hunk, place) for hunk in hunks]
        return rows + [row(change, change.uri) for change in self._files_selected(selector)]

    @staticmethod
    def _version(tracked: Tracked) -> int:
        """The document's version whose text contains its hunks; see Keeper.text_of."""
        return tracked.settled_version()

    def text_before(self, selector: Selector) -> str | None:
        """The text of the document that `selector` names, without the selected unreviewed work; None if there is none.

        Work that later work depends on stays."""
        for reviewed, hunks in self._selected(selector):
            text = str(self._keeper.text_of(reviewed))
            ids = [hunk.id for hunk in hunks]
            return reviewed.ledger.reject(len(text), ids, selector.whose).changes.apply(text)
        return None

    def keep(self, selector: Selector) -> Result:
        """Take hunks out of review and leave their text."""
        result = Result()
        before = self._writes()
        with self._decided.together():
            for reviewed, hunks in self._selected(selector):
                for hunk in hunks:
                    self._decided.count(hunk.author, "kept")
                    result.done.append(reviewed.change_id(hunk.id))
                text = self._keeper.text_of(reviewed)
                was = reviewed.ledger.copy()
                reviewed.ledger.keep([hunk.id for hunk in hunks], selector.whose)
                self.files.kept_in(reviewed.uri, text, was, reviewed.ledger)
                self._picked(reviewed, text, hunks, selector)
                self._state.ledgers.moved(reviewed)
            for change in self._files_selected(selector):
                self._decided.count(change.author, "kept")
                self.files.keep(change)
                result.done.append(change.change_id)
        self._tasks.start_soon(self._reviewed, self._closes(before - self._in_files()), "kept")
        return result

    def _picked(self, reviewed: Reviewed, text: Text, hunks: Sequence[Hunk], selector: Selector) -> None:
        """Store hunks that were kept in `text` if other hunks of the same writes stay under review, or may be so again: the writes alone do not tell
        this to the journal."""
        path, left = to_path(reviewed.uri), reviewed.ledger.undecided()
        kept = [replace(h, versions=tuple(v for v in h.versions if selector.whose(v.author))) for h in hunks]
        if path is not None and not left.isdisjoint(writes_of(kept)):
            self._tasks.start_soon(self._journal.save_picked, path, str(text), to_json(kept))

    def keep_these(self, change_ids: Iterable[str]) -> None:
        self.keep(Selector(change_ids=frozenset(change_ids)))

    async def reject(self, selector: Selector, reason: str = "") -> Result:
        """Revert what is selected; the hunks of one text in one undo step. Changes by unknown authors are reverted only if they are selected by
        id. Cancelling this stops it between two files. `reason`: for the agents that wait for the answer to these writes."""
        result = Result()
        selector = replace(selector, known_only=selector.change_ids is None)
        for reviewed, hunks in self._selected(selector) if reason else ():
            told = self._verdicts.because(reviewed.uri, [hunk.id for hunk in hunks], reason)
            result.told += [reviewed.change_id(number) for number in sorted(told)]
        await self.files.look()
        only = None if selector.uri is None else {selector.uri}
        await self.closed_files.look(only, which_moved=True)
        uris: list[DocumentUri] = []
        documents: dict[str, list[DocumentUri]] = {}
        """For each write: the documents in which any of its hunks is under review."""
        async for reviewed in in_steps(self._state.ledgers):
            for write in writes_of(reviewed.ledger.hunks):
                documents.setdefault(write, []).append(reviewed.uri)
            if (selector.uri is None or reviewed.uri == selector.uri) and self._chosen(reviewed, selector):
                uris.append(reviewed.uri)
        parts = await anyio.to_thread.run_sync(units, self._files_selected(selector), uris)

        async def some(these: Sequence[Unit]) -> None:
            theirs = {uri for unit in these for uri in unit.all_uris()}
            before = self._writes(theirs)
            theirs.update(uri for write in before for uri in documents.get(write, ()))
            for nth in itertools.count():
                rows = [unit.rows[nth] for unit in these if nth < len(unit.rows)]
                if not rows:
                    break
                await self._reject_files(selector, rows, result)
            left = [uri for unit in these for uri in unit.all_uris()]
            while left := await self._reject_hunks(selector, left, result):
                before |= self._writes(left)
                # They are tried once more
                again = tuple(f"@{uri}" for uri in left)
                result.impossible = [
                    one
                    for one in result.impossible
                    if not (one["changeId"][0].isdigit() and one["changeId"].endswith(again))
                ]
            await self._rejecter.prune(self.files)
            await self._reviewed(self._closes(before, theirs), "rejected")

        work = TakingBack(self._editor, self._tasks, parts, some)
        with self._verdicts.rejecting(), self._decided.together():
            await work.run()
            await self._rejecter.prune(self.files)
        result.untouched = work.untouched
        return result

    async def _reject_hunks(
        self, selector: Selector, uris: Iterable[DocumentUri], result: Result
    ) -> list[DocumentUri]:
        """Reject the selected hunks of these documents. Returns the documents into which that let in what had been in conflict with them."""
        chosen = [
            found for uri in dict.fromkeys(uris) for found in self._selected(replace(selector, uri=uri))
        ]
        jobs = [Job(reviewed, _plan(reviewed, hunks, selector)) for reviewed, hunks in chosen]
        made, left = self._made(jobs), list[DocumentUri]()
        for (reviewed, hunks), rejected in zip(chosen, await self._rejecter.reject(jobs), strict=True):
            stuck = {hunk.id for hunk in rejected.impossible}
            for hunk in hunks:
                name = reviewed.change_id(hunk.id)
                if rejected.why or hunk.id in stuck:
                    reason = (
                        rejected.why
                        or "later work by somebody else changed the same lines; reject that first"
                    )
                    result.impossible.append({"changeId": name, "reason": reason})
                else:
                    self._decided.count(hunk.author, "rejected")
                    result.done.append(name)
            if rejected.made_room:
                left.append(reviewed.uri)
        for change, text in made:
            await self.files.goes_on(change, text)
        return left

    def _made(self, jobs: Sequence[Job]) -> list[tuple[FileChange, str]]:
        """The rows of files that an agent created as copies of what was already under review, or moved, and the texts that these files will get (raw)."""
        jobs_by_path = {to_path(job.reviewed.uri): job for job in jobs}
        made: list[tuple[FileChange, str]] = []
        for change in self.files:
            job = jobs_by_path.get(change.path)
            if job is None or change.kind not in ("created", "renamed"):
                continue
            text = str(self._keeper.text_of(job.reviewed))
            if change.new_text == text:
                made.append((change, job.plan(len(text)).changes.apply(text)))
        return made

    def is_left_empty(self, tracked: Tracked) -> bool:
        """Whether the document shows nothing but a file that an agent created and that a rejection emptied. It goes when the document is closed."""
        return self._rejecter.has_left_empty(tracked.document.uri)

    async def closed(self, tracked: Tracked) -> None:
        """Such a document was closed a while ago."""
        await self._rejecter.closed(tracked)
        await self._rejecter.prune(self.files)

    async def _reject_files(self, selector: Selector, rows: Sequence[FileChange], result: Result) -> None:
        """Reject changes of whole files. No row may block another. The hunks of a moved file are rejected at its present path. The hunks of a
        file made in its place go first, as do those in a text that a row made."""
        texts = [from_path(path) for row in rows if row.moved_from for path in (row.path, row.moved_from)]
        texts += [row.uri for row in rows if row.makes_text]
        await self._reject_hunks(selector, texts, result)
        for change, why in zip(rows, await self._rejecter.reject_files(self.files, rows), strict=True):
            if why:
                result.impossible.append({"changeId": change.change_id, "reason": why})
            else:
                self._decided.count(change.author, "rejected")
                result.done.append(change.change_id)
        await self.closed_files.look(
            {from_path(path) for row in rows for path in (row.path, row.moved_from) if path}
        )

    def _files_selected(self, selector: Selector) -> list[FileChange]:
        return [
            change
            for change in self.files
            if (selector.uri is None or change.uri == selector.uri)
            and selector.whose(change.author)
            and (selector.change_ids is None or change.change_id in selector.change_ids)
        ]

    def _writes(self, uris: Iterable[DocumentUri] | None = None) -> set[str]:
        """The writes with anything under review, as changes of whole files or as hunks: in these documents, or in all."""
        every = self._state.ledgers if uris is None else filter(None, map(self._state.ledgers.get, uris))
        found = {write for reviewed in every for write in writes_of(reviewed.ledger.hunks)}
        found.update(
            write for change in self.files for write in (change.author.write, change.removal) if write
        )
        return found

    def _in_files(self) -> set[str]:
        """The writes with anything under review in the file of a document with unsaved work, which may be thrown away."""
        found: set[str] = set()
        for reviewed in self._state.ledgers:
            tracked = self._state.documents.get(reviewed.uri)
            if tracked is not None and not tracked.is_clean() and tracked.hunks_then.file is not None:
                found |= writes_of(reviewed.ledger.unkept(tracked.hunks_then.file.hunks))
        return found

    def _closes(self, before: set[str], uris: Iterable[DocumentUri] | None = None) -> set[str]:
        """The writes of `before` of which nothing is under review any more, in these documents or in all."""
        closed = before - self._writes(uris)
        self._closed |= dict.fromkeys(sorted(closed))
        for oldest in list(self._closed)[:-MAX_CLOSED]:
            del self._closed[oldest]
        return closed

    async def _reviewed(self, writes: set[str], state: Literal["kept", "rejected"]) -> None:
        if writes:
            await self._journal.finish_all(sorted(writes), state)

    def _moved(self, reviewed: Reviewed) -> None:
        """What was left of a write was decided. Now an undo has put something of it under review again that was out of it then."""
        again = self._closed.keys() & writes_of(reviewed.ledger.hunks)
        if again:
            for write in again:
                del self._closed[write]
            self._tasks.start_soon(self._journal.finish_all, sorted(again), "done")

    async def revert_turn(self, session_id: str, turn: int) -> Result:
        """Take back the unreviewed changes of one turn. A running turn is cancelled first."""
        session = self._state.sessions.get(session_id)
        if session is not None and session.running and session.turn == turn:
            self._turns.cancel(session)
            with anyio.move_on_after(CANCEL_SECONDS):
                await self._turns.end_of(session)
        result = await self.reject(Selector(session_id=session_id, turn=turn))
        for path, why in self._left.get((session_id, turn), {}).items():
            result.impossible.append({"changeId": f"0@{from_path(path)}", "reason": why})
        return result

    def _selected(self, selector: Selector) -> list[tuple[Reviewed, list[Hunk]]]:
        found: list[tuple[Reviewed, list[Hunk]]] = []
        one = None if selector.uri is None else self._state.ledgers.get(selector.uri)
        for reviewed in self._state.ledgers if selector.uri is None else filter(None, [one]):
            hunks = self._chosen(reviewed, selector)
            if hunks:
                found.append((reviewed, hunks))
        return found

    @staticmethod
    def _chosen(reviewed: Reviewed, selector: Selector) -> list[Hunk]:
        """The selected hunks of one document; the selector's `uri` is not checked."""
        return [
            h
            for h in reviewed.ledger.hunks
            if not h.is_aftermath
            and any(selector.whose(v.author) for v in h.versions)
            and (selector.change_ids is None or reviewed.change_id(h.id) in selector.change_ids)
        ]


def _plan(reviewed: Reviewed, hunks: Iterable[Hunk], selector: Selector) -> PlanRejection:
    ids = tuple(hunk.id for hunk in hunks)
    return lambda length: reviewed.ledger.reject(length, ids, selector.whose)


def _row(
    reviewed: Reviewed, uri: str, version: int | None, hunk: Hunk, place: Callable[[int], Position]
) -> Json:
    start, end = place(hunk.start), place(hunk.end)
    row: dict[str, object] = {
        "changeId": reviewed.change_id(hunk.id),
        "uri": uri,
        "range": {
            "start": {"line": start.line, "character": start.character},
            "end": {"line": end.line, "character": end.character},
        },
        "oldText": hunk.was_of_known,
        "newText": hunk.said,
        "sessionId": hunk.author.session,
        "turn": hunk.author.turn,
        "agent": hunk.author.agent,
        "state": "unreviewed",
    }
    if hunk.author.unknown:
        row["unknown"] = True
    if earlier := _earlier(hunk):
        row["earlier"] = earlier
    if version is not None:
        row["version"] = version
    if hunk.versions[0].author.created and not hunk.was:
        row["created"] = True
    if hunk.author.tool_call is not None:
        row["toolCallId"] = hunk.author.tool_call
    return row


def _earlier(hunk: Hunk) -> list[Json]:
    """The other turns that changed the same lines before the last one, oldest first."""
    found: list[Json] = []
    for version in hunk.versions[:-1]:
        author = version.author
        row = {"sessionId": author.session, "turn": author.turn, "agent": author.agent}
        is_beneath = author.unknown and not hunk.author.unknown
        if not (author.aftermath or is_beneath or author.same_turn(hunk.author) or row in found):
            found.append(row)
    return found
