"""FakeEditor: the misbehaving editor inside the test process — the workspace's Editor port on one side, the user's
actions on the other.

    editor = FakeEditor(NEOVIM, tmp_path)
    editor.attach(workspace.apply)              # every notification becomes a Modification
    editor.opens("notes.txt")                   # the user's actions end in s; names are relative to the folder, or absolute
    editor.types("notes.txt", "typed")
    assert editor.text("notes.txt") == …

Habits are switches (`editor_habits.py`). A request arrives one turn of the event loop after it was sent, or
`arrives_after` seconds later, so that typing can happen in between. On the loop of `editor_time.py`, all waiting is
virtual and exact. Lists keep what the workspace showed, asked and reported.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.coordinates import TextEdit
from sidecar.core.diff import diff
from sidecar.core.json_types import Json
from sidecar.core.normal import Normal, normal
from sidecar.core.overlay import ContentChange, Modification, Notified
from sidecar.core.text import Encoding, Position, Range
from sidecar.core.uri import is_untitled, normalise, to_path
from sidecar.demo.buffer import Buffer, BufferPosition, Step
from sidecar.demo.model import (
    Answer,
    Changed,
    Closed,
    CreateFile,
    DiskFiles,
    DocumentEdits,
    Event,
    Files,
    Opened,
    Replacement,
    Saved,
    WorkspaceEdit,
    uri_of,
)
from sidecar.workspace.ports.ports import (
    DocumentEdit,
    EditAnswer,
    EditorCapabilities,
    EditorGone,
    EditorRefused,
    Level,
    Opens,
    Question,
    Reloaded,
)
from sidecar.workspace.ports.ports import Saved as SaveAnswer
from tests.support.editor_habits import VSCODE, Habits
from tests.support.editor_model import FakeModel

Name = str | os.PathLike[str]


def refuse(question: Question) -> str | None:
    return None


@dataclass(slots=True)
class ShownProgress:
    title: str
    on_cancel: Callable[[], None] | None
    reports: list[str] = field(default_factory=list[str])
    ended: str | None = None

    def report(self, message: str) -> None:
        self.reports.append(message)

    def end(self, message: str) -> None:
        self.ended = message


class FakeEditor:
    def __init__(
        self,
        habits: Habits,
        folder: Name,
        *,
        files: Files | None = None,
        custom: bool = True,
        answer: Callable[[Question], str | Awaitable[str | None] | None] = refuse,
        arrives_after: float = 0.0,
        seed: int = 0,
    ) -> None:
        """`custom`: announces and supports sidecar/save, open and reload. `answer`: the user's choice; an awaitable may
        take its time.
        """
        self.folder = os.fspath(folder)
        self.answer = answer
        self.arrives_after = arrives_after
        self.model = FakeModel(habits, files or DiskFiles(), self._tell, self._later, seed=seed)
        encoding = habits.encodings[0] if habits.encodings else "utf-16"
        self.model.encoding = encoding
        self.sent: list[tuple[str, DocumentEdit]] = []
        """The label and edit of every applyEdit."""
        self.shown: list[tuple[Level, str]] = []
        self.buttons: list[Opens | None] = []
        """Of what was shown."""
        self.notices: list[tuple[str, str]] = []
        """The session and the words of each line in a conversation."""
        self.typing: Callable[[], object] | None = None
        """Called once, while the participants of the next save are working."""
        self.logged: list[tuple[Level, str]] = []
        self.asked: list[Question] = []
        self.withdrawn: list[Question] = []
        self.updates: list[tuple[str, Json]] = []
        self.outcomes: list[Json] = []
        self.progresses: list[ShownProgress] = []
        self.documents_shown: list[str] = []
        self.typed_while_saved: set[str] = set()
        """Documents in which the user typed while one of our saves ran."""
        self.moved: list[tuple[str, ...]] = []
        self.modifications: list[Modification] = []
        """Everything that the server was told, in order."""
        self._apply: Callable[[Modification], None] = lambda modification: None
        self._open: set[asyncio.Future[EditAnswer]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._gone = False
        self._capabilities = EditorCapabilities(
            name=habits.client,
            encoding=Encoding(encoding),
            apply_edit=True,
            document_changes=habits.document_changes,
            create_files=habits.create_files,
            delete_files=habits.client == VSCODE.client,
            show_message_request=habits.messages,
            show_document=True,
            work_done_progress=True,
            code_lens_refresh=True,
            diagnostics_refresh=True,
            save=custom,
            open=custom,
            reload=custom,
            session_updates=custom,
            changes=custom,
            # the flags of sidecar/lsp/editor_habits.py
            lf_lines=habits.lf_lines,
            in_any_order=habits.any_order,
            keeps_lines=habits.final_end == "setting",
            adds_final_end=habits.final_end != "text",
            reopens=habits.reopens and bool(habits.client),
            ignores_version_zero=habits.client == "Neovim",
        )

    def attach(self, apply: Callable[[Modification], None]) -> None:
        self._apply = apply

    # The user's actions

    def opens(self, name: Name) -> Buffer:
        return self.model.open(self.uri(name))

    def types(self, name: Name, text: str, at: int | None = None) -> None:
        """Types at the caret, or first moves it to the offset `at` (code points from 0)."""
        if at is not None:
            buffer = self.buffer(name)
            buffer.caret, buffer.joinable = at, False
        self.model.type(self.uri(name), text)

    def replaces(self, name: Name, old: str, new: str) -> None:
        start = self.text(name).index(old)
        self.model.replace(self.uri(name), start, start + len(old), new)

    def undoes(self, name: Name) -> Step | None:
        return self.model.undo(self.uri(name))

    def redoes(self, name: Name) -> None:
        self.model.redo(self.uri(name))

    def saves(self, name: Name) -> bool:
        return self.model.save(self.uri(name))

    def overwrites(self, name: Name) -> bool:
        """Saves over what the editor finds newer on the disk, as the user decides when it says so."""
        self.model.knows_disk(self.uri(name))
        return self.saves(name)

    def closes(self, name: Name) -> None:
        self.model.close(self.uri(name))

    def looks_at_disk(self) -> None:
        """Something changed on disk: reloads clean documents if that is the editor's habit."""
        self.model.look_at_disk()

    def sees_on_disk(self, name: Name) -> None:
        """Somebody changed this file there: its document is reloaded if it is clean and that is the editor's habit."""
        self.model.look_at_disk(self.uri(name))

    def flushes(self) -> None:
        """Sends pending changes, as before any request of the editor's own."""
        self.model.flush()

    def disconnects(self) -> None:
        """The editor ends. Whoever waits for it gets EditorGone."""
        self._gone = True
        for answer in self._open:
            if not answer.done():
                answer.set_exception(EditorGone("the editor's connection ended"))

    def uri(self, name: Name) -> str:
        text = os.fspath(name)
        return text if "://" in text or is_untitled(text) else uri_of(os.path.join(self.folder, text))

    def buffer(self, name: Name) -> Buffer:
        """Raises KeyError if the document is not open."""
        return self.model.documents[self.uri(name)]

    def text(self, name: Name) -> str:
        return self.buffer(name).text

    # The port

    @property
    def capabilities(self) -> EditorCapabilities:
        return self._capabilities

    def apply_edit(self, label: str, edit: DocumentEdit) -> Awaitable[EditAnswer]:
        if edit.version is None and not (edit.create or edit.delete):
            raise ValueError("an edit of an existing document needs the version it was computed for")
        if not edit.edits and not (edit.create or edit.delete):
            raise ValueError("an edit that changes nothing is never sent")
        self.sent.append((label, edit))
        answer: asyncio.Future[EditAnswer] = asyncio.get_running_loop().create_future()
        if self._gone:
            answer.set_exception(EditorGone("the editor's connection ended"))
            return _Kept(answer)
        self._open.add(answer)
        answer.add_done_callback(self._open.discard)

        def reply(given: Answer) -> None:
            if not answer.done():  # an error response counts as a refusal
                answer.set_result(EditAnswer(given.applied and given.error is None, given.reason))

        if edit.delete:
            self._later(self.arrives_after, lambda: reply(Answer(self._delete(edit.client_uri))))
        else:
            self._later(self.arrives_after, lambda: self.model.request_edit(self._edit(label, edit), reply))
        return _Kept(answer)

    async def save(self, client_uri: str, version: int, *, exact: bool = False) -> SaveAnswer:
        """A test's `typing` happens while the participants of the save are working. `exact` skips them."""
        if not self._capabilities.save:
            return SaveAnswer(False)
        await self._arrives()
        buffer = self.model.documents.get(client_uri)
        if buffer is None or buffer.version != version:
            return SaveAnswer(False)
        typing, self.typing = self.typing, None
        if typing is not None:
            typing()
        saved: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        keys = self.model.keys
        self.model.save(client_uri, exact=exact, users=False, done=saved.set_result)
        answer = SaveAnswer(await saved, typed=typing is not None or self.model.keys != keys)
        if answer.typed:
            self.typed_while_saved.add(client_uri)
        if self.model.habits.lets_go:
            self.model.release(client_uri)
        return answer

    async def open(self, client_uri: str) -> int:
        if not self._capabilities.open:
            raise EditorRefused("this editor does not open documents for the sidecar")
        await self._arrives()
        known = self.model.documents.get(client_uri)
        if known is None and (self.model.files.read(client_uri) or b"").startswith(b"\0"):  # as VS Code does
            raise EditorRefused("File seems to be binary and cannot be opened as text")
        return (known or self.model.open_hidden(client_uri)).version

    async def close(self, client_uri: str) -> None:
        """Like our extensions: closes only a document that nobody looks at and that has nothing unsaved."""
        await self._arrives()
        self.model.release(client_uri)

    async def reload(
        self, client_uri: str, version: int, edits: Sequence[TextEdit], changes: Sequence[TextEdit] = ()
    ) -> Reloaded | str:
        if not self._capabilities.reload:
            raise EditorRefused("this editor does not reload documents for the sidecar")
        await self._arrives()
        buffer = self.model.documents.get(client_uri)
        if buffer is None:
            return "not-active"
        if buffer.version != version:
            return "version"
        asked, meant = buffer.text, ChangeSet.of(len(buffer.text), _places(buffer, changes))
        if not await self._is_still_there(buffer, self.model.habits.reload_takes):
            return "not-active"
        before, known = buffer.text, len(buffer.past)
        self.model.flush(
            client_uri
        )  # the answer names versions: no change comes together with another under one
        self.model.reload(client_uri)
        self.model.flush(client_uri)
        taking = buffer.past[known:]
        taken, text = buffer.version, buffer.text
        places = _places(buffer, edits)
        if (
            self.model.habits.reload_takes
        ):  # like our extension for VS Code, where other things happen meanwhile
            now, wanted = Normal(text), normal(ChangeSet.of(len(text), places).apply(text))
            first, then = normal(asked), normal(before)
            if bool(changes) and normal(meant.apply(asked)) != wanted:
                wanted = then
            elif then != first:
                wanted = diff(first, then).map(diff(first, wanted)).apply(wanted)
            places = list(now.changes_in_raw(diff(now.text, wanted)).edits)
        made = tuple(
            TextEdit(Position(*buffer.place(e.start)), Position(*buffer.place(e.end)), e.new) for e in places
        )
        if not await self._is_still_there(buffer, self.model.habits.reload_takes):
            if made and client_uri not in self.model.documents:  # our edit opens it again
                self._puts_on_top(self.model.open(client_uri), text, made)
            return Reloaded(taken, taken, taken, made)
        is_undone = bool(taking) and all(step is not taking[0] for step in buffer.past)
        # who undid the reload has all that was to come back
        moved = ChangeSet.of(len(text), [] if is_undone else places).map(diff(text, buffer.text))
        on_top = tuple(Replacement(buffer.place(e.start), buffer.place(e.end), e.new) for e in moved.edits)
        # done by our own extension, whatever the editor thinks of applyEdit
        self.model.apply_to(buffer, DocumentEdits(client_uri, None, on_top), "on top")
        if self.model.habits.top_told_later:
            asyncio.get_running_loop().call_later(
                self.model.habits.top_told_later, self.model.flush, client_uri
            )
        else:
            self.model.flush(client_uri)
        if not self.model.habits.reload_takes:
            return Reloaded(buffer.version)
        return Reloaded(buffer.version, taken, taken, made)

    def _puts_on_top(self, buffer: Buffer, text: str, edits: Sequence[TextEdit]) -> None:
        """What was unsaved, where the document was closed right after it was reloaded with `text`: nobody was asked about that."""
        if buffer.text == text:
            steps = DocumentEdits(buffer.uri, None, _replacements(edits))
            self.model.apply_to(buffer, steps, "on top")

    async def _is_still_there(self, buffer: Buffer, seconds: float) -> bool:
        if seconds:
            await asyncio.sleep(seconds)
        return self.model.documents.get(buffer.uri) is buffer

    async def ask(self, question: Question) -> str | None:
        await self._arrives()
        self.asked.append(question)
        try:
            chosen = self.answer(question)
            return await chosen if isinstance(chosen, Awaitable) else chosen
        except asyncio.CancelledError:
            self.withdrawn.append(question)
            raise

    def show(self, level: Level, message: str, opens: Opens | None = None) -> None:
        self.shown.append((level, message))
        self.buttons.append(opens)

    def notice(self, session_id: str, message: str) -> None:
        self.notices.append((session_id, message))

    def log(self, level: Level, message: str) -> None:
        self.logged.append((level, message))

    def session_opened(self, opened: object) -> None: ...

    def session_update(self, session_id: str, update: Json) -> None:
        self.updates.append((session_id, update))

    def reviewed(self, session_id: str, turn: int, verdict: str, changes: int) -> None: ...

    def turn_ended(self, outcome: Json) -> None:
        self.outcomes.append(outcome)

    def progress(self, title: str, on_cancel: Callable[[], None] | None) -> ShownProgress:
        self.progresses.append(ShownProgress(title, on_cancel))
        return self.progresses[-1]

    async def show_document(self, client_uri: str, *, take_focus: bool) -> bool:
        await self._arrives()
        self.documents_shown.append(client_uri)
        return True

    def changes_moved(self, client_uris: Sequence[str]) -> None:
        self.moved.append(tuple(client_uris))

    # Inside

    async def _arrives(self) -> None:
        """A request arrives. The editor sends what is pending before it acts on it."""
        await asyncio.sleep(self.arrives_after)
        if self._gone:
            raise EditorGone("the editor's connection ended")
        self.model.flush()

    def _edit(self, label: str, edit: DocumentEdit) -> WorkspaceEdit:
        # for version 0, which Neovim does not check, the LSP door sends version 1 (sidecar/lsp/edits.py)
        version = 1 if edit.version == 0 and self._capabilities.ignores_version_zero else edit.version
        replacements = _replacements(edit.edits)
        if edit.create and self.model.habits.final_end == "setting":  # as our snippet fills new files
            replacements = tuple(replace(one, text=one.text.removesuffix("\n")) for one in replacements)
        changes = DocumentEdits(edit.client_uri, version, replacements)
        steps = (CreateFile(edit.client_uri), changes) if edit.create else (changes,)
        return WorkspaceEdit(steps, label)

    def _delete(self, uri: str) -> bool:
        """Like our extension: does not delete a file that is open."""
        buffer = self.model.documents.get(uri)
        if buffer is None or not buffer.hidden:
            return False
        self.model.close(uri)
        Path(to_path(normalise(uri)) or "").unlink()
        return True

    def _later(self, seconds: float, what: Callable[[], None]) -> asyncio.TimerHandle:
        """In its own task, like everything that arrives from an editor."""

        async def happen() -> None:
            what()

        def start() -> None:
            task = loop.create_task(happen())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        loop = asyncio.get_running_loop()
        return loop.call_later(seconds, start)

    def _tell(self, event: Event) -> None:
        if not self._gone:
            modification = modification_of(event)
            self.modifications.append(modification)
            self._apply(modification)


