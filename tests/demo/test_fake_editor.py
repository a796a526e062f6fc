"""The fake editor does what its habits say: one test a habit, in virtual time, with the real overlay listening."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.coordinates import TextEdit
from sidecar.core.overlay import Modification, Overlay
from sidecar.core.text import Position
from sidecar.core.uri import normalise
from sidecar.demo.model import Answer, WorkspaceEdit
from sidecar.workspace.ports.ports import DocumentEdit, EditAnswer, EditorGone, Option, Question, Reloaded
from tests.support import editor_time
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import EDITORS, NEOVIM, NEVER, WELL_BEHAVED, Habits
from tests.support.editor_wire import FakeWireEditor

NAME = "a.txt"
STUB = [sys.executable, str(Path(__file__).with_name("stub_server.py"))]


class Memory:
    """Files that exist only here."""

    def __init__(self, **files: bytes) -> None:
        self.files = {f"file:///w/{name.replace('_', '.')}": data for name, data in files.items()}

    def read(self, uri: str) -> bytes | None:
        return self.files.get(uri)

    def write(self, uri: str, data: bytes) -> None:
        self.files[uri] = data


class Desk:
    """A fake editor with one file, and a mirror of it."""

    def __init__(self, habits: Habits, text: bytes = b"one\ntwo\n", **more: Any) -> None:
        self.disk = Memory(a_txt=text)
        self.editor = FakeEditor(habits, "/w", files=self.disk, **more)
        self.overlay = Overlay(self.editor.capabilities.encoding)
        self.overlay.lf_lines = self.editor.capabilities.lf_lines
        self.overlay.in_any_order = self.editor.capabilities.in_any_order
        self.notes: list[str] = []
        self.editor.attach(self._apply)

    def _apply(self, modification: Modification) -> None:
        note = self.overlay.apply(modification).note
        if note:
            self.notes.append(note)

    @property
    def mirror(self) -> str | None:
        document = self.overlay.get(normalise(self.editor.uri(NAME)))
        return None if document is None or document.desynchronised else str(document.snapshot())

    @property
    def version(self) -> int:
        document = self.overlay.get(normalise(self.editor.uri(NAME)))
        return 0 if document is None else document.version

    def put(self, start: int, end: int, new: str, **more: Any) -> Awaitable[EditAnswer]:
        """applyEdit computed on the mirror, as the workspace does."""
        document = self.overlay.get(normalise(self.editor.uri(NAME)))
        encoding = self.editor.capabilities.encoding
        if document is None:
            where = Position(0, start), Position(0, end)
        else:
            text = document.snapshot()
            where = text.position_at(start, encoding), text.position_at(end, encoding)
        edit = DocumentEdit(
            self.editor.uri(NAME), more.get("version", self.version), (TextEdit(*where, new),)
        )
        return self.editor.apply_edit("edit", edit)

    @property
    def told(self) -> list[str]:
        return [modification.action.name.lower() for modification in self.editor.modifications]


Scene = Callable[[Desk], Awaitable[None]]


def played(habits: Habits, scene: Scene, **more: Any) -> Desk:
    async def main() -> Desk:
        desk = Desk(habits, **more)
        await scene(desk)
        return desk

    return editor_time.run(main())


def test_virtual_time() -> None:
    async def main() -> float:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asyncio.sleep, 3600)
            with anyio.move_on_after(1800):
                await anyio.sleep_forever()
            assert anyio.current_time() == pytest.approx(1800)
            assert await anyio.to_thread.run_sync(lambda: "from a thread") == "from a thread"
        return anyio.current_time()

    assert editor_time.run(main()) == pytest.approx(3600)


def test_waiting_for_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(editor_time, "PATIENCE", 0.01)
    with pytest.raises(editor_time.Stuck, match="nothing comes from outside"):
        editor_time.run(anyio.sleep_forever())


def test_a_thread_that_takes_too_long_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(editor_time, "PATIENCE", 0.01)
    with pytest.raises(editor_time.Stuck, match="a thread has worked"):
        editor_time.run(anyio.to_thread.run_sync(time.sleep, 0.3))


def test_the_well_behaved_one() -> None:
    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        desk.editor.types(NAME, "zero\n", at=0)
        assert desk.mirror == "zero\none\ntwo\n"
        answer = desk.put(5, 8, "1")
        assert desk.editor.text(NAME) == "zero\none\ntwo\n", "sent, not there yet"
        assert await answer == await answer == EditAnswer(True)
        assert desk.mirror == desk.editor.text(NAME) == "zero\n1\ntwo\n"
        desk.editor.undoes(NAME)
        assert desk.mirror == "zero\none\ntwo\n"
        assert not (await desk.put(0, 0, "x", version=1)).applied
        assert desk.editor.saves(NAME)
        desk.editor.closes(NAME)
        assert desk.mirror is None

    desk = played(WELL_BEHAVED, scene)
    assert desk.told == ["open", "change", "change", "change", "save", "close"]
    assert desk.notes == []
    assert desk.disk.files["file:///w/a.txt"] == b"zero\none\ntwo\n"


def test_lag() -> None:
    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        for character in "abc":
            desk.editor.types(NAME, character)
            await anyio.sleep(0.04)
        assert desk.told == ["open"]
        await anyio.sleep(0.05)
        assert desk.told == ["open", "change"]
        assert desk.mirror == "abcone\ntwo\n"
        desk.editor.types(NAME, "d")
        assert await desk.editor.save(desk.editor.uri(NAME), 5)

    desk = played(Habits(lag=0.15), scene)
    assert desk.told == ["open", "change", "change", "save"]


def test_lag_that_restarts() -> None:
    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        for character in "abcdef":
            desk.editor.types(NAME, character)
            await anyio.sleep(0.4)
        assert desk.told == ["open"]
        await anyio.sleep(0.2)
        assert desk.told == ["open", "change"]

    played(Habits(lag=0.5, lag_restarts=True), scene)


@pytest.mark.parametrize(
    ("habits", "at_answer"),
    [
        (Habits(order="change first"), "1ne\ntwo\n"),
        (Habits(order="answer first"), "one\ntwo\n"),
        (Habits(order="answer first", lag=0.5), "one\ntwo\n"),
        (Habits(order="change first", lag=0.5), "1ne\ntwo\n"),
        (Habits(order="change first", answers_after=9.0), "1ne\ntwo\n"),
        (Habits(order="answer first", answers_after=9.0), "1ne\ntwo\n"),
    ],
)
def test_order(monkeypatch: pytest.MonkeyPatch, habits: Habits, at_answer: str) -> None:
    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        take = desk.editor.model.request_edit
        seen: list[str | None] = []

        def watched(edit: WorkspaceEdit, reply: Callable[[Answer], None]) -> None:
            def heard(answer: Answer) -> None:
                seen.append(desk.mirror)
                reply(answer)

            take(edit, heard)

        monkeypatch.setattr(desk.editor.model, "request_edit", watched)
        assert (await desk.put(0, 1, "1")).applied
        assert seen == [at_answer]
        await anyio.sleep(1)
        assert desk.mirror == "1ne\ntwo\n"

    played(habits, scene)


@pytest.mark.parametrize(
    ("habits", "answer", "text"),
    [
        (Habits(), EditAnswer(False), "zone\n"),
        (Habits(stale_reason="outdated"), EditAnswer(False, "outdated"), "zone\n"),
        (Habits(stale="true"), EditAnswer(True), "zone\n"),
        (Habits(stale="error"), EditAnswer(False, "edits on version mismatch"), "zone\n"),
        (Habits(stale="misapplied"), EditAnswer(True), "1one\n"),
        (Habits(unchecked=frozenset({1})), EditAnswer(True), "1one\n"),
        (Habits(refuses=True), EditAnswer(False), "zone\n"),
        (Habits(lag=0.5, version_when_told=True), EditAnswer(True), "1one\n"),
        (Habits(lag=0.5, version_when_told=True, told_before_edit=True), EditAnswer(False), "zone\n"),
    ],
)
def test_stale_edits(habits: Habits, answer: EditAnswer, text: str) -> None:
    """The user types in the moment in which the edit is under way."""

    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        sent = desk.put(0, 1, "1")
        desk.editor.types(NAME, "z", at=0)
        assert await sent == answer
        assert desk.editor.text(NAME) == text
        await anyio.sleep(1)
        assert desk.mirror == text

    played(habits, scene, text=b"one\n")


def test_version_numbers() -> None:
    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        desk.editor.types(NAME, "a")
        desk.editor.types(NAME, "b")

    desk = played(Habits(first_version=0, version_step=3), scene)
    assert [modification.version for modification in desk.editor.modifications] == [0, 3, 6]


def test_neovim_and_its_version_0() -> None:
    """The door sends 1 instead: accepted while nothing was typed, refused afterwards (although the answer is `true`)."""

    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        assert (await desk.put(0, 0, "a")).applied
        await anyio.sleep(1)
        assert desk.mirror == "aone\ntwo\n"
        desk.editor.closes(NAME)
        desk.editor.opens(NAME)
        sent = desk.put(0, 0, "x")
        desk.editor.types(NAME, "y")
        assert (await sent).applied
        await anyio.sleep(1)
        assert desk.mirror == "yone\ntwo\n"

    played(NEOVIM, scene)


def test_an_edit_that_changes_nothing() -> None:
    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        assert (await desk.put(0, 1, "o")).applied

    desk = played(WELL_BEHAVED, scene)
    assert desk.told == ["open"]


@pytest.mark.parametrize(("field", "text"), [("thinks", "one\ntwo\n"), ("answers_after", "1ne\ntwo\n")])
@pytest.mark.parametrize("seconds", [61.0, NEVER])
def test_late_answers(field: str, text: str, seconds: float) -> None:
    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        answer = desk.put(0, 1, "1")
        for _ in range(2):
            with anyio.move_on_after(30) as gave_up:
                await answer
            assert gave_up.cancelled_caught
            assert desk.mirror == text
        if seconds == NEVER:
            desk.editor.disconnects()
            with pytest.raises(EditorGone):
                await answer
        else:
            assert (await answer).applied
            assert anyio.current_time() == pytest.approx(61)
            assert desk.mirror == "1ne\ntwo\n"

    played(replace(WELL_BEHAVED, **{field: seconds}), scene)


def test_full_text() -> None:
    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        desk.editor.types(NAME, "z")
        assert desk.mirror == "zone\ntwo\n"

    desk = played(Habits(full_text=True), scene)
    assert desk.editor.modifications[-1].changes[0].range is None


@pytest.mark.parametrize(
    ("unopened", "told", "mirror"),
    [
        ("hidden", ["open", "change"], "1one\ntwo\n"),
        ("twice", ["open", "open", "change"], "1one\ntwo\n"),
        ("change first", ["change", "open"], "1one\ntwo\n"),
        ("untold", [], None),
        ("refused", [], None),
    ],
)
def test_documents_that_are_not_open(unopened: Any, told: list[str], mirror: str | None) -> None:
    async def scene(desk: Desk) -> None:
        answer = await desk.put(0, 0, "1", version=7)
        assert answer.applied is (unopened != "refused")
        assert desk.told == told
        assert desk.mirror == mirror
        if unopened != "refused":
            desk.editor.opens(NAME)
            assert desk.mirror == desk.editor.text(NAME) == "1one\ntwo\n"
            assert desk.editor.saves(NAME)

    desk = played(Habits(unopened=unopened), scene)
    assert desk.told.count("save") == (0 if unopened == "refused" else 1)


@pytest.mark.parametrize("editor", ["vscode", "neovim", "helix", "lsp-mode", "eglot 1.17", "kate"])
def test_creating_files(editor: str, tmp_path: Path) -> None:
    async def main() -> None:
        fake = FakeEditor(replace(EDITORS[editor], thinks=0.0), tmp_path)
        uri = fake.uri("new.txt")
        edit = DocumentEdit(uri, None, (TextEdit(Position(0, 0), Position(0, 0), "text\n"),), create=True)
        answer = await fake.apply_edit("create", edit)
        await anyio.sleep(1)
        assert answer.applied is (editor not in ("eglot 1.17", "kate"))
        assert (tmp_path / "new.txt").exists() is answer.applied
        if answer.applied:
            assert (tmp_path / "new.txt").read_bytes() == b"", "nothing is saved unasked"
            assert fake.text(uri) == "text\n"

    editor_time.run(main())


@pytest.mark.parametrize(
    ("line_ends", "disk", "text", "typed_and_put", "saved"),
    [
        ("raw", "a\r\nb\n", "a\r\nb\n", "1\r\n2\na\r\nb\n", "1\r\n2\na\r\nb\n"),
        (
            "majority",
            "a\r\nb\r\nc\n",
            "a\r\nb\r\nc\r\n",
            "1\r\n2\r\na\r\nb\r\nc\r\n",
            "1\r\n2\r\na\r\nb\r\nc\r\n",
        ),
        ("majority", "a\r\nb\n", "a\nb\n", "1\n2\na\nb\n", "1\n2\na\nb\n"),
        ("unanimous", "a\r\nb\r\n", "a\r\nb\r\n", "1\r\n2\r\na\r\nb\r\n", "1\r\n2\r\na\r\nb\r\n"),
        ("unanimous", "a\r\nb\n", "a\r\nb\n", "1\n2\na\r\nb\n", "1\n2\na\r\nb\n"),
        ("lf", "a\r\nb\r\n", "a\nb\n", "1\r\n2\na\nb\n", "1\r\r\n2\r\na\r\nb\r\n"),
        ("lf", "a\r\nb\n", "a\r\nb\n", "1\r\n2\na\r\nb\n", "1\r\n2\na\r\nb\n"),
    ],
)
def test_line_ends(line_ends: Any, disk: str, text: str, typed_and_put: str, saved: str) -> None:
    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        assert desk.mirror == text
        assert (await desk.put(0, 0, "1\r\n2\n")).applied
        assert desk.mirror == desk.editor.text(NAME) == typed_and_put
        assert desk.editor.saves(NAME)

    desk = played(Habits(line_ends=line_ends), scene, text=disk.encode())
    assert desk.disk.files["file:///w/a.txt"] == saved.encode()


@pytest.mark.parametrize("line_ends", ["raw", "majority", "unanimous"])
def test_kept_text_has_its_line_ends_also_if_the_file_is_gone(line_ends: Any) -> None:
    """(keeper seed 4167)"""

    async def scene(desk: Desk) -> None:
        del desk.disk.files["file:///w/a.txt"]
        buffer = desk.editor.opens(NAME)
        desk.editor.model.has_kept(buffer.uri, "a\r\nb\r\n")
        desk.editor.types(NAME, "1\r\n", at=0)
        assert desk.editor.text(NAME) == "1\r\na\r\nb\r\n"

    played(Habits(line_ends=line_ends), scene)


@pytest.mark.parametrize(("keeps", "text"), [(False, "a"), (True, "\ufeffa")])
def test_byte_order_mark(keeps: bool, text: str) -> None:
    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        assert desk.mirror == text
        desk.editor.types(NAME, "b", at=len(text))
        assert desk.editor.saves(NAME)

    desk = played(Habits(keeps_bom=keeps), scene, text=b"\xef\xbb\xbfa")
    assert desk.disk.files["file:///w/a.txt"] == b"\xef\xbb\xbfab"


@pytest.mark.parametrize(
    ("joins", "after_undo"),
    [("", "typed EDIT"), ("earlier", "typed EDIT"), ("later", "typed "), ("both", "")],
)
def test_undo_that_takes_typing_along(joins: Any, after_undo: str) -> None:
    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        desk.editor.types(NAME, "typed ")
        assert (await desk.put(6, 6, "EDIT")).applied
        desk.editor.buffer(NAME).caret = 10
        desk.editor.types(NAME, " more")
        desk.editor.undoes(NAME)
        assert desk.mirror == after_undo
        if joins == "earlier":
            desk.editor.undoes(NAME)
            assert desk.mirror == ""

    played(Habits(undo_joins=joins), scene, text=b"")


def test_save_participants_are_a_step_of_their_own() -> None:
    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        assert (await desk.put(0, 0, "x  \n")).applied
        assert await desk.editor.save(desk.editor.uri(NAME), 2)
        assert desk.mirror == "x\none\ntwo\n"
        desk.editor.undoes(NAME)
        assert desk.mirror == "x  \none\ntwo\n"
        desk.editor.undoes(NAME)
        assert desk.mirror == "one\ntwo\n"

    desk = played(Habits(on_save=lambda text: text.replace("  \n", "\n")), scene)
    assert desk.disk.files["file:///w/a.txt"] == b"x\none\ntwo\n"
    assert desk.told == ["open", "change", "change", "save", "change", "change"]


@pytest.mark.parametrize(
    ("fails", "changed", "saved"), [("always", False, False), ("newer", False, True), ("newer", True, False)]
)
def test_saves_that_fail(fails: Any, changed: bool, saved: bool) -> None:
    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        desk.editor.types(NAME, "x")
        if changed:
            desk.disk.files["file:///w/a.txt"] = b"by somebody else"
        assert (await desk.editor.save(desk.editor.uri(NAME), 2)).saved is saved
        assert not (await desk.editor.save(desk.editor.uri(NAME), 1)).saved, "another version"

    played(Habits(save_fails=fails), scene)


@pytest.mark.parametrize(
    ("reloads", "dirty", "text"),
    [(0.2, False, "new\n"), (0.2, True, "xone\ntwo\n"), (None, False, "one\ntwo\n")],
)
def test_reloading_what_changed_on_disk(reloads: float | None, dirty: bool, text: str) -> None:
    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        if dirty:
            desk.editor.types(NAME, "x")
        desk.disk.files["file:///w/a.txt"] = b"new\n"
        desk.editor.looks_at_disk()
        await anyio.sleep(1)
        assert desk.mirror == text

    played(Habits(reloads=reloads), scene)


@pytest.mark.parametrize(("undone", "text"), [(True, "new\n"), (False, "one\ntwo\n")])
def test_only_undo_leads_back_to_what_was_saved(undone: bool, text: str) -> None:
    """Another edit may lead to the same text: that is unsaved work."""

    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        desk.editor.types(NAME, "x")
        if undone:
            desk.editor.undoes(NAME)
        else:
            desk.editor.replaces(NAME, "xone", "one")
        desk.disk.files["file:///w/a.txt"] = b"new\n"
        desk.editor.looks_at_disk()
        await anyio.sleep(1)
        assert desk.mirror == text

    played(Habits(reloads=0.2), scene)


def test_typing_goes_on_after_a_reload_that_took_the_final_line_end() -> None:
    """The caret stands at the end of the text, and stays within it: a reload that sets the final line end moves it like every other change."""

    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        desk.editor.types(NAME, "x", at=5)
        desk.editor.saves(NAME)
        for data in (b"new\n", b"new"):
            desk.disk.files["file:///w/a.txt"] = data
            desk.editor.looks_at_disk()
            await anyio.sleep(1)
        desk.editor.types(NAME, "y")
        await anyio.sleep(1)
        assert desk.mirror == desk.editor.text(NAME) == "newy"

    played(replace(NEOVIM, reloads=0.2), scene)


def test_the_document_is_closed_when_the_edit_arrives() -> None:
    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        desk.editor.types(NAME, "lost")
        assert (await desk.put(0, 0, "x")).applied
        assert desk.mirror == "xone\ntwo\n"

    desk = played(Habits(closes_first=True), scene)
    assert desk.told == ["open", "change", "close", "open", "change"]


def test_text_past_the_end() -> None:
    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        assert (await desk.put(8, 8, "three\n")).applied
        assert desk.mirror == "one\ntwo\nthree\n\n"

    played(Habits(blank_line_past_end=True), scene)


def test_characters_counted_otherwise_than_agreed() -> None:
    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        desk.editor.types(NAME, "x", at=2)
        assert desk.editor.text(NAME) == "🙂ax\n"
        assert desk.mirror == "🙂xa\n"

    played(Habits(counts="utf-32"), scene, text="🙂a\n".encode())


def test_the_sidecars_own_requests() -> None:
    async def scene(desk: Desk) -> None:
        uri = desk.editor.uri(NAME)
        assert await desk.editor.open(uri) == 1
        assert await desk.editor.open(uri) == 1
        desk.editor.types(NAME, "x")
        desk.disk.files[uri] = b"new\n"
        edits = (TextEdit(Position(0, 0), Position(0, 0), "x"),)
        assert await desk.editor.reload(uri, 1, edits) == "version"
        assert await desk.editor.reload(uri, 2, edits) == Reloaded(4)
        assert desk.mirror == "xnew\n"
        await desk.editor.close(uri)
        assert desk.mirror == "xnew\n", "unsaved: stays"
        assert desk.editor.saves(NAME)
        await desk.editor.close(uri)
        assert desk.mirror is None
        assert await desk.editor.reload(uri, 4, edits) == "not-active"
        question = Question("1", "s", "write", "May it?", (Option("y", "allow_once", "Yes"),))
        assert await desk.editor.ask(question) == "y"
        desk.editor.answer = lambda question: anyio.sleep_forever()
        with anyio.move_on_after(5):
            await desk.editor.ask(question)
        assert desk.editor.withdrawn == [question]

    played(WELL_BEHAVED, scene, answer=lambda question: question.options[0].id)


@pytest.mark.parametrize("name", EDITORS)
@given(data=st.data())
def test_the_mirror_follows_every_editor(name: str, data: st.DataObject) -> None:
    """Whatever is typed, put, undone and saved: when all is told, the server has the editor's text. (lsp-mode counts code
    points, so there is nothing beyond the basic plane for it.)"""
    alphabet = "ab\n" + ("" if name == "lsp-mode" else "🙂") + ("" if name in ("kate",) else "é")
    texts = st.text(alphabet=alphabet, max_size=4)
    steps = data.draw(
        st.lists(st.sampled_from(["type", "put", "undo", "redo", "save", "wait", "close"]), max_size=8)
    )

    async def scene(desk: Desk) -> None:
        desk.editor.opens(NAME)
        for step in steps:
            size = len(desk.editor.text(NAME))
            match step:
                case "type":
                    desk.editor.types(NAME, data.draw(texts), at=data.draw(st.integers(0, size)))
                case "put" if desk.mirror is not None:
                    length = len(desk.mirror)
                    start = data.draw(st.integers(0, length))
                    await desk.put(start, data.draw(st.integers(start, length)), data.draw(texts))
                case "undo":
                    desk.editor.undoes(NAME)
                case "redo":
                    desk.editor.redoes(NAME)
                case "save":
                    desk.editor.saves(NAME)
                case "close":
                    desk.editor.closes(NAME)
                    desk.editor.opens(NAME)
                case _:
                    await anyio.sleep(0.3)
        await anyio.sleep(5)
        assert desk.mirror == desk.editor.text(NAME)
        assert desk.notes == []

    played(
        EDITORS[name],
        scene,
        seed=data.draw(st.integers(0, 9)),
        text=data.draw(st.sampled_from([b"", b"a\r\nb\r\n", b"x\ny"])),
    )


@pytest.mark.parametrize("name", EDITORS)
async def test_over_real_pipes(name: str, tmp_path: Path) -> None:
    """The same habits behind the wire: what it announces, and that a server can follow it."""
    (tmp_path / NAME).write_bytes(b"one\r\ntwo\r\n")
    habits = replace(EDITORS[name], thinks=0.0)
    async with FakeWireEditor(STUB, tmp_path, habits) as editor:
        params = editor.server["initialized with"]
        assert params.get("clientInfo", {"name": ""})["name"] == habits.client
        assert params["capabilities"].get("general", {"positionEncodings": []})["positionEncodings"] == [
            *habits.encodings
        ]
        buffer = editor.open(tmp_path / NAME)
        editor.type(buffer.uri, "zero\n")
        mirror = await editor.execute("mirror", buffer.uri)
        assert mirror == {"version": buffer.version, "text": buffer.text}
        where = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
        document = {"uri": buffer.uri, "version": buffer.version}
        edit = {"documentChanges": [{"textDocument": document, "edits": [{"range": where, "newText": "Z"}]}]}
        answer = await editor.execute("ask", "workspace/applyEdit", {"edit": edit})
        assert answer["result"]["applied"] is not habits.refuses
        mirror = await editor.execute("mirror", buffer.uri)
        assert mirror == {"version": buffer.version, "text": buffer.text}
        assert buffer.text.startswith("zero" if habits.refuses else "Zero")
