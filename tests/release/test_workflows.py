"""The workflows: every action is pinned, no secret is stored, nobody publishes alone, and the tests are run in parts."""

from __future__ import annotations

import re

import pytest

from tests.support.tools import ROOT

WORKFLOWS = {path.name: path.read_text("utf-8") for path in (ROOT / ".github/workflows").glob("*.yml")}


@pytest.mark.parametrize("name", sorted(WORKFLOWS))
def test_every_action_is_pinned_to_a_commit_and_says_its_version(name: str) -> None:
    used = re.findall(r"^\s*(?:- )?uses: (.+)$", WORKFLOWS[name], re.MULTILINE)
    assert used
    assert [one for one in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*", one)] == []


def test_one_action_has_one_commit_everywhere() -> None:
    pins = {match for text in WORKFLOWS.values() for match in re.findall(r"uses: ([\w./-]+)@(\w+)", text)}
    assert len(pins) == len({action for action, _ in pins})


@pytest.mark.parametrize("name", sorted(WORKFLOWS))
def test_rights_are_named_and_no_secret_is_stored(name: str) -> None:
    assert re.search(r"^permissions:", WORKFLOWS[name], re.MULTILINE)
    assert "secrets." not in WORKFLOWS[name]


def jobs(text: str) -> dict[str, str]:
    parts = re.split(r"^  ([\w-]+):\n", text.partition("\njobs:\n")[2], flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_only_the_job_that_a_second_person_approves_publishes() -> None:
    release = jobs(WORKFLOWS["release.yml"])
    publishing = {name for name, text in release.items() if re.search(r"uv publish|gh release", text)}
    assert publishing == {"publish"}
    assert re.search(r"^    environment: release\b", release["publish"], re.MULTILINE)
    assert "--trusted-publishing always" in release["publish"]
    assert "contents: write" not in release["build"]
    assert "make release" in release["build"]
    assert "make " not in release["publish"], "what was approved is published, not built again"


def test_the_browsers_tests_are_a_job_of_their_own_with_the_tools_of_the_last_run() -> None:
    editors = jobs(WORKFLOWS["ci.yml"])["editors"]
    assert re.search(r"^        part: \[browser, rest\]$", editors, re.MULTILINE)
    assert "run: bash .ci/run PART=${{ matrix.part }}" in editors
    kept = editors.partition("uses: actions/cache@")[2].partition("run: bash .ci/run")[0]
    assert "path: .cache/tools\n" in kept
    assert "hashFiles('scripts/tools/**')" in kept, "other versions are another cache"


def test_what_ci_runs_is_what_a_person_runs_and_names_the_ten_slowest() -> None:
    (command,) = re.findall(r"^time (.+)$", (ROOT / ".ci/run").read_text("utf-8"), re.MULTILINE)
    assert command.startswith("make test ")
    assert "--durations=10 " in command
    assert '"$@"' in command, "a part of it can be asked for"


def test_the_two_parts_leave_out_nothing() -> None:
    """What each part selects, by the markers of a test; both leave out what is run by hand."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    parts = dict(re.findall(r'^PARTS_(\w+) := -m "(.+)"$', makefile, re.MULTILINE))
    assert parts == {"browser": "browser and $(BY_HAND)", "rest": "not browser and $(BY_HAND)"}
