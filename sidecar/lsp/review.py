"""Review in any editor: lenses *Keep* and *Reject* above each hunk, the same as code actions, and a hint on its lines.

Clients that announced `changes` show the hunks themselves and get none of this. Positions are the server's own; while the user types, editors move
lenses and hints along until they get new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from lsprotocol import types

from sidecar.core.chunks import terminators
from sidecar.core.escape import plain
from sidecar.core.json_types import Json
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, normalise
from sidecar.lsp import ext
from sidecar.lsp.commands import EditorCommands
from sidecar.lsp.editor import LspEditor
from sidecar.lsp.wire_port import Wire
from sidecar.workspace.review.review import Result, Selector

SOURCE = "acp-sidecar"
_HINT = 4  # LSP DiagnosticSeverity
_FEW = 3
"""With at least this many hunks, the first lens offers to keep or reject all of them."""


class ReviewService(Protocol):
    """The workspace's review. It has no changes before `initialize`."""

    def rows(self, selector: Selector) -> list[Json]:
        """Return the hunks, with their texts in the form in which they are stored (`core.any_text.AnyText`)."""
        ...

    async def listed(self, selector: Selector) -> list[Json]:
        """Return the hunks as JSON, after checking files that are not open."""
        ...

    def text_before(self, selector: Selector) -> str | None: ...
    def keep(self, selector: Selector) -> Result: ...
    async def reject(self, selector: Selector, reason: str = "") -> Result: ...
    async def revert_turn(self, session_id: str, turn: int) -> Result: ...


class ReviewFeatures:
    """The lenses, code actions, hints and commands for the workspace's review."""

    def __init__(self, service: ReviewService, editor: LspEditor, wire: Wire) -> None:
        self._service = service
        self._editor = editor
        self._wire = wire
        self._hinted: set[str] = set()
        """Documents that have hints now."""
        self.others: Callable[[str], list[Json]] = lambda uri: []
        """Returns the other diagnostics of a document: each publication replaces all of them."""

    def add_to(self, commands: EditorCommands) -> None:
        commands.add(ext.LIST_CHANGES, ext.ListChanges, self._list_changes)
        commands.add(ext.TEXT_BEFORE, ext.TextBefore, self._text_before)
        commands.add(
            ext.KEEP, ext.Changes, lambda which: result_json(self._service.keep(selector(which)), "kept")
        )
        commands.add(ext.REJECT, ext.Changes, self._reject)
        commands.add(ext.REVERT_TURN, ext.Turn, self._revert_turn)

    # features.ActionSource

    def lenses(self, uri: str) -> list[types.CodeLens]:
        rows = self._rows(uri)
        found: list[types.CodeLens] = []
        for i, row in enumerate(rows):
            where = _lens_range(row)
            argument = {"changeId": row["changeId"]}
            count = describe(row)
            found += [
                types.CodeLens(where, _command(f"✓ Keep {count}", ext.KEEP, argument)),
                types.CodeLens(where, _command("✗ Reject", ext.REJECT, argument)),
            ]
            if i == 0 and len(rows) >= _FEW:
                whole = {"uri": uri}
                found += [
                    types.CodeLens(where, _command(f"Keep all {len(rows)} here", ext.KEEP, whole)),
                    types.CodeLens(where, _command("Reject all here", ext.REJECT, whole)),
                ]
        return found

    def code_actions(self, uri: str, where: types.Range) -> list[types.CodeAction]:
        """Return actions for the hunks that `where` touches, and for the whole file if it has several or none is touched."""
        rows = self._rows(uri)
        found: list[types.CodeAction] = []
        for row in rows:
            if _touches(_range(row), where):
                argument = {"changeId": row["changeId"]}
                words = describe(row)
                found += [
                    _action(f"Keep the agent's change ({words})", ext.KEEP, argument),
                    _action(f"Reject the agent's change ({words})", ext.REJECT, argument),
                ]
        if rows and (len(rows) > 1 or not found):
            argument = {"uri": uri}
            what = "the agent's change" if len(rows) == 1 else f"all {len(rows)} agent changes"
            found += [
                _action(f"Keep {what} in this file", ext.KEEP, argument),
                _action(f"Reject {what} in this file", ext.REJECT, argument),
            ]
        return found

    def moved(self, uris: Sequence[str]) -> None:
        """Publish new hints: hunks of these documents appeared, disappeared or were reviewed."""
        for uri in uris:
            rows = self._rows(uri)
            client_uri = str(rows[0]["uri"]) if rows else uri
            hints = [*map(_hint, rows), *self.others(uri)]
            if hints or uri in self._hinted:
                self._wire.notify(
                    "textDocument/publishDiagnostics", {"uri": client_uri, "diagnostics": hints}
                )
            (self._hinted.add if hints else self._hinted.discard)(uri)

    # Commands

    async def _list_changes(self, which: ext.ListChanges) -> list[Json]:
        return await self._service.listed(
            Selector(session_id=which.session_id, uri=None if which.uri is None else normalise(which.uri))
        )

    def _text_before(self, which: ext.TextBefore) -> Json:
        return {
            "text": self._service.text_before(
                Selector(uri=normalise(which.uri), session_id=which.session_id, turn=which.turn)
            )
        }

    async def _reject(self, which: ext.Changes) -> Json:
        result = await self._service.reject(selector(which), which.reason or "")
        return {**result_json(result, "rejected"), "told": result.told}

    async def _revert_turn(self, which: ext.Turn) -> Json:
        return result_json(await self._service.revert_turn(which.session_id, which.turn), "rejected")

    def _rows(self, uri: str) -> list[Json]:
        if self._editor.capabilities.changes:
            return []
        return self._service.rows(Selector(uri=normalise(uri)))


