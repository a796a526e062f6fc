"""What outlives a restart, after random histories: agents write through us and on the disk, the user types, saves, closes, keeps and rejects; the sidecar is
shut down or killed, and another one goes on with its journal; meanwhile an editor keeps unsaved text, and the user works in a shell, removes and restores
files, and takes back with the command line.

    python -m tests.workspace.test_keeper_at_random FIRST COUNT     many runs
    python -m tests.workspace.test_keeper_at_random SEED            one, step by step
"""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
import traceback
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from sidecar.core.refusal import Refusal
from sidecar.journal import SqliteJournal
from sidecar.recovery.settle import at_start
from sidecar.workspace.review.review import Selector
from tests.support.editor_buffers import FakeBuffer
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import VirtualTimeLoop, run
from tests.support.file_time import tick
from tests.support.workspaces import IdleAgents, a_workspace
from tests.turns.doors import CommandLine, quick_folder

NAMES = ("a.txt", "b.txt")
PLACES = 4
DIGITS = {"b": "0123456789", "A": "KLMNOPQRST", "u": "cdefghijko", "s": "vwxyzVWXYZ", "call": "0123456789"}
"""Of the words, by who wrote them: base, an agent, the user in the editor, and in a shell. No two have a character in common."""
Line = tuple[str, str]
"""Who wrote it, and what it says; "": the line that was there was removed. Who: base, agent, user; kept: an agent's that the user kept; beneath: an agent's
on which an agent wrote what the user kept, and that may be under review if that goes; rejected: an agent's that is left in the file of a document in which
it was rejected, which is not saved."""
Place = tuple[Line, ...]
"""The lines written in one place, one upon the other. The topmost is in the text, between lines that nobody changes."""
Places = tuple[Place, ...]
ALL = Selector(everything=True)


def text_of(places: Places) -> str:
    lines = [(f"anchor {number}", place[-1][1]) for number, place in enumerate(places)]
    return "".join(f"{line}\n" for two in [*lines, ("end", "")] for line in two if line)


def tops(text: str) -> list[str]:
    """What the text says in each place."""
    return ["\n".join(part.split("\n")[1:-1]) for part in text.removesuffix("end\n").split("anchor")[1:]]


def push(places: Places, number: int, who: str, word: str) -> Places:
    return (*places[:number], (*places[number], (who, word)), *places[number + 1 :])


def words(place: Place) -> tuple[str, ...]:
    return tuple(word for _, word in place)


def less(place: Place) -> set[str]:
    """What a place may say once everything is rejected."""
    who, word = place[-1]
    beneath = less(place[:-1]) if who in ("agent", "rejected", "beneath") else set[str]()
    return beneath if who == "agent" else {word, *beneath}


class Killed(Exception):
    pass


class Unclear(Exception):
    """The user has thrown away what an editor had kept unsaved: where agents removed lines of that, nobody knows what the file's text is to say."""


class Scripted(IdleAgents):
    work: Callable[[], Awaitable[None]]

    async def prompt(self, session_id: str, blocks: Any) -> str:
        await self.work()
        return "end_turn"


