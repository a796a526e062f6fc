"""gone: what was taken back of a file's earlier writes after a write was made.

Writes from before a removal that is still in force belong to another file, unless the file existed again when it was next written. A removal that was
taken back exactly changes nothing: what was taken back after it is found, too. Of a write of which a part had been taken back by then, the rest is
found.

If something was taken back in the text that the write found, between the moment in which it was made and that in which it was noted or in a document
that stayed open, that is found instead, turned round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sidecar.core.file_state import States
from sidecar.journal.entry import TAKES_BACK, Recorded, Texts

if TYPE_CHECKING:
    from sidecar.journal.store import Store

TextIds = tuple[int | None, int | None]
Gone = list[tuple[Texts, States | None]]


def gone(store: Store, write: Recorded, every: Sequence[Recorded]) -> Gone:
    """`every`: all writes of the file, newest first. Returns the texts and states of what was taken back, newest first."""
    since = _taken_back_in(store, write, [one for one in every if one.id > write.id])
    earlier = _without_removals(store, [one for one in every if one.id < write.id and one.state != "failed"])
    ids: Mapping[str, TextIds] | None = None
    found: Gone = []
    newer = write
    is_last = True
    """Nothing that stands was written since."""
    back: list[Recorded] = []
    """What was taken back right after the next entry, newest first."""
    for number, one in enumerate(earlier):
        if one.agent in TAKES_BACK:
            unseen = _not_yet_there(store, write, earlier[number:]) if newer is write else []
            ids = ids or store.text_ids(write.path)
            follows = not back or ids[back[-1].id][0] == ids[one.id][1]
            is_known = _has_taken_back(one) and store.states(one.id) is None
            if since or unseen or not is_known or not (follows or is_last):
                return found or since or unseen
            back = [*back, one] if follows else [one]
        elif one.has_removed and not newer.existed:
            break
        elif back and ids is not None:
            follows = ids[back[-1].id][0] == ids[one.id][1]
            if store.states(one.id) is not None or not (follows or is_last):
                break
            if (
                _is_out(one) and not follows
            ):  # it was taken back in a document with unsaved text: perhaps not in the file
                found.append((store.texts(one.id), None))
            elif _is_out(one):
                found += _rest(store, one, back[0], earlier[number + 1 :], ids)
            back = [] if follows else back
        elif _is_out(one):
            found.append((store.texts(one.id), store.states(one.id)))
        is_last = is_last and (one.agent in TAKES_BACK or _is_out(one))
        newer = one
    return found or since


def _rest(
    store: Store, write: Recorded, taker: Recorded, older: Sequence[Recorded], ids: Mapping[str, TextIds]
) -> Gone:
    """What was left of a write when `taker`, right after it, had taken a part of it back. Nothing if the text is then as the write found it, or as it
    was before a removal that the write followed. `older`: the writes before it, newest first."""
    left = ids[taker.id][1]
    is_what_was_removed = bool(older) and not older[0].exists and left == ids[older[0].id][0]
    if left == ids[write.id][0] or is_what_was_removed:
        return []
    return [(Texts(store.texts(write.id).before, store.texts(taker.id).after), None)]


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
