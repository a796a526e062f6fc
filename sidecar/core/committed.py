"""committed_hunks: the hunks of a text that are part of another version of it, the committed one.

If the two versions differ only in some of the hunks, all other hunks are part of the commit. If they differ in more, nobody can tell for
certain, and a change that may not be committed stays under review.
"""

from __future__ import annotations

from collections.abc import Sequence

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff
from sidecar.core.ledger import Hunk
from sidecar.core.normal import Normal, normal


def committed_hunks(raw: str, hunks: Sequence[Hunk], committed: str) -> list[Hunk]:
    """The hunks that are part of `committed`. `hunks` lie in `raw`. Line ends do not count."""
    now, other = Normal(raw), normal(committed)
    if now.text == other:
        return list(hunks)
    differences = now.changes_in_raw(diff(now.text, other)).edits
    apart = [hunk for hunk in hunks if any(_meets(hunk, edit) for edit in differences)]
    put_back = ChangeSet.of(len(raw), tuple(Edit(hunk.start, hunk.end, hunk.old) for hunk in apart))
    if normal(put_back.apply(raw)) != other:
        return []
    return [hunk for hunk in hunks if hunk not in apart]


def _meets(hunk: Hunk, edit: Edit) -> bool:
    """Whether the edit lies on the hunk or right beside it."""
    return edit.start <= hunk.end and hunk.start <= edit.end
