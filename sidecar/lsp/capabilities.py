"""Reads `initialize` into EditorCapabilities.

It reads plain JSON and trusts nothing: an enum value from a newer LSP, or a member of the wrong type, means "not announced". A typed reader would
refuse the whole message and leave the editor without a server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from sidecar.config import ClientFlags, parse
from sidecar.core.json_types import Json
from sidecar.core.text import Encoding
from sidecar.lsp.editor_habits import habits_of
from sidecar.workspace.ports.ports import EditorCapabilities

_ENCODINGS = frozenset(encoding.value for encoding in Encoding)


def editor_capabilities(
    params: Json, client: ClientFlags | None = None, encoding: Encoding | None = None
) -> EditorCapabilities:
    """Return the capabilities from the raw `initialize` params. `client` and `encoding` override what the params say."""
    announced = _at(params, "capabilities")
    workspace, window = _at(announced, "workspace"), _at(announced, "window")
    edit = _at(workspace, "workspaceEdit")
    flags = client if client is not None else parse(params.get("initializationOptions"))[0].client
    apply_edit = workspace.get("applyEdit") is True
    operations = _list(edit.get("resourceOperations"))
    # Neovim accepts documentChanges but announces only the operations, which nothing else can carry.
    document_changes = edit.get("documentChanges") is True or bool(operations)
    info = _at(params, "clientInfo")
    name = _text(info.get("name")) or flags.name
    habits = habits_of(name)
    return EditorCapabilities(
        name=name,
        version=_text(info.get("version")),
        encoding=encoding or negotiated_encoding(params),
        apply_edit=apply_edit,
        document_changes=document_changes,
        create_files="create" in operations,
        delete_files="delete" in operations,
        change_annotations=isinstance(edit.get("changeAnnotationSupport"), Mapping),
        show_message_request="showMessage" in window or habits.message_requests,
        show_document=_at(window, "showDocument").get("support") is True,
        work_done_progress=window.get("workDoneProgress") is True,
        watched_files=_at(workspace, "didChangeWatchedFiles").get("dynamicRegistration") is True,
        code_lens_refresh=_at(workspace, "codeLens").get("refreshSupport") is True,
        diagnostics_refresh=_at(workspace, "diagnostics").get("refreshSupport") is True,
        save=flags.save,
        open=flags.open,
        reload=flags.reload,
        session_updates=flags.session_updates,
        permissions=flags.permissions,
        changes=flags.changes,
        agent_state=flags.agent_state,
        activity=flags.activity,
        context=flags.context,
        elicitation=flags.elicitation,
        terminal_login=flags.terminal_login,
        message_buttons=flags.message_buttons,
        conflicts=flags.conflicts,
        lf_lines=habits.lf_lines,
        in_any_order=habits.in_any_order,
        keeps_lines=habits.keeps_lines,
        adds_final_end=habits.adds_final_end,
        reopens=habits.reopens,
        ignores_version_zero=habits.ignores_version_zero,
    )


def negotiated_encoding(params: Json) -> Encoding:
    """Return the client's first choice among the known encodings, or UTF-16 if it names none (LSP 3.17, PositionEncodingKind)."""
    for wish in _list(_at(_at(params, "capabilities"), "general").get("positionEncodings")):
        if isinstance(wish, str) and wish in _ENCODINGS:
            return Encoding(wish)
    return Encoding.UTF_16


def _at(value: Json, key: str) -> Json:
    inner = value.get(key)
    return cast(Json, inner) if isinstance(inner, Mapping) else {}


def _list(value: object) -> Sequence[object]:
    return cast("list[object]", value) if isinstance(value, list) else ()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
