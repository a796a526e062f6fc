"""What cannot be tested here is said once: one line for each missing tool, however many tests need it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support import tools

TEST = """
import pytest
from tests.support import tools

@pytest.fixture
def editor():
    pytest.skip(tools.MISSING + "ed: not installed")

def test_one(editor): pass
def test_two(editor): pass
def test_three(): pytest.skip(tools.MISSING + "ed: not installed")
"""


def test_one_line_for_each_missing_tool(tmp_path: Path) -> None:
    (tmp_path / "test_ed.py").write_text(TEST)
    where = [f"--confcutdir={tmp_path}", f"--basetemp={tmp_path / 'base'}", f"--rootdir={tools.ROOT}"]
    plugins = ["-p", "tests.conftest", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-c", str(tools.ROOT / "pyproject.toml"), *where, *plugins]
    done = subprocess.run(
        [*command, str(tmp_path)], cwd=tools.ROOT, capture_output=True, text=True, timeout=100, check=False
    )
    assert "3 skipped" in done.stdout, done.stdout + done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    assert line.startswith("SKIPPED [3] ")
    assert line.endswith("missing tool ed: not installed")
    assert "\ned: not installed\n" in done.stdout
