"""Edit, EditMany, Append, Write: changes to the text as it is at that moment, each one undo step of its file.

A write that has begun runs to its end, even if its caller goes away: half a write is worse than one whose answer nobody gets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from sidecar.core.merge import Merged, merge
from sidecar.core.refusal import Kind, Refusal
from sidecar.core.replace import Replacement, replaced
from sidecar.mcp.answers import ToolAnswer, failed, refused, said
from sidecar.mcp.arguments import ToolArguments
from sidecar.mcp.schemas import MAX_MANY
from sidecar.mcp.workspace_port import McpWorkspace
from sidecar.workspace.edits.write_task import Replacing, WriteDone
from sidecar.workspace.sessions.agent_tools import ToolSession
from sidecar.workspace.state.queues import Ticket

CONTEXT = 3
"""The lines shown around an edit that was made."""
MAX_SHOWN = 40
"""The most lines shown of an edit."""


@dataclass(slots=True)
class _Change:
    path: str
    ticket: Ticket
    replacing: Replacing


class WriteTools:
    def __init__(self, service: McpWorkspace) -> None:
        self._service = service
        self._running: set[asyncio.Future[ToolAnswer]] = set()

    def table(self) -> dict[str, Callable[[ToolSession, ToolArguments], Awaitable[ToolAnswer]]]:
        return {"Edit": self.edit, "Write": self.write, "Append": self.append, "EditMany": self.edit_many}

    async def edit(self, session: ToolSession, arguments: ToolArguments) -> ToolAnswer:
        arguments.only("file_path", "old_string", "new_string", "replace_all")
        path, step = arguments.path(), _step(arguments)
        if not step.old:  # creates a file, or fills an empty one, as with agents' own tools

            def filled(text: str) -> str | Refusal:
                return replaced(text, (step,), path) if text else step.new

            return await self._edit_or_make(session, arguments, path, filled, step.new, "written")
        change = self._change(session, path, lambda text: replaced(text, (step,), path))
        return await self._to_its_end(arguments, self._changed(change))

    async def write(self, session: ToolSession, arguments: ToolArguments) -> ToolAnswer:
        arguments.only("file_path", "content")
        path, content = arguments.path(), arguments.any_text("content")
        ticket = self._service.ticket(session.id, path, "write")

        async def write() -> ToolAnswer:
            done = await self._service.write(ticket, content)
            return refused(done, path) if isinstance(done, Refusal) else said(_done(path, "written", done))

        return await self._to_its_end(arguments, write())

    async def append(self, session: ToolSession, arguments: ToolArguments) -> ToolAnswer:
        arguments.only("file_path", "content")
        path, content = arguments.path(), arguments.text("content")

        def appended(text: str) -> str:
            return text + ("\n" if text and not text.endswith("\n") else "") + content

        return await self._edit_or_make(session, arguments, path, appended, content, "appended to")

    async def edit_many(self, session: ToolSession, arguments: ToolArguments) -> ToolAnswer:
        arguments.only("edits")
        steps: dict[str, list[Replacement]] = {}
        for item in arguments.items("edits", MAX_MANY):
            item.only("file_path", "old_string", "new_string", "replace_all")
            steps.setdefault(item.path(), []).append(_step(item))
        changes = [self._change(session, path, _all(of, path)) for path, of in steps.items()]
        return await self._to_its_end(arguments, self._all_or_nothing(session, changes))

    async def _edit_or_make(
        self,
        session: ToolSession,
        arguments: ToolArguments,
        path: str,
        edited: Callable[[str], str | Refusal],
        content: str,
        did: str,
    ) -> ToolAnswer:
        """Edit the file; if there is none, create one with `content`. Nothing else of this session comes between the two."""
        change = self._change(session, path, edited)
        last = self._service.ticket(session.id, path, "write")

        async def work() -> ToolAnswer:
            try:
                done = await self._service.edit(change.ticket, change.replacing)
                if isinstance(done, Refusal) and done.kind is Kind.NOT_FOUND:
                    done = await self._service.write(last, content)
            finally:
                last.release()
            return refused(done, path) if isinstance(done, Refusal) else said(_done(path, did, done))

        return await self._to_its_end(arguments, work())

    async def _changed(self, change: _Change) -> ToolAnswer:
        done = await self._service.edit(change.ticket, change.replacing)
        if isinstance(done, Refusal):
            return refused(done, change.path)
        shown = _around(change.replacing.before, change.replacing.after)
        return said(_done(change.path, "updated", done) + (f"\n{shown}" if shown else ""))

    async def _all_or_nothing(self, session: ToolSession, changes: Sequence[_Change]) -> ToolAnswer:
        """Try every change on the current text before the first is made. If one fails later, those that were made are taken
        back."""
        made: list[_Change] = []
        try:
            for change in changes:
                wrong = await self._service.tools.try_change(session.id, change.path, change.replacing.change)
                if wrong is not None:
                    return _nothing(wrong, change.path)
            answers: list[WriteDone] = []
            for change in changes:
                done = await self._service.edit(change.ticket, change.replacing, wait=False)
                if isinstance(done, Refusal):
                    left = await self._take_back(session, made)
                    return _nothing(done, change.path) if not left else _partly(done, change.path, left)
                made.append(change)
                answers.append(done)
            return await self._decided(session, changes, answers)
        finally:
            for change in changes:
                change.ticket.release()

    async def _decided(
        self, session: ToolSession, changes: Sequence[_Change], answers: Sequence[WriteDone]
    ) -> ToolAnswer:
        """The answer for changes that were all made, but that the user may still have to decide on, in any order."""
        decided = await asyncio.gather(*(self._service.decided(session.id, answer) for answer in answers))
        words = [
            answer.message if isinstance(answer, Refusal) else _done(change.path, "updated", answer)
            for change, answer in zip(changes, decided, strict=True)
        ]
        text = "\n".join(words)
        return failed(text) if any(isinstance(answer, Refusal) for answer in decided) else said(text)

    async def _take_back(self, session: ToolSession, made: Sequence[_Change]) -> list[str]:
        """Take back the changes. Returns the paths of those that could not be taken back."""
        left: list[str] = []
        for change in reversed(made):
            before, after = change.replacing.before, change.replacing.after
            back = self._change(session, change.path, _without(before, after))
            if isinstance(await self._service.edit(back.ticket, back.replacing, wait=False), Refusal):
                left.append(change.path)
        return left

    def _change(self, session: ToolSession, path: str, change: Callable[[str], str | Refusal]) -> _Change:
        """A change that takes its place in the document's queue now."""

        def bounded(text: str) -> str | Refusal:
            after = change(text)
            if isinstance(after, str) and len(after) > session.max_bytes:
                words = f"{path} would have more than {session.max_bytes} bytes"
                return Refusal(Kind.TOO_LARGE, words, {"limit": session.max_bytes})
            return after

        return _Change(path, self._service.ticket(session.id, path, "write"), Replacing(bounded))

    async def _to_its_end(self, arguments: ToolArguments, work: Awaitable[ToolAnswer]) -> ToolAnswer:
        running = asyncio.ensure_future(work)
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        if arguments.kept is not None:
            arguments.kept.needed()
            running.add_done_callback(arguments.kept.done)
        return await asyncio.shield(running)


