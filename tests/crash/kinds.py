"""Kinds of writes that a process may die in: what is there before, the write itself, and what is to be there after it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sidecar.core.overlay import ContentChange, Modification, Notified
from sidecar.core.text import Encoding, Range
from sidecar.core.uri import from_path
from sidecar.journal import SqliteJournal, Store
from sidecar.journal.entry import Entry
from sidecar.recovery.revert import new_session, revert
from sidecar.workspace.ports.ports import DocumentEdit, EditAnswer, Saved
from sidecar.workspace.review.review import Selector
from tests.crash.steps import Steps
from tests.support.workspaces import Bench, QuietEditor, a_workspace

OLD = "".join(f"line {i}\n" for i in range(1, 40))
NEW = OLD.replace("line 7\n", "line seven\nand a half\n").replace("line 30\n", "")
NEWER = NEW.replace("line 12\n", "line twelve\n")
NAME = "a.txt"


@dataclass(frozen=True)
class Kind:
    """One row of the matrix. Texts are the editor's with `through_editor`, else the file's."""

    before: str | None
    """None: there is no file."""
    after: str | None
    run: Callable[[Path, Path, Steps], Awaitable[None]]
    name: str = NAME
    others: tuple[str, ...] = ()
    """More files, with the same texts, of which the same is done at the same time."""
    hard_link: bool = False
    through_editor: bool = False
    """The text is in the editor's buffer, which outlives the sidecar, whether it was saved or not."""
    on_disk: str | None = None
    """What the file says at first, where that is not `before`: it must be found afterwards too."""
    takes_back: tuple[str | None, str | None] | None = None
    """Texts of the write, journalled and done before, that this one takes back."""

    def prepare(self, folder: Path, journal: Path) -> None:
        folder.mkdir()
        text = self.before if self.on_disk is None else self.on_disk
        if text is not None:
            for name in (self.name, *self.others):
                (folder / name).write_text(text)
        if self.hard_link:
            (folder / "other name").hardlink_to(folder / self.name)
        if self.takes_back is not None:
            with Store(journal) as store:
                store.finish(store.begin(an_entry(folder / self.name, *self.takes_back)), "done")


def an_entry(path: Path, before: str | None, after: str | None) -> Entry:
    return Entry(
        "session", "agent", 1, None, str(path.parent), str(path), before, after, "utf-8", b"", "disk"
    )


class KeptBuffer(QuietEditor):
    """An editor with one document. Its buffer is in a file of its own, since an editor outlives a sidecar that is killed."""

    def __init__(self, steps: Steps, buffer: Path, saves: Path) -> None:
        super().__init__(
            apply_edit=True, document_changes=True, save=True, encoding=Encoding.UTF_16, name="kept"
        )
        self.bench: Bench | None = None
        self._steps = steps
        self._buffer = buffer
        self._saves = saves
        self.version = 1

    def apply_edit(self, label: str, edit: DocumentEdit) -> Awaitable[EditAnswer]:
        return self._apply(edit)

    async def _apply(self, edit: DocumentEdit) -> EditAnswer:
        assert self.bench is not None
        self._steps.step("the editor has the edit")
        workspace = self.bench.workspace
        changes = tuple(ContentChange(Range(e.start, e.end), e.new_text) for e in reversed(edit.edits))
        self.version += 1
        workspace.apply(Modification(from_path(str(self._saves)), Notified.CHANGE, self.version, changes))
        self._steps.disarm()
        self._buffer.write_text(self.bench.text(NAME))
        self._steps.arm()
        self._steps.step("the editor applied it")
        return EditAnswer(True)

    async def save(self, client_uri: str, version: int, *, exact: bool = False) -> Saved:
        assert self.bench is not None
        self._steps.step("the editor saves")
        self._steps.disarm()  # its own way of saving is not ours to test
        self._saves.write_text(self._buffer.read_text())
        self.bench.workspace.apply(Modification(from_path(str(self._saves)), Notified.SAVE))
        self._steps.arm()
        self._steps.step("the editor saved")
        return Saved(True)


