"""play: one whole turn (or two, or those of two sessions) by its seed, and everything of the agents' taken back at its end.

An agent runs commands that write, empty and fill, rename over, delete, move, format, check out, change modes, link and generate files, announced early, late,
or not by name, also in a repository within the folder; it also writes through us. Making an entry of the journal durable takes up to 0.3 s. Between and
beside that the user opens, types, saves, closes, restores, edits in a shell, and rejects some of what is listed. In some runs the disk takes its time, too.
In some, the agents also move, remove and make bytes of files that are open, and the user leaves text unsaved.
Then *Reject all*, *Undo turn* and `acp-sidecar revert` in any order, and the oracle (world.py) says what is wrong. In some runs the sidecar has ended
before that: it was shut down, or killed in the middle of a turn or of taking back; then another one, or the command line alone, goes on with its journal.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import traceback
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, NoReturn, cast

from sidecar.config import DEFAULT_MAX_FILE_BYTES
from sidecar.recovery.leftovers import sweep_at_start
from sidecar.recovery.settle import at_start
from sidecar.workspace.review.review import Selector
from tests.support.editor_buffers import FakeBuffer
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run
from tests.support.file_time import tick
from tests.support.repositories import commit, submodule
from tests.support.workspaces import IdleAgents, a_workspace
from tests.turns import killed
from tests.turns.agents_acts import AgentsActs
from tests.turns.doors import quick_folder
from tests.turns.journals import Fuse, KilledStore, SlowJournal
from tests.turns.scene import LINES, Report
from tests.turns.slow_disk import SlowDisk
from tests.turns.world import World, entries

ROUNDS = 4
"""How often the command line is asked to take back all sessions: what it refuses, because another's work is on top, the next round takes back."""


FEW = 200
"""Files of a folder of which the prompt waits until they are noted. In one that is larger, or was when an earlier turn began, the agent thinks before it
does anything: the prompt does not wait there."""


class Left(NamedTuple):
    """What is known to whoever is not the sidecar, once that has been killed."""

    world: World
    sessions: list[str]
    problems: list[str]
    names: list[str]
    documents: dict[str, str | None]
    """Those that the editor had open, and what they say that are unsaved: it keeps their text."""
    seen: dict[str, bytes | None]
    """What it had last seen their files say: it is not ended with the sidecar, and asks before it saves over anything newer."""
    in_the_middle: bool
    """The sidecar was killed at a call of the journal, and not at the end."""


class Scripted(IdleAgents):
    """Its turn is what `work` does."""

    def __init__(self) -> None:
        super().__init__()
        self.work: Callable[[str], Any] | None = None

    async def prompt(self, session_id: str, blocks: Any) -> str:
        assert self.work is not None
        await self.work(session_id)
        return "end_turn"


def play(seed: int, say: Callable[[str], None] = lambda line: None, moment: int | None = None) -> Report:
    """`moment`: in which a sidecar that is to be killed is, where there is one before and one after each call of the journal; None: as the seed says.
    Where the first one is shut down, this is the next one."""
    report = Report(seed, moment)
    with (
        tempfile.TemporaryDirectory(prefix="turns-") as outside,
        tempfile.TemporaryDirectory(prefix="turns-journal-", dir=quick_folder()) as journal,
    ):
        folder = Path(outside).resolve() / "w"
        folder.mkdir()
        try:
            _Turn(seed, folder, Path(journal), say, report).whole()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            say("".join(traceback.format_exception(error)))
            report.problems.append("".join(traceback.format_exception_only(error)).strip())
    return report


