"""The headless editor over real pipes, against a stub server: what it tells, what it answers, how it ends."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sidecar.demo.buffer import Encoding, Splice
from sidecar.demo.editor import ALL_CUSTOM, HeadlessEditor
from sidecar.demo.model import path_of, uri_of
from sidecar.demo.wire import ErrorAnswer, Gone, Silence

STUB = [sys.executable, str(Path(__file__).with_name("stub_server.py"))]


def place(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}


def edit(start: tuple[int, int], end: tuple[int, int], text: str) -> dict[str, Any]:
    return {"range": {"start": place(*start), "end": place(*end)}, "newText": text}


def document_edit(uri: str, version: int | None, *edits: dict[str, Any]) -> dict[str, Any]:
    return {"textDocument": {"uri": uri, "version": version}, "edits": list(edits)}


async def ask(editor: HeadlessEditor, method: str, params: dict[str, Any]) -> Any:
    answer = await editor.execute("ask", method, params)
    return answer.get("error") or answer["result"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_the_server_follows_every_change(tmp_path: Path, encoding: Encoding) -> None:
    seeded = random.Random(7)
    path = tmp_path / "naïve file.py"
    path.write_bytes("eins\r\nzwei 🙂\n".encode())
    async with HeadlessEditor(STUB, tmp_path, encodings=[encoding]) as editor:
        buffer = editor.open(path)
        for _ in range(60):
            match seeded.randrange(5):
                case 0:
                    editor.undo(path)
                case 1:
                    editor.redo(path)
                case _:
                    marks = sorted(seeded.randrange(len(buffer.text) + 1) for _ in range(4))
                    news = ["".join(seeded.choices("ab\n\r🙂é", k=seeded.randrange(4))) for _ in range(2)]
                    splices = [Splice(marks[0], marks[1], news[0]), Splice(marks[2], marks[3], news[1])]
                    editor.model.changed(buffer, buffer.edit(splices, "edit"))
            mirror = await editor.execute("mirror", buffer.uri)
            assert mirror == {"version": buffer.version, "text": buffer.text}
    assert path.read_bytes() == "eins\r\nzwei 🙂\n".encode()


async def test_an_edit_arrives_as_one_step(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntwo\n")
    async with HeadlessEditor(STUB, tmp_path) as editor:
        buffer = editor.open(path)
        editor.type(path, "zero\n")
        edits = [edit((0, 0), (0, 4), "0"), edit((2, 3), (2, 3), "!")]
        answer = await ask(
            editor,
            "workspace/applyEdit",
            {"label": "agent", "edit": {"documentChanges": [document_edit(buffer.uri, 2, *edits)]}},
        )
        assert answer == {"applied": True}
        assert buffer.text == "0\none\ntwo!\n"
        assert await editor.execute("mirror", buffer.uri) == {"version": 3, "text": buffer.text}
        step = editor.undo(path)
        assert step is not None
        assert (step.label, step.before, buffer.text) == ("agent", "zero\none\ntwo\n", "zero\none\ntwo\n")
        assert buffer.dirty
        assert path.read_bytes() == b"one\ntwo\n"
        assert editor.save(path)
        assert not buffer.dirty
        assert path.read_bytes() == b"zero\none\ntwo\n"


async def test_a_stale_version_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n")
    async with HeadlessEditor(STUB, tmp_path) as editor:
        buffer = editor.open(path)
        changes = [
            document_edit(uri_of(tmp_path / "b.txt"), None),
            document_edit(buffer.uri, 7, edit((0, 0), (0, 1), "")),
        ]
        answer = await ask(editor, "workspace/applyEdit", {"edit": {"documentChanges": changes}})
        assert answer == {
            "applied": False,
            "failureReason": "the document is at version 1, the edit is for 7",
        }
        assert [*editor.model.documents] == [buffer.uri]


async def test_create_and_edit_a_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"
    uri = uri_of(path)
    async with HeadlessEditor(STUB, tmp_path) as editor:
        changes = [{"kind": "create", "uri": uri}, document_edit(uri, None, edit((0, 0), (0, 0), "text\n"))]
        assert await ask(editor, "workspace/applyEdit", {"edit": {"documentChanges": changes}}) == {
            "applied": True
        }
        assert path.read_bytes() == b""
        assert await editor.execute("mirror", uri) == {"version": 2, "text": "text\n"}
        assert editor.document(path).hidden
        answer = await ask(editor, "workspace/applyEdit", {"edit": {"documentChanges": [{"kind": "delete"}]}})
        assert answer["code"] == -32603


async def test_the_sidecars_own_requests(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\n")
    uri = uri_of(path)
    async with HeadlessEditor(STUB, tmp_path, options={"client": ALL_CUSTOM}) as editor:
        assert editor.server["initialized with"]["initializationOptions"] == {"client": ALL_CUSTOM}
        assert await ask(editor, "sidecar/open", {"uri": uri}) == {"version": 1}
        buffer = editor.document(path)
        assert (buffer.text, buffer.hidden) == ("one\n", True)
        editor.type(path, "two\n", at=4)
        assert await ask(editor, "sidecar/save", {"uri": uri, "version": 1}) == {"saved": False}
        assert await ask(editor, "sidecar/save", {"uri": uri, "version": 2}) == {"saved": True}
        assert path.read_bytes() == b"\xef\xbb\xbfone\ntwo\n"
        path.write_bytes(b"other\n")
        reload = {"uri": uri, "version": 1, "edits": [edit((1, 0), (1, 0), "two\n")]}
        assert await ask(editor, "sidecar/reload", reload) == {"refused": "version"}
        assert await ask(editor, "sidecar/reload", {**reload, "version": 2}) == {"version": 4}
        assert (buffer.text, buffer.saved) == ("other\ntwo\n", "other\n")
        editor.undo(path)
        editor.undo(path)
        assert buffer.text == "one\ntwo\n"
        assert await ask(editor, "sidecar/close", {"uri": uri}) is None
        assert [*editor.model.documents] == [uri], "unsaved"
        assert editor.save(path)
        assert await ask(editor, "sidecar/close", {"uri": uri}) is None
        assert editor.model.documents == {}, "hidden and clean"
        editor.open(path)
        assert await ask(editor, "sidecar/close", {"uri": uri}) is None
        assert [*editor.model.documents] == [uri], "the user looks at it"
        assert (await ask(editor, "sidecar/unheard-of", {}))["code"] == -32601


async def test_the_caret_stays_where_the_user_types_when_a_file_is_taken_from_the_disk(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\nthree\n")
    async with HeadlessEditor(STUB, tmp_path, options={"client": ALL_CUSTOM}) as editor:
        buffer = editor.open(path)
        editor.type(path, "typed ", at=4)
        path.write_text("zero\none\ntwo\nTHREE\n")
        reload = {"uri": buffer.uri, "version": 2, "edits": [edit((2, 0), (2, 0), "typed ")]}
        await ask(editor, "sidecar/reload", reload)
        editor.type(path, "on ")
        assert buffer.text == "zero\none\ntyped on two\nTHREE\n"


class NeverAnswers(HeadlessEditor):
    def ask(self, params: dict[str, Any]) -> object:
        self.asked = asyncio.get_running_loop().create_future()
        return self.asked


async def test_a_question_that_is_withdrawn_at_once_is_answered_and_ended(tmp_path: Path) -> None:
    """In one write with the question, so that nothing has begun to wait for its answer."""
    async with NeverAnswers(STUB, tmp_path) as editor:
        answer = await editor.execute("withdraw", "window/showMessageRequest", {"type": 3, "message": "So?"})
        assert answer["error"]["code"] == -32800
        assert editor.asked.cancelled()


async def test_questions_and_what_is_told(tmp_path: Path) -> None:
    def answer(text: str, titles: Sequence[str]) -> str | None:
        return titles[-1] if titles else None

    async with HeadlessEditor(STUB, tmp_path, answer=answer) as editor:
        question = {"type": 3, "message": "May it?", "actions": [{"title": "No"}, {"title": "Yes"}]}
        assert await ask(editor, "window/showMessageRequest", question) == {"title": "Yes"}
        assert await ask(editor, "window/showMessageRequest", {"type": 3, "message": "So?"}) is None
        assert [asked.chosen for asked in editor.questions] == ["Yes", None]
        assert await ask(editor, "workspace/configuration", {"items": [{"section": "sidecar"}, {}]}) == [
            {},
            None,
        ]
        await editor.execute("tell", "window/showMessage", {"type": 2, "message": "careful"})
        await editor.execute("tell", "sidecar/sessionUpdate", {"sessionId": "s", "update": {"x": 1}})
        await editor.execute("tell", "sidecar/agentState", {"agent": "a"})
        await editor.wait_for(lambda: editor.notifications)
        assert editor.messages == [(2, "careful")]
        assert editor.updates == [("s", {"x": 1})]
        assert editor.notifications == [("sidecar/agentState", {"agent": "a"})]
        with pytest.raises(ErrorAnswer, match="no command dance"):
            await editor.execute("dance")
        with pytest.raises(Silence):
            await editor.wait_for(lambda: False, timeout=0.01)


@pytest.mark.parametrize(("command", "words"), [("die", "last words: why I died"), ("garbage", "not LSP")])
async def test_a_server_that_fails_is_noticed(tmp_path: Path, command: str, words: str) -> None:
    async with HeadlessEditor(STUB, tmp_path) as editor:
        with pytest.raises(Gone, match=words):
            await editor.execute(command)
        with pytest.raises(Gone):
            await editor.wait_for(lambda: False)


async def test_a_server_that_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(Gone):
        async with HeadlessEditor([sys.executable, "-c", "raise SystemExit(1)"], tmp_path):
            pass


async def test_the_pipes_of_a_server_that_fails_are_closed(tmp_path: Path) -> None:
    """Also when their end comes late, as that of a process which the server leaves behind."""
    lingers = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1.5)'], stdout=-3); sys.exit(1)"
    editor = HeadlessEditor([sys.executable, "-c", lingers], tmp_path)
    with pytest.raises(Gone):
        async with editor:
            pass
    assert editor._process is not None
    assert editor._process.stderr is not None
    assert editor._process.stderr.at_eof()


@pytest.mark.skipif(sys.platform == "win32", reason="file names are text there")
def test_names_that_are_not_utf_8_survive(tmp_path: Path) -> None:
    name = str(tmp_path / "\udcff%20 #?.py")
    assert path_of(uri_of(name)) == name
