"""The whole demo, with the real server and the real agent: what `acp-sidecar demo` does on anybody's machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.e2e


def demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sidecar", "demo", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", timeout=100, check=False
    )


def test_the_sample() -> None:
    done = demo()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All checks passed." in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("empty.txt", b""),
        ("mixed.txt", b"\xef\xbb\xbfone\r\ntwo\nthree\rfour\n"),
        ("odd näme \u2028.py", b"x = '\xe2\x80\xa8 \xf0\x9f\x99\x82'\n\n"),
    ],
)
def test_a_file_of_ones_own(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    done = demo(str(tmp_path / name))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / name).read_bytes() == data


def test_an_agent_that_speaks_something_else() -> None:
    done = demo("--agent", sys.executable, "-c", "import sys; print(sys.stdin.readline())")
    assert done.returncode == 1
    assert done.stderr.startswith("acp-sidecar demo: ")
    assert done.stderr.count("\n") == 1, done.stderr