class Play:
    def __init__(self, seed: int, folder: Path, journal: Path, say: Callable[[str], None]) -> None:
        self.random = Random(f"keeper {seed}")
        self.folder, self.journal, self.say = folder, journal, say
        self.problems: list[str] = []
        self.words = 0
        self.disk: dict[str, Places] = {}
        self.documents: dict[str, Places] = {}
        self.gone: dict[str, Places] = {}
        self.kept_unsaved: dict[str, tuple[str, bytes | None]] = {}
        """By an editor over the end of a sidecar, and what it had last seen the file say."""
        self.pending: dict[str, Places] = {}
        self.sessions: list[str] = []
        self.killed_in_a_turn = False
        self.thrown_away: set[str] = set()
        self.apart: set[str] = set()
        """The user had changed them in a shell while an editor kept unsaved text: only the review of one of the two is stored."""
        self.end = self.random.choice(["\n", "\n", "\r\n"])
        self.history: dict[str, list[Places]] = {}
        """All that a document said since it was opened."""
        self.said: set[tuple[str, int, tuple[str, ...]]] = set()
        """What documents and files said in any life of a sidecar: the name, the number of the place, and the words there, one upon the other."""
        names = NAMES[: self.random.choice([1, 1, 2])]
        for name in names:
            self.disk[name] = tuple((("base", self.word("b")),) for _ in range(PLACES))
            self.puts(name)
        self.names = names

    def word(self, who: str) -> str:
        self.words += 1
        return who + "".join(DIGITS[who][int(digit)] for digit in str(self.words))

    def there(self) -> list[str]:
        return [name for name in self.names if name in self.disk]

    def places(self, name: str) -> Places:
        return self.documents.get(name) or self.disk[name]

    def is_unsaved(self, name: str) -> bool:
        buffer = self.editor.model.documents.get(self.editor.uri(name))
        return name in self.documents and cast("FakeBuffer", buffer).is_edited

    def on_disk(self, name: str) -> str:
        return (self.folder / name).read_bytes().decode().replace(self.end, "\n")

    def in_editor(self, name: str) -> str:
        return self.editor.text(name).replace(self.end, "\n")

    # One life of a sidecar

    async def whole(self) -> None:
        try:
            await self.lives()
        except* Unclear:
            self.say("nobody knows")

    async def lives(self) -> None:
        lives = self.random.choice([2, 2, 3, 4])
        for life in range(lives):
            try:
                await self.life(last=life == lives - 1)
            except* Killed:
                await asyncio.sleep(1)
            if life >= lives - 1 or self.problems:
                return
            self.leaves()
            self.between()

    async def life(self, *, last: bool) -> None:
        random = self.random
        custom = random.random() < 0.7
        self.say(f"--- a sidecar, custom {custom}")
        self.editor = FakeEditor(VSCODE, self.folder, custom=custom)
        self.agents = Scripted()
        async with SqliteJournal.opened(self.journal) as journal:
            loop = asyncio.get_running_loop()
            assert isinstance(loop, VirtualTimeLoop)
            loop.threads.append(journal._calls.thread)  # pyright: ignore[reportPrivateUsage]
            await at_start(journal)
            async with a_workspace(self.folder, self.editor, self.agents, journal=journal) as bench:
                self.bench = bench
                self.sessions.append(bench.session)
                bench.workspace.state.overlay.encoding = self.editor.capabilities.encoding
                first = random.random() < 0.5
                if first:
                    await bench.workspace.restore_reviews()
                self.opens_again()
                if random.random() < 0.1:
                    await self.opens_or_closes()
                if not first:
                    await bench.workspace.restore_reviews()
                if random.random() < 0.1:
                    await self.opens_or_closes()
                await asyncio.sleep(1)
                await self.check("at the start")
                for _ in range(random.randrange(1, 5)):
                    await self.acts()
                    if self.problems:
                        return
                if last:
                    await self.ends()
                elif random.random() < 0.5:
                    await asyncio.sleep(5)
                    await bench.workspace.reviews_stored()
                    self.say("shut down")
                else:
                    await self.is_killed()

    async def is_killed(self) -> None:
        """Perhaps in the middle of something."""
        act = asyncio.ensure_future(self.random.choice([self.turn_through_us, self.rejects, self.waits])())
        await asyncio.sleep(self.random.choice([0, 0, 0.001, 0.01, 0.05, 0.3, 2]))
        for _ in range(self.random.randrange(12)):
            await asyncio.sleep(0)
        self.say(f"killed, done {act.done()}")
        self.editor.disconnects()
        act.cancel()
        raise Killed

    async def waits(self) -> None:
        """For nothing."""

    def leaves(self) -> None:
        """The editor ends, too, or is told of another sidecar."""
        self.kept_unsaved = {}
        for name in self.names:
            buffer = cast("FakeBuffer | None", self.editor.model.documents.get(self.editor.uri(name)))
            if buffer is not None and buffer.is_edited:
                self.documents.setdefault(name, self.disk.get(name) or self.gone[name])
                self.kept_unsaved[name] = buffer.text, self.editor.model.has_seen(buffer.uri)
            elif buffer is None or buffer.hidden:
                self.documents.pop(name, None)
        before = dict(self.documents)
        self.look({"agent", "beneath"})
        for name, places in self.documents.items():
            for n in range(PLACES) if name in self.disk else ():
                if len(places[n]) < len(before[name][n]):
                    self.rejected_in_file(name, n)
        self.pending = {}

    def follows(self, where: dict[str, Places], name: str, text: str, may_go: Collection[str]) -> None:
        """The text is as it was, but for what may have gone, or may have come."""
        now, pending = tops(text), self.pending.get(name)
        if any("\n" in word for word in now) and name in self.thrown_away:
            raise Unclear
        if len(now) != PLACES or not text.endswith("end\n"):
            self.problems.append(f"{name}: strange {text!r}")
            return
        found: list[Place] = []
        for number, place in enumerate(where[name]):
            if pending is not None and now[number] == pending[number][-1][1]:
                place = pending[number]
            while place[-1][1] != now[number] and len(place) > 1 and place[-1][0] in may_go:
                place = place[:-1]
            if place[-1][1] != now[number]:
                self.problems.append(f"{name}: {now[number]!r} for {where[name][number]}")
            found.append(place)
        where[name] = tuple(found)

    def between(self) -> None:
        random = self.random
        for name in list(self.documents):
            if name in self.kept_unsaved and random.random() < 0.25:
                self.say(f"the editor does not keep {name}")
                self.thrown_away.add(name)
                del self.kept_unsaved[name]
            if name not in self.kept_unsaved and (name not in self.disk or random.random() < 0.2):
                del self.documents[name]
        for _ in range(random.choice([0, 0, 1, 2])):
            by_itself = [] if self.killed_in_a_turn else [self.edits_in_a_shell, self.removes, self.restores]
            random.choice([self.reverts, *by_itself])()
        self.killed_in_a_turn = False
        for name in list(self.documents):
            if name not in self.kept_unsaved:
                self.documents.pop(name)
                if name in self.disk:
                    self.documents[name] = self.disk[name]

    def reverts(self) -> None:
        session = self.random.choice(self.sessions)
        CommandLine(self.journal, self.say).revert("--session", session)
        for name in self.there():
            self.follows(self.disk, name, self.on_disk(name), {"agent", "rejected", "beneath", "kept"})

    def edits_in_a_shell(self) -> None:
        for name in self.there()[-1:]:
            number, word = self.random.choice(self.free(self.disk[name])), self.word("s")
            self.disk[name] = push(self.disk[name], number, "user", word)
            if name in self.kept_unsaved:
                self.apart.add(name)
            self.say(f"user edits {name} in a shell: {word} for {self.disk[name][number][-2]}")
            self.puts(name)

    def puts(self, name: str) -> None:
        tick()
        (self.folder / name).write_bytes(text_of(self.disk[name]).replace("\n", self.end).encode())
        tick()

    def removes(self) -> None:
        for name in self.there()[:1]:
            self.say(f"user removes {name}")
            self.gone[name] = self.disk.pop(name)
            (self.folder / name).unlink()

    def restores(self) -> None:
        for name in [n for n in self.gone if n not in self.disk][:1]:
            self.say(f"user restores {name}")
            self.disk[name] = self.gone[name]
            self.puts(name)

    def opens_again(self) -> None:
        self.history = {name: [places] for name, places in self.documents.items()}
        for name in self.documents:
            buffer = cast("FakeBuffer", self.editor.opens(name))
            if name in self.kept_unsaved:
                text, seen = self.kept_unsaved[name]
                self.editor.model.has_kept(buffer.uri, text)
                self.editor.model.saw(buffer.uri, seen)
            self.say(f"the editor has {name} open: {buffer.text!r}, unsaved {name in self.kept_unsaved}")
        self.editor.attach(self.bench.workspace.apply)
        for name in self.documents:
            self.editor.model.opened(self.editor.buffer(name))

    # What is done

    async def acts(self) -> None:
        does = [self.turn_through_us, self.turn_through_us, self.turn_on_the_disk, self.types, self.types]
        does += [self.rejects, self.keeps, self.saves, self.opens_or_closes, self.undoes, self.in_a_shell]
        await self.random.choice(does)()
        await asyncio.sleep(self.random.choice([1, 3, 12]))
        self.look()
        if not self.problems and self.random.random() < 0.6:
            await self.check("meanwhile")

    def look(self, may_go: Collection[str] = ()) -> None:
        """What the document and the file say. A document that says what is not in the file may have been saved."""
        for name in self.names:
            buffer = self.editor.model.documents.get(self.editor.uri(name))
            if name in self.documents:
                assert buffer is not None
                self.follows(self.documents, name, self.in_editor(name), may_go)
                self.history.setdefault(name, []).append(self.documents[name])
            if name in self.disk:
                text = self.on_disk(name)
                if name in self.documents and text == text_of(self.documents[name]):
                    self.disk[name] = self.documents[name]
                else:
                    self.follows(self.disk, name, text, {"rejected", *may_go})
            for where in (self.documents, self.disk):
                self.said.update((name, n, words(place)) for n, place in enumerate(where.get(name, ())))

    async def turn_through_us(self) -> None:
        self.killed_in_a_turn = True
        self.agents.work = self.writes_through_us
        await self.bench.workspace.start_prompt(self.bench.session, [])[2]
        self.killed_in_a_turn = False

    async def writes_through_us(self) -> None:
        for name in self.there()[: self.random.choice([1, 1, 2])]:
            text = await self.bench.read(name)
            assert isinstance(text, str)
            assert text.replace(self.end, "\n") == text_of(self.places(name))
            wanted = self.places(name)
            for number in self.random.sample(range(PLACES), self.random.choice([1, 2])):
                wanted = push(wanted, number, "agent", self.agents_word(wanted[number]))
            self.say(f"agent writes {name}: {text_of(wanted)!r}")
            self.pending[name] = wanted
            answer = await self.bench.write(name, text_of(wanted).replace("\n", self.end))
            assert not isinstance(answer, Refusal), answer
            if name in self.documents:
                self.documents[name] = wanted
            else:
                self.disk[name] = wanted
            self.pending.pop(name, None)

    def agents_word(self, place: Place) -> str:
        return self.word("A") if not place[-1][1] or self.random.random() < 0.7 else ""

    async def turn_on_the_disk(self) -> None:
        self.agents.work = self.writes_on_the_disk
        await self.bench.workspace.start_prompt(self.bench.session, [])[2]

    async def writes_on_the_disk(self) -> None:
        await asyncio.sleep(0.1)
        for name in self.there()[:1]:
            call = self.word("call")
            update: dict[str, Any] = {"toolCallId": call, "kind": "execute", "status": "in_progress"}
            self.bench.workspace.session_update(self.bench.session, {"sessionUpdate": "tool_call", **update})
            await asyncio.sleep(0.1)
            open_too = self.documents.get(name)
            same = [
                n
                for n in range(PLACES)
                if open_too is None or open_too[n][-1][1] == self.disk[name][n][-1][1] != ""
            ]
            for number in self.random.sample(same, min(len(same), self.random.choice([1, 2]))):
                word = self.agents_word(self.disk[name][number])
                self.disk[name] = push(self.disk[name], number, "agent", word)
                if open_too is not None:
                    self.documents[name] = push(self.documents[name], number, "agent", word)
            self.say(f"agent writes {name} on the disk: {text_of(self.disk[name])!r}")
            self.puts(name)
            if self.random.random() < 0.7:
                self.editor_looks()
            await asyncio.sleep(self.random.choice([0.1, 2]))
            done = {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed"}
            self.bench.workspace.session_update(self.bench.session, done)
            await asyncio.sleep(0.5)

    async def types(self) -> None:
        """In the place of a line of anybody's, or where there is none; or removes one that is not an agent's."""
        for name in list(self.documents)[:1]:
            number = self.random.choice(self.free(self.documents[name]))
            who, old = self.documents[name][number][-1]
            word = "" if old and who != "agent" and self.random.random() < 0.2 else self.word("u")
            if not word and (name, number, (*words(self.documents[name][number]), "")) in self.said:
                word = self.word(
                    "u"
                )  # otherwise this would be what an undo does: what was under review there is again
            self.documents[name] = push(self.documents[name], number, "user", word)
            self.say(f"user types {word!r} in {name} for {old!r}")
            before, after = (
                f"anchor {number}\n{one}\n" if one else f"anchor {number}\n" for one in (old, word)
            )
            before, after = (old, word) if old and word else (before, after)
            self.editor.replaces(name, before.replace("\n", self.end), after.replace("\n", self.end))
            if self.random.random() < 0.4:
                await self.saves()

    async def undoes(self) -> None:
        """Whatever was done last, by anybody."""
        for name in list(self.documents)[:1]:
            self.editor.undoes(name)
            await asyncio.sleep(1)
            text = self.in_editor(name)
            self.say(f"user undoes in {name}: {text!r}")
            known = [*self.history[name], *(self.disk[n] for n in [name] if n in self.disk)]
            now = next((one for one in reversed(known) if text_of(one) == text), None)
            if now is None:
                self.problems.append(f"{name}: nobody knows {text!r}")
            else:
                self.documents[name] = now

    async def in_a_shell(self) -> None:
        does = self.random.choice([self.edits_in_a_shell, self.removes, self.restores])
        name = self.there()[-1] if self.there() else ""
        if (does == self.removes and self.documents) or self.is_unsaved(name):
            return
        does()
        self.editor_looks()

    def editor_looks(self) -> None:
        """It takes what the file says into every document that has nothing unsaved: also where the user has just undone that, and so come back to what was
        saved last."""
        taken = [name for name in self.documents if name in self.disk and not self.is_unsaved(name)]
        self.editor.looks_at_disk()
        self.documents |= {name: self.disk[name] for name in taken}

    async def saves(self) -> None:
        for name in self.documents:
            if self.is_unsaved(name):
                assert self.editor.saves(name) or self.editor.overwrites(name)
                self.say(f"user saves {name}")
                self.disk[name] = self.documents[name]

    async def opens_or_closes(self) -> None:
        name = self.random.choice(self.names)
        if name in self.documents:
            self.say(f"user closes {name}, unsaved {self.is_unsaved(name)}")
            if self.is_unsaved(name) and name in self.kept_unsaved:
                self.thrown_away.add(name)
            self.editor.closes(name)
            del self.documents[name]
            self.history.pop(name, None)
        elif name in self.disk:
            self.say(f"user opens {name}")
            self.editor.opens(name)
            self.documents[name] = self.disk[name]
            self.history[name] = [self.disk[name]]

    def free(self, places: Places) -> list[int]:
        return [n for n, place in enumerate(places) if free(place)] or [0]

    async def some(self) -> Mapping[str, Any] | None:
        """A change that is listed."""
        rows = [row for row in map(dict, await self.bench.workspace.review.listed(ALL)) if "oldText" in row]
        return self.random.choice(rows) if rows else None

    def name_of(self, row: Mapping[str, Any]) -> str:
        return str(row["uri"]).rpartition("/")[2]

    async def rejects(self) -> None:
        row = await self.some()
        if row is None or self.name_of(row) not in self.names:
            return
        name = self.name_of(row)
        self.say(f"user rejects {row['oldText']!r} -> {row['newText']!r} in {name}")
        result = await self.bench.workspace.review.reject(
            Selector(change_ids=frozenset([str(row["changeId"])]))
        )
        if result.impossible:
            self.problems.append(f"not rejected: {result}")
        await asyncio.sleep(1)
        where = self.documents if name in self.documents else self.disk
        before = where[name]
        buffer = self.editor.model.documents.get(self.editor.uri(name))
        self.follows(
            where,
            name,
            self.in_editor(name) if buffer else self.on_disk(name),
            {"agent", "rejected", "beneath"},
        )
        if where is self.documents and name in self.disk:
            text = self.on_disk(name)
            if text == text_of(self.documents[name]):
                self.disk[name] = self.documents[name]
            else:
                for n in range(PLACES):
                    if before[n] != where[name][n]:
                        self.rejected_in_file(name, n)

    def rejected_in_file(self, name: str, number: int) -> None:
        place = tuple(("rejected" if who == "agent" else who, word) for who, word in self.disk[name][number])
        self.disk[name] = (*self.disk[name][:number], place, *self.disk[name][number + 1 :])

    async def keeps(self) -> None:
        row = await self.some()
        if row is None or self.name_of(row) not in self.names:
            return
        name = self.name_of(row)
        self.say(f"user keeps {row['oldText']!r} -> {row['newText']!r} in {name}")
        self.bench.workspace.review.keep(Selector(change_ids=frozenset([str(row["changeId"])])))
        lines = text_of(self.places(name)).split("\n")
        new = {lines[number] for number in lines_of(row)}
        its = [written(place, row, new) for place in self.places(name)]
        for where in (self.documents, self.disk, self.gone):
            if name in where:
                where[name] = kept(where[name], its)
        self.history[name] = [kept(places, its) for places in self.history.get(name, ())]

    # What is to be

    async def check(self, when: str) -> None:
        rows = [row for row in map(dict, await self.bench.workspace.review.listed(ALL)) if "oldText" in row]
        for name in self.there():
            its = [row for row in rows if self.name_of(row) == name]
            self.say(f"{when}: {name}: {[(row['oldText'], row['newText']) for row in its]}")
            lines = text_of(self.places(name)).split("\n")
            listed = {lines[number] for row in its for number in lines_of(row)}
            for place in self.places(name):
                who, word = place[-1]
                if who == "agent" and word and word not in listed:
                    if name in self.thrown_away & self.apart:
                        raise Unclear
                    self.problems.append(f"{when}: {name}: {word} is not listed")
                if who in ("base", "user", "kept") and word in listed:
                    self.problems.append(f"{when}: {name}: {word} is listed")

    async def ends(self) -> None:
        await self.check("in the end")
        self.say("everything is rejected")
        result = await self.bench.workspace.review.reject(ALL)
        if result.impossible:
            self.problems.append(f"not rejected: {result}")
        await asyncio.sleep(15)
        for name in self.documents:
            if self.is_unsaved(name):
                self.say(f"user saves {name}: {self.editor.saves(name) or self.editor.overwrites(name)}")
        await asyncio.sleep(5)
        for name in [*self.documents, *self.there()]:
            if name not in self.documents and name not in self.disk:
                continue
            now = [*tops(self.on_disk(name))]
            for word, place in zip(now, self.places(name), strict=True):
                if "\n" in word and name in self.thrown_away:
                    raise Unclear
                if word not in less(place):
                    self.problems.append(f"in the end {name} says {word!r} for {place}")
        if rows := await self.bench.workspace.review.listed(ALL):
            self.problems.append(f"still listed: {rows}")


def lines_of(row: Mapping[str, Any]) -> range:
    """The lines in which the change has something."""
    start, end = row["range"]["start"], row["range"]["end"]
    is_empty = start == end
    return range(start["line"], start["line"] if is_empty else end["line"] + (end["character"] > 0))


def free(place: Place) -> bool:
    """An agent has not removed something from it that may come back beside what is written there."""
    return all(word or who != "agent" for who, word in place)


def written(place: Place, row: Mapping[str, Any], new: Collection[str]) -> set[tuple[str, ...]]:
    """What agents have written in this place that is in the change, one upon the other: each with all that it was written upon. `new`: the lines in which the
    change has something, in the text in which it is listed."""
    old, said = set(str(row["oldText"]).splitlines()) - {""}, words(place)
    is_its = said[-1] in new if said[-1] else not old.isdisjoint(said)
    theirs = takewhile(lambda n: place[n - 1][0] in ("agent", "beneath"), range(len(place), 0, -1))
    return {said[:n] for n in theirs} if is_its else set()


def kept(places: Places, its: Sequence[Collection[tuple[str, ...]]]) -> Places:
    """As they are once the user kept what was `written` in each, also beneath what the file has on top of it."""

    def now(place: Place, written: Collection[tuple[str, ...]]) -> Place:
        said, theirs = words(place), {one[-1] for one in written} - {""}
        newest = max(written, key=len, default=())

        def whose(n: int) -> str:
            who, word = place[n]
            if who not in ("agent", "beneath") or not (word in theirs or said[: n + 1] in written):
                return who
            is_newest = word == newest[-1] if word else said[: n + 1] == newest
            return "kept" if is_newest else "beneath"

        return tuple((whose(n), word) for n, word in enumerate(said))

    return tuple(map(now, places, its))


def play(seed: int, say: Callable[[str], None] = lambda line: None) -> list[str]:
    with (
        tempfile.TemporaryDirectory(dir=quick_folder()) as outside,
        tempfile.TemporaryDirectory(dir=quick_folder()) as journal,
    ):
        played = Play(seed, Path(outside).resolve(), Path(journal), say)
        try:
            run(played.whole())
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            played.problems.append("".join(traceback.format_exception(error)))
    return played.problems


@pytest.mark.parametrize(
    "seed",
    [1668, 1911, 1956, 2050, 4167, 4420, 4429, 6039, 6315, 6928, 7011, 7801, 7955, 8003, 8062, 8685, 9471],
)
def test_runs_in_which_something_was_wrong(seed: int) -> None:
    assert not play(seed)


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_what_outlives_a_restart(first: int) -> None:
    for seed in range(first, first + 20):
        assert not play(seed), seed


def main(first: int, count: int | None = None) -> None:
    logging.disable(logging.ERROR)
    for seed in range(first, first + (count or 1)):
        wrong = play(seed, (lambda line: None) if count else say)
        if wrong or not count:
            say(f"{seed} {wrong or 'nothing wrong'}")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
