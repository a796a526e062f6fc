"""Rows of whole files, at random: several turns create, overwrite, remove, move, link and chmod the same few names, the user does so between them, and
rejects or keeps rows in any order, also after a restart.

The law: what an agent has done is listed while it can be seen on the disk; what is kept stays as it is; and once all else is rejected, everything is as it was, with
what the user did and kept.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sidecar.core.uri import DocumentUri, to_path
from sidecar.recovery.settle import at_start
from sidecar.workspace.behind.file_change import FileChange
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run
from tests.support.file_time import tick
from tests.support.workspaces import Bench, a_workspace
from tests.turns.doors import quick_folder
from tests.turns.journals import SlowJournal
from tests.turns.world import Entry, entries
from tests.workspace.test_behind import Agent, Turn

NAMES = "abc"
Step = tuple[int, ...]
"""Number of a step; and of an agent's act in it."""
State = Entry | None


class Play:
    def __init__(
        self, seed: int, folder: Path, journal: Path, say: Callable[[str], None], without: Collection[Step]
    ) -> None:
        self.seed = seed
        self.folder = folder
        self.journal = journal
        self.say = say
        self.without = without
        self.agents = Agent()
        self.problems: list[str] = []
        self.wanted: dict[str, set[State]] = {}
        """What may be under each name once all agents' work is rejected."""
        self.blocked: set[str] = set()
        """Names where the user made or kept something: what was moved from there cannot go back."""
        self.every: list[str] = []
        """All sessions there were."""
        self.bench: Bench

    def random(self, *step: int) -> Random:
        return Random(f"file rows {self.seed} {step}")

    def whole(self) -> list[str]:
        run(self._whole())
        return self.problems

    async def _whole(self) -> None:
        random = self.random()
        for name in NAMES:
            self._puts(random, name, random.choice(["text", "bytes", "bytes", "empty", "link", ""]))
        self.wanted = {name: {state} for name, state in self._disk().items()}
        self.say(f"there is {self._disk()}")
        steps = [n for n in range(1, random.randrange(3, 9)) if (n,) not in self.without]
        while steps:
            async with self._sidecar():
                restarts = False
                while steps and not restarts:
                    number = steps.pop(0)
                    kinds = [self._turn, self._turn, self._turn, self._user, self._review, self._review, None]
                    kind = self.random(number).choice(kinds)
                    restarts = kind is None
                    if kind is not None:
                        await kind(number)
                        await asyncio.sleep(15)
                        await self._is_listed(f"after step {number}")
                was = await self._rows(), self._disk()
                await asyncio.sleep(5)
            self.say("the sidecar ends, and another goes on")
            async with self._sidecar():
                now = await self._rows(), self._disk()
                if self._seen(*was) != self._seen(*now):
                    self.problems.append(
                        f"listed before a restart: {list(map(self._about, was[0]))}, and after it: {list(map(self._about, now[0]))}"
                    )
                if was[1] != now[1]:
                    self.problems.append(f"on the disk before a restart: {was[1]}, and after it: {now[1]}")
                if not steps:
                    await self._reject_all()
                await asyncio.sleep(5)

    @asynccontextmanager
    async def _sidecar(self) -> AsyncGenerator[None]:
        journal = SlowJournal(self.journal, 0)
        await at_start(journal)
        editor = FakeEditor(VSCODE, self.folder, custom=self.random().random() < 0.5)
        async with a_workspace(self.folder, editor, self.agents, journal=journal) as bench:
            self.bench = self.agents.bench = bench
            bench.workspace.state.overlay.encoding = editor.capabilities.encoding
            editor.attach(bench.workspace.apply)
            await bench.workspace.restore_reviews()
            self.sessions = [bench.session, await bench.another_session()]
            self.every += self.sessions
            await asyncio.sleep(1)
            tick()
            yield
        await journal.close()

    def _disk(self) -> dict[str, State]:
        return {name: entries(self.folder).get(name) for name in NAMES}

    async def _rows(self) -> list[dict[str, Any]]:
        rows = list(map(dict, await self.bench.workspace.review.listed(Selector())))
        return sorted(rows, key=self._about)

    async def _is_listed(self, when: str) -> None:
        rows = await self._rows()
        paths = {name for row in rows for name in _names(row)}
        disk = self._disk()
        self.say(f"  {when}: {disk}, listed {[self._about(row) for row in rows]}")
        for name in NAMES:
            if disk[name] not in self.wanted[name] and name not in paths:
                self.problems.append(
                    f"{when}: {name} is {disk[name]} for {self.wanted[name]}, and not listed"
                )
        if any(row.get("unknown") for row in rows):
            self.problems.append(f"{when}: unknown {rows}")
        for name in NAMES:
            if name not in paths and disk[name] in self.wanted[name]:
                self.wanted[name] = {disk[name]}

    def _about(self, row: dict[str, Any]) -> str:
        shown = {key: value for key, value in row.get("file", {}).items() if key != "from"}
        texts = f"{row['oldText']!r} {row['newText']!r}"
        whose = f"turn {row['turn']} of {self.every.index(row['sessionId'])}"
        return f"{' from '.join(_names(row))} {whose} {shown} {texts}"

    def _seen(self, rows: list[dict[str, Any]], disk: dict[str, State]) -> list[str]:
        """Without the changes in texts in place of which there is something else now."""
        return [
            self._about(row)
            for row in rows
            if "file" in row
            or not ((state := disk[_names(row)[0]]) is None or b"\0" in state[1] or state[0] == "link")
        ]

    # What is done

    def _puts(self, random: Random, name: str, what: str) -> None:
        path = self.folder / name
        word = f"{name}{random.randrange(10**6)}"
        if path.is_symlink() or what in ("link", ""):
            path.unlink(missing_ok=True)
        if what == "link":
            path.symlink_to(word)
        elif what:
            path.write_bytes(
                {"text": f"{word}\n".encode(), "bytes": b"\0" + word.encode(), "empty": b""}[what]
            )

    def _kinds(self, name: str) -> list[str]:
        """What may be put there. Changes of a text are hunks."""
        state = self._disk()[name]
        is_text = state is not None and state[0] == "file" and not state[1].startswith(b"\0")
        return ["bytes", "bytes", "link"] if is_text else ["text", "bytes", "empty", "link"]

    def _would_empty(self, state: Entry, other: str) -> bool:
        """Whether that would empty a text that an agent has made: all that is left of it is an empty file, of which nobody is told."""
        return state[1] == b"" and None in self.wanted[other] and self._disk()[other] is not None

    def _act(self, random: Random) -> str:
        """Some act; returns what was done, in words."""
        name, other = random.sample(NAMES, 2)
        state = self._disk()[name]
        does = random.choice(["puts", "puts", "removes", "moves", "moves", "chmods", "chmods"])
        path = self.folder / name
        if state is None or does == "puts":
            what = random.choice(self._kinds(name))
            self._puts(random, name, what)
            return f"puts {what} at {name}"
        if does == "moves" and not self._would_empty(state, other):
            path.rename(self.folder / other)
            return f"moves {name} to {other}"
        if does in ("moves", "removes") or state[0] == "link":
            path.unlink()
            return f"removes {name}"
        mode = random.choice([0o600, 0o755, 0o644])
        path.chmod(mode)
        return f"chmods {name} to {mode:o}"

    async def _turn(self, number: int) -> None:
        random = self.random(number)
        random.random()
        session = random.choice(self.sessions)

        async def script(turn: Turn) -> None:
            for act in range(random.choice([1, 1, 2, 3])):
                if (number, act) in self.without:
                    continue
                turn.says("execute", call=f"c{act}")
                tick()
                self.say(
                    f"{number}.{act} the agent of {self.every.index(session)} {self._act(self.random(number, act))}"
                )
                tick()
                turn.says("execute", call=f"c{act}", status="completed")
                await asyncio.sleep(4)

        self.agents.script = script
        await self.bench.workspace.start_prompt(session, [])[2]

    async def _user(self, number: int) -> None:
        random = self.random(number)
        random.random()
        rows = await self._rows()
        moves = [
            (f, t) for row in rows if row.get("file", {}).get("kind") == "renamed" for t, f in [_names(row)]
        ]
        name = random.choice([n for n in NAMES if all(n not in move for move in moves)] or [""])
        does = random.choice(["restores", "puts", "chmods", "moves back"])
        disk = self._disk()
        tick()
        if does == "moves back":
            for old, new in moves:
                if disk[old] is None and disk[new] in self.wanted[old] and self.wanted[new] == {None}:
                    self.say(f"{number} the user moves {new} back to {old}")
                    (self.folder / new).rename(self.folder / old)
                    break
        elif name and does == "restores" and len(self.wanted[name]) == 1:
            self.say(f"{number} the user restores {name}")
            self._restores(name, *self.wanted[name])
        elif name and disk[name] in self.wanted[name]:
            state = disk[name]
            if does == "chmods" and state is not None and state[0] == "file":
                self.say(f"{number} the user chmods {name}")
                (self.folder / name).chmod(0o640)
            else:
                what = random.choice([*self._kinds(name), ""])
                self.say(f"{number} the user puts {what} at {name}")
                self._puts(random, name, what)
            self.wanted[name] = {self._disk()[name]}
        tick()

    def _restores(self, name: str, state: State) -> None:
        path = self.folder / name
        path.unlink(missing_ok=True)
        if state is not None and state[0] == "link":
            path.symlink_to(state[1].decode())
        elif state is not None:
            path.write_bytes(state[1])
            path.chmod(state[2])

    # Review

    async def _review(self, number: int) -> None:
        random = self.random(number)
        random.random()
        rows, disk = await self._rows(), self._disk()
        if not rows:
            return
        row = random.choice(rows)
        if random.random() < 0.25:
            self._keep(number, row)
            if self._disk() != disk:
                self.problems.append(
                    f"step {number}: keeping {self._about(row)} changed the disk: {self._disk()} for {disk}"
                )
            return
        selector = Selector(change_ids=frozenset([row["changeId"]]))
        if random.random() < 0.4:
            selector = Selector(session_id=row["sessionId"], turn=row["turn"])
        done = await self.bench.workspace.review.reject(selector)
        self.say(f"{number} the user rejects {self._about(row)} by {selector}: {done}")
        if row["changeId"] in done.done and _which(row) in map(_which, await self._rows()):
            self.problems.append(f"step {number}: {self._about(row)} was rejected, and is listed")

    def _keep(self, number: int, row: dict[str, Any]) -> None:
        self.say(f"{number} the user keeps {self._about(row)}")
        disk = self._disk()
        names = _names(row)
        every = list(self.bench.workspace.review.files)
        change = next((c for c in every if c.change_id == row["changeId"]), None)
        name = names[0]
        is_last = change is None or not any(c.path == change.path and c.id > change.id for c in every)
        if is_last:
            self.wanted[name] |= {disk[name]}
        for state in list(self.wanted[name]):
            self.wanted[name] |= _kept(change, state, disk[name])
        if change is not None and change.kind == "changed":
            self._keeps_its_mode(change)
        if change is not None and change.moved_from:
            self.wanted[names[1]] |= {None}
            self.blocked |= {*names}
        if change is not None and change.after is None:
            self._is_gone_for_good(change)
        if len(self.wanted[name]) > 1:
            self.blocked.add(name)
        self.bench.workspace.review.keep(Selector(change_ids=frozenset([row["changeId"]])))

    def _keeps_its_mode(self, kept: FileChange) -> None:
        """The mode that was there already is the work of a row beneath, which may be taken back."""
        assert kept.before is not None
        assert kept.after is not None
        if kept.before.mode != kept.after.mode:
            return
        for change in self.bench.workspace.review.files:
            if change.path == kept.path and change.id < kept.id and change.kind == "mode" and change.before:
                self.wanted[os.path.basename(kept.path)] |= {("file", kept.after.data, change.before.mode)}

    def _is_gone_for_good(self, removal: FileChange) -> None:
        """The removal of a file is kept: an agent that had moved it there before cannot move it back."""
        path = removal.path
        for change in reversed([c for c in self.bench.workspace.review.files if c.id < removal.id]):
            if change.path == path and change.moved_from:
                path = change.moved_from
                self.wanted[os.path.basename(path)] |= {None}
            elif change.path == path and (change.before is None or change.after is None):
                return  # it was another file that was moved

    async def _reject_all(self) -> None:
        review, was = self.bench.workspace.review, None
        at_once = self.random().random() < 0.5
        result: Any = None
        while (rows := await self._rows()) and was != (
            now := ([self._about(row) for row in rows], self._disk())
        ):
            was = now
            self.random(len(rows)).shuffle(rows)
            for row in [None] if at_once else rows:
                one = (
                    Selector(everything=True)
                    if row is None
                    else Selector(change_ids=frozenset([row["changeId"]]))
                )
                result = await review.reject(one)
                self.say(f"rejects {'all' if row is None else self._about(row)}: {result}")
                await self._is_listed("taking back")
        await asyncio.sleep(15)
        for row in rows:
            if not self.blocked.intersection(_names(row)):
                self.problems.append(f"left in the list: {self._about(row)}: {result}")
        listed = {name for row in rows for name in _names(row)}
        disk = self._disk()
        for name in NAMES:
            if disk[name] not in self.wanted[name] and name not in listed:
                self.problems.append(f"in the end: {name} is {disk[name]} for {self.wanted[name]}")


