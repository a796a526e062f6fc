"""Changes of whole files under review, in the journal's format."""

from __future__ import annotations

import json
from typing import NamedTuple

from sidecar.core.file_state import FileState
from sidecar.core.kept_hunks import from_json, to_json
from sidecar.core.ledger import Author, Hunk

KEPT = "acp-sidecar-file:"
"""The prefix of id and URI for entries that the journal stores among the ledgers of documents."""


class KeptFile(NamedTuple):
    """One change of a whole file. `before` and `after`: what was and is at the path; None: nothing."""

    path: str
    before: FileState | None
    after: FileState | None
    author: Author
    moved_from: str = ""
    removal: str = ""
    hunks: tuple[Hunk, ...] | None = None
    """What was under review in the text that was there; None: not known."""


def to_kept(kept: KeptFile) -> tuple[str, bytes]:
    """The change as the journal stores it: in place of a text, and in place of hunks."""
    before, after, author = kept.before, kept.after, kept.author
    about = {
        "path": kept.path.encode("utf-8", "surrogateescape").hex(),
        "from": kept.moved_from.encode("utf-8", "surrogateescape").hex(),
        "removal": kept.removal,
        "before": None if before is None else [before.kind, before.mode],
        "after": None if after is None else [after.kind, after.mode],
        "size": 0 if before is None else len(before.data),
        "author": [
            author.session,
            author.turn,
            author.write,
            author.tool_call,
            author.agent,
            author.unknown,
        ],
    }
    if kept.hunks is not None:
        about["hunks"] = to_json(kept.hunks).decode("utf-8", "surrogatepass")
    data = (b"" if before is None else before.data) + (b"" if after is None else after.data)
    return data.decode("latin-1"), json.dumps(about).encode()


def from_kept(text: str, about: bytes) -> KeptFile | None:
    """The change from the journal. None if it comes from another version, or is damaged."""
    try:
        row = json.loads(about)
        data = text.encode("latin-1")
        states = data[: row["size"]], data[row["size"] :]
        before, after = (
            None if of is None else FileState(found, of[1], of[0])
            for of, found in zip((row["before"], row["after"]), states, strict=True)
        )
        session, turn, write, call, agent, unknown = row["author"]
        author = Author(session, turn, write, call, before is None, agent, unknown=unknown)
        path, moved_from = (
            bytes.fromhex(row[name]).decode("utf-8", "surrogateescape") for name in ("path", "from")
        )
        hunks = tuple(from_json(row["hunks"].encode("utf-8", "surrogatepass"))) if "hunks" in row else None
    except (ValueError, KeyError, TypeError):
        return None
    return KeptFile(path, before, after, author, moved_from, row.get("removal", ""), hunks)
