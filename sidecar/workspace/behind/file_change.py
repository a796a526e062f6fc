"""FileChange: one row of the review of whole files: what was under a path and what is there now, what that shows, and how it is listed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sidecar.core.file_state import FileState
from sidecar.core.json_types import Json
from sidecar.core.ledger import Author, Hunk
from sidecar.core.refusal import Refusal
from sidecar.core.uri import DocumentUri, from_path
from sidecar.disk.states import text_of


@dataclass(frozen=True, slots=True)
class FileChange:
    """One row. `before` and `after`: what was under the path, and what is there now; None: nothing."""

    id: int
    path: str
    """Canonical."""
    before: FileState | None
    after: FileState | None
    author: Author
    moved_from: str = ""
    """The file's old path, if it was renamed; `before` is None then."""
    removal: str = ""
    """The journal's id of its removal from the old path."""
    hunks: tuple[Hunk, ...] | None = None
    """What was under review in `old_text`, and is so again once the change is put back; None: not known."""

    @property
    def uri(self) -> DocumentUri:
        return from_path(self.path)

    @property
    def change_id(self) -> str:
        return f"f{self.id}@{self.uri}"

    @property
    def leaves_nothing(self) -> bool:
        """Since this change there is no text. (An empty file that was moved, or has another mode, had none before.)"""
        return self.after is None or (self.kind in ("created", "changed") and not self.after.data)

    @property
    def begins_with_text(self) -> bool:
        return self.before is None or self.old_text is not None

    @property
    def ends_text(self) -> bool:
        """Since this change the text that was there is not: what was under review in it is neither."""
        return self.old_text is not None and not self.moved_from and self.kind != "mode"

    @property
    def is_made_empty(self) -> bool:
        """The file was created empty. What it contains by now is hunks."""
        return self.kind == "created" and self.leaves_nothing

    @property
    def makes_text(self) -> bool:
        """Since this change there is a text, if only an empty one. What it says by now is hunks."""
        return self.kind in ("created", "changed", "link") and self.new_text is not None

    @property
    def old_text(self) -> str | None:
        """The text that was under the path (raw); None: there was nothing, or no text."""
        return text_of(self.before)

    @property
    def new_text(self) -> str | None:
        """The text that is there now (raw); None as in `old_text`."""
        return text_of(self.after)

    @property
    def kind(self) -> str:
        """created, deleted, renamed, mode, link or changed."""
        before, after = self.before, self.after
        if self.moved_from:
            return "renamed"
        if before is None:
            return "created"
        if after is None:
            return "deleted"
        if before.is_link or after.is_link:
            return "link"
        return "mode" if before.data == after.data else "changed"


def shows(now: FileState | Refusal | None, change: FileChange) -> bool:
    if change.moved_from:  # its content may have changed since
        return isinstance(now, FileState)
    if change.kind == "mode" and isinstance(now, FileState) and change.after is not None:
        return not now.is_link and now.mode == change.after.mode
    if change.is_made_empty and isinstance(now, FileState):  # it may have any mode
        return not (now.data or now.is_link)
    return now == change.after


def is_between_texts(before: FileState | None, after: FileState | None) -> bool:
    """Whether there is a text before the change and another one after it. It was something else in between, or the difference is hunks."""
    if before is None or after is None or before.data == after.data:
        return False
    return text_of(before) is not None and bool(text_of(after))


def without(change: FileChange, state: FileState | None) -> FileState | None:
    """What would be there without the change, where `state` followed it; `state` itself if it was not its result. Of a change of mode the mode alone
    counts: the file may have been written since."""
    if state == change.after:
        return change.before
    if change.kind == "mode" and state is not None and change.before is not None and shows(state, change):
        return replace(state, mode=change.before.mode)
    return state


def row(change: FileChange, uri: str) -> Json:
    """The row in the form in which `changes` lists it."""
    file: dict[str, object] = {"kind": change.kind}
    if change.moved_from:
        file["from"] = from_path(change.moved_from)
    if change.kind == "mode" and change.before is not None and change.after is not None:
        file |= {"oldMode": f"{change.before.mode:o}", "newMode": f"{change.after.mode:o}"}
    if change.kind == "link":
        file |= {"oldTarget": _target(change.before), "newTarget": _target(change.after)}
    author = change.author
    found: dict[str, object] = {
        "changeId": change.change_id,
        "uri": uri,
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
        "oldText": (change.old_text or "") if change.kind == "deleted" else "",
        "newText": "",
        "sessionId": author.session,
        "turn": author.turn,
        "agent": author.agent,
        "state": "unreviewed",
        "file": file,
    }
    if author.unknown:
        found["unknown"] = True
    if author.tool_call is not None:
        found["toolCallId"] = author.tool_call
    return found


def _target(state: FileState | None) -> str:
    return "" if state is None or not state.is_link else state.data.decode("utf-8", "replace")
