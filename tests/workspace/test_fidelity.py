"""The bytes on the disk after an agent's edit of one line: the file's own, with that line changed.

Three ways lead to the disk: through a document that is open (over every editor's habits), through the editor for a file that is
not open, and without the editor. What an editor makes of a file when its own user changes that line and saves is its own doing
and the measure for the agent's edit; where that differs from the file's own bytes is listed in `EVENED_OUT`.
"""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from sidecar.core.refusal import Refusal
from sidecar.workspace.edits.write_task import WriteDone
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import EDITORS, Habits
from tests.support.editor_time import run
from tests.support.workspaces import Bench, QuietEditor, a_workspace


class Case(NamedTuple):
    data: bytes
    old: str
    """Once in the text, and replaced by `new`; empty: at the start."""
    new: str

    def edited(self, text: str) -> str:
        assert not self.old or text.count(self.old) == 1, "what the agent read is not what the file says"
        return text.replace(self.old, self.new, 1)

    @property
    def wanted(self) -> bytes:
        codec = next((c for mark, c in UTF_16.items() if self.data.startswith(mark)), "utf-8")
        return self.edited(self.data.decode(codec)).encode(codec)


UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def two(data: bytes) -> Case:
    return Case(data, "two", "TWO and äöü 🙂")


CASES = {
    "lf": two(b"one\ntwo\nthree\n"),
    "crlf": two(b"one\r\ntwo\r\nthree\r\n"),
    "cr": two(b"one\rtwo\rthree\r"),
    "mixed": two(b"one\r\ntwo\nthree\r\nfour\r\n"),
    "mixed, mostly lf": two(b"one\ntwo\r\nthree\nfour\n"),
    "bom": two(b"\xef\xbb\xbfone\ntwo\nthree\n"),
    "bom, crlf": two(b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n"),
    "first line with bom": Case(b"\xef\xbb\xbfone\ntwo\n", "one", "ONE"),
    "no final line end": two(b"one\ntwo\nthree"),
    "last line without an end": two(b"one\ntwo"),
    "no final line end, crlf": two(b"one\r\ntwo\r\nthree"),
    "blank lines at the end": two(b"one\ntwo\n\n\n"),
    "utf-16 le": two(codecs.BOM_UTF16_LE + "one\ntwo\nthree\n".encode("utf-16-le")),
    "utf-16 be, crlf": two(codecs.BOM_UTF16_BE + "one\r\ntwo\r\nthree 🙂\r\n".encode("utf-16-be")),
    "empty": Case(b"", "", "one\n"),
    "one line end": Case(b"\n", "", "one"),
    "one line end, crlf": Case(b"\r\n", "", "one"),
    "other separators": two("one\u2028\x0b\x0ctwo\x85three\n".encode()),
    "emoji and combining": two("🙂e\u0301 two 👩\u200d👩\u200d👧\n".encode()),
}
LONG = Case(b"x" * 5_000_000 + b" two " + b"y" * 5_000_000, "two", "TWO")
"""10 MB on one line."""

NO_END = ("no final line end", "last line without an end", "no final line end, crlf")
MISCOUNTED = {("lsp-mode", "emoji and combining")}
"""lsp-mode 8 counts code points where it agreed to UTF-16: behind an emoji, edits land beside their place, and it tells so."""
EVENED_OUT = {
    **{
        (editor, case): "one kind of line end"
        for editor in ("vscode",)
        for case in ("mixed", "mixed, mostly lf", "cr")
    },
    **{
        (editor, case): "saving ends the last line"
        for editor in EDITORS
        for case in NO_END
        if EDITORS[editor].final_end != "text"
    },
    **{
        (editor, "cr"): "no line end in it is one to this editor; saving adds one"
        for editor in EDITORS
        if EDITORS[editor].final_end != "text" and EDITORS[editor].line_ends in ("raw", "unanimous")
    },
}
"""(editor, case) → what its own user's save does to the file, an agent or not."""

takes_edits = pytest.mark.parametrize("editor", [name for name, h in EDITORS.items() if not h.refuses])
every_case = pytest.mark.parametrize("name", list(CASES))


def by_its_user(habits: Habits, folder: Path, case: Case) -> bytes:
    """What the file holds when the user of such an editor makes the change and saves."""
    path = folder / "own.txt"
    path.write_bytes(case.data)

    async def main() -> None:
        fake = FakeEditor(habits, folder)
        fake.opens("own.txt")
        if case.old:
            fake.replaces("own.txt", case.old, case.new)
        elif fake.text("own.txt"):
            fake.types("own.txt", case.new.removesuffix("\n"), at=0)
        else:
            fake.types("own.txt", case.new, at=0)
        assert fake.saves("own.txt")

    run(main())
    return path.read_bytes()


def by_an_agent(
    folder: Path, case: Case, editor: Callable[[], FakeEditor | QuietEditor], *, opened: bool
) -> bytes:
    path = folder / "a.txt"
    path.write_bytes(case.data)

    async def main() -> None:
        port = editor()
        async with a_workspace(folder, port) as bench:
            if isinstance(port, FakeEditor):
                bench.workspace.state.overlay.encoding = port.capabilities.encoding
                bench.workspace.state.overlay.lf_lines = port.capabilities.lf_lines
                bench.workspace.state.overlay.in_any_order = port.capabilities.in_any_order
                port.attach(bench.workspace.apply)
                if opened:
                    port.opens("a.txt")
            await write(bench, case)
            await asyncio.sleep(5)  # virtual: everything the editor still had to tell is told

    async def write(bench: Bench, case: Case) -> None:
        text = await bench.read("a.txt")
        assert not isinstance(text, Refusal), text
        wanted = (
            case.edited(text) if case.old or not text.endswith("\n") else case.new.removesuffix("\n") + text
        )
        done = await bench.write("a.txt", wanted)
        assert isinstance(done, WriteDone), done
        assert done.saved, done

    run(main())
    return path.read_bytes()


@takes_edits
@every_case
def test_open_in_an_editor(request: pytest.FixtureRequest, tmp_path: Path, editor: str, name: str) -> None:
    if (editor, name) in MISCOUNTED:
        why = "this editor counts otherwise than it says"
        request.applymarker(pytest.mark.xfail(reason=why, raises=AssertionError, strict=True))
    case, habits = CASES[name], EDITORS[editor]
    own = by_its_user(habits, tmp_path, case)
    assert (own == case.wanted) == ((editor, name) not in EVENED_OUT), "EVENED_OUT tells the truth"
    saved = by_an_agent(tmp_path, case, lambda: FakeEditor(habits, tmp_path), opened=True)
    assert saved == own


@takes_edits
@every_case
def test_not_open_but_an_editor_is_there(tmp_path: Path, editor: str, name: str) -> None:
    case = CASES[name]
    saved = by_an_agent(tmp_path, case, lambda: FakeEditor(EDITORS[editor], tmp_path), opened=False)
    assert saved == case.wanted, "nobody looks at it, so no editor's habits may show"


@every_case
def test_without_an_editor_that_could(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    assert by_an_agent(tmp_path, case, QuietEditor, opened=False) == case.wanted


NEW = {
    "lf": "one\ntwo\n",
    "crlf": "one\r\ntwo\r\n",
    "cr": "one\rtwo\r",
    "mixed": "one\r\ntwo\nthree\r",
    "no final line end": "one\ntwo",
    "one line end": "\n",
    "two line ends": "\n\n",
    "empty": "",
    "beyond ascii": "äöü 🙂\u2028\n",
}


@takes_edits
@pytest.mark.parametrize("name", list(NEW))
def test_a_new_file(tmp_path: Path, editor: str, name: str) -> None:
    async def main() -> None:
        fake = FakeEditor(EDITORS[editor], tmp_path)
        async with a_workspace(tmp_path, fake) as bench:
            bench.workspace.state.overlay.encoding = fake.capabilities.encoding
            bench.workspace.state.overlay.lf_lines = fake.capabilities.lf_lines
            bench.workspace.state.overlay.in_any_order = fake.capabilities.in_any_order
            fake.attach(bench.workspace.apply)
            assert isinstance(await bench.write("deep/new.txt", NEW[name]), WriteDone)

    run(main())
    assert (tmp_path / "deep" / "new.txt").read_bytes() == NEW[name].encode()


@pytest.mark.parametrize("editor", ["vscode", "neovim, ours", "helix"])
def test_ten_megabytes_on_one_line_in_an_editor(tmp_path: Path, editor: str) -> None:
    saved = by_an_agent(tmp_path, LONG, lambda: FakeEditor(EDITORS[editor], tmp_path), opened=True)
    ended = b"" if EDITORS[editor].final_end == "text" else b"\n"
    assert saved == LONG.wanted + ended


@pytest.mark.parametrize("ended", [b"", b"\n"])
def test_ten_megabytes_on_one_line_without_one(tmp_path: Path, ended: bytes) -> None:
    case = LONG._replace(data=LONG.data + ended)
    assert by_an_agent(tmp_path, case, QuietEditor, opened=False) == case.wanted
