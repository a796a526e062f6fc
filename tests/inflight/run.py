"""play: one run by its seed, in virtual time, and what was wrong at its end."""

from __future__ import annotations

import asyncio
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from sidecar.disk import folder_files
from sidecar.workspace.state import acts
from tests.inflight import checks
from tests.inflight.account import Problem
from tests.inflight.agent import Agent
from tests.inflight.memory_disk import clock
from tests.inflight.scene import Scene
from tests.inflight.user import User
from tests.support.editor_time import run
from tests.support.workspaces import SlowJournal, a_workspace

REST_SECONDS = 400.0
"""Virtual: longer than any answer that comes at all, and than whoever waits for it."""


@dataclass(slots=True)
class Report:
    """What one run came to. Answers are counted by what was said."""

    seed: int
    problems: list[Problem] = field(default_factory=list[Problem])
    answers: Counter[str] = field(default_factory=Counter[str])
    typed: int = 0
    """Characters of the user's that had to be there at the end."""

    def __str__(self) -> str:
        return f"seed {self.seed}: " + ("; ".join(map(str, self.problems)) or "nothing wrong")


def nobody(line: str) -> None:
    pass


def play(
    seed: int,
    say: Callable[[str], None] = nobody,
    *,
    saves_at_once: bool = False,
    journals_at_once: bool = False,
) -> Report:
    """The same seed is the same run, whatever else is going on. `saves_at_once`, `journals_at_once`: as in the runs of a seed from before these were seen
    to take their time."""
    report = Report(seed)
    # The files are not in the folder that turns are noted of, and have their own time.
    with (
        mock.patch.object(folder_files, "trees", return_value=folder_files.Trees([], [])),
        mock.patch.object(acts, "clock", clock),
        tempfile.TemporaryDirectory(prefix="inflight-") as folder,
    ):
        try:
            scene = Scene(seed, Path(folder).resolve(), say, saves_at_once=saves_at_once)
            if saves_at_once or journals_at_once:
                scene.journal_takes = 0.0
            run(_play(scene, report))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            say("".join(traceback.format_exception(error)))
            report.problems.append(Problem("crash", "".join(traceback.format_exception_only(error)).strip()))
    return report


async def _play(scene: Scene, report: Report) -> None:
    journal = SlowJournal(scene.journal_takes)
    settings = {"afterWrite": scene.policy, "beforePrompt": "nothing"}
    async with a_workspace(
        scene.folder, scene.editor, scene.turns, settings=settings, journal=journal, storage=scene.storage
    ) as bench:
        scene.bench = bench
        bench.workspace.state.overlay.encoding = scene.editor.capabilities.encoding
        scene.editor.attach(bench.workspace.apply)
        agents = [Agent(scene, "agent 1", bench.session)]
        if scene.random("agents").random() < 0.4:
            agents.append(Agent(scene, "agent 2", await bench.another_session()))
        await asyncio.gather(User(scene).work(), *(agent.work() for agent in agents))
        await asyncio.sleep(REST_SECONDS)
        scene.editor.flushes()
        await asyncio.sleep(10)
        report.problems += checks.mirror(scene)
        report.problems += checks.ledgers(scene)
        report.problems += checks.reviewed(scene)
        report.problems += checks.journal(scene, journal.states)
        for name in list(scene.account.names()):
            text, disk = scene.truth(name), scene.disk.text(scene.path(name))
            scene.say("at the end", f"{name}: {text!r}, on the disk {disk!r}")
            buffer = scene.editor.model.documents.get(scene.editor.uri(name))
            if buffer is not None and buffer.hidden:
                disk = (disk or "") + buffer.text
            report.problems += scene.account.verdict(name, text, disk)
            report.typed += sum(map(len, scene.account.file(name).required))
        report.answers.update(write.said.split(",")[0] for write in scene.account.writes)
        report.problems += await checks.last_step(scene, bench.session)