def _step(arguments: ToolArguments) -> Replacement:
    return Replacement(
        arguments.text("old_string"), arguments.text("new_string"), arguments.flag("replace_all")
    )


def _all(steps: Sequence[Replacement], path: str) -> Callable[[str], str | Refusal]:
    return lambda text: replaced(text, steps, path)


def _without(before: str, after: str) -> Callable[[str], str | Refusal]:
    """A function that removes the change from `before` to `after` from a text that may have changed since."""

    def change(text: str) -> str | Refusal:
        match merge(after, text, before):
            case Merged() as merged:
                return merged.apply(text)
            case _:
                return Refusal(Kind.CONFLICT, "it was changed since")

    return change


def _nothing(refusal: Refusal, path: str) -> ToolAnswer:
    answer = refused(refusal, path)
    words = f"Nothing was changed in any file. {answer.content[0]['text']}"
    return ToolAnswer(failed(words).content, True, answer.structured)


def _partly(refusal: Refusal, path: str, left: Sequence[str]) -> ToolAnswer:
    words = (
        f"{path}: {refusal.message}. The edits of these files were made before and could not be taken back: "
    )
    return ToolAnswer(
        failed(words + ", ".join(left)).content, True, {"errorKind": str(refusal.kind), "left": list(left)}
    )


def _done(path: str, did: str, done: WriteDone) -> str:
    words = f"The file {path} has been {did}."
    if done.saved is False:
        words += (
            f" It is not saved to the disk: {done.note}." if done.note else " It is not saved to the disk."
        )
    elif done.note:
        words += f" It was {done.note}."
    return words


def _around(before: str, after: str) -> str:
    """The lines of `after` around the first and last change, numbered from 1. "" if there are too many."""
    old, new = before.split("\n"), after.split("\n")
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    end = 0
    while end < min(len(old), len(new)) - first and old[-1 - end] == new[-1 - end]:
        end += 1
    start, stop = max(0, first - CONTEXT), min(len(new), len(new) - end + CONTEXT)
    if stop - start > MAX_SHOWN:
        return ""
    return "\n".join(f"{number + 1:>6}\t{new[number]}" for number in range(start, stop))
