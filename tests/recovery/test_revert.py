"""Taking back on the disk: bytes, encodings, links, later work, and the revert of a revert."""

from __future__ import annotations

import codecs
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from sidecar import disk
from sidecar.core.file_state import FileState
from sidecar.journal import Store
from sidecar.journal.entry import Recorded, Texts
from sidecar.journal.selecting import Selection
from sidecar.recovery import revert as module
from sidecar.recovery.present import Screen
from sidecar.recovery.revert import Reverted, RevertOutcome, new_session, revert
from tests.support.journals import entry, numbered


class Bench:
    """A folder, its journal, and writes that were made in it."""

    def __init__(self, tmp_path: Path, store: Store) -> None:
        self.folder = tmp_path / "w"
        self.folder.mkdir()
        self.store = store

    def path(self, name: str) -> Path:
        return self.folder / name

    def write(
        self,
        name: str,
        before: str | None,
        after: str | None,
        encoding: str = "utf-8",
        bom: bytes = b"",
        **more,
    ) -> str:
        """As an agent's write to the disk does it."""
        made = entry(
            before, after, str(self.path(name)), root=str(self.folder), encoding=encoding, bom=bom, **more
        )
        write = self.store.begin(made)
        if after is None:
            self.path(name).unlink()
        else:
            self.path(name).write_bytes(bom + after.encode(encoding))
        self.store.finish(write, "done")
        return write

    def writes(self, *ids: str) -> list[Recorded]:
        return self.store.entries(Selection(ids=ids or None))

    def revert(self, *ids: str, **more) -> list[Reverted]:
        return list(revert(self.store, self.writes(*ids), new_session(), **more))

    def states(self) -> str:
        return " ".join(found.state for found in reversed(self.store.entries()))


@pytest.fixture
def bench(tmp_path: Path, journal: Path):
    with Store(journal) as store:
        yield Bench(tmp_path, store)


def test_later_work_stays_and_the_revert_can_be_reverted(bench: Bench) -> None:
    before = numbered(30)
    after = before.replace("5 ", "five ", 1)
    write = bench.write("a.txt", before, after)
    bench.path("a.txt").write_text(after + "mine\n")
    (result,) = bench.revert(write)
    assert result.outcome is RevertOutcome.PUT_BACK
    assert bench.path("a.txt").read_text() == before + "mine\n"
    assert bench.states() == "undone done"
    newest = bench.store.entries()[0]
    assert (newest.agent, newest.via) == ("revert", "disk")
    bench.revert(newest.id)
    assert bench.path("a.txt").read_text() == after + "mine\n"
    assert bench.states() == "done undone done"