class _Kept(Awaitable[EditAnswer]):
    """Can be awaited any number of times. Cancelling an await does not affect the answer."""

    def __init__(self, answer: asyncio.Future[EditAnswer]) -> None:
        self._answer = answer
        answer.add_done_callback(lambda done: done.exception())  # it is fine if nobody listens

    def __await__(self) -> Generator[object, None, EditAnswer]:
        return asyncio.shield(self._answer).__await__()


def modification_of(event: Event) -> Modification:
    uri = normalise(event.uri)
    match event:
        case Opened(client_uri, language, version, text):
            return Modification(
                uri, Notified.OPEN, version, text=text, language_id=language, client_uri=client_uri
            )
        case Changed(client_uri, version, changes):
            told = tuple(ContentChange(_range(one.start, one.end), one.text) for one in changes)
            return Modification(uri, Notified.CHANGE, version, told, client_uri=client_uri)
        case Saved(client_uri, text):
            return Modification(uri, Notified.SAVE, text=text, client_uri=client_uri)
        case Closed(client_uri):
            return Modification(uri, Notified.CLOSE, client_uri=client_uri)


def _range(start: BufferPosition | None, end: BufferPosition | None) -> Range | None:
    return None if start is None or end is None else Range(Position(*start), Position(*end))


def _places(buffer: Buffer, edits: Sequence[TextEdit]) -> list[Edit]:
    return [Edit(buffer.offset(one.start), buffer.offset(one.end), one.text) for one in _replacements(edits)]


def _replacements(edits: Sequence[TextEdit]) -> tuple[Replacement, ...]:
    return tuple(
        Replacement(BufferPosition(*one.start), BufferPosition(*one.end), one.new_text) for one in edits
    )
