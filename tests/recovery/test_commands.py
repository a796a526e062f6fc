"""`acp-sidecar changes` and `acp-sidecar revert`, as a person and as a program see them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from sidecar.cli import main
from sidecar.journal import Store
from sidecar.journal.selecting import Selection
from sidecar.recovery.present import Screen, when
from tests.support.journals import entry, numbered


class Shell:
    """The command line in a folder with a journal of its own."""

    def __init__(self, folder: Path, store: Store, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.store = store
        self._capsys = capsys
        self.out = self.err = ""

    def run(self, *words: str) -> int:
        try:
            code = main(words)
        except SystemExit as left:
            code = int(left.code or 0)
        self.out, self.err = self._capsys.readouterr()
        return code

    def write(self, name: str, before: str | None, after: str | None, **more) -> str:
        write = self.begin(name, before, after, **more)
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        if after is None:
            path.unlink()
        else:
            path.write_text(after)
        self.store.finish(write, "done")
        return write

    def begin(self, name: str, before: str | None, after: str | None, **more) -> str:
        more.setdefault("session", "abcdef123456")
        return self.store.begin(entry(before, after, str(self.folder / name), root=str(self.folder), **more))

    def rows(self) -> list[list[str]]:
        """The table, without its head: id, when, agent, turn, lines, state, file."""
        table = self.out.split("\n\n")[0].splitlines()
        assert table[0].split() == ["ID", "When", "Agent", "Turn", "Lines", "State", "File"]
        return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in table[1:]]


@pytest.fixture
def shell(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "w"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sidecar.journal.store.default_folder", lambda: journal)
    with Store(journal) as store:
        yield Shell(folder, store, capsys)


# changes


def test_nothing_was_changed(shell: Shell, journal: Path) -> None:
    assert shell.run("changes") == 0
    assert shell.out == f"The journal has no changes by agents in {shell.folder}.\n"
    assert shell.run("changes", "--json") == 0
    assert json.loads(shell.out) == []
    assert not journal.exists()  # looking leaves nothing behind


@pytest.mark.parametrize("words", [[], ["--json"], ["--purge", "--yes"]])
@pytest.mark.parametrize("journalled", [False, True])
def test_a_path_that_does_not_exist(shell: Shell, words: list[str], journalled: bool) -> None:
    if journalled:
        shell.write("a.txt", "1", "2")
    missing = str(shell.folder / "nonexistent")
    assert shell.run("changes", *words, missing) == 1
    assert (f'"{missing}" is not a file or folder' in shell.err, shell.out) == (True, "")
    if journalled:
        assert shell.run("changes", *words, "a.txt", "nonexistent") == 1  # one wrong word and nothing is done
        assert shell.store.count(Selection()) == 1


def test_a_path_without_changes_is_named(shell: Shell) -> None:
    for name in ("b.txt", "c.txt"):
        (shell.folder / name).write_text("")
    for journalled in (False, True):
        if journalled:
            shell.write("a.txt", "1", "2")
        assert shell.run("changes", "b.txt", "c.txt") == 0
        paths = f"{shell.folder / 'b.txt'}, {shell.folder / 'c.txt'}"
        assert shell.out == f"The journal has no changes by agents in {paths}.\n"


def test_the_table(shell: Shell) -> None:
    a = shell.write("a.txt", "1\n2\n", "1\ntwo\n3\n", agent="fast-agent")
    b = shell.write("sub/new.txt", None, "x\n", turn=2)
    c = shell.write("a.txt", "1\ntwo\n3\n", "1\n", session="")
    d = shell.begin("a.txt", "1\n", "2\n")
    failed = shell.begin("a.txt", "1\n", "3\n")
    shell.store.finish(failed, "failed")
    assert shell.run("changes") == 0
    assert shell.rows() == [
        [d[-6:], "just now", "agent", "abcdef12:1", "+1 −1", "under way", "a.txt"],
        [c[-6:], "just now", "agent", "+0 −2", "done", "a.txt"],
        [b[-6:], "just now", "agent", "abcdef12:2", "+1 −0", "done", "sub/new.txt (new)"],
        [a[-6:], "just now", "fast-agent", "abcdef12:1", "+2 −1", "done", "a.txt"],
    ]
    assert f"acp-sidecar revert {d[-6:]}" in shell.out
    assert shell.run("changes", "--failed", "-n", "1") == 0
    assert [row[-2] for row in shell.rows()] == ["not made"]
    assert "4 earlier ones: --limit 0" in shell.out
    assert "\x1b" not in shell.out


def test_what_is_listed(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.write("a.txt", "", "1")
    shell.write("sub/b.txt", "", "1")
    shell.write("../elsewhere.txt", "", "1", session="other")
    shell.store.finish(
        shell.store.begin(entry("", "1", str(tmp_path / "elsewhere.txt"), session="another")), "done"
    )

    def listed(*words: str) -> list[str]:
        assert shell.run("changes", "--json", *words) == 0, shell.err
        return [Path(row["path"]).name for row in json.loads(shell.out)]

    assert listed() == ["elsewhere.txt", "b.txt", "a.txt"]  # one by its name only: it is not below
    assert listed("sub") == listed("sub/b.txt") == ["b.txt"]
    assert listed("sub", "a.txt") == ["b.txt", "a.txt"]
    (shell.folder / "quiet.txt").write_text("")
    assert listed("quiet.txt") == []
    (shell.folder / "a.txt").unlink()
    assert listed("a.txt") == ["a.txt"]  # what is gone still has its changes
    assert len(listed("--everywhere")) == 4
    assert listed("--session", "abc") == ["b.txt", "a.txt"]
    assert listed("--session", "abc", "sub") == ["b.txt"]
    monkeypatch.chdir(shell.folder / "sub")
    assert listed() == ["b.txt"]
    link = tmp_path / "link"
    link.symlink_to(shell.folder)
    assert listed(str(link / "sub")) == ["b.txt"]


def test_for_programs(shell: Shell) -> None:
    write = shell.write("a.txt", "1\n2\n3\n", "1\ntwo\n3\n", turn=3, tool_call="call")
    assert shell.run("changes", "--json", "--diff", write[-6:]) == 0
    (row,) = json.loads(shell.out)
    assert row.pop("created").endswith("+00:00")
    assert row == {
        "id": write,
        "agent": "agent",
        "sessionId": "abcdef123456",
        "turn": 3,
        "toolCallId": "call",
        "root": str(shell.folder),
        "path": str(shell.folder / "a.txt"),
        "kind": "edit",
        "added": 1,
        "removed": 1,
        "via": "disk",
        "state": "done",
        "diff": "@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3",
    }


def test_diffs_are_shown_oldest_first_and_escaped(shell: Shell) -> None:
    shell.write("a.txt", "1\n", "\x1b[2Jtwo\n", agent="\x1b]0;title\x07")
    shell.write("a\x1b.txt", None, "\u202enew\n")
    assert shell.run("changes", "--diff") == 0
    assert "\x1b" not in shell.out
    assert "\u202e" not in shell.out
    assert shell.out.index("+\\x1b[2Jtwo") < shell.out.index("+\\u202enew")
    assert shell.run("changes") == 0
    assert "\x1b" not in shell.out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--session", "x"], 1, 'there is no session "x"'),
        (["--purge", "--json"], 2, "do not go together"),
        (["--purge"], 2, "add --yes"),
        (["0"], 1, "names 2 changes"),
        (["--limit", "-1"], 2, "not a whole number, 0 or larger"),
    ],
)
def test_wrong_use_of_changes(shell: Shell, words: list[str], code: int, message: str) -> None:
    shell.write("a.txt", "1", "2")
    shell.write("a.txt", "2", "3")
    assert shell.run("changes", *words) == code
    assert message in shell.err
    assert shell.err.count("\n") == 1 or code == 2


def test_purge(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.write("a.txt", "1", "2")
    shell.write("sub/b.txt", "1", "2")
    assert shell.run("changes", "--purge", "--yes", "sub") == 0
    assert shell.out == "Deleted from the journal: 1.\n"
    terminal = io.StringIO("n\ny\n")
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", terminal)
    assert shell.run("changes", "--purge") == 1
    assert "one change will be deleted" in shell.out
    assert len(shell.store.entries()) == 1
    assert shell.run("changes", "--purge") == 0
    assert shell.store.entries() == []
    assert (shell.folder / "a.txt").read_text() == "2"
    assert shell.run("changes", "--purge", "--yes", "--everywhere") == 0
    assert shell.run("changes", "--purge", "--yes") == 0
    assert shell.out == "There is nothing to delete.\n"


def test_a_journal_that_cannot_be_read(shell: Shell, journal: Path, tmp_path: Path) -> None:
    shell.write("a.txt", "1", "2")
    shell.store.close()
    (journal / "journal.sqlite3").chmod(0o600)
    (journal / "journal.sqlite3").write_bytes(b"junk" * 1000)
    assert shell.run("changes") == 0
    assert "It was renamed to" in shell.err
    journal.rename(journal.with_name("moved"))
    journal.mkdir(mode=0o700)
    (journal / "journal.sqlite3").symlink_to(tmp_path / "nowhere")
    assert shell.run("changes") == 1
    assert shell.err.startswith("acp-sidecar changes: a file of the journal is not a regular file")
    assert shell.err.count("\n") == 1


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(5, "just now"), (59, "just now"), (60, "1 min ago"), (3599, "59 min ago"), (-5, "just now")],
)
def test_when(seconds: float, words: str) -> None:
    noon = time.mktime((2026, 11, 20, 12, 0, 0, 0, 0, -1))
    assert when(noon - seconds, noon) == words


def test_when_it_is_longer_ago() -> None:
    noon = time.mktime((2026, 11, 20, 12, 0, 0, 0, 0, -1))
    assert when(noon - 3 * 3600, noon) == "09:00"
    assert when(noon - 13 * 3600, noon) == "yesterday 23:00"
    assert when(noon - 50 * 3600, noon) == "2026-11-18 10:00"


def test_narrow_and_ascii_terminals(shell: Shell) -> None:
    shell.write("a/very/deep/name/that/is/long.txt".replace("/", "-"), "1\n", "2\n", agent="somebody's agent")
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="replace")
    console = Console(file=stream, width=60, highlight=False, emoji=False, markup=False)
    Screen(console).changes(shell.store.entries(), str(shell.folder), [], time.time())
    stream.flush()
    shown = stream.buffer.getvalue().decode("ascii").splitlines()
    (write,) = shell.store.entries()
    assert shown == [
        f"{write.short}  just now  somebody's agent  abcdef12:1  +1 -1  done",
        "    a-very-deep-name-that-is-long.txt",
    ]


# revert


def test_revert_says_what_became_of_every_file(shell: Shell) -> None:
    before = numbered(20)
    after = before.replace("3 ", "three ", 1)
    shell.write("edited.txt", before, after)
    shell.write("made.txt", None, "new\n")
    shell.write("clash.txt", before, after)
    shell.write("kept.txt", None, "new\n")
    shell.write("same.txt", before, after)
    (shell.folder / "edited.txt").write_text(after + "mine\n")
    (shell.folder / "clash.txt").write_text(after.replace("three", "drei\x1b"))
    (shell.folder / "kept.txt").write_text("new\nmine\n")
    (shell.folder / "same.txt").write_text(before)
    assert shell.run("revert", "--session", "abcdef") == 1
    lines = shell.out.splitlines()
    assert "✓ edited.txt  taken back" in lines
    assert "✓ made.txt  removed; the agent had created it" in lines
    assert "✗ clash.txt  nothing changed: one place was edited since" in lines
    assert "= same.txt  nothing to do: the file already has this text" in lines
    assert any(
        line.startswith("✗ kept.txt  nothing changed: the agent created it and it was edited")
        for line in lines
    )
    at = lines.index("    line 4")
    assert lines[at + 1].startswith("      now              drei\\x1b 23757")
    assert lines[at + 2].startswith("      the agent wrote  three 23757")
    assert lines[at + 3].startswith("      before that      3 23757")
    assert "2 of 5 files were not changed." in lines
    assert (shell.folder / "edited.txt").read_text() == before + "mine\n"

    again = lines[-1].split(": ")[1].split()
    assert again[:2] == ["acp-sidecar", "revert"]
    assert shell.run(*again[1:]) == 0
    assert (shell.folder / "edited.txt").read_text() == after + "mine\n"
    assert (shell.folder / "made.txt").read_text() == "new\n"


def test_by_id_and_by_turn(shell: Shell) -> None:
    one = shell.write("a.txt", "1\n", "2\n")
    shell.write("b.txt", "1\n", "2\n", turn=2)
    three = shell.write("c.txt", "1\n", "2\n", turn=3)
    assert shell.run("revert", one[-6:], three[:16]) == 0
    assert shell.run("revert", "--turn", "abc:2") == 0
    assert [(shell.folder / name).read_text() for name in ("a.txt", "b.txt", "c.txt")] == ["1\n"] * 3
    assert shell.run("revert", one[-6:]) == 1
    assert "was taken back already" in shell.err
    assert shell.run("revert", "--turn", "abc:2") == 1
    assert "nothing to take back in this turn any more" in shell.err


def test_a_dry_run_shows_what_would_be_done(shell: Shell) -> None:
    write = shell.write("a.txt", "1\n2\n", "1\ntwo\n")
    assert shell.run("revert", "--dry-run", write[-6:]) == 0
    assert shell.out == "✓ a.txt  would be taken back\n@@ -1,2 +1,2 @@\n 1\n-two\n+2\n\n"
    assert (shell.folder / "a.txt").read_text() == "1\ntwo\n"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], 2, "give either IDs"),
        (["x", "--session", "abc"], 2, "give either IDs"),
        (["nothing"], 1, 'there is no change "nothing"'),
        (["0"], 1, "names 4 changes"),
        (["--turn", "3"], 1, "is not a turn; write SESSION:N"),
        (["--turn", "abc:x"], 1, "is not a turn"),
        (["--turn", "abc:9"], 1, "nothing to take back in this turn"),
        (["--turn", "zzz:1"], 1, 'there is no session "zzz"'),
        (["--session", "s"], 1, "names 2 sessions"),
        (["FAILED"], 1, "was never made"),
        (["RUNNING"], 1, "is just being written"),
    ],
)
def test_wrong_use_of_revert(shell: Shell, words: list[str], code: int, message: str) -> None:
    shell.write("a.txt", "1", "2", session="s1")
    shell.write("b.txt", "1", "2", session="s2")
    failed, running = shell.begin("c.txt", "1", "2"), shell.begin("d.txt", "1", "2")
    shell.store.finish(failed, "failed")
    words = [{"FAILED": failed[-6:], "RUNNING": running[-6:]}.get(word, word) for word in words]
    assert shell.run("revert", *words) == code
    assert message in shell.err
    assert shell.err.count("\n") == 1
    assert (shell.folder / "a.txt").read_text() == "2"


def test_nothing_to_revert(shell: Shell) -> None:
    assert shell.run("revert", "x") == 1
    assert shell.err == "acp-sidecar revert: the journal has no changes by agents\n"


def test_what_was_interrupted_is_looked_into_first(shell: Shell, journal: Path) -> None:
    with Store(journal) as dead:
        write = dead.begin(
            entry("1\n", "2\n", str(shell.folder / "a.txt"), root=str(shell.folder), session="abcdef")
        )
    (shell.folder / "a.txt").write_text("2\n")
    assert shell.run("changes") == 0
    assert shell.rows()[0][-2] == "interrupted"
    assert shell.run("revert", write[-6:]) == 0
    assert shell.err == "agent's write to a.txt was interrupted but it is complete.\n"
    assert (shell.folder / "a.txt").read_text() == "1\n"


def test_the_real_program(tmp_path: Path, journal: Path) -> None:
    """In a process of its own, with the folder where it is by default."""
    state = tmp_path / "state"
    (tmp_path / "w").mkdir()
    with Store(state / "journal") as store:
        path = (tmp_path / "w" / "a.txt").resolve()
        path.write_text("2\n")
        write = store.begin(entry("1\n", "2\n", str(path), root=str(path.parent)))
        store.finish(write, "done")

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "sidecar", *words],
            check=False,
            cwd=path.parent,
            env={**os.environ, "ACP_SIDECAR_STATE": str(state), "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    assert write[-6:] in run("changes")
    assert "taken back" in run("revert", write[-6:])
    assert path.read_text() == "1\n"
