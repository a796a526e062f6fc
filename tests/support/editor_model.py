"""FakeModel: the headless editor with habits (`editor_habits.py`). Sans-IO; time comes from `later`, choices from a
seed.

Both forms of the fake editor use it: `editor_fake.py` inside the process, `editor_wire.py` over real pipes.
"""

from __future__ import annotations

import codecs
import math
import random
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from sidecar.demo.buffer import Buffer, ContentChange, Encoding, Splice, Step
from sidecar.demo.model import (
    BOM,
    Answer,
    Changed,
    Closed,
    DocumentEdits,
    EditorModel,
    Event,
    Files,
    Opened,
    Saved,
    WorkspaceEdit,
    path_of,
)
from tests.support.editor_buffers import FakeBuffer
from tests.support.editor_habits import Habits

_LINE_END = re.compile(r"\r\n|\n|\r")


class Timer(Protocol):
    def cancel(self) -> None: ...


Later = Callable[[float, Callable[[], None]], Timer]
"""(seconds, what)"""


class FakeModel(EditorModel):
    def __init__(
        self, habits: Habits, files: Files, tell: Callable[[Event], None], later: Later, *, seed: int = 0
    ) -> None:
        super().__init__(files, tell)
        self.habits = habits
        self.later = later
        self.first_version = habits.first_version
        self.random = random.Random(seed)
        self.answered: Callable[[], None] = lambda: None
        """Called when an edit was answered, before its changes are sent."""
        self.edits_seen = 0
        """How many applyEdit requests have arrived."""
        self.keys = 0
        """How often the user has typed, undone or redone."""
        self._untold: dict[str, list[ContentChange]] = {}
        self._timers: dict[str, Timer] = {}
        self._held: list[Event] | None = None
        self._ends: dict[str, str] = {}
        self._silent: set[str] = set()
        """Documents that the server never hears about."""
        self._unannounced: dict[str, Opened] = {}
        """didOpens that are sent after their document's didChange."""
        self._burst: list[Event] = []
        """Notifications of this moment after the first, if they may arrive in any order."""
        self._moment = False
        self._seen: dict[str, bytes | None] = {}
        """The content of each document's file when it was last read or written here."""
        self._exact = False
        self._saving: dict[str, list[Callable[[], object]]] = {}
        """Saves that wait for the running one to finish."""
        self._next: dict[str, Callable[[], None]] = {}
        """The next step of the running save. Nothing is closed before the save has ended."""
        self.users_save: Callable[[str], AbstractContextManager[None]] = lambda uri: nullcontext()
        """Entered while a save that the user requested is written."""
        self._was_empty: dict[str, bool] = {}
        self._codecs: dict[str, str] = {}

    # Sending

    def changed(self, buffer: Buffer, changes: Sequence[ContentChange]) -> None:
        if not changes:
            return
        if not self.habits.version_when_told:
            buffer.version += self.habits.version_step
        self._untold.setdefault(buffer.uri, []).extend(changes)
        if not self.habits.lag:
            self.flush(buffer.uri)
            return
        timer = self._timers.get(buffer.uri)
        if timer is not None and self.habits.lag_restarts:
            timer.cancel()
            timer = None
        if timer is None:
            uri = buffer.uri
            self._timers[uri] = self.later(self.habits.lag, lambda: self.flush(uri))

    def flush(self, uri: str | None = None) -> None:
        """Sends pending changes, of one document or all. Editors do so before their own requests."""
        for one in [*self._untold] if uri is None else [uri]:
            timer = self._timers.pop(one, None)
            if timer is not None:
                timer.cancel()
            changes = self._untold.pop(one, [])
            buffer = self.documents.get(one)
            if not changes or buffer is None:
                continue
            if self.habits.version_when_told:
                buffer.version += self.habits.version_step
            if self.habits.full_text:
                changes = [ContentChange(None, None, buffer.text)]
            self.emit(Changed(one, buffer.version, tuple(changes)))
            if self.habits.tells_twice and uri is None:
                self.emit(Changed(one, buffer.version, ()))
            late = self._unannounced.pop(one, None)
            if late is not None:
                self.emit(late)

    def opened(self, buffer: Buffer) -> None:
        event = Opened(buffer.uri, buffer.language, buffer.version, buffer.text)
        if not buffer.hidden or self.habits.unopened in ("hidden", "refused"):
            self.emit(event)
        elif self.habits.unopened == "twice":
            self.emit(event)
            self.emit(event)
        elif self.habits.unopened == "change first":
            self._unannounced[buffer.uri] = event
        else:
            self._silent.add(buffer.uri)

    def open(self, uri: str) -> Buffer:
        """Showing a hidden document sends what was held back about it."""
        held_back = uri in self._silent or uri in self._unannounced
        buffer = super().open(uri)
        if held_back:
            self._silent.discard(uri)
            self._unannounced.pop(uri, None)
            self._untold.pop(uri, None)
            self.opened(buffer)
        return buffer

    def close(self, uri: str) -> None:
        while uri in self._next:
            self._next[uri]()
        self.flush(uri)
        # the server was never told that it opened, so it is not told that it closed
        if uri in self._unannounced:
            self._silent.add(uri)
        super().close(uri)
        self._silent.discard(uri)
        self._unannounced.pop(uri, None)

    def emit(self, event: Event) -> None:
        if event.uri in self._silent:
            return
        if self._held is not None:
            self._held.append(event)
        else:
            self._arrives(event)

    def _arrives(self, event: Event) -> None:
        if not self.habits.any_order:
            self.tell(event)
            return
        if isinstance(event, Saved | Closed):
            self.arrive()
            self.tell(event)
        elif self._moment:
            self._burst.append(event)
        else:
            self._moment = True
            self.later(0.0, self.arrive)
            self.tell(event)

    def arrive(self) -> None:
        """The other notifications of this moment arrive, each at most a few places from where it belongs."""
        burst, self._burst, self._moment = self._burst, [], False
        for _, event in sorted(enumerate(burst), key=lambda one: one[0] + 3 * self.random.random()):
            self.tell(event)

    # Applying edits

    def request_edit(self, edit: WorkspaceEdit, reply: Callable[[Answer], None]) -> None:
        self.edits_seen += 1
        if self.habits.closes_first:
            for step in edit.steps:
                buffer = self.documents.get(step.uri) if isinstance(step, DocumentEdits) else None
                if buffer is not None and not buffer.hidden:  # nobody closes a document that nobody sees
                    self.close(buffer.uri)
        if self.habits.thinks == math.inf:
            return
        if self.habits.thinks:
            self.later(self.habits.thinks, lambda: self._take(edit, reply))
        else:
            self._take(edit, reply)

    def _take(self, edit: WorkspaceEdit, reply: Callable[[Answer], None]) -> None:
        habits = self.habits
        if habits.told_before_edit:
            self.flush()
        first = habits.order == "answer first" or (habits.order == "either" and self.random.random() < 0.5)
        self._held = []
        try:
            answer = self.apply(edit)
            if not first:  # an editor that sends the change first does not wait for its timer
                self.flush()
        finally:
            held, self._held = self._held, None
        if first and not habits.answers_after:
            reply(answer)
            self.answered()
        for event in held:
            self._arrives(event)
        if habits.answers_after == math.inf:
            return
        if habits.answers_after:
            self.later(habits.answers_after, lambda: reply(answer))
        elif not first:
            reply(answer)

    def refusal(self, step: DocumentEdits) -> Answer | None:
        habits = self.habits
        if habits.refuses:
            return Answer(False)
        buffer = self.documents.get(step.uri)
        if buffer is None:
            return Answer(False, "not-open") if habits.unopened == "refused" else None
        if step.version is None or step.version in habits.unchecked or step.version == buffer.version:
            return None
        if step.version > buffer.version and habits.newer_is_fine:
            return None
        match habits.stale:
            case "false":
                return Answer(False, habits.stale_reason)
            case "true":
                return Answer(True)
            case "error":
                return Answer(False, "edits on version mismatch", habits.error_code)
            case "misapplied":
                return None

    def apply_to(self, buffer: Buffer, step: DocumentEdits, label: str) -> None:
        splices: list[Splice] = []
        for edit in step.edits:
            start, end, new = (
                buffer.offset(edit.start),
                buffer.offset(edit.end),
                self.arriving(buffer, edit.text),
            )
            past = start == end == len(buffer.text) and buffer.text.endswith(("\n", "\r")) and new
            splices.append(
                Splice(start, end, new + "\n" if past and self.habits.blank_line_past_end else new)
            )
        end = _end_told_apart(buffer.text, splices) if self.habits.end_in_two else ""
        if end:
            *splices, last = sorted(splices)
            splices.append(Splice(last.start, last.end - len(end), ""))
        joins = self.habits.undo_joins
        earlier = joins in ("earlier", "both", "around") and buffer.joinable
        changes = buffer.edit(splices, label or "edit", join=earlier)
        if end:
            size = len(buffer.text)
            changes += buffer.edit([Splice(size - len(end), size, "")], "edit", join=bool(changes) or earlier)
        if not changes and self.habits.noop_told:
            changes = [
                ContentChange(buffer.place(s.start), buffer.place(s.end), buffer.text[s.start : s.end])
                for s in splices
            ]
        self.changed(buffer, changes)
        buffer.joinable = joins in ("later", "both") or (joins == "around" and earlier)

    def create(self, uri: str) -> None:
        match self.habits.creates:
            case "yes":
                super().create(uri)
            case "in a folder" if Path(path_of(uri)).parent.is_dir():
                super().create(uri)
            case "said":
                pass
            case _:
                raise ValueError("this editor does not create files there")

    # Text and disk

    def counting(self) -> Encoding:
        return self.habits.counts or self.encoding

    def load(self, data: bytes) -> str:
        codec = _codec(data, self.habits.encoding)
        text = data.decode(codec, "replace")
        if self.habits.final_end == "setting" and not data:
            text = "\n"
        keeps = self.habits.keeps_bom and codec == "utf-8"
        return self._normal(text if keeps else text.removeprefix(BOM), self._end(text))

    def store(self, buffer: Buffer) -> bytes:
        text = buffer.text
        if self.habits.line_ends == "lf":
            text = text.replace("\n", self._ends.get(buffer.uri, "\n"))
        if self.habits.final_end == "setting":
            text = self._file_of(buffer, text)
        codec = self._codecs.get(buffer.uri, "utf-8")
        marked = codec.startswith("utf-16") or (buffer.bom and not self.habits.keeps_bom)
        return ((BOM if marked else "") + text).encode(codec)

    def _file_of(self, buffer: Buffer, text: str) -> str:
        """The file of an editor that stores lines: no line is an empty file, and the last line gets an end if the setting says so."""
        if text == "\n" and self._was_empty.get(buffer.uri):
            return ""
        assert isinstance(buffer, FakeBuffer)
        return text if buffer.ended or not self.habits.fixes_end else text + self._ends.get(buffer.uri, "\n")

    def arriving(self, buffer: Buffer, text: str) -> str:
        if self.habits.line_ends in ("majority", "unanimous"):
            return _LINE_END.sub(self._ends.get(buffer.uri, "\n"), text)
        return text

    def type(self, uri: str, text: str) -> None:
        self.keys += 1
        super().type(uri, self.arriving(self.documents[uri], text))

    def replace(self, uri: str, start: int, end: int, new: str, label: str = "typing") -> None:
        self.keys += 1
        super().replace(uri, start, end, self.arriving(self.documents[uri], new), label)

    def _end(self, text: str) -> str:
        """The line end of the document, as this editor sees it."""
        found = _LINE_END.findall(text)
        crlf = found.count("\r\n")
        match self.habits.line_ends:
            case "majority":
                return "\r\n" if crlf * 2 > len(found) else "\n"
            case "unanimous":
                return "\r\n" if crlf and crlf == text.count("\n") else "\n"
            case _:
                return found[0] if found and found.count(found[0]) == len(found) else "\n"

    def _normal(self, text: str, end: str) -> str:
        match self.habits.line_ends:
            case "raw":
                return text
            case "majority":
                return _LINE_END.sub(end, text)
            case "unanimous":
                return text
            case "lf":
                return text.replace(end, "\n")

    def read_buffer(self, uri: str) -> Buffer:
        data = self.files.read(uri)
        self._seen[uri] = data
        self._was_empty[uri] = not data
        self._codecs[uri] = codec = _codec(data or b"", self.habits.encoding)
        self._ends[uri] = self._end((data or b"").decode(codec))
        plain = super().read_buffer(uri)
        ended: bool | None = None
        if self.habits.final_end == "setting":
            plain.text = plain.text or "\n"
            ended = plain.text.endswith("\n")
        buffer = FakeBuffer.of(plain, lf_lines=self.habits.lf_lines, ended=ended)
        self.documents[uri] = buffer
        return buffer

    def has_kept(self, uri: str, text: str) -> None:
        """The editor was ended with this text in the document, unsaved, and has it again. A document is in the line ends of its text, not of its file,
        which may be gone. Editors that have lines only know them from the file."""
        self.documents[uri].text = text
        if self.habits.line_ends != "lf":
            self._ends[uri] = self._end(text)

    # Saving and reloading

    def before_save(self, buffer: Buffer) -> None:
        self._told_before_save(buffer)
        if self.habits.on_save is not None and not self._exact:
            new = self.habits.on_save(buffer.text)
            self.changed(buffer, buffer.edit([Splice(0, len(buffer.text), new)], "save participants"))
            self._told_before_save(buffer)
        size = len(buffer.text)
        if self.habits.final_end == "added" and size and not buffer.text.endswith("\n"):
            end = self.arriving(buffer, "\n")
            self.changed(buffer, buffer.edit([Splice(size, size, end)], "final line end"))
            self._told_before_save(buffer)

    def _told_before_save(self, buffer: Buffer) -> None:
        if not (self.habits.told_after_save and self.habits.save_takes):
            self.flush(buffer.uri)

    def save(
        self,
        uri: str,
        *,
        exact: bool = False,
        users: bool = True,
        done: Callable[[bool], None] = lambda saved: None,
    ) -> bool:
        """Saves a document; saves run one after another. Returns False if it cannot be saved, otherwise calls `done`
        with the result.

        `exact`: without save participants. `users`: the user requested it.
        """
        if users and self.habits.refused_save_told and not self._is_free(uri):
            self.flush(uri)
            self.emit(Saved(uri, self.documents[uri].text))
            done(False)
            return False
        if exact and self.habits.exact_behind:
            return self._save_behind(uri, done)
        if not self.habits.save_takes:
            saved = self._is_free(uri) and self._save_at_once(uri, exact, users)
            done(saved)
            return saved
        if uri in self._saving:
            self._saving[uri].append(lambda: self._begin_save(uri, exact, users, done))
            return True
        self._saving[uri] = []
        return self._begin_save(uri, exact, users, done)

    def _save_behind(self, uri: str, done: Callable[[bool], None]) -> bool:
        buffer = self.documents[uri]
        text, data = buffer.text, self.store(buffer)
        saved = self._is_free(uri) and self._save_at_once(uri, exact=False, users=False)

        def put() -> None:
            self.files.write(uri, data)
            self.later(self.habits.reloads or 0.0, take)

        def take() -> None:
            self._reload_if_clean(uri)
            done(True)

        if not saved or buffer.text == text:
            done(saved)
            return saved
        self.later(0.05, put)
        return True

    def _is_free(self, uri: str) -> bool:
        newer = self.files.read(uri) != self._seen.get(uri)
        fails = self.habits.save_fails
        return not (fails == "always" or (fails == "newer" and newer))

    def _save_at_once(self, uri: str, exact: bool, users: bool) -> bool:
        self._exact = exact
        saved = super().save(uri)
        self._exact = False
        self._seen[uri] = self.files.read(uri)
        if saved:
            self._is_clean(uri)
        return saved

    def _begin_save(self, uri: str, exact: bool, users: bool, done: Callable[[bool], None]) -> bool:
        buffer = self.documents.get(uri)
        if buffer is None or not self._is_free(uri):
            self._saved(uri, False, done)
            return False
        self._exact = exact
        self.before_save(buffer)
        self._exact = False
        assert isinstance(buffer, FakeBuffer)
        text, step = buffer.text, buffer.step
        try:
            data = self.store(buffer)
        except UnicodeEncodeError:
            self._saved(uri, False, done)
            return False

        def write() -> None:
            if self._next.get(uri) is not write:
                return  # already done before the document was closed
            del self._next[uri]
            if not self._is_free(uri):
                self._saved(uri, False, done)
                return
            with self.users_save(uri) if users else nullcontext():
                self.files.write(uri, data)
            self._seen[uri] = data
            buffer.saved, buffer.clean_at = text, step
            self._next[uri] = tell
            self.later(self.habits.save_takes, tell)

        def tell() -> None:
            if self._next.get(uri) is not tell:
                return
            del self._next[uri]
            if self.documents.get(uri) is buffer:
                self.flush(uri)
                self.emit(Saved(uri, buffer.text if self.habits.save_tells == "now" else text))
            self._saved(uri, True, done)

        self._next[uri] = write
        self.later(self.habits.save_takes, write)
        return True

    def _saved(self, uri: str, saved: bool, done: Callable[[bool], None]) -> None:
        done(saved)
        waiting = self._saving.get(uri)
        if waiting:
            self.later(0.0, waiting.pop(0))
        else:
            self._saving.pop(uri, None)

    def reload(self, uri: str) -> None:
        buffer, data = self.documents[uri], self.files.read(uri)
        if data is not None:
            self._seen[uri] = data
        if data is None or not self.habits.reopens:
            self._sets_end(buffer, data)
            super().reload(uri)
            if data is not None:
                self._is_clean(uri)
            return
        self._silent.add(uri)
        self._sets_end(buffer, data)
        super().reload(uri)
        self._is_clean(uri)
        self.flush(uri)
        self._silent.discard(uri)
        self.emit(Closed(uri))
        self.opened(buffer)

    def _sets_end(self, buffer: Buffer, data: bytes | None) -> None:
        """Where the final line end is a setting, a reload sets it to what the file has, and no undo sets it back (Neovim 0.11)."""
        assert isinstance(buffer, FakeBuffer)
        if data is None or buffer.ended is None:
            return
        was, buffer.ended = buffer.ended, self.load(data).endswith("\n")
        if was == buffer.ended:
            return
        size = len(buffer.text)
        change = buffer.sets("\n", size, size) if buffer.ended else buffer.sets("", size - 1, size)
        self.changed(buffer, [change])

    def undo(self, uri: str) -> Step | None:
        self.keys += 1
        step = super().undo(uri)
        self._is_told_again(uri, step)
        return step

    def redo(self, uri: str) -> None:
        self.keys += 1
        future = self.documents[uri].future
        step = future[-1] if future else None
        super().redo(uri)
        self._is_told_again(uri, step)

    def _is_told_again(self, uri: str, step: Step | None) -> None:
        if step is not None and step.label == "reload" and self.habits.undo_reopens:
            self.flush(uri)
            self.emit(Closed(uri))
            self.opened(self.documents[uri])

    def _is_clean(self, uri: str) -> None:
        buffer = self.documents[uri]
        assert isinstance(buffer, FakeBuffer)
        buffer.clean_at = buffer.step

    def is_saving(self, uri: str) -> bool:
        """A save of the document runs, or has not been told yet."""
        return uri in self._saving

    def knows_disk(self, uri: str) -> None:
        """Whatever the disk says now is no reason not to save."""
        self._seen[uri] = self.files.read(uri)

    def has_seen(self, uri: str) -> bytes | None:
        """What it last saw the disk say."""
        return self._seen.get(uri)

    def saw(self, uri: str, data: bytes | None) -> None:
        """As `has_seen` gave it: it has not looked since."""
        self._seen[uri] = data

    def look_at_disk(self, only: str | None = None) -> None:
        """Triggered by a file watcher or by the user's return to the window: reloads clean documents, or one (its URI)."""
        if self.habits.reloads is None:
            return
        for uri in [*self.documents] if only is None else [only]:
            self.later(self.habits.reloads, lambda uri=uri: self._reload_if_clean(uri))

    def _reload_if_clean(self, uri: str) -> None:
        """Not after its own save: it knows what that has put there."""
        buffer = self.documents.get(uri)
        is_known = self.files.read(uri) == self._seen.get(uri)
        if isinstance(buffer, FakeBuffer) and not buffer.is_edited and not is_known:
            self.reload(uri)


def _end_told_apart(text: str, splices: Sequence[Splice]) -> str:
    """Separates the final line end, if the last of `splices` removes whole lines up to it."""
    last = max(splices, default=Splice(0, 0, ""))
    end = next((end for end in ("\r\n", "\n") if text.endswith(end)), "")
    takes = not last.new and last.end == len(text) and 0 < last.start <= len(text) - len(end)
    return end if takes and text[last.start - 1] == "\n" else ""


def _codec(data: bytes, unmarked: str) -> str:
    """The codec that the mark says; `unmarked` without a mark."""
    marks = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
    return next((codec for mark, codec in marks.items() if data.startswith(mark)), unmarked)
