"""Every gate at its full size, one line each: `python -m tests.gates [NAME…]`, or `make gauntlet`. Exits with 1 when one fails.

A gate is some tests; its figures are what they recorded (`record_property`), summed up by name: the largest of what is measured, the
sum of what is counted. How a gate that failed did so is printed below its line.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parents[2]
MEASURED = (
    "MB more",
    "p99 ms",
    "own p99 ms",
    "MB said",
    "times its bytes",
    "times a write's bytes",
    "MB left unread",
    "loop ms",
    "step ms",
    "write step ms",
    "read step ms",
    "opening step ms",
    "mb a minute",
    "descriptors a minute",
    "threads a minute",
    "processes a minute",
)
"""Figures of which the largest is told; all others are counts."""


@dataclass(frozen=True)
class Gate:
    name: str
    tests: Sequence[str]
    passes: str
    """What it means that it passed, in a word or two."""
    fails: str
    """The test that plants a defect and sees this gate notice it."""
    environment: Mapping[str, str] | None = None
    program: Sequence[str] = ()
    """A module of ours to run after the tests; the last line it prints are figures, and its exit code counts."""
    at_once: int = 1
    """Tests that may run beside each other: more than one only where no time is measured."""


GATES = (
    Gate(
        "soak",
        ["tests/gates/test_soak.py"],
        "nothing grows in 20 minutes",
        "tests/gates/test_soak.py::test_the_gate_can_fail",
    ),
    Gate(
        "paths_table",
        ["tests/disk/test_disk_paths.py", "tests/core/test_policy.py"],
        "0 wrong verdicts",
        "tests/disk/test_disk_paths.py::test_the_table_would_notice_an_open_that_follows_links",
    ),
    Gate(
        "paths_race",
        ["tests/disk/test_disk_race.py"],
        "0 escapes",
        "tests/disk/test_disk_race.py::test_the_usual_check_does_let_something_out",
        {"SIDECAR_TEST_RACE_SECONDS": "30"},
    ),
    Gate(
        "text_fuzz",
        ["tests/core/test_text_laws.py"],
        "0 differences",
        "tests/gates/test_planted.py::test_text_fuzz_notices_units_taken_for_code_points",
        {"TEXT_FUZZ_EDITS": "100000"},
    ),
    Gate(
        "agent_wire",
        ["tests/gates/test_agent_wire.py"],
        "0 hang, 0 shadowed",
        "tests/gates/test_agent_wire.py::test_the_gate_can_fail",
    ),
    Gate(
        "editor_wire",
        ["tests/gates/test_editor_wire.py"],
        "0 unanswered, 0 pop-ups",
        "tests/gates/test_editor_wire.py::test_the_gate_can_fail",
    ),
    Gate(
        "order_pipelined",
        ["tests/gates/test_order.py"],
        "0 out of order",
        "tests/gates/test_order.py::test_the_gate_can_fail",
    ),
    Gate(
        "flood",
        ["tests/gates/test_flood.py"],
        "all arrived, own p99 < 50 ms",
        "tests/gates/test_flood.py::test_the_gate_can_fail",
    ),
    Gate(
        "slow_editor",
        ["tests/gates/test_slow_editor.py"],
        "0 blocked agents",
        "tests/gates/test_slow_editor.py::test_the_gate_can_fail",
    ),
    Gate(
        "close_ladder",
        ["tests/acp/test_process.py"],
        "0 left after 5 s",
        "tests/gates/test_planted.py::test_close_ladder_notices_a_ladder_of_one_rung",
    ),
    Gate(
        "no_orphans",
        ["tests/gates/test_no_orphans.py"],
        "0 survivors",
        "tests/gates/test_no_orphans.py::test_the_gate_can_fail",
    ),
    Gate(
        "ui_spoof",
        ["tests/gates/test_ui_spoof.py", "tests/core/test_escape.py"],
        "0 fooled",
        "tests/gates/test_ui_spoof.py::test_the_gate_can_fail",
    ),
    Gate(
        "trust_canary",
        ["tests/gates/test_trust_canary.py", "tests/workspace/test_trust.py"],
        "0 started",
        "tests/gates/test_trust_canary.py::test_the_gate_can_fail",
    ),
    Gate(
        "after_stop",
        ["tests/gates/test_after_stop.py"],
        "0 acts outside of a turn",
        "tests/gates/test_after_stop.py::test_the_gate_can_fail",
    ),
    Gate(
        "own_words",
        ["tests/gates/test_own_words.py"],
        "0 believed",
        "tests/gates/test_own_words.py::test_the_gate_can_fail",
    ),
    Gate(
        "whole_command",
        ["tests/gates/test_whole_command.py"],
        "0 allowed unseen",
        "tests/gates/test_whole_command.py::test_the_gate_can_fail",
    ),
    Gate(
        "names_asked",
        ["tests/gates/test_names_asked.py", "tests/core/test_guarded_names.py"],
        "0 unasked",
        "tests/gates/test_names_asked.py::test_the_gate_can_fail",
    ),
    Gate(
        "offered_folders",
        ["tests/gates/test_offered_folders.py"],
        "0 opened unasked",
        "tests/gates/test_offered_folders.py::test_the_gate_can_fail",
    ),
    Gate(
        "sign_in",
        ["tests/gates/test_sign_in.py"],
        "0 handed out unasked",
        "tests/gates/test_sign_in.py::test_the_gate_can_fail",
    ),
    Gate(
        "deep_folders",
        ["tests/gates/test_deep_folders.py"],
        "0 turns failed",
        "tests/gates/test_deep_folders.py::test_the_gate_can_fail",
    ),
    Gate(
        "held_bytes",
        ["tests/gates/test_held_bytes.py"],
        "bytes as held < budget + 5 lines",
        "tests/gates/test_held_bytes.py::test_the_gate_can_fail",
    ),
    Gate(
        "kept_texts",
        ["tests/gates/test_kept_texts.py"],
        "an open text <= 1.5 bytes a character, one under review <= 3 times",
        "tests/gates/test_kept_texts.py::test_the_gate_can_fail",
    ),
    Gate(
        "attached",
        ["tests/gates/test_attached.py"],
        "0 wrong answers, 0 heard by strangers",
        "tests/gates/test_attached.py::test_the_gate_can_fail",
    ),
    Gate(
        "loop_time",
        ["tests/gates/test_loop_time.py"],
        "a message < 20 ms of the loop",
        "tests/gates/test_loop_time.py::test_the_gate_can_fail",
    ),
    Gate(
        "loop_steps",
        ["tests/gates/test_loop_steps.py"],
        "a step of a long message < 20 ms",
        "tests/gates/test_loop_steps.py::test_the_gate_can_fail",
    ),
    Gate(
        "answer_steps",
        ["tests/gates/test_answer_steps.py"],
        "a step of a long answer < 20 ms",
        "tests/gates/test_answer_steps.py::test_the_gate_can_fail",
    ),
    Gate(
        "write_steps",
        ["tests/gates/test_write_steps.py"],
        "a step of a large write < 20 ms",
        "tests/gates/test_write_steps.py::test_the_gate_can_fail",
    ),
    Gate(
        "bridge_steps",
        ["tests/gates/test_bridge_steps.py"],
        "a step of a long request < 20 ms",
        "tests/gates/test_bridge_steps.py::test_the_gate_can_fail",
    ),
    Gate(
        "message_bytes",
        ["tests/gates/test_message_bytes.py"],
        "a message < 5 times its bytes",
        "tests/gates/test_message_bytes.py::test_the_gate_can_fail",
    ),
    Gate(
        "write_bytes",
        ["tests/gates/test_write_bytes.py"],
        "a write < 5 times its bytes",
        "tests/gates/test_write_bytes.py::test_the_gate_can_fail",
        at_once=os.cpu_count() or 1,
    ),
    Gate(
        "inflight",
        ["tests/inflight"],
        "0 characters lost",
        "tests/inflight/test_inflight.py::test_measured_from_the_current_text_writes_lose_what_was_typed",
        program=["tests.inflight.fuzz"],
    ),
    Gate(
        "crash_matrix",
        ["tests/crash"],
        "0 texts lost",
        "tests/crash/test_crash_matrix.py::test_planted_defects_are_noticed",
    ),
    Gate(
        "bridge_auth",
        ["tests/bridge/test_bridge_auth.py"],
        "0 let in",
        "tests/bridge/test_bridge_auth.py::test_without_the_proof_the_table_reports_it",
    ),
)


def run(gate: Gate, base: Path) -> tuple[bool, str, str]:
    """(passed, figures, the end of pytest's output)."""
    report = base / f"{gate.name}.xml"
    environment = {**os.environ, "GATES_FULL": "1", **(gate.environment or {})}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--timeout=0",
        "-p",
        "no:cacheprovider",
        "-o",
        "junit_family=xunit1",
    ]
    command += [f"--numprocesses={gate.at_once}"] if gate.at_once > 1 else []
    command += [f"--basetemp={base / gate.name}", f"--junit-xml={report}", *gate.tests]
    code, words = output_of(command, environment)
    if not report.exists():
        return False, "did not run", words
    told = figures(report)
    if code == 0 and gate.program:
        code, words = output_of([sys.executable, "-m", *gate.program], environment)
        told = words.strip().rpartition("\n")[2]
    return code == 0, told, words


