"""gone: what was taken back of a file's earlier writes after a write was made.

Writes from before a removal that is still in force belong to another file, unless the file existed again when it was next written. A removal that was
taken back exactly changes nothing: what was taken back after it is found, too. Of a write of which a part had been taken back by then, the rest is
found: each write, the newest first, is taken out of what the file said without the newer ones.

If something was taken back in the text that the write found, between the moment in which it was made and that in which it was noted or in a document
that stayed open, that is found first, turned round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING

from sidecar.core.file_state import States
from sidecar.core.normal import Normal, normal
from sidecar.core.settle import settle
from sidecar.journal.entry import TAKES_BACK, Recorded, Texts

if TYPE_CHECKING:
    from sidecar.journal.store import Store

_MOST_MERGES = 64
"""How many writes are taken out of a text in which others have worked since. Older ones are left in it."""
_BEFORE, _AFTER = 0, 1
TextIds = tuple[int | None, int | None]
Gone = list[tuple[Texts, States | None]]


def gone(store: Store, write: Recorded, every: Sequence[Recorded]) -> Gone:
    """`every`: all writes of the file, newest first. Returns the texts and states of what was taken back, newest first."""
    found = _taken_back_in(store, write, [one for one in every if one.id > write.id])
    earlier = _without_removals(store, [one for one in every if one.id < write.id and one.state != "failed"])
    out = [number for number, one in enumerate(earlier) if _is_out(one) or one.agent in TAKES_BACK]
    ids = store.text_ids(write.path) if out else {}
    left = without = _Text(partial(store.texts, write.id), _BEFORE, ids.get(write.id, (None, None))[_BEFORE])
    """`left`: what the write found, without what is `found`. `without`: that without every write that was looked at, whether it stands or not."""
    if found:
        left = without = _Text.of(found[-1][0].before)
    merges = _MOST_MERGES
    above = newer = write
    """`above`: the last write that was looked at and took nothing back; `newer`: the last one."""
    takers: list[Recorded] = []
    """What was taken back right after the next write, newest first."""
    for number, one in enumerate(earlier[: out[-1] + 1] if out else ()):
        if one.agent in TAKES_BACK:
            if newer is write and not found:
                found = _not_yet_there(store, write, earlier[number:])
                left = _Text.of(found[-1][0].before) if found else left
            if not _has_taken_back(one) or store.states(one.id) is not None:
                break
            takers.append(one)
        elif one.has_removed and not newer.existed:
            break
        else:
            if takers and _follow([*takers, one], ids) and not _follow([above, takers[0]], ids):
                # Others have worked in the file since
                without = _Text(partial(store.texts, takers[0].id), _AFTER, ids[takers[0].id][_AFTER])
            states, texts = store.states(one.id), partial(store.texts, one.id)
            before, after = ids[one.id]
            with_it = without
            if states is not None and before is not None and after is None and without.text is None:
                without = _Text(texts, _BEFORE, before)  # the file was removed
                left = without if _is_out(one) else left
            elif states is None and after is not None and after == without.id:
                without = _Text(texts, _BEFORE, before)
            elif states is None and merges:
                merges -= 1
                without = _Text.of(_less(with_it.text, texts()))
            if _is_out(one) and (states is not None or without is with_it):
                found.append((texts(), states))  # whoever takes it out looks whether it is there
            elif _is_out(one):
                less = _less(left.text, Texts(without.text, with_it.text))
                if less != left.text:
                    found.append((Texts(less, left.text), None))
                    left = _Text.of(less)
            above, takers = one, []
        newer = one
    return found


class _Text:
    """A text of the journal, read when it is needed. `id`: its number there; None: another text."""

    def __init__(self, texts: Callable[[], Texts], side: int, id: int | None = None) -> None:
        self._texts = texts
        self._side = side
        self.id = id

    @classmethod
    def of(cls, text: str | None) -> _Text:
        return cls(partial(Texts, text, text), _BEFORE)

    @cached_property
    def text(self) -> str | None:
        return self._texts()[self._side]


def _less(text: str | None, write: Texts) -> str | None:
    """The text without the write, as far as it is in there: what others have replaced stays."""
    if text == write.after:
        return write.before
    if text is None or write.before is None or write.after is None:
        return text
    now = Normal(text)
    settled = settle(normal(write.after), now.text, normal(write.before), "ours")
    return text if settled is None else now.changes_in_raw(settled).apply(text)


def _follow(entries: Sequence[Recorded], ids: Mapping[str, TextIds]) -> bool:
    """Whether each of the entries (newest first) began with the text that the next one left. What was taken back in a document with unsaved text may not
    be in the file."""
    return all(ids[newer.id][0] == ids[older.id][1] for newer, older in pairwise(entries))


def _is_out(one: Recorded) -> bool:
    return one.state in ("undone", "rejected")


def _has_taken_back(one: Recorded) -> bool:
    return one.agent in TAKES_BACK and one.state == "done"


def _without_removals(store: Store, entries: Sequence[Recorded]) -> list[Recorded]:
    """`entries` (newest first) without removals of the file that were taken back exactly, and without what took these back."""
    left: list[Recorded] = []
    for one in reversed(entries):
        if left and not left[-1].exists and _has_taken_back(one):
            was, now = store.states(left[-1].id), store.states(one.id)
            if was is not None and now == (was[1], was[0]):
                left.pop()
                continue
        left.append(one)
    return left[::-1]


def _taken_back_in(store: Store, write: Recorded, entries: Sequence[Recorded]) -> Gone:
    """What was taken back in the text that `write` removed, oldest first and turned round. `entries`: those after `write`, newest first."""
    text = store.texts(write.id).before
    back: Gone = []
    for one in reversed(entries):
        texts = store.texts(one.id)
        if not _has_taken_back(one) or texts.before != text or text is None:
            break
        back.append(_turned_round(store, one))
        text = texts.after
    return back


def _not_yet_there(store: Store, write: Recorded, entries: Sequence[Recorded]) -> Gone:
    """What was taken back last in the file, oldest first and turned round, if `write` found the text from before that. `entries`: those before `write`,
    newest first."""
    was = store.texts(write.id).before
    back: Gone = []
    for one in entries:
        if not _has_taken_back(one):
            break
        back.append(_turned_round(store, one))
        if store.texts(one.id).before == was and was is not None:
            return back[::-1]
    return []


def _turned_round(store: Store, one: Recorded) -> tuple[Texts, States | None]:
    texts, states = store.texts(one.id), store.states(one.id)
    return Texts(texts.after, texts.before), None if states is None else (states[1], states[0])
