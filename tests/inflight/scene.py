"""Scene: everything of one run in one place — editor, disk, workspace, account — and the words it is told in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from random import Random

from sidecar.core.normal import normal
from sidecar.demo.model import Answer, DocumentEdits, WorkspaceEdit, path_of
from sidecar.workspace.ports.ports import Question
from tests.inflight import habits as known
from tests.inflight.account import Account, Problem
from tests.inflight.memory_disk import MemoryDisk, MemoryStorage
from tests.inflight.texts import first_text, lines_of
from tests.inflight.tokens import Tokens, counted, tokens, tokens_within
from tests.support.editor_fake import FakeEditor
from tests.support.workspaces import Bench, IdleAgents

Say = Callable[[str], None]


class Turns(IdleAgents):
    """The agents' side as the workspace sees it: they read and write in turns, during which it looks at the disk."""

    def __init__(self) -> None:
        super().__init__()
        self._ends: dict[str, asyncio.Event] = {}
        self._begins: dict[str, asyncio.Event] = {}

    async def prompt(self, session_id: str, blocks: Sequence[Mapping[str, object]]) -> str:
        self._begins[session_id].set()
        await self._ends[session_id].wait()
        return "end_turn"

    @asynccontextmanager
    async def turn(self, bench: Bench, session_id: str) -> AsyncGenerator[None]:
        self._begins[session_id], self._ends[session_id] = asyncio.Event(), asyncio.Event()
        _, _, outcome = bench.workspace.start_prompt(session_id, [])
        await self._begins[session_id].wait()  # before it has its prompt it does nothing
        try:
            yield
        finally:
            self._ends[session_id].set()
            await outcome


