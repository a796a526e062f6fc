"""What a read answers, case by case."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from sidecar.core import narrow
from sidecar.core.refusal import Kind, Refusal
from sidecar.workspace.files import reads
from tests.support.workspaces import QuietEditor, a_workspace

TEXT = "one\ntwo\r\nthree\rfour"

SLICES = [
    # text, line, limit, expected (None: BAD_RANGE)
    (TEXT, None, None, TEXT),
    (TEXT, 0, None, TEXT),
    (TEXT, 1, None, TEXT),
    (TEXT, 1, 1, "one\n"),
    (TEXT, 2, 1, "two\r\n"),
    (TEXT, 3, 2, "three\rfour"),
    (TEXT, 2, 2**70, "two\r\nthree\rfour"),
    (TEXT, 4, None, "four"),
    (TEXT, 4, 0, ""),
    (TEXT, None, 0, ""),
    (TEXT, 5, None, None),
    (TEXT, 5, 0, None),
    (TEXT, -1, None, None),
    (TEXT, None, -1, None),
    ("a\n", 2, None, ""),
    ("a\n", 3, None, None),
    ("a\x0cb\u2028c\nd\n", 2, 1, "d\n"),
    ("", None, None, ""),
    ("", 1, None, ""),
    ("", 2, None, None),
    ("\n", 2, 5, ""),
]


@pytest.mark.parametrize("opened", [False, True], ids=["disk", "buffer"])
@pytest.mark.parametrize(("text", "line", "limit", "expected"), SLICES)
async def test_slices(
    tmp_path: Path, text: str, line: int | None, limit: int | None, expected: str | None, opened: bool
) -> None:
    (tmp_path / "a.txt").write_bytes(b"not this" if opened else text.encode())
    async with a_workspace(tmp_path) as bench:
        if opened:
            bench.open("a.txt", text)
        answer = await bench.read("a.txt", line, limit)
        if opened:
            await bench.read("a.txt")  # the disk was looked at
            now = bench.workspace.read_now(
                bench.workspace.ticket(bench.session, bench.path("a.txt"), "read"), line, limit
            )
            assert now is not None, "an open document needs no waiting"
            assert (now if isinstance(now, Refusal) else str(now)) == answer
    if expected is None:
        assert isinstance(answer, Refusal)
        assert answer.kind is Kind.BAD_RANGE
    else:
        assert answer == expected


async def test_what_has_to_wait_or_ask_is_not_answered_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("disk\n")
    (tmp_path / ".env").write_text("KEY=1\n")
    async with a_workspace(tmp_path) as bench:
        bench.open("a.txt", "disk\n")
        bench.open(".env", "KEY=1\n")
        await bench.read("a.txt")

        def now(name: str, line: int | None = None, limit: int | None = None) -> object:
            ticket = bench.workspace.ticket(bench.session, bench.path(name), "read")
            try:
                return bench.workspace.read_now(ticket, line, limit)
            finally:
                ticket.release()

        assert str(now("a.txt")) == "disk\n"
        monkeypatch.setattr(reads, "_AT_ONCE", 4)
        assert now("a.txt") is None, "a large text is made ready by a thread"
        assert now("a.txt", 1, 1) is None, "so is a long line"
        assert now("a.txt", 2, 1) == "", "a few short lines of a large text are not"
        monkeypatch.undo()
        assert now(".env") is None, "the user is asked"
        (tmp_path / "a.txt").write_text("changed behind the editor\n")
        assert now("a.txt") is None, "the disk is looked at first"
        write = bench.workspace.ticket(bench.session, bench.path("a.txt"), "write")
        assert now("a.txt") is None, "an earlier write comes first"
        write.release()


async def test_past_the_end_says_how_many_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\nb\n")
    async with a_workspace(tmp_path) as bench:
        answer = await bench.read("a.txt", 9)
    assert isinstance(answer, Refusal)
    assert answer.data["lines"] == 3


async def test_the_buffer_is_the_truth_unsaved_changes_included(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("disk\n")
    async with a_workspace(tmp_path) as bench:
        bench.open("a.txt", "disk\n")
        bench.type("a.txt", 2, 0, 4, " and typed")
        assert await bench.read("a.txt") == "disk and typed\n"


async def test_a_buffer_that_was_never_saved_is_served(tmp_path: Path) -> None:
    async with a_workspace(tmp_path) as bench:
        bench.open("new.txt", "only in the editor\n")
        assert await bench.read("new.txt") == "only in the editor\n"


async def test_a_buffer_opened_under_another_name_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("disk\n")
    (tmp_path / "link.txt").symlink_to("a.txt")
    async with a_workspace(tmp_path) as bench:
        bench.open("link.txt", "buffer\n")
        assert await bench.read("a.txt") == "buffer\n"
        assert await bench.read("link.txt") == "buffer\n"


async def test_two_buffers_of_one_file_are_refused_unless_named_exactly(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("disk\n")
    for name in ("l1.txt", "l2.txt", "l3.txt"):
        (tmp_path / name).symlink_to("a.txt")
    async with a_workspace(tmp_path) as bench:
        bench.open("l1.txt", "one\n")
        bench.open("l2.txt", "two\n")
        assert await bench.read("l2.txt") == "two\n"
        answer = await bench.read("l3.txt")
    assert isinstance(answer, Refusal)
    assert answer.kind is Kind.AMBIGUOUS


async def test_a_byte_order_mark_is_not_served(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfx\r\n")
    async with a_workspace(tmp_path) as bench:
        assert await bench.read("a.txt") == "x\r\n"
        bench.open("a.txt", "\ufeffx\r\n")
        assert await bench.read("a.txt") == "x\r\n"


async def test_utf16_by_its_mark(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffgrün\n".encode("utf-16-le"))
    async with a_workspace(tmp_path) as bench:
        assert await bench.read("a.txt") == "grün\n"


def _fifo(folder: Path) -> str:
    os.mkfifo(folder / "it")
    return "it"


def _socket(folder: Path) -> str:
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(folder / "it"))
    return "it"


def _directory(folder: Path) -> str:
    (folder / "it").mkdir()
    return "it"


def _bytes(data: bytes):
    def make(folder: Path) -> str:
        (folder / "it").write_bytes(data)
        return "it"

    return make


def _link_out(folder: Path) -> str:
    outside = folder.parent / "outside.txt"
    outside.write_text("secret")
    (folder / "it").symlink_to(outside)
    return "it"


def _outside(folder: Path) -> str:
    outside = folder.parent / "outside.txt"
    outside.write_text("secret")
    return str(outside)


def _named(path: str):
    return lambda folder: path


REFUSED = [
    ("missing", _named("nothing.txt"), Kind.NOT_FOUND),
    ("missing folder", _named("no/such/file.txt"), Kind.NOT_FOUND),
    ("directory", _directory, Kind.NOT_A_FILE),
    ("fifo", _fifo, Kind.NOT_A_FILE),
    ("socket", _socket, Kind.NOT_A_FILE),
    ("device", _named("/dev/zero"), Kind.OUTSIDE),
    ("proc", _named("/proc/self/environ"), Kind.OUTSIDE),
    ("binary", _bytes(b"a\0b"), Kind.BINARY),
    ("latin-1", _bytes("grün".encode("latin-1")), Kind.UNDECODABLE),
    ("outside", _outside, Kind.OUTSIDE),
    ("outside, missing", _named("/nowhere/at/all"), Kind.OUTSIDE),
    ("link out", _link_out, Kind.SYMLINK_ESCAPE),
    ("too large", _bytes(b"x" * 2001), Kind.TOO_LARGE),
]


@pytest.mark.parametrize(("make", "kind"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
async def test_refused(tmp_path: Path, make, kind: Kind) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    name = make(folder)
    async with a_workspace(folder, settings={"maxFileBytes": 2000}) as bench:
        answer = await bench.read(name)
    assert isinstance(answer, Refusal)
    assert answer.kind is kind
    assert "outside.txt" not in answer.message or name.endswith("outside.txt")


@pytest.mark.parametrize("path", ["a.txt", "", "file:///a.txt", "/a\0b", "/" + "x" * 5000])
async def test_what_is_no_absolute_path_is_refused(tmp_path: Path, path: str) -> None:
    async with a_workspace(tmp_path) as bench:
        answer = await bench.workspace.read(bench.workspace.ticket(bench.session, path, "read"))
    assert isinstance(answer, Refusal)
    assert answer.kind is Kind.BAD_PATH


async def test_slices_of_a_file_over_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {i}\n" for i in range(1000)))
    async with a_workspace(tmp_path, settings={"maxFileBytes": 2000}) as bench:
        assert await bench.read("a.txt", 500, 2) == "line 499\nline 500\n"
        answer = await bench.read("a.txt", 5000)
    assert isinstance(answer, Refusal)
    assert answer.data["lines"] == 1001


async def test_an_unknown_session_reads_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    async with a_workspace(tmp_path) as bench:
        answer = await bench.read("a.txt", session="another")
    assert isinstance(answer, Refusal)
    assert answer.kind is Kind.UNKNOWN_SESSION


async def test_a_changed_before_opened_document_is_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("disk\n")
    async with a_workspace(tmp_path) as bench:
        bench.type("a.txt", 2, 0, 0, "x")
        answer = await bench.read("a.txt")
        assert isinstance(answer, Refusal)
        assert answer.kind is Kind.DESYNCHRONISED
        bench.open("a.txt", "xdisk\n", version=2)
        assert await bench.read("a.txt") == "xdisk\n"


@pytest.mark.parametrize(
    ("answer", "served"), [("allow", True), ("reject", False), (None, False), ("always", True)]
)
async def test_secrets_are_asked_for(tmp_path: Path, answer: str | None, served: bool) -> None:
    (tmp_path / ".env").write_text("KEY=1\n")
    editor = QuietEditor()
    editor.answer = answer
    async with a_workspace(tmp_path, editor) as bench:
        first = await bench.read(".env")
        second = await bench.read(".env")
    assert len(editor.questions) == (1 if answer == "always" else 2)
    assert str(tmp_path / ".env") in editor.questions[0].text
    if served:
        assert (first, second) == ("KEY=1\n", "KEY=1\n")
    else:
        assert isinstance(first, Refusal)
        assert first.kind is Kind.DENIED_BY_USER


@pytest.mark.parametrize(
    ("answer", "kind"),
    [("allow", Kind.NOT_FOUND), ("reject", Kind.DENIED_BY_USER), (None, Kind.DENIED_BY_USER)],
)
async def test_whether_there_is_a_secret_is_asked_for_too(
    tmp_path: Path, answer: str | None, kind: Kind
) -> None:
    editor = QuietEditor()
    editor.answer = answer
    async with a_workspace(tmp_path, editor) as bench:
        read = await bench.read(".env")
        assert await bench.read("none.txt") == Refusal(
            Kind.NOT_FOUND, "Resource not found", {"path": str(tmp_path / "none.txt")}
        )
    assert isinstance(read, Refusal)
    assert read.kind is kind
    assert len(editor.questions) == 1


async def test_a_read_sees_what_the_disk_says_now_when_the_clean_file_changed_behind_the_editor(
    tmp_path: Path,
) -> None:
    """An editor that never reloads and takes no edits: the buffer stays the truth, and the read still ends."""
    (tmp_path / "a.txt").write_text("old\n")
    async with a_workspace(tmp_path) as bench:
        bench.open("a.txt", "old\n")
        assert await bench.read("a.txt") == "old\n"
        (tmp_path / "a.txt").write_text("new and longer\n")
        assert await bench.read("a.txt") == "old\n"


LARGE = [
    pytest.param("a line in ASCII\n", id="ascii"),
    pytest.param("a line — with dashes\n", id="dashes"),
    pytest.param("a line with 😀\n", id="emoji"),
]


@pytest.mark.parametrize("line", LARGE)
async def test_what_several_agents_read_is_kept_once(tmp_path: Path, line: str) -> None:
    text = line * (2 * narrow.FROM // len(line))
    async with a_workspace(tmp_path, settings={"maxFileBytes": 8 * len(text)}) as bench:
        beliefs, uri = bench.workspace.state.beliefs, bench.uri("a.txt")
        sessions = [bench.session, await bench.another_session(), await bench.another_session()]
        there: set[int] = set()
        for number, session in enumerate(sessions):
            (tmp_path / "a.txt").write_text(text if number < 2 else f"{text}more\n", "utf-8")
            assert isinstance(await bench.read("a.txt", session=session), str)
            (read,) = beliefs.kept(session, uri)
            chunks = {id(kept): len(kept) for kept in narrow.as_kept(read.chunks)}
            alone = sum(size for chunk, size in chunks.items() if chunk not in there)
            there |= chunks.keys()
            assert number == 0 or alone < 64 * 1024, number
