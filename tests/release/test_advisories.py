"""`make advisories` says that nothing is known only where the registries answered. (What they answer is not tested: that needs a network.)"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts import advisories
from scripts.advisories import Told, of_npm, of_python, told_by, words

SOUND = {"name": "anyio", "version": "4.0", "vulns": []}
UNKNOWN = {
    "name": "attrs",
    "skip_reason": "Dependency not found on PyPI and could not be audited: attrs (1.0)",
}
VULNERABLE = {
    "name": "acp",
    "version": "1.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1", "2.0"], "aliases": [], "description": ""}],
}
TOTAL = {"dependencies": {"total": 7}}
NPM_FOUND = {"via": [{"source": 1, "url": "https://example.org/GHSA-1"}, "other"], "range": "<2"}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (of_python({"dependencies": [SOUND]}), ["x: 1 packages asked about, 0 vulnerable"]),
        (
            of_python({"dependencies": [SOUND, VULNERABLE]}),
            ["x: 2 packages asked about, 1 vulnerable", "  acp 1.0: PYSEC-1, fixed in 1.1, 2.0"],
        ),
        (
            of_python({"dependencies": [UNKNOWN] * 7}),
            [
                "x: 0 packages asked about, 0 vulnerable",
                "  NOT ASKED ABOUT: attrs, attrs, attrs, attrs, attrs and 2 more: Dependency not found on PyPI and could not be audited",
            ],
        ),
        (
            of_npm({"vulnerabilities": {}, "metadata": TOTAL}),
            ["x: 7 packages asked about, 0 vulnerable"],
        ),
        (
            of_npm({"vulnerabilities": {"ws": NPM_FOUND}, "metadata": TOTAL}),
            ["x: 7 packages asked about, 1 vulnerable", "  ws <2: https://example.org/GHSA-1"],
        ),
        (
            of_npm({"message": "405 Method Not Allowed\nmore"}),
            [
                "x: 0 packages asked about, 0 vulnerable",
                "  NOT ASKED ABOUT: what package-lock.json names: 405 Method Not Allowed",
            ],
        ),
    ],
)
def test_words(told: Told, expected: list[str]) -> None:
    assert words("x", told) == expected


PYTHON, NPM = {"dependencies": [SOUND]}, {"vulnerabilities": {}, "metadata": TOTAL}


@pytest.mark.parametrize(
    ("python", "npm", "code"),
    [
        (PYTHON, NPM, 0),
        ({"dependencies": [SOUND, UNKNOWN]}, NPM, 2),
        (PYTHON, {"error": {"summary": "no network"}}, 2),
        (PYTHON, "no JSON", 2),
        ({"dependencies": [UNKNOWN, VULNERABLE]}, NPM, 1),
        (PYTHON, {"vulnerabilities": {"ws": NPM_FOUND}, "metadata": TOTAL}, 1),
    ],
)
def test_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python: Any, npm: Any, code: int
) -> None:
    def answered(command: Any, folder: Path, understood: Any) -> Told:
        answer = npm if command[0] == "npm" else python
        said = answer if isinstance(answer, str) else json.dumps(answer)
        return told_by([sys.executable, "-c", f"print({said!r}); raise SystemExit(1)"], tmp_path, understood)

    monkeypatch.setattr(advisories, "told_by", answered)
    assert advisories.main() == code


def test_a_program_that_is_not_there_or_fails_is_named(tmp_path: Path) -> None:
    told = told_by(["no-such-program"], tmp_path, of_npm)
    assert [why.partition(":")[0] for why in told.unasked] == ["no-such-program cannot be run"]
    told = told_by([sys.executable, "-c", "raise SystemExit('it is broken')"], tmp_path, of_npm)
    assert list(told.unasked) == [f"{Path(sys.executable).name} failed: it is broken"]
