"""Prompting: sends the user's unsaved text with a prompt, because many agents read only the disk.

`beforePrompt`: auto (save for agents that read the disk, embed for all others) · embed (the texts as `resource` blocks, or as plain text if the agent
accepts none) · save (in the editor; embed what could not be saved) · nothing. Only documents in the session's folders are sent, never files that the
policy would ask about, and only up to a size. One line tells the user what was sent and what was not. If an agent asks about a file that it is going
to change itself, the file is saved in the same way.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

import anyio.to_thread

from sidecar.core.escape import escape, shorten
from sidecar.core.json_types import Json
from sidecar.core.normal import normal
from sidecar.core.refusal import Refusal
from sidecar.core.uri import is_untitled, to_path
from sidecar.disk import Roots
from sidecar.workspace.behind.reconcile import Reconciler
from sidecar.workspace.consent.consent import Consent
from sidecar.workspace.files.saving import Saver
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.ports import Editor, Question
from sidecar.workspace.ports.prompt_context import (
    MAX_SELECTED,
    Mention,
    others_problems,
    problems_block,
    selected,
    selection_block,
    shown,
    whole_block,
)
from sidecar.workspace.sessions.afterwards import Afterwards
from sidecar.workspace.sessions.disk_readers import DiskReaders
from sidecar.workspace.state.places import locate
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State
from sidecar.workspace.state.storage import Storage
from sidecar.workspace.state.tracked import Tracked

MAX_TEXT = 256 * 1024
"""The limit for one embedded text, in bytes: a larger one would fill the agent's context with one file."""
MAX_TOGETHER = 1024 * 1024
"""The limit for all embedded texts of one prompt, in bytes."""
MAX_MENTIONS = 32
"""The number of documents that a prompt may refer to."""
_NAMED = 5
"""The number of documents that a message names; the rest are only counted."""


