"""steps: what happens around a write, told as text: a case is a few lines that a person can read.

    check(tmp_path, VSCODE, '''
        user types "mine" above four
        agent writes one TWO three four five
        expect one TWO three mine four five
    ''')

One file, which says `one two three four five`. A text is its lines, each a word or in quotes; every one ends with "\\n".
It is open, and the agent has read it, unless the first step is `closed` (it is neither) or `unread`. Time is virtual: after
each step, the editor has a second to tell what it has to, except while a write of an agent is on its way.

    user types LINE above|below LINE     user changes WORD to WORD     user saves|undoes|redoes|opens|closes|rejects
    agent reads [LINE COUNT]             (from 1)
    agent writes TEXT                    it must succeed
    agent is refused REASON: TEXT        it must not, for that reason (`core.refusal.Kind`), and no text may change
    agent sends TEXT                     the write is on its way; `agent gets done` or `agent gets REASON` awaits its answer
    agent begins|ends|fails CALL KIND    a tool call of its own
    agent takes another turn
    disk says TEXT                       some program writes the file
    expect TEXT                          of the document, or of the file where nobody has it open
    expect disk TEXT
    expect review "OLD" "NEW" …          the changes listed, without their line ends; `expect review` alone: none
    expect nothing sent                  to the editor

Instead of `agent`, `other` is an agent with a session of its own.
"""

from __future__ import annotations

import asyncio
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sidecar.core.refusal import Refusal
from sidecar.workspace.edits.write_task import WriteDone
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import Habits
from tests.support.editor_time import run
from tests.support.workspaces import Bench, IdleAgents, a_workspace

NAME = "a.txt"
ALL = Selector(everything=True)


def text(words: list[str]) -> str:
    return "".join(f"{word}\n" for word in words)


def check(
    folder: Path,
    habits: Habits,
    steps: str,
    *,
    rereads: bool = False,
    settings: dict[str, object] | None = None,
    **editor: Any,
) -> None:
    """Plays the steps. `rereads`: the agent's program reads by itself before each write. `editor`: arguments of FakeEditor."""
    rows = [shlex.split(row) for row in steps.strip().splitlines() if row.strip()]
    (folder / NAME).write_text(text(["one", "two", "three", "four", "five"]))

    async def main() -> None:
        fake = FakeEditor(habits, folder, **editor)
        async with a_workspace(folder, fake, IdleAgents(rereads=rereads), settings=settings) as bench:
            bench.workspace.state.overlay.encoding = fake.capabilities.encoding
            fake.attach(bench.workspace.apply)
            await _Play(folder, bench, fake).all(rows)

    run(main())


@dataclass
class _Play:
    folder: Path
    bench: Bench
    editor: FakeEditor
    writes: dict[str, asyncio.Future[WriteDone | Refusal]] = field(
        default_factory=dict[str, "asyncio.Future[WriteDone | Refusal]"]
    )
    other: str | None = None

    async def all(self, rows: list[list[str]]) -> None:
        beginning = rows.pop(0) if rows[0] in (["closed"], ["unread"]) else []
        if beginning != ["closed"]:
            self.editor.opens(NAME)
        if not beginning:
            await self.bench.read(NAME)
        for who, *step in rows:
            try:
                await self._step(who, step)
            except AssertionError as wrong:
                wrong.add_note("in the step: " + " ".join([who, *step]))
                raise
        await asyncio.sleep(5)
        buffer = self.editor.model.documents.get(self.editor.uri(NAME))
        document = self.bench.workspace.state.overlay.get(self.editor.uri(NAME))
        if buffer is not None and document is not None:
            assert str(document.snapshot()) == buffer.text, "mirror = editor"

    async def _step(self, who: str, step: list[str]) -> None:
        match who:
            case "user":
                await self._user(step)
            case "agent" | "other":
                await self._agent(who, step)
            case "disk":
                assert step[0] == "says", step
                (self.folder / NAME).write_text(text(step[1:]))
            case "expect":
                await self._expect(step)
            case _:
                raise ValueError(f"nobody is called {who}")
        if not self.writes and who != "expect":
            await asyncio.sleep(1)

    def _is_open(self) -> bool:
        return self.editor.uri(NAME) in self.editor.model.documents

    def _now(self) -> str:
        return self.editor.text(NAME) if self._is_open() else (self.folder / NAME).read_text()

    async def _user(self, step: list[str]) -> None:
        match step:
            case ["types", line, "above", word]:
                self.editor.types(NAME, f"{line}\n", at=self._now().index(f"{word}\n"))
            case ["types", line, "below", word]:
                self.editor.types(NAME, f"{line}\n", at=self._now().index(f"{word}\n") + len(word) + 1)
            case ["changes", word, "to", other]:
                self.editor.replaces(NAME, word, other)
            case ["rejects"]:
                await self.bench.workspace.review.reject(ALL)
            case ["saves" | "undoes" | "redoes" | "opens" | "closes" as key]:
                getattr(self.editor, key)(NAME)
            case _:
                raise ValueError(f"no step of the user's: {step}")

    async def _session(self, who: str) -> str:
        if who == "agent":
            return self.bench.session
        if self.other is None:
            self.other = await self.bench.another_session()
        return self.other

    async def _agent(self, who: str, step: list[str]) -> None:
        session = await self._session(who)
        match step:
            case ["reads", *part]:
                assert isinstance(await self.bench.read(NAME, *map(int, part), session=session), str)
            case ["writes", *words]:
                _is(await self.bench.write(NAME, text(words), session), "done")
            case ["is", "refused", reason, *words]:
                before = self._now()
                _is(await self.bench.write(NAME, text(words), session), reason.rstrip(":"))
                assert self._now() == before
            case ["sends", *words]:
                self.writes[who] = asyncio.ensure_future(self.bench.write(NAME, text(words), session))
                await asyncio.sleep(0.05)
            case ["gets", reason]:
                _is(await self.writes.pop(who), reason)
            case ["begins" | "ends" | "fails" as what, call, kind]:
                status = {"begins": "in_progress", "ends": "completed", "fails": "failed"}[what]
                update = {"sessionUpdate": "tool_call", "toolCallId": call, "title": call, "kind": kind}
                self.bench.workspace.session_update(session, {**update, "status": status})
            case ["takes", "another", "turn"]:
                found = self.bench.workspace.state.sessions.get(session)
                assert found is not None
                found.begin_turn()
                found.prompted()
            case _:
                raise ValueError(f"no step of an agent's: {step}")

    async def _expect(self, step: list[str]) -> None:
        match step:
            case ["nothing", "sent"]:
                assert not self.editor.sent, self.editor.sent
            case ["review", *pairs]:
                rows = self.bench.workspace.review.changes(ALL)
                found = [one.strip() for row in rows for one in (row["oldText"], row["newText"])]
                assert found == pairs, found
            case ["disk", *words]:
                assert (found := (self.folder / NAME).read_text()) == text(words), found
            case words:
                assert (found := self._now().splitlines()) == words, found


def _is(answer: WriteDone | Refusal, expected: str) -> None:
    found = answer.kind.value if isinstance(answer, Refusal) else "done"
    assert found == expected, answer
