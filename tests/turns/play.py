"""play: one whole turn (or two, or those of two sessions) by its seed, and everything of the agents' taken back at its end.

An agent runs commands that write, empty and fill, rename over, delete, move, format, check out, change modes, link and generate files, announced early, late,
or not by name, also in a repository within the folder; it also writes through us. Making an entry of the journal durable takes up to 0.3 s. Between and
beside that the user opens, types, saves, closes, restores and edits in a shell.
Then *Reject all* and *Undo turn* in either order, and the oracle (world.py) says what is wrong.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from sidecar.core.refusal import Refusal
from sidecar.journal.entry import Entry
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run
from tests.support.file_time import tick
from tests.support.repositories import commit, submodule
from tests.support.workspaces import Bench, IdleAgents, MemoryJournal, a_workspace
from tests.turns.commands import Commands
from tests.turns.world import USERS, World

LINES = 9
HEARD = 0.15
"""Seconds after which what an agent tells of cannot have begun before: nobody can tell a shell's edit from what an agent did in one moment with it."""


@dataclass(slots=True)
class Report:
    seed: int
    problems: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        return f"seed {self.seed}: " + ("; ".join(self.problems) or "nothing wrong")


class SlowJournal(MemoryJournal):
    """Each entry takes `seconds` to be durable."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    async def begin(self, entry: Entry, takes_back: Sequence[str] = ()) -> str:
        await asyncio.sleep(self.seconds)
        return await super().begin(entry, takes_back)


class Scripted(IdleAgents):
    """Its turn is what `work` does."""

    def __init__(self) -> None:
        super().__init__()
        self.work: Callable[[str], Any] | None = None

    async def prompt(self, session_id: str, blocks: Any) -> str:
        assert self.work is not None
        await self.work(session_id)
        return "end_turn"


def play(seed: int, say: Callable[[str], None] = lambda line: None) -> Report:
    report = Report(seed)
    with tempfile.TemporaryDirectory(prefix="turns-") as outside:
        folder = Path(outside).resolve() / "w"
        folder.mkdir()
        try:
            run(_Turn(seed, folder, say, report).play())
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            say("".join(traceback.format_exception(error)))
            report.problems.append("".join(traceback.format_exception_only(error)).strip())
    return report


class _Turn:
    def __init__(self, seed: int, folder: Path, say: Callable[[str], None], report: Report) -> None:
        self.seed = seed
        self.random = Random(f"turns {seed}")
        self.folder = folder
        self.outside = folder.parent
        self.world = World(folder)
        self.say = say
        self.report = report
        self.agents = Scripted()
        self.agents.work = self._work
        self.editor: FakeEditor
        self.bench: Bench
        self.makes_anew = Random(f"anew {seed}").random() < 0.5
        kinds = Random(f"kinds {seed}")
        self.names_late = kinds.random() < 0.3
        self.session_count = kinds.choice([1, 1, 2])
        self.more_acts = kinds.sample(["formats", "checks_out", "generates"], kinds.choice([0, 1, 2]))
        self.sessions: list[str] = []
        self.commands = Commands(folder, Random(f"commands {seed}"), self._there, self._changed, say)
        self.words = 0
        self.calls = 0
        self.gone: dict[str, bytes] = {}
        """What an agent removed, as it was when the turn began."""
        self.names = [f"f{i}.txt" for i in range(3)] + ["sub/g.txt", "sub/deep/h.txt"]
        self.others = ["image", "run.sh", "link"]
        self.within: list[str] = []
        """Folders of a repository in the folder."""

    def word(self, who: str) -> str:
        self.words += 1
        return f"{who}{self.words}"

    async def play(self) -> None:
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
        self.editor = FakeEditor(VSCODE, self.folder, custom=random.random() < 0.7)
        fsync = Random(f"fsync {self.seed}").choice([0, 0, 0.02, 0.3])
        async with a_workspace(self.folder, self.editor, self.agents, journal=SlowJournal(fsync)) as bench:
            self.bench = bench
            bench.workspace.state.overlay.encoding = self.editor.capabilities.encoding
            self.editor.attach(bench.workspace.apply)
            for _ in range(random.randrange(3)):
                self._opens_or_closes()
            await asyncio.sleep(1)
            tick()
            self.world.begins()
            self.sessions = [bench.session]
            if self.session_count == 2:
                self.sessions.append(await bench.another_session())
            for _ in range(random.choice([1, 1, 2])):
                await self._turns()
                await asyncio.sleep(random.choice([0, 1, 12]))
                await self._user()
            await asyncio.sleep(15)
            self.editor.looks_at_disk()
            await asyncio.sleep(1)
            await self._take_back()
            await asyncio.sleep(15)
            for name in self._open():
                if self.editor.buffer(name).text.encode() != self._data(name):
                    saved = self.editor.saves(name)
                    self.say(f"user saves {name}: {saved}")
                    if not saved:  # the editor asked: it is newer on the disk, where the user changed it
                        assert self.editor.overwrites(name)
                        self.world.users_choice(name, self.editor.text(name))
            await asyncio.sleep(5)
            self.report.problems += self.world.problems(
                {name: self.editor.text(name) for name in self._open()}
            )
            left = [
                dict(row) for row in await bench.workspace.review.listed(Selector()) if not row.get("unknown")
            ]
            if left:
                self.report.problems.append(
                    f"still listed: {[(row['uri'], row.get('file')) for row in left]}"
                )

    async def _turns(self) -> None:
        """A turn of each session, one after the other. (What changes while several agents work is listed apart: nobody knows whose it is.)"""
        for number, session in enumerate(self.sessions):
            if number:
                await self._user()
                await asyncio.sleep(Random(f"between {self.seed}").choice([0, 3, 12]))
            self.say(f"turn of {session}")
            await self.bench.workspace.start_prompt(session, [])[2]
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
        doors = [("reject all", lambda: review.reject(Selector(everything=True)))]
        doors += [
            (f"undo turn {n} of {one}", lambda n=n, one=one: review.revert_turn(one, n))
            for n in (1, 2)
            for one in self.sessions
        ]
        self.random.shuffle(doors)
        name = ""
        for name, door in doors:
            result = await door()
            self.say(f"{name}: {result}")
            if result.impossible and name == "reject all":  # a turn's may have a later turn's on top
                self.report.problems.append(f"{name}: impossible {result.impossible}")
            await asyncio.sleep(self.random.choice([0, 3]))
            if self.random.random() < 0.5:
                break
        if name != "reject all":
            await review.reject(Selector(everything=True))

    # The agent

    async def _work(self, session: str) -> None:
        for _ in range(self.random.randrange(1, 5)):
            await self._act(session)
            await asyncio.sleep(self.random.choice([0, 0.1, 1, 4]))
            await self._user()

    async def _act(self, session: str) -> None:
        acts = [
            self._writes,
            self._writes,
            self._writes,
            self._fills,
            self._removes,
            self._moves,
            self._makes,
        ]
        acts += [getattr(self.commands, name) for name in self.more_acts]
        if self.makes_anew:
            acts += [self._makes_anew, self._makes_anew]
        act = self.random.choice([*acts, self._modes, self._links, self._bytes, None])
        self.calls += 1
        call = f"c{self.calls}"
        self.say(f"- {asyncio.get_running_loop().time():.2f} call {call}")
        if act is None:
            await self._sends(session)
            return
        kind = self.random.choice(["execute", "execute", "other"])
        update: dict[str, Any] = {"toolCallId": call, "kind": kind, "status": "in_progress"}
        if self.random.random() < 0.3:
            update["locations"] = [{"path": str(self.folder / self.random.choice(self.names))}]
        tick()
        self.bench.workspace.session_update(session, {"sessionUpdate": "tool_call", **update})
        await asyncio.sleep(self.random.choice([0, 0, 0.1]))
        tick()
        await act()
        if self.random.random() < 0.5:
            self.editor.looks_at_disk()
        tick()
        await asyncio.sleep(self.random.choice([0, 0, 0.1, 2]))
        if self.random.random() < 0.9:
            done = {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed"}
            if self.names_late:
                done["locations"] = [{"path": str(self.folder / name)} for name in self._there()[:2]]
            self.bench.workspace.session_update(session, done)
        tick()

    def _there(self) -> list[str]:
        return [name for name in self.names if (self.folder / name).is_file()]

    def _changed(self, data: bytes) -> bytes:
        """An agent's lines in it are others now."""
        lines = data.decode().split("\n")
        for i in self.random.sample(range(LINES), 3):
            if i not in USERS and i < len(lines) - 1:
                lines[i] = self.word("agent")
        return "\n".join(lines).encode()

    async def _writes(self) -> None:
        for name in self.random.sample(self._there(), min(self.random.randrange(1, 3), len(self._there()))):
            path = self.folder / name
            data = self._changed(path.read_bytes())
            self.say(f"agent writes {name}: {data!r}")
            if self.random.random() < 0.5:
                path.write_bytes(data)
            else:
                new, mode = path.with_name(path.name + ".tmp"), path.stat().st_mode
                new.write_bytes(data)
                new.chmod(mode)
                new.replace(path)

    async def _fills(self) -> None:
        for name in self._there()[:1]:
            path = self.folder / name
            data = self._changed(path.read_bytes())
            self.say(f"agent empties {name} and fills it: {data!r}")
            path.write_bytes(b"")
            self.editor.looks_at_disk()
            await asyncio.sleep(0.3)
            tick()
            path.write_bytes(data)

    async def _sends(self, session: str) -> None:
        if not self._there():
            return
        name = self.random.choice(self._there())
        text = await self.bench.read(name, session=session)
        if isinstance(text, Refusal):
            return
        wanted = self._changed(text.encode()).decode()
        answer = await self.bench.write(name, wanted, session=session)
        self.say(f"agent sends {name}: {wanted!r}: {answer}")

    async def _removes(self) -> None:
        names = [n for n in self._there() + self.others if os.path.lexists(self.folder / n)]
        for name in self.random.sample(names, 1) if names else ():
            if self._is_unsaved(name):
                continue
            self.say(f"agent removes {name}")
            if name in self.names:
                self.gone[name] = (self.folder / name).read_bytes()
            (self.folder / name).unlink()

    async def _makes_anew(self) -> None:
        """What an agent removed, or removes right now."""
        names = [n for n in self.gone if not (self.folder / n).exists()]
        there = [n for n in self._there() if not self._is_unsaved(n)]
        for name in self.random.sample(names or there, 1) if names or there else ():
            path = self.folder / name
            data = self._changed(self.world.wanted[name][1])
            if path.exists():
                data = self._changed(path.read_bytes())
                self.gone[name] = path.read_bytes()
                path.unlink()
            self.say(f"agent makes {name} anew: {data!r}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    async def _moves(self) -> None:
        names = [n for n in self._there() if n not in self._open()]
        for name in names[:1]:
            target = f"moved{self.calls}.txt"
            self.say(f"agent moves {name} to {target}")
            self.gone[name] = (self.folder / name).read_bytes()
            (self.folder / name).rename(self.folder / target)

    async def _makes(self) -> None:
        for i in range(self.random.choice([1, 1, 3, 20])):
            path = (
                self.folder
                / self.random.choice(["", "made/", "made/inner/", *self.within])
                / f"new{self.calls}-{i}.txt"
            )
            self.say(f"agent makes {path.name}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.random.choice(["", self.word("agent") + "\n"]))

    async def _modes(self) -> None:
        for name in [n for n in ("run.sh", *self._there()[:1]) if (self.folder / n).is_file()][:1]:
            self.say(f"agent changes the mode of {name}")
            (self.folder / name).chmod(self.random.choice([0o755, 0o600, 0o744]))

    async def _links(self) -> None:
        link = self.folder / "link"
        link.unlink(missing_ok=True)
        link.symlink_to(self.random.choice(["f1.txt", "nowhere"]))
        self.say("agent links")

    async def _bytes(self) -> None:
        if (self.folder / "image").exists():
            (self.folder / "image").write_bytes(b"\0" + self.random.randbytes(9))
            self.say("agent changes the image")

    # The user

    async def _user(self) -> None:
        for _ in range(self.random.choice([0, 0, 1, 2])):
            does = self.random.choice(
                [
                    self._opens_or_closes,
                    self._types_and_saves,
                    self._edits_in_a_shell,
                    self._restores,
                    self._creates,
                ]
            )
            tick()
            does()
            tick()
            pause = self.random.choice([0, 0.05, 1, 4])
            if does in (self._edits_in_a_shell, self._restores, self._creates):
                pause = max(pause, HEARD)
            await asyncio.sleep(pause)

    def _open(self) -> list[str]:
        return [name for name in self.names if self.editor.uri(name) in self._documents()]

    def _documents(self) -> set[str]:
        return {uri for uri, buffer in self.editor.model.documents.items() if not buffer.hidden}

    def _data(self, name: str) -> bytes | None:
        path = self.folder / name
        return path.read_bytes() if path.is_file() else None

    def _is_unsaved(self, name: str) -> bool:
        return name in self._open() and self.editor.text(name).encode() != self._data(name)

    def _opens_or_closes(self) -> None:
        name = self.random.choice(self.names)
        if name in self._open():
            if not self._is_unsaved(name):
                self.say(f"user closes {name}")
                self.editor.closes(name)
        elif self._data(name):
            self.say(f"user opens {name}")
            self.editor.opens(name)

    def _types_and_saves(self) -> None:
        for name in self._open()[:1]:
            text = self.editor.text(name)
            lines = text.split("\n")
            if len(lines) != LINES + 1 or text.encode() != self._data(name):
                continue
            line = self.random.choice(USERS)
            new = self.word("user")
            self.editor.replaces(name, lines[line], new)
            saved = self.editor.saves(name) or self.editor.overwrites(name)
            self.say(f"user types {new} in {name} for {lines[line]}, saved {saved}")
            self.world.users_line(name, line, new)

    def _edits_in_a_shell(self) -> None:
        names = [n for n in self._there() if not self._is_unsaved(n)]
        if not names or self._acts_run():
            return
        name = self.random.choice(names)
        path = self.folder / name
        lines = path.read_text().split("\n")
        if len(lines) != LINES + 1 or name not in self.world.wanted:
            return
        line = self.random.choice(USERS)
        lines[line] = self.word("shell")
        self.say(f"user edits {name} in a shell: {lines[line]}")
        path.write_text("\n".join(lines))
        self.world.users_line(name, line, lines[line])

    def _restores(self) -> None:
        for name in [n for n in self.gone if not (self.folder / n).exists()][:1]:
            self.say(f"user restores {name}")
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(self.world.wanted[name][1])

    def _creates(self) -> None:
        if self._acts_run():
            return
        name = f"mine{self.word('')}.txt"
        self.say(f"user creates {name}")
        (self.folder / name).write_text("mine\n")
        self.world.users_file(name, "mine\n")

    def _acts_run(self) -> bool:
        """Whether an act of the agent's may be running by what it said: then nobody could tell."""
        acts = self.bench.workspace._evidence._acts
        return any(one in acts and bool(acts[one].running) for one in self.sessions)