def output_of(command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str]:
    done = subprocess.run(
        command, cwd=PROJECT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return done.returncode, done.stdout.decode("utf-8", "replace")


def figures(report: Path) -> str:
    found: dict[str, float] = {}
    suite = xml.parse(report).getroot()
    for one in suite.iter("property"):
        name = one.get("name", "")
        try:
            value = float(one.get("value", ""))
        except ValueError:  # hypothesis records words
            continue
        name = "attempts" if name.endswith(" attempts") else name
        found[name] = max(found.get(name, 0), value) if name in MEASURED else found.get(name, 0) + value
    count = len(list(suite.iter("testcase")))
    skipped = len(list(suite.iter("skipped")))
    words = [f"{value:,g} {name}" if value < 1e6 else f"{value:,.0f} {name}" for name, value in found.items()]
    words.append(f"{count - skipped} tests" + (f", {skipped} skipped" if skipped else ""))
    return ", ".join(words)


def main(names: Sequence[str]) -> int:
    unknown = set(names) - {gate.name for gate in GATES}
    if unknown:
        sys.stderr.write(f"no such gate: {', '.join(sorted(unknown))}\n")
        return 2
    failed = 0
    with tempfile.TemporaryDirectory(prefix="gates.") as base:
        for gate in GATES:
            if names and gate.name not in names:
                continue
            began = time.monotonic()
            passed, told, output = run(gate, Path(base))
            failed += not passed
            verdict = f"ok    {gate.passes}" if passed else "FAILED"
            sys.stdout.write(f"{gate.name:16} {verdict:32} {told} ({time.monotonic() - began:.0f} s)\n")
            if not passed:
                sys.stdout.write("".join(f"    {line}\n" for line in output.splitlines()[-40:]))
            sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
