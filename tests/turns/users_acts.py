"""UsersActs: what the user does meanwhile, in the editor and beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar, cast

import anyio

from sidecar.core.uri import DocumentUri
from sidecar.workspace.review.review import Selector
from tests.support.file_time import tick
from tests.turns.scene import LINES, Scene
from tests.turns.world import USERS

Done = TypeVar("Done")
HEARD = 0.15
"""Seconds after which what an agent tells of cannot have begun before: nobody can tell a shell's edit from what an agent did in one moment with it."""
NOTICED = 0.1
"""Seconds until an editor has noticed that a file of an open document changed."""


class UsersActs(Scene):
    async def _user(self) -> None:
        for _ in range(self.random.choice([0, 0, 1, 2])):
            does = self.random.choice(
                [
                    self._opens_or_closes,
                    self._types_and_saves,
                    self._edits_in_a_shell,
                    self._restores,
                    self._creates,
                    *([self._types] * 2 if self.open_too else []),
                ]
            )
            tick()
            does()
            tick()
            pause = self.random.choice([0, 0.05, 1, 4])
            if does in (self._edits_in_a_shell, self._restores, self._creates):
                pause = max(pause, HEARD)
            await asyncio.sleep(pause)
        if self.reviews_meanwhile and self.reviews.random() < 0.5:
            await self._rejects_some()

    async def _rejects_some(self) -> None:
        """Of what is listed, whoever still works, and saves: whatever that is, all of it is to be taken back in the end."""
        review, random = self.bench.workspace.review, self.reviews
        rows = [row for row in map(dict, await review.listed(Selector())) if not row.get("unknown")]
        if not rows:
            return
        row = random.choice(rows)
        session, turn = str(row["sessionId"]), cast("int", row["turn"])
        selector = random.choice(
            [
                *[Selector(change_ids=frozenset([str(row["changeId"])]))] * 3,
                Selector(uri=DocumentUri(str(row["uri"]))),
                Selector(session_id=session),
                Selector(session_id=session, turn=turn),
            ]
        )
        tick()
        self.say(f"user rejects {selector}: {await self._seen_by_the_editor(review.reject(selector))}")
        tick()
        for name in (
            self._open()
        ):  # what the editor asks about, because it is newer on the disk, the user leaves for now
            if self.editor.buffer(name).dirty:
                self.say(f"user saves {name}: {self.editor.saves(name)}")
        if self.fuse is not None:
            self.fuse.waits(self.disk_seconds)
        tick()
        await asyncio.sleep(max(HEARD, random.choice([0, 1, 4])))

    async def _seen_by_the_editor(self, does: Awaitable[Done]) -> Done:
        """A document that shows what is no text is reloaded when its file is text again; the sidecar has no text from which to change it."""
        shown = [name for name in self._open() if self._is_bytes(name)]

        async def sees() -> None:
            for name in shown:
                while self._is_bytes(name):  # noqa: ASYNC110 - a file, not an event
                    await asyncio.sleep(NOTICED)
                self.editor.sees_on_disk(name)

        if not shown:
            return await does
        async with anyio.create_task_group() as beside:
            beside.start_soon(sees)
            done = await does
            await asyncio.sleep(2 * NOTICED)
            beside.cancel_scope.cancel()
        return done

    def _saves_all(self) -> None:
        for name in self._open():
            if self._is_unsaved(name):
                saved = self.editor.saves(name)
                self.say(f"user saves {name}: {saved}")
                if not saved:  # the editor asked: it is newer on the disk, where the user changed it
                    assert self.editor.overwrites(name)
                    self.world.users_choice(name, self.editor.text(name))

    def _closes_saved(self, name: str) -> None:
        if self._is_unsaved(name) and not self.editor.saves(
            name
        ):  # the editor asked: it is newer on the disk
            assert self.editor.overwrites(name)
            self.world.users_choice(name, self.editor.text(name))
        self.say(f"user closes {name}")
        self.editor.closes(name)

    def _opens_or_closes(self) -> None:
        name = self.random.choice(self.names)
        if name in self._open():
            if not self._is_unsaved(name):
                self.say(f"user closes {name}")
                self.editor.closes(name)
        elif name in self._there():
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
            if self.fuse is not None:
                self.fuse.waits(self.disk_seconds)
            self.say(f"user types {new} in {name} for {lines[line]}, saved {saved}")
            self.world.users_line(name, line, new)

    def _types(self) -> None:
        """And does not save it."""
        texts = [n for n in self._open() if n in self._there() or self._data(n) is None]
        for name in [n for n in texts if self.editor.text(n).count("\n") == LINES][:1]:
            lines, line, new = (
                self.editor.text(name).split("\n"),
                self.random.choice(USERS),
                self.word("user"),
            )
            self.say(f"user types {new} in {name} for {lines[line]}")
            self.editor.replaces(name, lines[line], new)
            self.world.users_line(name, line, new)

    def _edits_in_a_shell(self) -> None:
        names = [n for n in self._there() if not self._is_unsaved(n)]
        if not names or self._acts_run() or self.ending == "killed in a turn":
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
        if self.ending == "killed in a turn":
            return
        gone = [n for n in self.gone if not ((self.folder / n).exists() or self._is_unsaved(n))]
        for name in gone[:1]:
            self.say(f"user restores {name}")
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(self.world.wanted[name][1])

    def _creates(self) -> None:
        if self._acts_run() or self.ending == "killed in a turn":
            return
        name = f"mine{self.word('')}.txt"
        self.say(f"user creates {name}")
        (self.folder / name).write_text("mine\n")
        self.world.users_file(name, "mine\n")
