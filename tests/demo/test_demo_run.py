"""The demo tells good from bad: played with a sidecar that does its job, and with ones that do it badly in one way each."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from sidecar.cli import main
from sidecar.demo import run as demo
from sidecar.demo.present import Stage

if sys.platform != "win32":
    import pty

ROOT = Path(__file__).parents[2]
READ = "the agent was served your unsaved text, character for character"
KEPT = "what you typed meanwhile is still there: the edit went around it"
STEP = "the edit is one undo step"
UNDO = "undo gave back your own text, character for character"
DISK = "the file on disk is what it was, byte for byte: nothing was saved"
NONE = "no edit arrived, so the demo cannot continue"
ALL = {READ, KEPT, STEP, UNDO, DISK}


def played(
    monkeypatch: pytest.MonkeyPatch, fault: str, path: Path | None = None, agent: list[str] | None = None
) -> tuple[bool, dict[str, bool], str]:
    """Whether all held, what was checked, and the whole output."""
    monkeypatch.setattr(demo, "SERVER", (sys.executable, "-m", "tests.demo.stub_sidecar", fault))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    out = io.StringIO()
    stage = Stage(Console(file=out, width=92, highlight=False, emoji=False, markup=False), animate=False)
    held = demo.perform(stage, None if path is None else str(path), agent)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    checks = {line[2:]: line[0] == "✓" for line in lines if line[:2] in ("✓ ", "✗ ")}
    return held, checks, out.getvalue()


@pytest.mark.parametrize(
    ("fault", "broken"),
    [
        ("good", set()),
        ("disk", {READ}),
        ("overwrite", {KEPT}),
        ("twice", {STEP}),
        ("saves", {DISK}),
        ("lies", {NONE}),
        ("refuses", {NONE}),
        ("stays", {UNDO}),
    ],
)
def test_the_sample(monkeypatch: pytest.MonkeyPatch, fault: str, broken: set[str]) -> None:
    held, checks, out = played(monkeypatch, fault)
    assert held is not bool(broken), out
    assert {words for words, held in checks.items() if not held} == broken, out


def test_what_a_person_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    _, checks, out = played(monkeypatch, "good")
    assert set(checks) == ALL
    lines = out.splitlines()
    assert len(lines) <= 64, "two screens"
    assert not any(line != line.rstrip() or "\x1b" in line for line in lines)
    assert [line for line in lines if line.startswith("    17 ")] == [
        "    17 ▌         total += mm[i]",
        "    17 ▌         total += mm[i]",
        "    17       for i in range(len(mm) - 1):",
        "    17 -     for i in range(len(mm) - 1):",
        "    17 ▌     for i in range(len(mm)):                                       the agent's edit",
        "    17 -     for i in range(len(mm)):",
        "    17 ▌     for i in range(len(mm) - 1):                                      as you had it",
    ]
    assert lines[-3:] == ["All checks passed.", *demo.NEXT.splitlines()]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("empty.txt", b""),
        ("one.txt", b"no terminator"),
        ("crlf.md", b"one\r\ntwo\r\nthree"),
        ("bom.rs", b"\xef\xbb\xbffn main() {}\n// todo more\n"),
        ("data.json", b"{}\n"),
        ("odd name \u2028.py", b"x = '\x1b[31m\xe2\x80\xa8 \xf0\x9f\x99\x82'\n\n"),
    ],
)
def test_a_file_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    held, checks, out = played(monkeypatch, "good", path)
    assert held, out
    assert set(checks) == ALL
    assert path.read_bytes() == data
    assert [one.name for one in tmp_path.iterdir()] == [name]
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: None, "is not a file"),
        (lambda path: path.mkdir(), "is not a file"),
        (lambda path: path.write_bytes(b"a\0b"), "is not a text file"),
        (lambda path: path.write_bytes(b"\xff"), "is not UTF-8"),
        (lambda path: path.write_bytes(b"a" * 1_000_001), "is too large for the demo"),
    ],
)
def test_a_file_that_cannot_be_used(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, make: Callable[[Path], object], words: str
) -> None:
    make(tmp_path / "f")
    assert demo.run(str(tmp_path / "f"), None) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("acp-sidecar demo: ")
    assert words in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_an_agent_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.run(None, ["no-such-agent-anywhere"]) == 2
    assert 'no program "no-such-agent-anywhere"' in capsys.readouterr().err


def test_an_agent_without_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--agent"]) == 2
    assert capsys.readouterr().err.startswith("acp-sidecar demo: --agent needs a command")


def test_an_agent_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets the shell's environment by reference, so that no key stands in the settings."""
    monkeypatch.setenv("A_KEY", "secret")
    held, _, out = played(
        monkeypatch, "good", agent=[sys.executable, "-m", "sidecar.demo.agent", "--pace", "0.1"]
    )
    assert held, out
    assert "secret" not in out


def test_a_sidecar_that_dies(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(demo, "SERVER", (sys.executable, "-m", "tests.demo.stub_sidecar", "dies"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # a library of the benchmarks installs a package `tests` too
    assert demo.run(None, None) == 1
    assert capsys.readouterr().err.endswith("its last words: SystemExit: I was asked to die\n")


@pytest.mark.parametrize(("environment", "colours"), [({}, True), ({"NO_COLOR": "1"}, False)])
@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals there")
def test_in_a_terminal(environment: dict[str, str], colours: bool) -> None:
    """Text is drawn while it is typed; colours unless NO_COLOR says no."""
    main = """import sys
from sidecar.demo import play, run
run.SERVER = (sys.executable, "-m", "tests.demo.stub_sidecar", "good")
run.PACE_WATCHED, play.KEYSTROKE = 0.1, 0.0
sys.exit(run.run(None, None))"""
    told = {"TERM": "xterm-256color", "COLUMNS": "100", "PYTHONPATH": str(ROOT)}
    environment = {**os.environ, **told, **environment}
    screen, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", main], stdout=terminal, stdin=terminal, cwd=ROOT, env=environment
    ) as process:
        os.close(terminal)
        seen = b""
        try:
            while data := os.read(screen, 65536):
                seen += data
        except OSError:  # Linux says EIO at the end
            pass
        os.close(screen)
    assert process.returncode == 0
    assert "All checks passed." in seen.decode()
    assert (b"\x1b[36m" in seen or b"\x1b[1;36m" in seen) is colours
    assert seen.count(b"rainfall") > 10