def agent_writes(*texts: str, name: str = NAME) -> Callable[[Path, Path, Steps], Awaitable[None]]:
    """An agent's writes to a file that the editor has not open."""

    async def run(folder: Path, journal: Path, steps: Steps) -> None:
        editor = QuietEditor()
        editor.answer = "allow"  # a file with two names is asked about
        async with (
            SqliteJournal.opened(journal) as opened,
            a_workspace(folder, editor, journal=opened) as bench,
        ):
            for number, text in enumerate(texts):
                if number == len(texts) - 1:
                    steps.arm()
                done = await bench.write(name, text)
                assert not hasattr(done, "kind"), done
            steps.note("answered")
            steps.step("the agent has its answer")
            steps.disarm()

    return run


def agent_writes_in_editor(typed: str = "") -> Callable[[Path, Path, Steps], Awaitable[None]]:
    """An agent's write to a document that is open, with unsaved text in front of it or not."""

    async def run(folder: Path, journal: Path, steps: Steps) -> None:
        editor = KeptBuffer(steps, folder.with_name("buffer"), folder / NAME)
        async with (
            SqliteJournal.opened(journal) as opened,
            a_workspace(folder, editor, journal=opened) as bench,
        ):
            editor.bench = bench
            bench.open(NAME, OLD)
            text = await bench.read(NAME)
            assert text == OLD
            if typed:
                editor.version = 2
                bench.type(NAME, 2, 0, 0, typed)
            editor._buffer.write_text(bench.text(NAME))
            steps.arm()
            done = await bench.write(NAME, NEW)
            assert not hasattr(done, "kind"), done
            steps.note("answered")
            steps.step("the agent has its answer")
            steps.disarm()

    return run


async def user_takes_back(folder: Path, journal: Path, steps: Steps) -> None:
    """`acp-sidecar revert` on the disk."""
    with Store(journal) as store:
        (write,) = store.entries()
        steps.arm()
        (result,) = revert(store, [write], new_session())
        assert not result.outcome.is_failure, result
        steps.note("answered")
        steps.step("the user has the answer")
        steps.disarm()


async def user_rejects(folder: Path, journal: Path, steps: Steps) -> None:
    """Reject all, of files that the editor has not open."""
    async with (
        SqliteJournal.opened(journal) as opened,
        a_workspace(folder, journal=opened) as bench,
    ):
        for name in (NAME, *OTHERS):
            done = await bench.write(name, NEW)
            assert not hasattr(done, "kind"), done
        steps.arm()
        result = await bench.workspace.review.reject(Selector(everything=True))
        assert not result.impossible, result
        steps.note("answered")
        steps.step("the user has the answer")
        steps.disarm()


OTHERS = ("b.txt", "c.txt")
TYPED = "typed and not saved\n"

KINDS: Mapping[str, Kind] = {
    "write a file": Kind(OLD, NEW, agent_writes(NEW)),
    "write it again": Kind(NEW, NEWER, agent_writes(NEW, NEWER), on_disk=OLD),
    "write a file with two names": Kind(OLD, NEW, agent_writes(NEW), hard_link=True),
    "make it longer in place": Kind("short\n", NEW, agent_writes(NEW), hard_link=True),
    "make it shorter in place": Kind(OLD, "short\n", agent_writes("short\n"), hard_link=True),
    "create a file": Kind(None, NEW, agent_writes(NEW, name="new/folder/a.txt"), name="new/folder/a.txt"),
    "write in the editor": Kind(OLD, NEW, agent_writes_in_editor(), through_editor=True),
    "write beside unsaved text": Kind(
        TYPED + OLD, TYPED + NEW, agent_writes_in_editor(TYPED), through_editor=True, on_disk=OLD
    ),
    "reject writes": Kind(NEW, OLD, user_rejects, others=OTHERS, on_disk=OLD),
    "revert a write": Kind(NEW, OLD, user_takes_back, takes_back=(OLD, NEW)),
    "revert in place": Kind(NEW, OLD, user_takes_back, takes_back=(OLD, NEW), hard_link=True),
    "revert a creation": Kind(NEW, None, user_takes_back, takes_back=(None, NEW)),
    "revert a removal": Kind(None, OLD, user_takes_back, takes_back=(OLD, None)),
}


def names(folder: Path) -> Sequence[str]:
    """Every file below, by its path."""
    return sorted(
        os.path.relpath(os.path.join(where, name), folder)
        for where, _, files in os.walk(folder)
        for name in files
    )
