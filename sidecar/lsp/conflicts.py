"""Conflicts in any editor: shows what both an agent and the user changed, and resolves it in place.

Clients that announced `conflicts` get each one as `sidecar/conflict` and show it themselves. All others get a warning with both texts on the lines,
and lenses and code actions to decide. Keeping the user's lines comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from lsprotocol import types

from sidecar.core.escape import plain
from sidecar.core.json_types import Json
from sidecar.core.uri import DocumentUri, normalise
from sidecar.lsp import ext
from sidecar.lsp.commands import EditorCommands
from sidecar.lsp.editor import LspEditor
from sidecar.lsp.review import SOURCE
from sidecar.lsp.wire_port import Wire

_WARNING = 2  # LSP DiagnosticSeverity
_SHOWN = 300
"""The number of characters of each text that a warning shows."""


class ConflictService(Protocol):
    """The workspace's conflicts. There are none before `initialize`."""

    def conflicts(self, uri: DocumentUri | None) -> list[Json]: ...
    async def resolve_conflict(self, conflict_id: str, take: ext.Take) -> Json: ...


class ConflictFeatures:
    """The warnings, lenses, code actions and commands for the workspace's conflicts."""

    def __init__(
        self,
        service: ConflictService,
        editor: LspEditor,
        wire: Wire,
        publish: Callable[[Sequence[str]], None],
    ) -> None:
        self._service = service
        self._editor = editor
        self._wire = wire
        self._publish = publish
        """Publishes all diagnostics of these documents again."""

    def add_to(self, commands: EditorCommands) -> None:
        commands.add(ext.LIST_CONFLICTS, ext.ListConflicts, self._list)
        commands.add(ext.RESOLVE_CONFLICT, ext.ResolveConflict, self._resolve)

    def moved(self, row: Json) -> None:
        """Show a conflict that was found, changed or ended."""
        if self._editor.capabilities.conflicts:
            self._wire.notify(ext.CONFLICT, dict(row))
            return
        self._publish([str(row["uri"])])
        self._editor.lenses_moved()

    def diagnostics(self, uri: str) -> list[Json]:
        """Return a warning for each place of a conflict."""
        return [_warning(row, hunk) for row in self._rows(uri) for hunk in _hunks(row)]

    # features.ActionSource

    def lenses(self, uri: str) -> list[types.CodeLens]:
        return [
            types.CodeLens(types.Range(_range(hunk).start, _range(hunk).start), command)
            for row in self._rows(uri)
            for hunk in _hunks(row)[:1]  # one decision applies to the whole conflict
            for command in _commands(row)
        ]

    def code_actions(self, uri: str, where: types.Range) -> list[types.CodeAction]:
        return [
            types.CodeAction(command.title, kind=types.CodeActionKind.QuickFix, command=command)
            for row in self._rows(uri)
            if any(_touches(_range(hunk), where) for hunk in _hunks(row))
            for command in _commands(row)
        ]

    # Commands

    def _list(self, which: ext.ListConflicts) -> list[Json]:
        return self._service.conflicts(None if which.uri is None else normalise(which.uri))

    async def _resolve(self, which: ext.ResolveConflict) -> Json:
        return await self._service.resolve_conflict(which.conflict_id, which.take)

    def _rows(self, uri: str) -> list[Json]:
        if self._editor.capabilities.conflicts:
            return []
        return self._service.conflicts(normalise(uri))


def _hunks(row: Json) -> list[Json]:
    return cast("list[Json]", row["hunks"])


def _agent(row: Json) -> str:
    return str(row.get("agent") or "somebody else")


def _commands(row: Json) -> list[types.Command]:
    def command(title: str, take: ext.Take) -> types.Command:
        argument: Any = {"conflictId": row["conflictId"], "take": take}
        return types.Command(title, ext.RESOLVE_CONFLICT, arguments=[argument])

    agent = _agent(row)
    found = [command("Keep my lines", "mine"), command(f"Take the lines of {agent}", "agent")]
    if "sessionId" in row and row.get("asked") is not True:
        found.append(command(f"Ask {agent} to do it again", "ask"))
    return found


def _warning(row: Json, hunk: Json) -> Json:
    where = "The file on disk has" if row["origin"] == "disk" else "It wanted to write"
    message = (
        f"{_agent(row)} changed the same lines as you; your lines stay. {where}: {_text(hunk['agent'])} "
        f"The text before both: {_text(hunk['base'])}"
    )
    return {
        "range": hunk["range"],
        "severity": _WARNING,
        "source": SOURCE,
        "message": message,
        "data": {"conflictId": row["conflictId"]},
    }


def _text(text: object) -> str:
    words = str(text).strip()
    return f'"{plain(words, _SHOWN)}".' if words else "nothing."


def _range(hunk: Json) -> types.Range:
    value = cast("dict[str, dict[str, int]]", hunk["range"])
    return types.Range(types.Position(**value["start"]), types.Position(**value["end"]))


def _touches(hunk: types.Range, where: types.Range) -> bool:
    last = hunk.end.line
    if hunk.end.character == 0 and last > hunk.start.line:
        last -= 1  # whole lines end at the start of the next line, which is not part of them
    return hunk.start.line <= where.end.line and where.start.line <= last