class Prompting:
    """Sends unsaved text to an agent, or saves it first."""

    def __init__(
        self,
        state: State,
        editor: Editor,
        consent: Consent,
        saver: Saver,
        reconciler: Reconciler,
        tasks: Background,
    ) -> None:
        self._state = state
        self._editor = editor
        self._consent = consent
        self._saver = saver
        self._reconciler = reconciler
        self._tasks = tasks
        self._afterwards = Afterwards(state, consent, reconciler)
        self.disk_readers = DiskReaders(self._open_documents, self._about_to_be_read)

    def turn_ended(self, session: Session, outcome: object) -> None:
        self._afterwards.turn_ended(session)

    async def blocks(
        self, session: Session, blocks: Sequence[Json], context: Sequence[Mention] = ()
    ) -> list[Json]:
        """Return the prompt as sent: followed by its context, what became of the agent's writes, and the user's unsaved texts."""
        blocks = [*blocks, *self._mentioned(session, context)]
        policy = self._state.settings.before_prompt
        afterwards = None if policy == "nothing" else await self._afterwards.block(session)
        if afterwards is not None:
            blocks = [*blocks, afterwards]
        unsaved = [] if policy == "nothing" else await self._unsaved(session)
        if self._saves(session):
            files = [t for t in unsaved if to_path(t.document.uri) is not None]
            saved = await self._saved(session, files, "users")
            unsaved = [t for t in unsaved if t not in saved]
        embedded = session.opened is not None and session.opened.embedded_context
        return [*blocks, *self._texts(session, unsaved, embedded=embedded)]

    def _saves(self, session: Session) -> bool:
        """Whether unsaved text is saved before this agent's prompts and reads, so that the disk has what the user sees."""
        policy = self._state.settings.before_prompt
        return policy == "save" or (policy == "auto" and self.disk_readers.is_one(session))

    async def _saved(
        self, session: Session, unsaved: Sequence[Tracked], whose: Literal["users", "typing"]
    ) -> list[Tracked]:
        """Save the documents and return those that could be saved. The user is told why, once for each document, unless they chose `save`."""
        saved = [tracked for tracked in unsaved if await self._save(tracked, whose)]
        news = [t for t in saved if t.document.uri not in session.saved_for]
        session.saved_for.update(t.document.uri for t in news)
        if news and self._state.settings.before_prompt == "auto":
            words = f"{_list([_shown(t) for t in news])}: saved, because {session.agent} reads files from the disk."
            self._editor.notice(session.id, words)
        return saved

    def _about_to_be_read(self, session: Session, documents: Sequence[Tracked]) -> None:
        """Save documents that a tool call says the agent reads from the disk. It may already have read them."""

        async def save() -> None:
            await self._saved(session, [t for t in documents if self._is_to_be_seen(session, t)], "typing")

        if self._saves(session) and session.acting:
            self._tasks.start_soon(save)

    async def save_first(self, session: Session, path: str) -> bool:
        """Save a file that an agent is about to work on, on the disk, if the settings allow it. Return whether it was saved."""
        if self._state.settings.before_prompt not in ("auto", "save"):
            return False
        documents = [t for t in self._open_documents(session, [path]) if self._is_to_be_seen(session, t)]
        return bool(await self._saved(session, documents, "typing"))

    def _is_to_be_seen(self, session: Session, tracked: Tracked) -> bool:
        path = to_path(tracked.document.uri)
        return (
            path is not None
            and not tracked.closed
            and tracked.is_user_dirty()
            and self._may_be_told(session.roots, path)
        )

    def _mentioned(self, session: Session, context: Sequence[Mention]) -> list[Json]:
        """Return the selections and diagnostics of files that this session may see."""
        sent: list[Json] = []
        left_out: list[str] = []
        embedded = session.opened is not None and session.opened.embedded_context
        for mention in context[:MAX_MENTIONS]:
            tracked, path = self._state.documents.get(mention.uri), to_path(mention.uri)
            if path is not None and not self._may_be_told(session.roots, path):
                left_out.append(shown(mention.uri))
                continue
            if mention.selection is not None:
                if tracked is None or tracked.document.desynchronised is not None:
                    left_out.append(shown(mention.uri))
                    continue
                document = tracked.document
                words = selected(document.snapshot(), mention.selection, self._state.overlay.encoding)
                if len(words) > MAX_SELECTED:
                    left_out.append(shown(mention.uri))
                    continue
                uri = document.client_uri or document.uri
                sent.append(selection_block(uri, words, mention.selection, embedded=embedded))
            problems = others_problems(mention.problems)
            if problems:
                sent.append(problems_block(mention.uri, problems))
        if left_out:
            words = "not open, too large, or not for this session"
            self._editor.show("warning", f"{_list(left_out)} could not be sent with the prompt: {words}.")
        return sent

    async def question(self, question: Question) -> Question:
        """Prepare a question about files that the agent will change itself: their unsaved changes are saved if the settings say so; otherwise the
        user is told that the agent works on the older text."""
        session = self._state.sessions.get(question.session_id)
        paths = question.details.get("paths")
        if session is None or not isinstance(paths, (list, tuple)):
            return question
        if question.action == "read" or not question.behind:
            return question
        named = [p for p in paths if isinstance(p, str)]  # pyright: ignore[reportUnknownVariableType]  # from the wire
        settings = self._state.settings
        older: list[str] = []
        for tracked in await self._unsaved_of(session, named):
            await self._reconciler.look(tracked)
            if not tracked.is_user_dirty():
                continue
            by_policy = self._saves(session) or settings.after_write == "always"
            if not (by_policy and await self._save(tracked, "typing")):
                older.append(_shown(tracked))
        if not older:
            return question
        words = f"{_list(older)}: you have unsaved changes there; the agent works on the older text on disk."
        return replace(question, text=f"{question.text}\n{words}")

    async def _unsaved(self, session: Session) -> list[Tracked]:
        """Return the documents with unsaved text of the user's that this session may be told about, and the documents without a file in which something is."""
        found: list[Tracked] = []
        for tracked in self._state.documents:
            path = to_path(tracked.document.uri)
            if is_untitled(tracked.document.uri) and str(tracked.document.snapshot()).strip():
                found.append(tracked)
            if path is None or tracked.is_clean():
                continue
            await self._reconciler.look(tracked)
            if self._is_to_be_seen(session, tracked):
                found.append(tracked)
        return found

    async def _unsaved_of(self, session: Session, paths: Sequence[str]) -> list[Tracked]:
        """Return the documents with unsaved text of the user's that these paths name, which may be relative or lead there through a link. A question
        may name a thousand files: they are looked up in a thread, and only if there is such a document."""
        dirty = [to_path(t.document.uri) for t in self._state.documents if t.is_user_dirty()]
        unsaved = [path for path in dirty if path is not None]
        if not unsaved:
            return []
        storage, folder = self._state.storage, session.cwd
        same = await anyio.to_thread.run_sync(lambda: _same_files(storage, folder, paths, unsaved))
        return self._open_documents(session, same)

    def _may_be_told(self, roots: Roots, path: str) -> bool:
        """Whether the file is in the session's folders and readable without a question."""
        place = locate(self._state.storage, self._state.documents, roots, path, "read")
        if isinstance(place, Refusal):
            return False
        with place:
            return not self._consent.must_ask(place, "read")

    async def _save(self, tracked: Tracked, whose: Literal["users", "typing"]) -> bool:
        return bool((await self._saver.save(tracked, whose=whose)).saved)

    def _texts(self, session: Session, unsaved: Iterable[Tracked], *, embedded: bool) -> list[Json]:
        sent: list[Json] = []
        told: list[str] = []
        left_out: list[str] = []
        news = False
        room = MAX_TOGETHER
        for tracked in unsaved:
            document = tracked.document
            if tracked.closed or document.desynchronised is not None:
                continue
            text = str(document.snapshot())
            size = len(text.encode(errors="surrogatepass"))
            if size > MAX_TEXT or size > room:
                left_out.append(_shown(tracked))
                continue
            room -= size
            sent.append(whole_block(document.client_uri or document.uri, text, embedded=embedded))
            # An agent that takes no resources bases its next write on the file as it read it, on the disk or
            # through us
            if embedded or is_untitled(document.uri):
                self._state.beliefs.mentioned(session.id, document.uri, normal(text))
            told.append(_shown(tracked))
            news = news or document.uri not in session.went_along
            session.went_along.add(document.uri)
        words: list[str] = []
        if told:
            words.append(f"Your unsaved text of {_list(told)} was sent with the prompt.")
        if left_out:
            words.append(
                f"{_list(left_out)}: too large to send with the prompt; save it if {session.agent} should see it."
            )
        if left_out:
            self._editor.show("warning", " ".join(words))
        elif news:
            self._editor.notice(session.id, " ".join(words))
        elif words:  # told before: a message at every prompt would annoy
            self._editor.log("info", " ".join(words))
        return sent

    def _open_documents(self, session: Session, paths: Iterable[str]) -> list[Tracked]:
        """Return the open documents that an agent's paths name. A path may be relative (qwen) or lead there through a link."""
        found: dict[str, Tracked] = {}
        for path in paths:
            if "\0" in path:
                continue
            place = locate(
                self._state.storage,
                self._state.documents,
                session.roots,
                os.path.join(session.cwd, path),
                "read",
            )
            if isinstance(place, Refusal):
                continue
            with place:
                if place.tracked is not None:
                    found[place.tracked.document.uri] = place.tracked
        return list(found.values())


def _same_files(storage: Storage, folder: str, named: Sequence[str], paths: Sequence[str]) -> list[str]:
    """Return those of `paths` that are among the files `named`, which are relative to `folder`. Blocks for the disk; any thread."""
    there = {os.path.realpath(os.path.join(folder, one)) for one in named if "\0" not in one}
    identities = {storage.identity(one) for one in there} - {None}
    return [one for one in paths if os.path.realpath(one) in there or storage.identity(one) in identities]


def _shown(tracked: Tracked) -> str:
    return shorten(escape(os.path.basename(to_path(tracked.document.uri) or tracked.document.uri)), 80)


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