def selector(which: ext.Changes) -> Selector:
    """Return the selector. Raises ValueError with a message if the argument names nothing: `{all: true}` must be explicit."""
    ids = which.change_ids
    if which.change_id is not None:
        ids = [*(ids or ()), which.change_id]
    if ids is None and which.uri is None and which.session_id is None and not which.all:
        raise ValueError(
            "name a changeId, changeIds, a uri, a sessionId (with or without a turn), or say {all: true}"
        )
    uri: DocumentUri | None = None if which.uri is None else normalise(which.uri)
    return Selector(None if ids is None else frozenset(ids), uri, which.session_id, which.turn, which.all)


def result_json(result: Result, verb: str) -> Json:
    left = {"untouched": result.untouched} if result.untouched else {}
    return {verb: result.done, "impossible": result.impossible, **left}


def describe(row: Json) -> str:
    """Return `+3 −1`, in lines, or what happened to the file as a whole."""
    file = row.get("file")
    if isinstance(file, dict):
        return _WHOLE.get(str(cast("dict[str, object]", file).get("kind")), "changed")
    added, removed = _count(row["newText"]), _count(row["oldText"])
    return f"+{added} −{removed}"


_LARGE = 64 * 1024
"""Characters. A longer text is not copied to show its ends, and the kind of its first line ends is assumed for all."""
_WHOLE = {
    "created": "file created",
    "deleted": "file deleted",
    "renamed": "file renamed",
    "mode": "file mode",
    "link": "link",
    "changed": "not text",
}


def _count(words: object) -> int:
    if isinstance(words, Text):
        return words.line_count - (words.slice(max(0, len(words) - 1), len(words)) in ("", "\n", "\r"))
    words = str(words)
    if len(words) > _LARGE:  # only one search of 10 MB
        head = words[:_LARGE]
        lines = words.count("\r" if "\r" in head and "\n" not in head else "\n")
    else:
        lines = terminators(words)
    return lines + (words[-1:] not in ("", "\n", "\r"))


def _hint(row: Json) -> Json:
    old = row["oldText"]
    old = old if isinstance(old, Text) else str(old)
    by = "on disk, not known by whom" if row.get("unknown") else "by an agent"
    message = f"Changed {by} ({describe(row)}), not reviewed yet."
    if old:
        message += f" Earlier text: {plain(old if len(old) > _LARGE else str(old).strip(), 300)}"
    return {
        "range": row["range"],
        "severity": _HINT,
        "source": SOURCE,
        "message": message,
        "data": {"changeId": row["changeId"]},
    }


def _command(title: str, command: str, argument: Any) -> types.Command:
    return types.Command(title, command, arguments=[argument])


def _action(title: str, command: str, argument: Any) -> types.CodeAction:
    return types.CodeAction(
        title,
        kind=types.CodeActionKind.QuickFix,
        command=_command(title, command, argument),
    )


def _range(row: Json) -> types.Range:
    value = cast("dict[str, dict[str, int]]", row["range"])
    return types.Range(types.Position(**value["start"]), types.Position(**value["end"]))


def _lens_range(row: Json) -> types.Range:
    """A lens must be on one line (LSP, CodeLens.range)."""
    start = _range(row).start
    return types.Range(start, start)


def _touches(hunk: types.Range, where: types.Range) -> bool:
    last = hunk.end.line
    if hunk.end.character == 0 and last > hunk.start.line:
        last -= 1  # whole lines end at the start of the next line, which is not part of them
    return hunk.start.line <= where.end.line and where.start.line <= last