def _which(row: dict[str, Any]) -> tuple[str, str, int]:
    """The change, of this turn: what an earlier one changed in the same lines stays under the same id."""
    return row["changeId"], row["sessionId"], row["turn"]


def _names(row: dict[str, Any]) -> list[str]:
    uris = [row["uri"], *filter(None, [row.get("file", {}).get("from")])]
    return [os.path.basename(to_path(DocumentUri(uri)) or "") for uri in uris]


def _kept(change: FileChange | None, state: State, now: State) -> set[State]:
    """What may be wanted after a change is kept, where `state` was. The mode and the contents are kept each by itself."""
    if change is None:
        return {now, *([("file", now[1], state[2])] if now and state else [])}
    was, then = change.before, change.after
    entry = None if then is None else (then.kind, then.data, then.mode)
    if was is None or then is None or state is None or then.is_link or was.is_link or state[0] == "link":
        return {entry}  # no mode of an earlier file goes on in it
    data = then.data if was.data != then.data else state[1]
    return {("file", data, then.mode if was.mode != then.mode else state[2])}


def play(
    seed: int, say: Callable[[str], None] = lambda line: None, without: Collection[Step] = ()
) -> list[str]:
    with (
        tempfile.TemporaryDirectory(prefix="rows-") as outside,
        tempfile.TemporaryDirectory(prefix="rows-journal-", dir=quick_folder()) as journal,
    ):
        folder = Path(outside).resolve() / "w"
        folder.mkdir()
        return Play(seed, folder, Path(journal), say, without).whole()


