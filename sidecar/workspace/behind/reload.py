"""Reloader: has the editor take a document's text from the disk itself, without making the document dirty, and puts the
user's changes on top.

Text that was typed before the editor does so, or between two writes of the file, is put right afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import anyio

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.coordinates import Coordinates, TextEdit
from sidecar.core.diff import diff
from sidecar.core.final_end import ended_as
from sidecar.core.inflight import Phase
from sidecar.core.led_to import steps
from sidecar.core.lineends import expand, fold
from sidecar.core.merge import Conflict, Merged, merge
from sidecar.core.misapplied import taken_out
from sidecar.core.normal import Normal, normal, say_the_same
from sidecar.core.text import Text
from sidecar.core.uri import to_path
from sidecar.workspace.behind.legs import WrittenOver, has
from sidecar.workspace.behind.open_files import OpenFiles
from sidecar.workspace.edits.sending import MIRROR_SECONDS, Sender
from sidecar.workspace.ports.ports import Editor, EditorGone, EditorRefused, EditorTimeout, Opens, Reloaded
from sidecar.workspace.state.tracked import Tracked
from sidecar.workspace.state.watch import Watch

LABEL = "Changed on disk"
"""The editor's name for the undo step of a change from the disk."""
WHAT = "what was changed on the disk"
_PUT_RIGHT_SECONDS = 20.0
"""How long the sidecar tries to put right what a reload did to a newer text. The editor refuses each attempt during
which a key is pressed."""


def keep_apart(editor: Editor, tracked: Tracked, why: str, lines: Sequence[int]) -> None:
    """Leaves the document without the disk's change, and tells the user. `lines`: from 0."""
    tracked.falls_apart()
    if editor.capabilities.conflicts:
        return  # it shows conflicts itself
    named = ", ".join(str(line + 1) for line in lines[:5])
    editor.show(
        "warning",
        f"{to_path(tracked.document.uri)} was changed on disk {why} (line {named}). "
        "Your text is unchanged. Decide there with the lenses or code actions, or compare before you save.",
        Opens.file(tracked.client_uri, lines[0] if lines else None),
    )