class _Turn(AgentsActs):
    def __init__(
        self, seed: int, folder: Path, journal: Path, say: Callable[[str], None], report: Report
    ) -> None:
        super().__init__(seed, folder, journal, say, report)
        self.agents = Scripted()
        self.agents.work = self._work
        self.was_large = False

    def whole(self) -> None:
        if self.ending.startswith("killed"):
            self._until_killed(self.play)
        else:
            run(self.play())
        if self.ending:
            self.say(f"the sidecar was {self.ending}")
            self.random = Random(f"afterwards {self.seed}")
            self._in_a_shell()
            if self.ending == "shut down" and self.report.moment is not None and killed.CAN:
                self._until_killed(self.play_on)
                self.say("the next one was killed")
            run(self.play_on())

    def _until_killed(self, part: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Plays a part of the run. What it leaves is known afterwards."""

        def play(die: Callable[[object], NoReturn]) -> None:
            def end(*, in_the_middle: bool) -> None:
                if self.attached:
                    self.documents = self._documents_left()
                    self.seen = {
                        name: self.editor.model.has_seen(self.editor.uri(name)) for name in self.documents
                    }
                here = self.world, self.sessions, self.report.problems, self.names
                die(Left(*here, self.documents, self.seen, in_the_middle))

            self.fuse = Fuse(partial(end, in_the_middle=True))
            run(part())
            end(in_the_middle=False)

        left = killed.killed(play)
        if isinstance(left, Exception):
            raise left
        assert isinstance(left, Left)
        self.world, self.sessions, self.names = left.world, left.sessions, left.names
        self.documents, self.seen = left.documents, left.seen
        self.report.problems = left.problems
        self.report.in_the_middle = left.in_the_middle

    async def play(self) -> None:
        random = self.random
        self._files()
        self.editor = FakeEditor(VSCODE, self.folder, custom=random.random() < 0.7)
        fsync = Random(f"fsync {self.seed}").choice([0, 0, 0.02, 0.3])
        journal = SlowJournal(self.journal, fsync, self.fuse)
        disk = SlowDisk(DEFAULT_MAX_FILE_BYTES, self.disk_seconds, Random(f"disk {self.seed}"))
        async with a_workspace(self.folder, self.editor, self.agents, journal=journal, storage=disk) as bench:
            self.bench = bench
            bench.workspace.state.overlay.encoding = self.editor.capabilities.encoding
            self.editor.attach(bench.workspace.apply)
            self.attached = True
            for _ in range(random.randrange(3)):
                self._opens_or_closes()
            await asyncio.sleep(1)
            tick()
            self.world.begins()
            self.sessions = [bench.session]
            if self.session_count == 2:
                self.sessions.append(await bench.another_session())
            turns = random.choice([1, 1, 2])
            for number in range(turns):
                await self._turns(last=number == turns - 1)
                await asyncio.sleep(random.choice([0, 1, 12]))
                await self._user()
            await asyncio.sleep(15)
            self.editor.looks_at_disk()
            await asyncio.sleep(1)
            if self.ending == "shut down":
                self._saves_all()
                await asyncio.sleep(5)
            else:
                if self.ending == "killed taking back":
                    self._light(25)
                await self._take_back()
                await self._look_what_is_there()
        await journal.close()

    async def play_on(self) -> None:
        """Another sidecar goes on with the journal."""
        self.attached = False
        self.editor = FakeEditor(VSCODE, self.folder, custom=self.random.random() < 0.7)
        journal = SlowJournal(self.journal, 0, self.fuse)
        self._light(25)
        for sentence in await at_start(journal):
            self.say(f"told: {sentence.words}")
        await sweep_at_start(journal)
        async with a_workspace(self.folder, self.editor, self.agents, journal=journal) as bench:
            self.bench = bench
            self.running.clear()
            bench.workspace.state.overlay.encoding = self.editor.capabilities.encoding
            first = self.random.random() < 0.5
            if first:
                await bench.workspace.restore_reviews()
            self._opens_again()
            if not first:
                await bench.workspace.restore_reviews()
            for _ in range(self.random.randrange(3)):
                self._opens_or_closes()
            await asyncio.sleep(1)
            tick()
            await self._take_back()
            await self._look_what_is_there()
        await journal.close()

    def _documents_left(self) -> dict[str, str | None]:
        names = {self.editor.uri(name): name for name in self.names}
        return {
            names[uri]: buffer.text if cast("FakeBuffer", buffer).is_edited else None
            for uri, buffer in self.editor.model.documents.items()
            if uri in names and (not buffer.hidden or buffer.dirty)
        }

    def _opens_again(self) -> None:
        """The editor tells another sidecar of its documents, with their text."""
        buffers = [
            (name, self.editor.opens(name), text)
            for name, text in self.documents.items()
            if (text is not None and not self._is_bytes(name)) or name in self._there()
        ]
        self.editor.attach(self.bench.workspace.apply)
        for name, buffer, text in buffers:
            if text is not None:
                self.editor.model.has_kept(buffer.uri, text)
                self.editor.model.saw(buffer.uri, self.seen.get(name))
            self.say(f"the editor has {buffer.uri} open again: {text!r}, unsaved: {buffer.dirty}")
            self.editor.model.opened(buffer)
        self.attached = True

    def _light(self, at_most: int) -> None:
        """From now on, the sidecar is killed before or after one of so many calls of the journal."""
        if self.fuse is not None:
            self.fuse.light(self.report.moment or Random(f"fuse {self.seed}").randrange(1, 2 * at_most))

    async def _look_what_is_there(self) -> None:
        await asyncio.sleep(15)
        self._saves_all()
        await asyncio.sleep(5)
        self.report.problems += self.world.problems({name: self.editor.text(name) for name in self._open()})
        rows = await self.bench.workspace.review.listed(Selector())
        left = [(row["uri"], row.get("file")) for row in map(dict, rows) if not row.get("unknown")]
        if left:
            self.report.problems.append(f"still listed: {left}")

    def _files(self) -> None:
        random = self.random
        for name in self.names:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{self.word('base')}\n" for _ in range(LINES)))
        (self.folder / "image").write_bytes(b"\0\1" + random.randbytes(20))
        (self.folder / "run.sh").write_text("echo\n")
        (self.folder / "link").symlink_to("f0.txt")
        has_git = shutil.which("git") is not None
        if random.random() < 0.5 and has_git:
            commit(self.folder)
            if "checks_out" in self.more_acts:
                self.commands.branches()
        elif "checks_out" in self.more_acts:
            self.more_acts.remove("checks_out")
        if has_git:
            self._repositories_within()

    async def _turns(self, *, last: bool) -> None:
        """A turn of each session, one after the other. (What changes while several agents work is listed apart: nobody knows whose it is.)"""
        for number, session in enumerate(self.sessions):
            if number:
                await self._user()
                await asyncio.sleep(Random(f"between {self.seed}").choice([0, 3, 12]))
            self.say(f"turn of {session}")
            if self.ending == "killed in a turn" and last and number == len(self.sessions) - 1:
                self._light(60)
            await self.bench.workspace.start_prompt(session, [])[2]
            self.running.clear()
            self.say("turn ends")

    def _repositories_within(self) -> None:
        """In half of the runs."""
        random = Random(f"within {self.seed}")
        kind = random.choice(["", "", "nested", "submodule"])
        if not kind:
            return
        within = {
            f"{name}.txt": "".join(f"{self.word('base')}\n" for _ in range(LINES)).encode() for name in "ij"
        }
        if kind == "submodule" and (self.folder / ".git").exists():
            submodule(self.folder, "in", self.outside / "lib", within)
        else:
            commit(self.folder / "in", within)
        (self.folder / "in" / "k.txt").write_bytes(within["i.txt"])
        self.say(f"there is a {kind} repository")
        self.names += ["in/i.txt", "in/j.txt", "in/k.txt"]
        self.within += ["in/", "in/made/"]
        random.shuffle(self.names)

    async def _take_back(self) -> None:
        review = self.bench.workspace.review
        for row in await review.listed(Selector()):
            shown = {
                k: row.get(k)
                for k in ("changeId", "turn", "oldText", "newText", "file", "unknown")
                if k in row
            }
            self.say(f"listed {shown}")
        random = Random(f"doors {self.seed} {self.ending}")

        async def reject_all() -> None:
            rejected = await self._seen_by_the_editor(review.reject(Selector(everything=True)))
            self.say(f"reject all: {rejected}")
            if rejected.impossible:
                self.report.problems.append(f"reject all: impossible {rejected.impossible}")

        async def undo(session: str, turn: int) -> None:  # what a later turn has on top is left
            undone = await self._seen_by_the_editor(review.revert_turn(session, turn))
            self.say(f"undo turn {turn} of {session}: {undone}")

        async def revert(*words: str) -> bool:
            said = await self.command_line.revert_beside(self.bench.workspace, *words)
            for path in said.on_disk:
                self.editor.sees_on_disk(path)
            for path in said.to_be_closed:
                self._closes_saved(os.path.relpath(path, self.folder))
            return not said.refused

        async def revert_sessions() -> None:
            """What later work of another session was on top of comes with the next round. What is refused still (a turn was undone in the middle of
            a line) is for the review."""
            for _ in range(ROUNDS):
                if all([await revert("--session", session) for session in reversed(self.sessions)]):
                    return
            self.report.refused = True
            await reject_all()

        doors: list[Callable[[], Any]] = [reject_all]
        for one in self.sessions:
            doors.append(partial(revert, "--session", one))
            for n in (1, 2):
                doors += [partial(undo, one, n), partial(revert, "--turn", f"{one}:{n}")]
        random.shuffle(doors)
        for door in doors[: random.choice([0, 1, 1, 2, 3, 9])]:
            await door()
            await asyncio.sleep(random.choice([0, 3]))
        last = random.choice([reject_all, revert_sessions])
        await last()
        if last is revert_sessions and any(text is not None for text in self.documents.values()):
            # What the command line had put back on the disk, while no sidecar ran, an editor may have kept unsaved: only the review knows that
            await reject_all()

    def _in_a_shell(self) -> None:
        """The command line, while no sidecar runs; it may be killed, too."""
        random = Random(f"shell {self.seed}")
        words = [("--session", one) for one in self.sessions]
        words += [("--turn", f"{one}:{n}") for one in self.sessions for n in (1, 2)]
        for some in random.sample(words, random.choice([0, 0, 1, 2])):
            if killed.CAN and random.random() < 0.3:
                self._is_killed(random.randrange(1, 4), *some)
            else:
                self.command_line.revert(*some)

    def _is_killed(self, calls: int, *words: str) -> None:
        def part(die: Callable[[object], NoReturn]) -> None:
            fuse = Fuse(lambda: die(True))
            fuse.light(calls)
            self.command_line.revert(*words, store=KilledStore(self.journal, fuse))
            die(False)

        was = killed.killed(part)
        if isinstance(was, Exception):
            raise was
        self.say(f"acp-sidecar revert {' '.join(words)} was{'' if was else ' not'} killed")

    async def _work(self, session: str) -> None:
        self.was_large |= len(entries(self.folder)) > FEW
        if self.was_large:
            await asyncio.sleep(1)
        for _ in range(self.random.randrange(1, 5)):
            await self._act(session)
            await asyncio.sleep(self.random.choice([0, 0.1, 1, 4]))
            await self._user()