@pytest.mark.parametrize(
    ("encoding", "bom"),
    [
        ("utf-8", b""),
        ("utf-8", codecs.BOM_UTF8),
        ("utf-16-le", codecs.BOM_UTF16_LE),
        ("utf-16-be", codecs.BOM_UTF16_BE),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_encoding_mark_and_line_ends_are_kept(bench: Bench, encoding: str, bom: bytes, end: str) -> None:
    before = end.join(["grün", "zwei", "drei", "vier", ""])
    after = before.replace("zwei", "deux\ndeux et demi".replace("\n", end))
    write = bench.write("a.txt", before, after, encoding, bom)
    now = after.replace("vier", "vier!")
    bench.path("a.txt").write_bytes(bom + now.encode(encoding))
    bench.revert(write)
    assert bench.path("a.txt").read_bytes() == bom + before.replace("vier", "vier!").encode(encoding)


def test_mode_links_and_names_are_kept(bench: Bench) -> None:
    write = bench.write("a.txt", "a\n", "b\n")
    bench.path("a.txt").chmod(0o751)
    bench.path("other").hardlink_to(bench.path("a.txt"))
    bench.revert(write)
    assert bench.path("other").read_text() == "a\n"
    assert bench.path("a.txt").stat().st_mode & 0o777 == 0o751
    assert [path.name for path in sorted(bench.folder.iterdir())] == ["a.txt", "other"]


def test_conflicts_leave_the_file_alone_and_other_files_are_done(bench: Bench) -> None:
    before = numbered(20)
    after = before.replace("3 ", "three ", 1).replace("12 ", "twelve ", 1)
    bench.write("a.txt", before, after)
    bench.write("b.txt", "b\n", "B\n")
    mine = after.replace("three ", "drei ")
    bench.path("a.txt").write_text(mine)
    results = {Path(one.path).name: one for one in bench.revert()}
    assert results["a.txt"].outcome is RevertOutcome.CONFLICT
    assert [place.start_line for place in results["a.txt"].places] == [3]
    assert bench.path("a.txt").read_text() == mine
    assert bench.path("b.txt").read_text() == "b\n"
    assert bench.states() == "done undone done"


def test_several_writes_of_one_file_newest_to_oldest_around_the_users(bench: Bench) -> None:
    text = [numbered(40)]
    for i in (5, 15, 25):
        text.append(text[-1].replace(f"{i} ", f"agent {i} ", 1))
    one = bench.write("a.txt", text[0], text[1])
    typed = text[1] + "mine\n"
    two = bench.write("a.txt", typed, text[2] + "mine\n", session="another")
    three = bench.write("a.txt", text[2] + "mine\n", text[3] + "mine\n")
    bench.revert(one, three)
    assert bench.path("a.txt").read_text() == text[0].replace("15 ", "agent 15 ", 1) + "mine\n"
    assert bench.states() == "undone done undone done"
    assert two in {found.id for found in bench.store.entries() if found.state == "done"}


def test_files_the_agent_made(bench: Bench) -> None:
    bench.write("unchanged", None, "agent's\n")
    bench.write("edited", None, "agent's\n")
    bench.write("deleted", None, "agent's\n")
    bench.write("empty", None, "")
    bench.path("edited").write_text("agent's\nmine\n")
    bench.path("deleted").unlink()
    results = {Path(one.path).name: one.outcome for one in bench.revert()}
    assert results == {
        "unchanged": RevertOutcome.REMOVED,
        "edited": RevertOutcome.STANDS,
        "deleted": RevertOutcome.ALREADY,
        "empty": RevertOutcome.REMOVED,
    }
    assert [path.name for path in bench.folder.iterdir()] == ["edited"]
    assert bench.path("edited").read_text() == "agent's\nmine\n"
    undo = [found for found in bench.store.entries() if found.agent == "revert"]
    bench.revert(*(found.id for found in undo))
    assert bench.path("unchanged").read_text() == "agent's\n"
    assert bench.path("empty").read_text() == ""


def test_a_file_that_was_removed_is_made_again_as_it_was(bench: Bench) -> None:
    bench.path("a.txt").write_bytes(b"")
    write = bench.write("a.txt", "grün\r\n", None, "utf-16-le", codecs.BOM_UTF16_LE)
    (result,) = bench.revert(write)
    assert result.outcome is RevertOutcome.MADE_AGAIN
    assert bench.path("a.txt").read_bytes() == codecs.BOM_UTF16_LE + "grün\r\n".encode("utf-16-le")


def in_the_way_binary(path: Path) -> None:
    path.write_bytes(b"\0\0")


def in_the_way_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def in_the_way_link_out(path: Path) -> None:
    outside = path.parent.parent / "outside.txt"
    outside.write_text("b\n")
    path.unlink()
    path.symlink_to(outside)


def in_the_way_read_only(path: Path) -> None:
    path.chmod(0o444)


def in_the_way_folder_gone(path: Path) -> None:
    path.parent.rename(path.parent.with_name("gone"))


@pytest.mark.parametrize(
    "in_the_way",
    [in_the_way_binary, in_the_way_folder, in_the_way_link_out, in_the_way_read_only, in_the_way_folder_gone],
)
def test_what_cannot_be_done_is_said_and_nothing_changed(bench: Bench, tmp_path: Path, in_the_way) -> None:
    write = bench.write("a.txt", "a\n", "b\n")
    in_the_way(bench.path("a.txt"))
    (result,) = bench.revert(write)
    assert result.outcome is RevertOutcome.STANDS
    assert result.why
    assert bench.states().startswith("done")
    assert not (tmp_path / "outside.txt").exists() or (tmp_path / "outside.txt").read_text() == "b\n"


def test_what_cannot_be_journalled_is_not_done(bench: Bench) -> None:
    write = bench.write("a.txt", "a\n", "b\n")
    writes = bench.writes(write)
    bench.store.open()
    connection = bench.store._open.connection
    connection.execute("CREATE TRIGGER no BEFORE INSERT ON writes BEGIN SELECT raise(ABORT, 'no'); END")
    (result,) = revert(bench.store, writes, new_session())
    assert result.outcome is RevertOutcome.STANDS
    assert "journal" in result.why
    assert bench.path("a.txt").read_text() == "b\n"


def test_a_file_that_changes_meanwhile_is_looked_at_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = numbered(20)
    after = before.replace("3 ", "three ", 1)
    write = bench.write("a.txt", before, after)
    typed = iter(["mine\n", "mine too\n"])
    real = disk.save

    def save(*arguments, **more):
        line = next(typed, None)
        if line is not None:
            bench.path("a.txt").write_text(bench.path("a.txt").read_text() + line)
        return real(*arguments, **more)

    monkeypatch.setattr(module.disk, "save", save)
    (result,) = bench.revert(write)
    assert result.outcome is RevertOutcome.PUT_BACK
    assert bench.path("a.txt").read_text() == before + "mine\nmine too\n"
    assert bench.states() == "undone failed failed done"


def test_a_file_that_never_stands_still(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    before = numbered(20)
    write = bench.write("a.txt", before, before.replace("3 ", "three ", 1))
    real = disk.save

    def save(*arguments, **more):
        bench.path("a.txt").write_text(bench.path("a.txt").read_text() + "mine\n")
        return real(*arguments, **more)

    monkeypatch.setattr(module.disk, "save", save)
    (result,) = bench.revert(write)
    assert (result.outcome, result.why) == (RevertOutcome.STANDS, "it keeps changing; try again")


def test_a_dry_run_changes_nothing(bench: Bench) -> None:
    bench.write("a.txt", "a\n", "b\n")
    bench.write("new.txt", None, "new\n")
    results = bench.revert(dry_run=True)
    assert [one.outcome for one in results] == [RevertOutcome.REMOVED, RevertOutcome.PUT_BACK]
    assert results[1].texts == ("b\n", "a\n")
    assert bench.path("a.txt").read_text() == "b\n"
    assert bench.states() == "done done"


def test_a_write_in_another_folder_of_the_session(bench: Bench, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.txt").write_text("b\n")
    write = bench.store.begin(entry("a\n", "b\n", str(elsewhere / "a.txt"), root=str(bench.folder)))
    bench.store.finish(write, "done")
    (result,) = bench.revert(write)
    assert result.outcome is RevertOutcome.PUT_BACK
    assert (elsewhere / "a.txt").read_text() == "a\n"


class FakeLive:
    """A running sidecar that has one file open."""

    def __init__(self, path: str, answer: str | None) -> None:
        self.path, self.answer = path, answer
        self.asked: list[tuple[str, list[str], str]] = []
        self.looked: list[str] = []

    def has_open(self, path: str) -> bool:
        return path == self.path

    def revert(
        self, path: str, writes: Sequence[Recorded], texts: Sequence[Texts], session: str
    ) -> str | None:
        self.asked.append((path, [write.id for write in writes], session))
        return self.answer

    def look(self, path: str) -> None:
        self.looked.append(path)


@pytest.mark.parametrize(
    ("answer", "outcome"), [(None, RevertOutcome.PUT_BACK), ("it is busy", RevertOutcome.STANDS)]
)
def test_what_an_editor_has_open_goes_through_it(
    bench: Bench, answer: str | None, outcome: RevertOutcome
) -> None:
    one = bench.write("a.txt", "a\n", "b\n")
    two = bench.write("a.txt", "b\n", "c\n")
    bench.write("b.txt", "a\n", "b\n")
    live = FakeLive(str(bench.path("a.txt")), answer)
    results = list(revert(bench.store, bench.writes(), "r-1", live=live))
    assert live.asked == [(str(bench.path("a.txt")), [two, one], "r-1")]
    assert [result.outcome for result in results] == [RevertOutcome.PUT_BACK, outcome]
    assert bench.path("a.txt").read_text() == "c\n"
    assert bench.path("b.txt").read_text() == "a\n"


@pytest.mark.parametrize("is_dry", [False, True])
def test_what_only_the_disk_can_say_is_put_back_there_and_the_editor_is_told(
    bench: Bench, is_dry: bool
) -> None:
    path = bench.path("a.txt")
    path.write_text("a\n")
    path.chmod(0o600)
    states = FileState(b"a\n", 0o644), FileState(b"a\n", 0o600)
    mode = entry(None, None, str(path), root=str(bench.folder), states=states)
    bench.store.finish(bench.store.begin(mode), "done")
    live = FakeLive(str(path), None)
    (result,) = revert(bench.store, bench.writes(), "r-1", live=live, dry_run=is_dry)
    assert result.outcome is RevertOutcome.PUT_BACK
    assert (live.asked, live.looked) == ([], [] if is_dry else [str(path)])


def test_what_is_taken_back_on_the_disk_is_not_called_unchanged_because_the_editor_has_other_text(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.write("a.txt", "a\n", "b\n")
    path = bench.path("a.txt")
    path.write_bytes(b"\0\xff")
    states = FileState(b"b\n", 0o644), FileState(b"\0\xff", 0o644)
    made_bytes = entry(None, None, str(path), root=str(bench.folder), states=states)
    bench.store.finish(bench.store.begin(made_bytes), "done")
    (result,) = revert(bench.store, bench.writes(), "r-1", live=FakeLive(str(path), "it was edited since"))
    assert (result.outcome, path.read_text()) == (RevertOutcome.PUT_BACK, "a\n")
    assert [write.state for write in bench.writes() if write.agent != "revert"] == ["undone", "undone"]
    Screen().reverted(result, str(bench.folder), dry_run=False)
    assert "taken back, on the disk; in your editor, it was edited since" in capsys.readouterr().out


@pytest.mark.skipif(os.name == "nt", reason="names are Unicode there")
def test_names_that_are_not_unicode(bench: Bench) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    write = bench.write(name, "a\n", "b\n")
    bench.revert(write)
    assert bench.path(name).read_text() == "a\n"


@pytest.mark.parametrize("first", ["older", "newer"])
@pytest.mark.parametrize("mine", ["", "mine\n"], ids=["as they left it", "edited since"])
@pytest.mark.parametrize("between", ["", "0\n"], ids=["", "with work of the user's in between"])
def test_what_another_had_put_right_does_not_come_back(
    bench: Bench, first: str, mine: str, between: str
) -> None:
    """In whatever order: an agent changed a line, another one changed it back, and both are taken back. What is changed so once more is another
    change."""
    base, changed = numbered(9), numbered(9).replace("5 ", "five ", 1)
    writes = [
        bench.write("a.txt", base, changed),
        bench.write("a.txt", between + changed, between + base),
    ]
    bench.path("a.txt").write_text(between + base + mine)
    for write in writes if first == "older" else reversed(writes):
        bench.revert(write)
    assert bench.path("a.txt").read_text() == between + base + mine
    assert set(bench.states().split()[:2]) == {"undone"}
    again = bench.write("a.txt", between + base + mine, between + changed + mine)
    bench.revert(again)
    assert bench.path("a.txt").read_text() == between + base + mine


def test_a_file_that_was_made_and_removed_does_not_come_back(bench: Bench) -> None:
    made = bench.write("a.txt", None, "a\n")
    removed = bench.write("a.txt", "a\n", None, states=(FileState(b"a\n", 0o644), None))
    for write in (made, removed):
        bench.revert(write)
    assert not bench.path("a.txt").exists()


def test_a_removal_that_somebody_took_back_is_not_in_the_way(bench: Bench) -> None:
    """One agent changes a line, another one the next and then removes the file, and the first makes it anew; the first one's work is taken back
    first, which brings the file back without it."""
    base = "1\n2\n3\n4\n5\n"
    one, both = base.replace("2", "two"), base.replace("2", "two").replace("5", "five")
    bench.write("a.txt", base, one)
    bench.write("a.txt", one, both, session="other")
    bench.write("a.txt", both, None, session="other", states=(FileState(both.encode(), 0o644), None))
    bench.write("a.txt", both, base)
    for session in ("s", "other"):
        writes = bench.store.entries(Selection(session=session))
        assert not any(result.outcome.is_failure for result in revert(bench.store, writes, "r-1"))
    assert bench.path("a.txt").read_text() == base


def test_a_file_that_two_have_removed(bench: Bench) -> None:
    """In between, the second one made it anew, and the user changed it. Who takes back the first removal does not get a text that is older than that."""
    base = "1\n2\n3\n4\n5\n"
    made = base.replace("5", "five")
    bench.path("a.txt").write_text(base)
    removed = bench.write("a.txt", base, None, states=(FileState(base.encode(), 0o644), None))
    bench.write("a.txt", None, made, session="other")
    mine = made.replace("3", "mine")
    again = bench.write("a.txt", mine, None, session="other", states=(FileState(mine.encode(), 0o644), None))
    (result,) = bench.revert(removed)
    assert result.outcome is RevertOutcome.ALREADY
    assert not bench.path("a.txt").exists()
    bench.revert(again)
    assert bench.path("a.txt").read_text() == mine
