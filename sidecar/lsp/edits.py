"""WorkspaceEdits as plain JSON, in the one form that every editor checks (docs/clients.md).

Always `documentChanges` with the version that the edits were computed for, even if the editor does not announce it (Neovim does not). Never
`changes`: its edits apply to whatever text is there. A new file is CreateFile and its text in one edit, so that it is one undo step.
"""

from __future__ import annotations

from collections.abc import Sequence

from sidecar.core.coordinates import TextEdit
from sidecar.lsp.long_texts import LongText
from sidecar.workspace.ports.ports import DocumentEdit, EditorCapabilities


class Unsendable(ValueError):
    """The edit must not be sent, or not to this editor. The message says why."""


def workspace_edit(edit: DocumentEdit, capabilities: EditorCapabilities) -> dict[str, object]:
    """Return the `WorkspaceEdit`. Raises Unsendable."""
    if not capabilities.apply_edit:
        raise Unsendable("this editor does not take edits (workspace.applyEdit)")
    if edit.create and not capabilities.create_files:
        raise Unsendable("this editor does not create files (workspaceEdit.resourceOperations)")
    if edit.delete:
        if not capabilities.delete_files:
            raise Unsendable("this editor does not delete files (workspaceEdit.resourceOperations)")
        return {"documentChanges": [{"kind": "delete", "uri": edit.client_uri}]}
    if edit.version is None and not edit.create:
        raise ValueError("an edit of an existing document needs the version it was computed for")
    if not edit.edits and not edit.create:
        # Editors answer `true` to such an edit and never send the didChange that would prove success.
        raise ValueError("an edit that changes nothing is never sent")
    changes: list[object] = []
    if edit.create:
        changes.append({"kind": "create", "uri": edit.client_uri})
    if edit.edits:
        document = {"uri": edit.client_uri, "version": _checked_version(edit.version, capabilities)}
        changes.append({"textDocument": document, "edits": text_edits(edit.edits)})
    return {"documentChanges": changes}


def _checked_version(version: int | None, capabilities: EditorCapabilities) -> int | None:
    """Return the version to send. Where version 0 is not checked, an edit for it would overwrite what was typed within the editor's debounce.
    Neovim accepts version 1 for an unchanged buffer and refuses it after typing."""
    return 1 if version == 0 and capabilities.ignores_version_zero else version


def text_edits(edits: Sequence[TextEdit]) -> list[dict[str, object]]:
    return [
        {
            "range": {
                "start": {"line": edit.start.line, "character": edit.start.character},
                "end": {"line": edit.end.line, "character": edit.end.character},
            },
            "newText": LongText.of(edit.new_text),
        }
        for edit in edits
    ]
