"""AgentsActs: what an agent does in its turn, and how it tells of it."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import Any

from sidecar.core.refusal import Refusal
from tests.support.file_time import tick
from tests.turns.users_acts import UsersActs


class AgentsActs(UsersActs):
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
        if self.fills_made:
            acts += [partial(self._fills_made, session), self._makes, self._makes]
        if self.open_too:
            acts += [self._spoils, self._moves, self._removes]
        act = self.random.choice([*acts, self._modes, self._links, self._bytes, None])
        self.calls += 1
        call = f"c{self.calls}"
        self.say(f"- {asyncio.get_running_loop().time():.2f} call {call}")
        if self.has_tools and self._there() and self.tools.random() < 0.5:
            await self._edits_by_a_tool(session, call)
            return
        if act is None:
            await self._sends(session)
            return
        kind = self.random.choice(["execute", "execute", "other"])
        update: dict[str, Any] = {"toolCallId": call, "kind": kind, "status": "in_progress"}
        if self.random.random() < 0.3:
            update["locations"] = [{"path": str(self.folder / self.random.choice(self.names))}]
        tick()
        self.running.add(call)
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
            self.running.discard(call)
        tick()

    async def _edits_by_a_tool(self, session: str, call: str) -> None:
        """A tool of the agent's, of which each call names its one file: before, when it is over, or both times; and perhaps what it changes there."""
        kinds = ["edit", "edit", "edit", "other", *(["delete", "move"] if self.open_too else [])]
        kind, name = self.tools.choice(kinds), self.tools.choice(self._there())
        path = self.folder / name
        before = path.read_bytes().decode()
        after = self._changed(before.encode()).decode()
        old, new = (before, after) if self.tools.random() < 0.5 else _middle(before, after)
        moved = self.folder / f"moved{self.calls}.txt"
        named = {"locations": [{"path": str(one)} for one in ([path, moved] if kind == "move" else [path])]}
        if kind not in ("delete", "move") and self.tools.random() < 0.7:
            named["content"] = [{"type": "diff", "path": str(path), "oldText": old, "newText": new}]
        when = self.tools.choice(["before", "after", "both"])
        update: dict[str, Any] = {"toolCallId": call, "kind": kind, "status": "in_progress"}
        tick()
        self.running.add(call)
        told = {**update, **(named if when != "after" else {})}
        self.bench.workspace.session_update(session, {"sessionUpdate": "tool_call", **told})
        await self._while_a_call_runs([0, 0, 0.1, 1])
        if path.is_file() and path.read_bytes().decode() == before:
            self.say(
                f"agent's tool: {kind} {name}, named {when}{', with a diff' * ('content' in named)}: {after!r}"
            )
            if kind in ("delete", "move"):
                self.gone[name] = path.read_bytes()
            if kind == "delete":
                path.unlink()
            elif kind == "move":
                path.rename(moved)
            else:
                path.write_text(after)
        if self.tools.random() < 0.5:
            self.editor.looks_at_disk()
        await self._while_a_call_runs([0, 0, 0.1, 2])
        over = {"toolCallId": call, "status": "completed", **(named if when != "before" else {})}
        self.bench.workspace.session_update(session, {"sessionUpdate": "tool_call_update", **over})
        self.running.discard(call)
        tick()

    async def _while_a_call_runs(self, seconds: list[float]) -> None:
        """So long, in the middle of which the user may open or close a file, or type and save."""
        tick()
        pause = self.tools.choice(seconds)
        await asyncio.sleep(pause / 2)
        if self.tools.random() < 0.4:
            tick()
            self.tools.choice([self._types_and_saves, self._opens_or_closes])()
            tick()
        await asyncio.sleep(pause / 2)
        tick()

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
            if self._is_unsaved(name) and not self.open_too:
                continue
            self.say(f"agent removes {name}")
            if name in self.names:
                self.gone[name] = (self.folder / name).read_bytes()
            (self.folder / name).unlink()

    async def _makes_anew(self) -> None:
        """What an agent removed, or removes right now."""
        names = [n for n in self.gone if not ((self.folder / n).exists() or self._is_unsaved(n))]
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
        names = [n for n in self._there() if self.open_too or n not in self._open()]
        for name in names[:1]:
            target = f"moved{self.calls}.txt"
            self.say(f"agent moves {name} to {target}")
            self.gone[name] = (self.folder / name).read_bytes()
            (self.folder / name).rename(self.folder / target)

    async def _spoils(self) -> None:
        for name in [n for n in self._there() if not self._is_unsaved(n)][:1]:
            self.say(f"agent makes bytes of {name}")
            (self.folder / name).write_bytes(b"\0" + self.random.randbytes(9))

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

    async def _fills_made(self, session: str) -> None:
        """What an agent made empty, in this turn or before, through us or not."""
        for path in sorted(self.folder.rglob("new*.txt")):
            if path.stat().st_size == 0 and self.random.random() < 0.7:
                text, name = f"{self.word('agent')}\n", path.relative_to(self.folder).as_posix()
                self.say(f"agent fills {name}")
                if self.random.random() < 0.5:
                    path.write_text(text)
                else:
                    await self.bench.read(name, session=session)
                    self.say(f"through us: {await self.bench.write(name, text, session=session)}")

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


def _middle(before: str, after: str) -> tuple[str, str]:
    """The lines from the first to the last one that differ, of both."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    first = next((i for i, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), 0)
    last = next(
        (i for i, (one, other) in enumerate(zip(old[::-1], new[::-1], strict=False)) if one != other), 0
    )
    return "".join(old[first : len(old) - last]), "".join(new[first : len(new) - last])