class Reloader:
    """For editors that offer a reload (`EditorCapabilities.reload`)."""

    def __init__(self, editor: Editor, sender: Sender, files: OpenFiles) -> None:
        self._editor = editor
        self._sender = sender
        self._files = files

    async def take(self, tracked: Tracked, before: str, now: Normal, disk: str, changes: ChangeSet) -> bool:
        """Asks our extension to take the disk's text, and to put on top what else `changes` (of the mirror) leads to.
        Returns False if it did not.

        The disk's text replaces what the document says at that moment, and not what it said when the request was sent.
        Text that was typed in between is merged as if it had been there before, and comes back. Text that is typed later stays.
        """
        document = tracked.document
        wanted = normal(changes.apply(now.raw))
        on_top = diff(disk, wanted)
        coordinates = Coordinates(self._editor.capabilities.encoding)
        on_screen = coordinates.edits(Text.of(now.raw), changes)
        edits = coordinates.edits(Text.of(disk), on_top)
        edits = tuple(TextEdit(e.start, e.end, expand(e.new_text, now.terminator)) for e in edits)
        watch = Watch(document, Text.of(wanted))
        try:
            with tracked.quietly(), self._sender.following(tracked, watch) as followed:
                answer = await self._editor.reload(document.client_uri, document.version, edits, on_screen)
                if not isinstance(answer, Reloaded):
                    return False
                told = 0 if followed.watch is None else len(followed.watch.edits)
                last = None if answer.taken is None else answer.version
                # Neovim closes the document and opens it again; in VS Code the user may have typed in between
                reloaded = await watch.wait(
                    MIRROR_SECONDS,
                    lambda: followed.watch is not None or (last is not None and document.version >= last),
                )
                if last is not None and followed.watch is None:
                    reloaded = await self._says_at(watch, last, wanted, otherwise=reloaded)
                again, opened = followed.tracked, followed.watch
                if opened is not None:
                    said = normal(str(again.opened_with or ""))
                    # An editor of lines decides anew whether there is a final line end
                    if self._editor.capabilities.keeps_lines:
                        disk, wanted = ended_as(disk, said), ended_as(wanted, said)
                    if said != disk:
                        await self._took_another(again, before, now, edits, opened.text_at(answer.version))
                        return True
                    await again.becomes(wanted, MIRROR_SECONDS)
            if opened is not None:
                await self._give_back(again, opened, disk, told, len(edits))
        except (EditorGone, EditorRefused, EditorTimeout):
            return False
        finally:
            watch.close()
        if reloaded:
            tracked.has(disk)
        if tracked.closed or reloaded:
            return True
        if answer.taken is None or answer.read is None:
            await self._taken_otherwise(tracked, before, now, disk, on_top)
        elif (took := watch.text_at(answer.read)) is not None:
            typed_into = watch.text_before(answer.taken)
            replaced = now if typed_into is None else Normal(str(typed_into))
            text = Text.of(normal(str(took)))
            await self._put_right(tracked, before, replaced, text, self._placed(answer.made, text))
        return True

    async def _says_at(self, watch: Watch, version: int, wanted: str, *, otherwise: bool) -> bool:
        """Whether the document says `wanted` at that version: edits on top of the disk's text may have taken part of it
        out again. `otherwise`: the result if the text of that version is not known."""
        with anyio.move_on_after(MIRROR_SECONDS):
            while watch.document.version < version:
                await watch.news.wait()
        text = watch.text_at(version)
        return otherwise if text is None else say_the_same(text, Text.of(wanted))

    async def gives_back(self, tracked: Tracked, written_over: WrittenOver, disk: str) -> None:
        """The editor took `disk` (compared form) in place of what was saved. Puts back what that lacks, unless the document has it again, for example
        because the user has undone the reload."""

        def has_it() -> bool:
            return has(written_over.had_read, tracked.text(), [written_over.saved])

        if not tracked.closed and not has_it():
            saved, had_read = Normal(written_over.saved), written_over.had_read
            await self._put_right(
                tracked, had_read, saved, Text.of(disk), ChangeSet(len(disk)), is_right=has_it
            )

    async def _take_again(self, tracked: Tracked, current: Normal, disk: Text, wanted: str) -> bool:
        """Reloads once more if the disk still says `disk`, with the changes that lead to `wanted` on top: for an editor
        that takes no other edits. Returns whether the document then says `wanted`."""
        path = to_path(tracked.document.uri)
        on_disk = await self._files.peek(tracked, path) if path is not None else None
        if on_disk is None or on_disk.text != disk or not self._files.is_unmoved(tracked, current, on_disk):
            return False
        text = str(disk)
        document, coordinates = tracked.document, Coordinates(self._editor.capabilities.encoding)
        edits = coordinates.edits(disk, diff(text, wanted))
        edits = tuple(TextEdit(e.start, e.end, expand(e.new_text, current.terminator)) for e in edits)
        try:
            answer = await self._editor.reload(document.client_uri, document.version, edits)
        except (EditorGone, EditorRefused, EditorTimeout):
            return False
        return isinstance(answer, Reloaded) and await tracked.becomes(wanted, MIRROR_SECONDS)

    async def _give_back(self, tracked: Tracked, watch: Watch, disk: str, told: int, on_top: int) -> None:
        """The document was closed and opened again before the editor took the disk's text. What was typed since it was
        opened was replaced, and comes back.

        `told`: how many edits were reported before the answer. The reload is among them; a later edit that leads to the
        same text is an undo of the edits on top. `on_top`: how many edits the editor made on top of the disk's text.
        """
        for i, (_, before, after) in enumerate(steps(watch.before, watch.edits[:told])):
            if normal(str(after)) == disk != normal(str(before)):
                found = taken_out(str(before), watch.edits[i : i + 1 + on_top], watch.edits[i + 1 + on_top :])
                now, proper = tracked.text(), normal(found.without)
                if now != proper:
                    await self._comes_to(tracked, proper, Text.of(now), ChangeSet(len(now)))
                return

    async def _took_another(
        self, tracked: Tracked, before: str, now: Normal, edits: Sequence[TextEdit], said: Text | None
    ) -> None:
        """The document was opened again with another text than planned: somebody was writing the file. If that was the
        file's whole text, what `edits` made of it is put right. If not, as when a file is emptied before it is written,
        everything is put back as it was, and the next look begins there. `said`: what the document said with the edits;
        None: that was not seen."""
        with anyio.move_on_after(MIRROR_SECONDS):
            await tracked.observed.wait()
        path = to_path(tracked.document.uri)
        on_disk = await self._files.peek(tracked, path) if path is not None else None
        if tracked.closed or tracked.opened_with is None:
            return
        opened = normal(str(tracked.opened_with))
        made = self._placed(edits, Text.of(opened)) if said is None else diff(opened, normal(str(said)))
        if on_disk is not None and on_disk.text == opened and opened.strip("\n"):
            await self._put_right(tracked, before, now, Text.of(opened), made)
        elif await self._comes_to(tracked, now.text, Text.of(opened), made):
            tracked.not_yet(before, is_users=now.text != before)

    async def _taken_otherwise(
        self, tracked: Tracked, before: str, now: Normal, disk: str, on_top: ChangeSet
    ) -> None:
        """The document does not say what was planned. If the file was written once more, the edits were made in that
        text, and the result is put right."""
        path = to_path(tracked.document.uri)
        on_disk = await self._files.peek(tracked, path) if path is not None else None
        if on_disk is None or on_disk.text is None or on_disk.text == disk:
            return
        tracked.on_disk(on_disk.text, on_disk.stat)
        text = Text.of(on_disk.text)
        made = self._placed(
            Coordinates(self._editor.capabilities.encoding).edits(Text.of(disk), on_top), text
        )
        await self._put_right(tracked, before, now, text, made, again=True)

    async def _put_right(
        self,
        tracked: Tracked,
        before: str,
        replaced: Normal,
        text: Text,
        made: ChangeSet | None,
        *,
        again: bool = False,
        is_right: Callable[[], bool] = lambda: False,
    ) -> None:
        """The document took `text` (compared form) from the disk in place of `replaced`, and does not say what was
        planned. Merges the two. `made`: the changes made on top of `text`; None: they are not known. `again`: another
        reload may be used, because nothing can be typed during one. `is_right`: whether somebody else has put it right."""
        match merge(before, replaced.text, str(text)):
            case Merged() as merged:
                proper = merged.apply(replaced.text)
                tracked.fits()
                tracked.has(str(text))
            case Conflict() as found:
                lines = [hunk.start_line for hunk in found.hunks]
                keep_apart(self._editor, tracked, "where you have unsaved changes", lines)
                proper = replaced.text
        await self._comes_to(tracked, proper, text, made, again=again, is_right=is_right)

    async def _comes_to(
        self,
        tracked: Tracked,
        proper: str,
        text: Text,
        made: ChangeSet | None,
        *,
        again: bool = False,
        is_right: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Makes the document say `proper`, and keeps what was typed since it took `text` and got `made` on top. Returns
        whether it does. If not, the user is told."""
        until = anyio.current_time() + _PUT_RIGHT_SECONDS
        while made is not None and anyio.current_time() < until:  # the user may still be typing
            current, taken = Normal(str(tracked.document.snapshot())), made.apply(text)
            if tracked.flight is not None or tracked.closed:
                break
            if is_right():
                return True
            # What was typed since then stays, even next to what comes back
            raw = current.changes_in_raw(diff(taken, proper).map(diff(taken, current.text), before=True))
            if raw.is_empty:
                return True
            sent = await self._sender.put(tracked, raw, LABEL, WHAT)
            if sent.landed:
                return True
            if sent.flight.phase not in (Phase.DISPLACED, Phase.REFUSED):
                break  # the document is gone, or the editor did not answer
            again = again or not self._sender.ever_applied
            if again and await self._take_again(tracked, current, text, normal(raw.apply(current.raw))):
                return True
        words = f"{tracked.name} was changed on disk while it was edited. Compare it before you save."
        self._editor.show("warning", words, Opens.file(tracked.client_uri))
        return False

    def _placed(self, edits: Iterable[TextEdit], text: Text) -> ChangeSet | None:
        """These edits as changes of `text`, as the editor makes them: it knows only their lines and columns. None: they overlap there."""
        encoding = self._editor.capabilities.encoding
        made = [
            Edit(text.offset_at(e.start, encoding), text.offset_at(e.end, encoding), fold(e.new_text))
            for e in edits
        ]
        try:
            return ChangeSet.of(len(text), made)
        except ValueError:  # places that do not exist there
            return None