@pytest.mark.parametrize(
    "seed", [*range(40), 5035, 6148, 6254, 7653, 7680, 7828, 8780, 8815, 8961, 9266, 9319, 9372]
)
def test_rows_of_whole_files_are_taken_back_in_any_order(seed: int) -> None:
    assert not play(seed)


def smaller(seed: int) -> tuple[list[Step], list[str]]:
    """The steps that a failing run does not need."""
    without: list[Step] = []
    problems: list[str] = []
    for step in [*((n,) for n in range(1, 9)), *((n, act) for n in range(1, 9) for act in range(3))]:
        if (step[0],) in without:
            continue
        found = _safely(seed, [*without, step])
        if found:
            without, problems = [*without, step], found
    return without, problems


def _safely(seed: int, without: Collection[Step] = ()) -> list[str]:
    try:
        return play(seed, without=without)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        return [f"{type(error).__name__}: {error}"]


def main() -> int:
    parser = argparse.ArgumentParser(description="rows of whole files, at random")
    parser.add_argument("--seed", type=int, help="only this run: made smaller, and step by step")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--runs", type=int, default=1000)
    options = parser.parse_args()

    def say(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    if options.seed is not None:
        without, _ = smaller(options.seed)
        problems = play(options.seed, say, without)
        say("\n".join([f"without {without}", *problems]))
        return bool(problems)
    wrong = 0
    for seed in range(options.first, options.first + options.runs):
        problems = _safely(seed)
        wrong += bool(problems)
        if problems:
            say(f"{seed}: {'; '.join(problems)[:600]}")
    say(f"{options.runs} runs, {wrong} wrong")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
