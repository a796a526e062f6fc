"""Run: one plan carried out in one editor, and what came of it."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.hands.editor import Editor
from tests.hands.oracle import Oracle, Problem
from tests.hands.report import Report
from tests.hands.steps import Plan, Step, plan
from tests.hands.tokens import agents_alone, tokens
from tests.support.waiting import eventually

TURN_SECONDS = 90
LOOKS = 3


def play(
    editor: Editor,
    seed: int,
    count: int,
    folder: Path,
    log: Path,
    say: Callable[[str], None] = lambda line: None,
    *,
    storm: bool = False,
) -> Report:
    """The run with that seed, in `folder`, a new one. `log` is what the agent writes down; `say` is told every step."""
    made = plan(seed, count, editor.kinds, editor.settings, storm=storm)
    run = _Run(editor, made, folder, log, say)
    report = Report(editor.name, seed, count, storm=storm)
    try:
        run.play()
        report.problems = run.verdict()
    except Exception as problem:  # noqa: BLE001 - whatever it is that an editor does, it is a finding, and more runs follow
        run.story += traceback.format_exception(problem)
        words = "".join(traceback.format_exception_only(problem)).splitlines()[0]
        report.problems = [Problem("hung", f"the run did not end: {words}")]
    report.typed = run.typed
    deeds = [deed for deed in run.oracle.deeds() if deed.verb == "change"]
    report.writes, report.refused = len(deeds), sum(deed.answer != "done" for deed in deeds)
    if report.problems:
        with suppress(Exception):  # it may have ended
            run.story.append(editor.said())
        report.said = "\n".join(run.story)
    return report


class _Run:
    def __init__(
        self, editor: Editor, made: Plan, folder: Path, log: Path, say: Callable[[str], None]
    ) -> None:
        self.editor = editor
        self.plan = made
        self.folder = folder
        self._say = say
        self._log = log
        self._told = 0
        self.story: list[str] = []
        """Every step, what is shown after it, and what the agent did meanwhile."""
        self.typed = 0
        log.write_text("")
        self.oracle = Oracle(folder, log)

    def play(self) -> None:
        editor = self.editor
        for name, text in self.plan.files.items():
            self.path(name).write_text(text, newline="")
            self.oracle.starts(name, text)
        editor.begin(self.folder)
        for name, value in self.plan.settings.items():
            editor.set(name, value)
        for name in reversed(self.plan.files):
            editor.open(self.path(name))
        for number, step in enumerate(self.plan.steps):
            time.sleep(step.pause)
            self.say(f"{number + 1:3} {step}")
            self.carry_out(step)
            self.say_what_is_there([step.name] if step.name in self.plan.files else [])
        self.rest()
        self.say_what_is_there(self.plan.files)

    def say(self, line: str) -> None:
        told = f"{time.monotonic():.3f} {line}"
        self.story.append(told)
        self._say(told)

    def say_what_is_there(self, names: Iterable[str]) -> None:
        """What the agent did since the last time: what it was shown (`see`: the mirror), what it wrote, how that was answered. And these
        files as the person sees them, with the disk where that says something else."""
        deeds = self._log.read_text().splitlines()
        for deed in deeds[self._told :]:
            self.say(f"      agent: {deed}")
        self._told = len(deeds)
        for name in names:
            shown, disk = self.text(name), self.disk(name)
            self.oracle.sees(name, shown)
            self.say(f"      {name}: {shown!r}" + ("" if shown == disk else f", on disk {disk!r}"))

    def path(self, name: str) -> Path:
        return self.folder / name

    def text(self, name: str) -> str | None:
        """As the person sees it: what is shown, else the disk."""
        shown = self.editor.text(self.path(name))
        return self.disk(name) if shown is None else shown

    def disk(self, name: str) -> str | None:
        path = self.path(name)
        return path.read_bytes().decode() if path.exists() else None

    def carry_out(self, step: Step) -> None:
        editor, oracle, name = self.editor, self.oracle, step.name
        path = self.path(name)
        if step.kind in ("type", "save", "save and type", "undo", "redo", "split"):
            editor.open(path)
        match step.kind:
            case "type" | "save and type":
                editor.place(step.line, step.at_end)
                if step.kind == "save and type":
                    editor.type("S", 0)  # or there is nothing to save
                    editor.save()
                    time.sleep(step.after_save)
                editor.type(step.text, step.pace)
                oracle.typed(name, step.text)
                self.typed += len(step.text)
            case "save":
                editor.save()
            case "undo" | "redo":
                for _ in range(step.count):
                    since, before = oracle.settled(), editor.text(path)
                    editor.undo() if step.kind == "undo" else editor.redo()
                    oracle.stepped(name, before, editor.text(path), since)
            case "close":
                since, before = oracle.settled(), editor.text(path)
                if before is not None:
                    editor.close(path)
                    oracle.closed(name, before, self.disk(name), since)
            case "open":
                editor.open(path)
            case "split":
                editor.split()
            case "set":
                editor.set(name, step.value)
            case "outside" | "checkout":
                self.outside(step)
            case "prompt":
                self.wait_for_turn()
                editor.prompt([self.with_path(one) for one in step.agent])
            case "keep":
                editor.command("sidecar.keep", {"all": True})
                for one in self.plan.files:
                    oracle.kept(one, self.text(one))
            case "reject" | "undo turn":
                self.take_back(step)
            case "rest":
                self.rest()

    def with_path(self, step: dict[str, Any]) -> dict[str, Any]:
        verb = next(iter(step))
        return step if verb == "sleep" else {**step, verb: str(self.path(step[verb]))}

    def outside(self, step: Step) -> None:
        """A program of nobody's changes the disk: one line more, or the text of the beginning. A file that an editor has emptied to save it is left
        alone: what it would write over nobody could have seen."""
        was = self.disk(step.name)
        if not was:
            return
        now = self.plan.files[step.name] if step.kind == "checkout" else f"{step.text} MADE\n{was}"
        self.path(step.name).write_text(now, newline="")
        self.oracle.put(step.name, was, now, self.text(step.name))

    def take_back(self, step: Step) -> None:
        since = self.oracle.settled()
        before = {name: self.text(name) for name in self.plan.files}
        if step.kind == "reject":
            self.editor.command("sidecar.reject", {"all": True})
        else:
            rows = self.editor.command("sidecar.listChanges", {})
            if not rows:
                return
            newest = max(rows, key=lambda row: row["turn"])
            which = {"sessionId": newest["sessionId"], "turn": newest["turn"]}
            self.editor.command("sidecar.revertTurn", which)
        for name, was in before.items():
            self.oracle.rejected(name, was, self.text(name), since)

    def wait_for_turn(self) -> None:
        eventually(
            lambda: not self.editor.is_working(),
            "the turn ends",
            within=TURN_SECONDS,
            otherwise=self.editor.said,
        )

    def rest(self) -> None:
        """Until the agent is done and what it reads is what is shown. An editor that saves by itself may add a line end right after it was read."""
        for _ in range(LOOKS):
            self.wait_for_turn()
            self.editor.prompt([{"see": str(self.path(name))} for name in self.plan.files])
            self.wait_for_turn()
            if not any(self.read_otherwise(name, self.text(name)) for name in self.plan.files):
                return

    def verdict(self) -> list[Problem]:
        problems: list[Problem] = []
        for name in self.plan.files:
            shown = self.text(name)
            problems += self.oracle.verdict(name, shown)
            problems += self.read_otherwise(name, shown)
        problems += self.wrong_authors()
        problems += self.not_brought_back()
        return [problem for problem in problems if not self.is_brought_back(problem)]

    def is_brought_back(self, problem: Problem) -> bool:
        return problem.fault == "lost" and any(
            problem.what.endswith(f" in {name}")
            and self.oracle.was_written_over(name, problem.token, self.text(name))
            for name in self.plan.files
        )

    def read_otherwise(self, name: str, shown: str | None) -> list[Problem]:
        """What the agent was shown in the end, beside what the person sees."""
        seen = [
            deed for deed in self.oracle.deeds() if deed.verb == "see" and deed.path == str(self.path(name))
        ]
        told = seen[-1].after if seen else None
        if told is None or shown is None or told.replace("\r\n", "\n") == shown.replace("\r\n", "\n"):
            return []
        return [Problem("mirror", f"the agent reads {told!r} of {name}, which says {shown!r}")]

    def wrong_authors(self) -> list[Problem]:
        """The person's text in what is listed as the agent's, or apart as nobody's, where a program's belongs."""
        rows = self.editor.command("sidecar.listChanges", {})
        return [
            Problem("author", f"{token} of {_in_short(row['uri'])} is listed as {row['agent'] or 'nobody'}'s")
            for row in rows
            for token in sorted(tokens(row["newText"]) - tokens(row["oldText"]))
            if token[0] == "u" or (row["agent"] and token[0] != "a")
        ]

    def not_brought_back(self) -> list[Problem]:
        """After everything is rejected nothing of the agent's is left but what was kept."""
        rows = self.editor.command("sidecar.listChanges", {})
        self.say(f"    under review: {rows}")
        self.say(f"    rejected: {self.editor.command('sidecar.reject', {'all': True})}")
        left = {name: agents_alone(self.text(name)) - self.oracle.file(name).kept for name in self.plan.files}
        return [
            Problem("not back", f"{', '.join(sorted(rest))} in {name} after everything was rejected")
            for name, rest in left.items()
            if rest
        ]


def _in_short(uri: str) -> str:
    """With its run's folder: the file may be that of the run before."""
    return "/".join(uri.rsplit("/", 2)[1:])