class Scene:
    """What the seed decides is decided here, or by an actor's own random numbers, so that actors do not disturb each other."""

    def __init__(self, seed: int, folder: Path, say: Say, *, saves_at_once: bool = False) -> None:
        self.seed = seed
        self.folder = folder
        self._say = say
        random = self.random("scene")
        self.fresh = Tokens()
        self.account = Account()
        self.problems: list[Problem] = []
        self.habits_name, self.habits = known.choose(random)
        if not saves_at_once:
            self.habits_name, self.habits = known.saving(self.random("saving"), self.habits_name, self.habits)
        self.habits_name, self.habits = known.reloading(
            self.random("reloading"), self.habits_name, self.habits
        )
        self.journal_takes = self.random("journal").choice(known.JOURNAL_TAKES)
        self.custom = random.random() < 0.75
        self.arrives_after = random.choice([0.0, 0.0, 0.001, 0.05, 0.1, 0.4, 1.0])
        self.policy = random.choice(["save-if-was-clean", "save-if-was-clean", "always", "never"])
        self.allows = random.random() < 0.5
        self.disk = MemoryDisk()
        self.storage = MemoryStorage(self.disk, self.random("disk"))
        self.names = ["a.txt"] if random.random() < 0.8 else ["a.txt", "b.txt"]
        astral = self.habits.counts is None
        for name in self.names:
            text = first_text(random, self.fresh, astral=astral)
            mark = "\ufeff" if random.random() < 0.05 else ""
            self.disk.put(self.path(name), (mark + text).encode())
            self.account.file(name).required |= tokens(text)
            self.say("disk", f"{name}: {text!r}")
        self.editor = FakeEditor(
            self.habits,
            folder,
            files=self.disk,
            custom=self.custom,
            answer=self._answer,
            arrives_after=self.arrives_after,
            seed=seed,
        )
        self.turns = Turns()
        self._put_in: set[str] = set()
        """What edits of ours bring."""
        self.bench: Bench  # once the workspace runs
        self._watch_closing()
        self._watch_edits()
        self.editor.model.users_save = lambda uri: self.user(Path(path_of(uri)).name)
        watches = random.random() < 0.7
        self.disk.on_write = lambda path: self.editor.looks_at_disk() if watches else None
        self.say(
            "scene",
            f"{self.habits_name}; custom {self.custom}; arrives after {self.arrives_after}; afterWrite {self.policy}; "
            f"the journal takes {self.journal_takes}; "
            f"the user {'allows' if self.allows else 'refuses'}",
        )

    def random(self, who: str) -> Random:
        return Random(f"{self.seed}/{who}")

    def say(self, who: str, what: str) -> None:
        try:
            now = asyncio.get_running_loop().time()
        except RuntimeError:
            now = 0.0
        self._say(f"{now:9.3f} {who}: {what}")

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def is_open(self, name: str) -> bool:
        """The user has it open: a buffer that an edit opened and nobody looked at is not the user's."""
        buffer = self.editor.model.documents.get(self.editor.uri(name))
        return buffer is not None and not buffer.hidden

    def truth(self, name: str) -> str | None:
        """What the file says for the user: the buffer, or the disk."""
        return self.editor.text(name) if self.is_open(name) else self.disk.text(self.path(name))

    @contextmanager
    def user(self, name: str) -> Generator[None]:
        """What happens inside is the user's doing."""
        before, disk = tokens(self.truth(name)), tokens(self.disk.text(self.path(name)))
        yield
        says, saved = tokens(self.truth(name)), tokens(self.disk.text(self.path(name)))
        file = self.account.file(name)
        self.account.user(name, before, says)
        # what the user saved is there to stay, but for what the document had taken from others while the save ran
        file.taken_by_others -= saved & says
        file.put |= saved - disk
        file.taken_by_user |= disk - saved - says  # saving over what others put there is the user's choice

    def undoes(self, name: str, who: str = "user") -> None:
        """One undo of the user's. Where the editor joins typing to an edit (eglot without our file), that goes along with it."""
        buffer = self.editor.buffer(name)
        joined = tokens_within(buffer.past[-1]) if buffer.past else set[str]()
        before = counted(self.truth(name))
        with self.user(name):
            undone = self.editor.undoes(name)
        self.account.takes(name, joined - tokens(self.truth(name)))
        # the user's undo of what took a doubled word away doubles it again
        doubled = {t for t, count in counted(self.truth(name)).items() if count > max(before[t], 1)}
        self.account.file(name).doubled_by_user |= doubled
        self.say(who, f"undoes {undone.label if undone else 'nothing'}")

    def deletes(self, name: str, old: str) -> None:
        """The user deletes this text, and with it (parts of) the tokens that an edit of ours was put into the midst of. Also where a write that has no
        answer yet means to take such a token out: it may be refused, and what it took is then put back without what the user deleted."""
        torn = {
            token
            for token in self.account.missing(name, self.truth(name), answered=True)
            for text in self._put_in
            for k in range(1, len(token))
            if token[:k] + text[0] in old or text[-1] + token[k:] in old
        }
        self.account.takes(name, torn)

    def put_behind(self, who: str, name: str, text: str) -> None:
        """Some program puts `text` on the disk, behind the editor and us."""
        path = self.path(name)
        was = self.disk.text(path)
        before = tokens(was)
        self.say(who, f"puts {name} on the disk: {text!r}")
        self.account.sent |= tokens(text)
        self.account.program(name, before, tokens(text))
        known = {*lines_of(normal(was or ""))}
        changed = "".join(line for line in lines_of(normal(text)) if line not in known)
        file = self.account.file(name)
        file.typed_into |= tokens(changed)  # nobody may know whose that is
        if self.editor.model.is_saving(self.editor.uri(name)):
            # Nor whether it was made of what that save has put there: lines that look alike are no sign of it (core/writes.py, rule 4).
            # A line that it changed may then stand beside what it made of that.
            file.doubled_by_agents |= tokens(changed) & before
        self.disk.put(path, text.encode(), by_rename=self.random(f"rename {len(text)}").random() < 0.5)

    def _answer(self, question: Question) -> str:
        self.say("user", f"{'allows' if self.allows else 'refuses'}: {question.text}")
        return "allow" if self.allows else "reject"

    def _watch_edits(self) -> None:
        """For who reads a run step by step: what is asked of the editor, and what it makes of it."""
        model, request = self.editor.model, self.editor.model.request_edit

        def requested(edit: WorkspaceEdit, reply: Callable[[Answer], None]) -> None:
            self.say("editor", f"is asked for {edit}")
            for step in edit.steps:
                if isinstance(step, DocumentEdits):
                    self._put_in |= {one.text for one in step.edits if one.text}

            def replied(answer: Answer) -> None:
                self.say("editor", f"answers {answer}; it has {[b.text for b in model.documents.values()]}")
                reply(answer)

            request(edit, replied)

        model.request_edit = requested

    def _watch_closing(self) -> None:
        """Closing without saving drops text by the user's own will, also when a habit does it."""
        model, close = self.editor.model, self.editor.model.close

        def closing(uri: str) -> None:
            buffer, name = model.documents.get(uri), Path(path_of(uri)).name
            close(uri)
            if buffer is not None:
                self.say("editor", f"closed {name}")
                gone = tokens(buffer.text)
                if buffer.dirty and self.account.is_awaited(name):
                    # what an edit of ours took away is not put right yet, and goes with the rest
                    gone |= self.account.missing(name, buffer.text, answered=True)
                self.account.user(name, gone, tokens(self.disk.text(self.path(name))))

        model.close = closing
