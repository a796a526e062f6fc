"""Agent: reads whole files and slices, through us or behind our back, and writes what it believes with its changes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field

from sidecar.core.merge import Merged, merge
from sidecar.core.normal import normal
from sidecar.core.refusal import Kind, Refusal
from sidecar.workspace.edits.write_task import WriteDone
from tests.inflight.account import Intent
from tests.inflight.scene import Scene
from tests.inflight.texts import agents_change, lines_of
from tests.inflight.tokens import counted, tokens

PAUSES = (0, 0, 0, 0.01, 0.1, 0.3, 0.7, 2.0, 20.0)
_STEPS = {
    "reads": 6,
    "reads a slice": 3,
    "writes": 12,
    "writes again": 1,
    "writes, writes, reads": 2,
    "reads the disk": 3,
    "slice, then disk": 1,
    "writes the disk": 2,
    "writes both": 1,
    "rewrites in place": 1,
    "tool": 1,
    "creates": 1,
}


@dataclass(slots=True)
class View:
    """What the agent thinks a file says."""

    text: str
    removed: set[str] = field(default_factory=set[str])
    """Tokens it took out of what it saw since it last saw the file."""
    low: int = 0
    high: int = 10**6
    """Lines it was shown last: where it makes its changes."""


class Agent:
    def __init__(self, scene: Scene, name: str, session: str) -> None:
        self.name = name
        self.session = session
        self._scene = scene
        self._random = scene.random(name)
        self._views: dict[str, View] = {}
        self._given: dict[str, set[str]] = {}
        self._took: dict[str, set[str]] = {}
        """What its own programs took out of files: it means that, whoever saves the old text over it meanwhile."""
        self._calls = 0
        self._last: Intent | None = None
        self._running: set[asyncio.Task[object]] = set()

    async def work(self) -> None:
        await asyncio.sleep(self._random.choice(PAUSES))
        async with self._scene.turns.turn(self._scene.bench, self.session):
            await self._turn()

    async def _turn(self) -> None:
        random, scene = self._random, self._scene
        for _ in range(random.choice([1, 3, 5, 8])):
            name = random.choice(scene.names)
            await self._step(name, random.choices(list(_STEPS), list(_STEPS.values()))[0])
            await asyncio.sleep(random.choice(PAUSES))
        while self._running:
            await asyncio.gather(*self._running)

    async def _step(self, name: str, step: str) -> None:
        random = self._random
        match step:
            case "reads":
                await self.read(name)
            case "reads a slice":
                await self._read_slice(name)
            case "writes":
                await self._write(name)
            case "writes again":
                last = self._last
                if last is not None:
                    # what it saw and has not in there is taken back knowingly, now and by what it writes on top
                    removed = self._given.get(last.name, set()) - tokens(last.content)
                    self._views[last.name] = View(last.content, removed)
                    await self._send(last.name, last.content, last.token, removed)
            case "writes, writes, reads":
                if name in self._views or not isinstance(await self.read(name), Refusal):
                    for _ in range(2):
                        self._later(self._write(name))
                        await asyncio.sleep(0)
                    self._later(self.read(name))
            case "reads the disk":
                while (
                    self._running
                ):  # a read of ours after the call was told would be taken for what the call does
                    await asyncio.gather(*self._running)
                self._tool("cat", name)
                await asyncio.sleep(random.choice([0, 0.01, 0.3]))
                self._see_disk(name)
                if random.random() < 0.5:
                    self._tool_ends()
            case "slice, then disk":
                await self._read_slice(name)
                self._tool("edit", name)
                self._see_disk(name)
                await self._write(name)
                self._tool_ends()
            case "writes the disk":
                await self._write_disk(name)
            case "writes both":
                await self._write_both(name)
            case "rewrites in place":
                await self._rewrite(name)
            case "tool":
                self._tool("ls", name)
                self._tool_ends()
            case _:
                await self._create()

    # Reading

    async def read(self, name: str) -> str | Refusal:
        answer = await self._scene.bench.read(name, session=self.session)
        self._say(f"reads {name}: {_short(answer)}")
        if isinstance(answer, str):
            self._note(name, answer)
            self._views[name] = View(answer)
        return answer

    async def _read_slice(self, name: str) -> None:
        """Lays what it is shown over what it knows, at the same line numbers, as an agent would."""
        random = self._random
        view = self._views.get(name)
        first, count = random.randint(1, 8), random.choice([1, 2, 3, 8])
        answer = await self._scene.bench.read(name, first, count, session=self.session)
        self._say(f"reads {count} lines from {first} of {name}: {_short(answer)}")
        if isinstance(answer, Refusal):
            return
        if view is None:
            self._see_disk(name, told=False)
            view = self._views.get(name)
            if view is None:
                return
        lines, shown = lines_of(view.text), lines_of(answer)
        text = "".join([*lines[: first - 1], *shown, *lines[first - 1 + len(shown) :]])
        torn = shown and first - 1 + len(shown) < len(lines) and not shown[-1].endswith(("\n", "\r"))
        twice = any(count > 1 for count in counted(text).values())
        elsewhere = tokens(answer) & self._given.get(name, set()) - tokens(view.text)
        self._note(name, answer)
        beyond = len(lines) < first - 1 + bool(shown)
        if beyond or torn or twice or elsewhere:
            # These lines do not fit what it has of the file, which is outdated: it reads it again before it writes. Who writes
            # from memory after being shown something else has seen that and left it out.
            del self._views[name]
            return
        truth = self._scene.truth(name) or ""
        shifted = normal("".join(lines[: first - 1])) != "".join(lines_of(normal(truth))[: first - 1])
        if shifted or (tokens(view.text) - tokens(text)) & tokens(truth):
            # Lines came or went since: for the agent these lines are elsewhere, in place of others, and it sends them so.
            # What it means to replace by them are other lines than theirs, which stay where they are.
            self._scene.account.file(name).doubled_by_agents |= tokens(answer) - tokens(view.text)
        # what it saw once and does not have any more is gone by its own doing
        removed = view.removed | (self._given.get(name, set()) - tokens(text))
        self._views[name] = View(text, removed, first - 1, first - 1 + len(shown))

    def _see_disk(self, name: str, *, told: bool = True) -> None:
        """Behind our back; or (`told` is False) what a first slice counts as laid over."""
        text = self._scene.disk.text(self._scene.path(name))
        if text is None:
            return
        text = text.removeprefix("\ufeff")
        self._note(name, text)
        self._views[name] = View(text)
        if told:
            self._say(f"reads the disk's {name}: {text!r}")

    # Writing

    async def _write(self, name: str) -> None:
        view = self._views.get(name)
        if view is None:
            if self._random.random() < 0.5:
                answer = await self.read(name)
                if isinstance(answer, Refusal):
                    return
            else:
                self._tool("cat", name)
                self._see_disk(name)
                self._tool_ends()
            view = self._views.get(name)
            if view is None:
                return
        token = self._scene.fresh.new("A")
        content = agents_change(self._random, view.text, token, view.low, view.high)
        removed = view.removed | (tokens(view.text) - tokens(content))
        self._views[name] = View(content, removed)
        await self._send(name, content, token, removed, view)

    async def _send(
        self,
        name: str,
        content: str,
        token: str,
        removes: set[str] | frozenset[str],
        before: View | None = None,
    ) -> None:
        account, bench = self._scene.account, self._scene.bench
        # agents' work that it was shown, or did itself, and leaves out is taken back by it; for the user's only `removes` counts
        agents = {t for t in self._given.get(name, set()) if t[0] == "A"} - tokens(content)
        removes = agents | removes | (self._took.get(name, set()) - tokens(content))
        self._note(name, content)
        write = self._last = account.begins(self.name, name, content, token, removes)
        self._say(f"writes #{write.number} {token} to {name}: {content!r}, without {sorted(removes)}")
        answer = await bench.write(name, content, self.session)
        if isinstance(answer, WriteDone):
            write.answer, write.said = "done", f"done, saved {answer.saved} {answer.note}"
            view = self._views.get(name)
            if view is not None and view.text == content:
                view.removed = set()
        elif answer.kind in (Kind.OUTCOME_UNKNOWN, Kind.EDITOR_MISAPPLIED):
            write.answer, write.said = "unknown", answer.kind
        else:
            write.answer, write.said = "refused", answer.kind
            view = self._views.get(name)
            if (
                view is not None
                and view.text == content
                and before is not None
                and self._random.random() < 0.7
            ):
                self._views[name] = before  # it knows that it was not written
        self._say(f"write #{write.number} {token}: {write.said} {getattr(answer, 'message', '')}")
        if isinstance(answer, Refusal) and answer.kind is Kind.CONFLICT and before is not None:
            text = self._scene.truth(name) or ""
            if isinstance(merge(normal(before.text), normal(text), normal(content)), Merged):
                self._say(f"write #{write.number} NEEDLESS conflict")
                write.said = "conflict?"
        if isinstance(answer, Refusal) and answer.kind is Kind.CONFLICT and self._random.random() < 0.7:
            await self.read(name)

    async def _rewrite(self, name: str) -> None:
        """Everything it saw in other words: each line indented."""
        answer = await self.read(name)
        if isinstance(answer, Refusal):
            return
        token = self._scene.fresh.new("A")
        content = f"{token} all new\n" + "".join(f"    {line}" for line in lines_of(answer))
        self._views[name] = View(content)
        await self._send(name, content, token, set())

    async def _write_disk(self, name: str) -> None:
        """`sed -i`, by its shell."""
        scene, random = self._scene, self._random
        self._tool("sed", name)
        await asyncio.sleep(random.choice([0, 0.1]))
        text = scene.disk.text(scene.path(name))
        if text is not None:
            changed = agents_change(random, text, scene.fresh.new("D"))
            self._took.setdefault(name, set()).update(tokens(text) - tokens(changed))
            scene.put_behind(self.name, name, changed)
        self._tool_ends()
        if random.random() < 0.5:
            self._see_disk(name)
        elif random.random() < 0.5:
            await self.read(name)

    async def _write_both(self, name: str) -> None:
        """The same text by its shell and through us, as some agents do."""
        scene, random = self._scene, self._random
        self._tool("edit", name)
        self._see_disk(name)
        view = self._views.get(name)
        if view is None:
            return
        token = scene.fresh.new("A")
        content = agents_change(random, view.text, token)
        removed = tokens(view.text) - tokens(content)
        self._took.setdefault(name, set()).update(removed)
        scene.put_behind(self.name, name, content)
        self._note(name, content)
        self._views[name] = View(content, removed)
        await asyncio.sleep(random.choice([0, 0, 0.01, 0.3, 1.0]))
        await self._send(name, content, token, removed)
        self._tool_ends()

    async def _create(self) -> None:
        name = self._random.choice(["new.txt", "new.txt", f"new-{self.name}.txt"])
        scene = self._scene
        if scene.disk.text(scene.path(name)) is not None:
            if name not in scene.names:
                scene.names.append(name)
            return
        token = scene.fresh.new("A")
        content = f"{token} new\nsecond\n"
        self._views[name] = View(content)
        await self._send(name, content, token, set())
        if scene.disk.text(scene.path(name)) is not None and name not in scene.names:
            scene.names.append(name)

    # What it says about itself

    def _tool(self, title: str, name: str) -> None:
        self._calls += 1
        kind = {"cat": "read", "ls": "execute", "sed": "execute", "edit": "edit"}[title]
        kind = "execute" if kind == "edit" else kind
        call = f"{self.name}-{self._calls}"
        self._say(f"tool call {call}: {title} {name}")
        update: dict[str, object] = {
            "sessionUpdate": "tool_call",
            "toolCallId": call,
            "title": f"{title} {name}",
            "kind": kind,
        }
        if kind == "read":  # of a shell's command nobody knows what it reads
            update["locations"] = [{"path": self._scene.path(name)}]
        self._scene.bench.workspace.session_update(self.session, {**update, "status": "in_progress"})

    def _tool_ends(self) -> None:
        update = {
            "sessionUpdate": "tool_call_update",
            "toolCallId": f"{self.name}-{self._calls}",
            "status": "completed",
        }
        self._scene.bench.workspace.session_update(self.session, update)

    def _note(self, name: str, text: str) -> None:
        self._given.setdefault(name, set()).update(tokens(text))

    def _later(self, what: Coroutine[object, object, object]) -> None:
        task = asyncio.get_running_loop().create_task(what)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def _say(self, what: str) -> None:
        self._scene.say(self.name, what)


def _short(answer: str | Refusal) -> str:
    return repr(answer) if isinstance(answer, str) else answer.kind
