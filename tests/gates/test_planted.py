"""Planted defects of the gates whose tests are elsewhere and need no process: each is noticed by the tests of its gate.

(Others bring their own beside their tests; `Gate.fails` says where.)
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sidecar.acp.limits import Ladder
from sidecar.acp.process import AgentProcess
from sidecar.core import policy
from sidecar.core.rope import Rope
from sidecar.core.text import Encoding
from tests.acp import test_process
from tests.core import test_policy, test_text_laws
from tests.gates import __main__ as gates


def test_text_fuzz_notices_units_taken_for_code_points(monkeypatch: pytest.MonkeyPatch) -> None:
    apply = Rope.apply

    def careless(self: Rope, where: Any, new: str, encoding: Encoding) -> Any:
        return apply(self, where, new, Encoding.UTF_32)

    monkeypatch.setattr(Rope, "apply", careless)
    monkeypatch.setenv("TEXT_FUZZ_EDITS", "500")
    with pytest.raises(AssertionError):
        test_text_laws.test_text_fuzz(Encoding.UTF_16)


def test_paths_table_notices_names_compared_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "fold", lambda path: path)
    monkeypatch.setattr(
        policy, "_spellings", policy._spellings.__wrapped__
    )  # else what earlier tests asked is known
    missed = 0
    for spelling in test_policy.SPELLINGS:
        try:
            test_policy.test_another_spelling_of_a_protected_file_is_that_file(spelling)
        except AssertionError:
            missed += 1
    assert missed > 5


@pytest.mark.skipif(sys.platform == "win32", reason="processes of POSIX")
async def test_close_ladder_notices_a_ladder_of_one_rung(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    descend, left = AgentProcess._descend, list[AgentProcess]()

    async def polite(self: AgentProcess, ladder: Any) -> None:
        left.append(self)
        self.stdin.close()
        await asyncio.wait({self.gone}, timeout=ladder.close_input)

    monkeypatch.setattr(AgentProcess, "_descend", polite)
    try:  # only what is left is waited for less long: whatever comes before takes its time on a busy machine
        assert "ignores end of input" in await test_process.left_of_ladder(tmp_path, 1.0)
    finally:
        await asyncio.gather(*(descend(agent, Ladder(0, 0, 60)) for agent in left))


def test_a_gate_that_fails_is_told_and_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_good.py").write_text("def test(record_property): record_property('inputs', 7)\n")
    (tmp_path / "test_bad.py").write_text("def test(): assert not 'one escaped'\n")
    made = [gates.Gate(name, [str(tmp_path / f"test_{name}.py")], "fine", "") for name in ("good", "bad")]
    monkeypatch.setattr(gates, "GATES", made)
    assert gates.main([]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "ok    fine" in lines[0]
    assert "7 inputs, 1 tests" in lines[0]
    assert "FAILED" in lines[1]
    assert any("one escaped" in line for line in lines)
    assert gates.main(["no such"]) == 2


NAMED = """
import importlib, json, pkgutil, sys
import sidecar
from tests.gates import planted

for module in pkgutil.walk_packages(sidecar.__path__, "sidecar."):
    try:
        importlib.import_module(module.name)
    except (ImportError, AssertionError):  # of another system
        pass
missing = lambda: setattr(sys.modules["sidecar.lsp.updates"], "no_such_thing", 0)
new, known = {}, planted.names()
for name, defect in {**planted.DEFECTS, "no such thing": missing}.items():
    defect()
    now = planted.names()
    new[name], known = sorted(now - known), now
print(json.dumps(new))
"""


def test_a_defect_replaces_what_is_there() -> None:
    """A name that the product does not have any more is looked at by nobody: the defect would be none."""
    told = subprocess.run(
        [sys.executable, "-c", NAMED],
        cwd=gates.PROJECT,
        env={**os.environ, "LONGEST_STEP": os.devnull},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    new = json.loads(told.stdout)
    assert new.pop("no such thing") == [["sidecar.lsp.updates", "no_such_thing"]]
    assert {defect: names for defect, names in new.items() if names} == {}


def test_every_gate_has_tests_and_can_fail() -> None:
    for gate in gates.GATES:
        assert all((gates.PROJECT / tests).exists() for tests in gate.tests), gate.name
        file, _, test = gate.fails.partition("::")
        assert f"def {test}(" in (gates.PROJECT / file).read_text(), gate.name
    assert len({gate.fails for gate in gates.GATES}) == len(gates.GATES)
