"""What `make test` runs of all that CI runs: some cases of every test, and some tests of every file with real editors."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.spread import share, spread

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 10, 99, 200, 487])
def test_they_are_spread_evenly_from_the_first_to_the_last(count: int) -> None:
    wanted = share(count)
    places = sorted(spread(count, wanted))
    assert 1 <= len(places) == wanted <= count
    assert places[0] == 0
    assert wanted == 1 or places[-1] == count - 1
    gaps = {later - earlier for earlier, later in pairwise(places)}
    assert max(gaps, default=1) - min(gaps, default=1) <= 1


def collected(*arguments: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_no_test_is_left_out_whole_and_no_file_with_real_editors() -> None:
    """Over a file of each kind: many cases of few tests, and real editors."""
    files = ["tests/core/test_merge.py", "tests/e2e/test_habits_nvim.py", "tests/e2e/test_nvim_review.py"]
    every, some = collected(*files), collected(*files, "--cases=some")
    assert set(some) < set(every)
    assert {name.partition("[")[0] for name in every if "/core/" in name} == {
        name.partition("[")[0] for name in some if "/core/" in name
    }
    assert {name.partition("::")[0] for name in some} == set(files)


def test_none_is_left_out_of_those_that_are_always_run() -> None:
    file = "tests/hands/test_editors.py"
    assert len(collected(file, "--cases=some")) == len(collected(file)) > 1


def test_make_test_runs_some_and_ci_all() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert "CASES ?= some\n" in makefile
    assert "--cases $(CASES)" in makefile.partition("\nrun-tests:")[2].partition("\n\n")[0]
    assert "make test CASES=all " in (ROOT / ".ci/run").read_text("utf-8")
    for line in (ROOT / ".github/workflows/ci.yml").read_text("utf-8").splitlines():
        assert "make test" not in line or "make test CASES=all" in line
