"""Announcement: the result of `initialize` as plain data, available before pygls is imported.

It announces what `features.py` registers later. The protocol compares the two at every start, and so does a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from sidecar import __version__
from sidecar.lsp.command_names import COMMANDS
from sidecar.lsp.greeting import position_encoding

NAME = "acp-sidecar"

_INCREMENTAL = 2
"""TextDocumentSyncKind in LSP."""


def announce(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of `initialize` for its params, both as plain JSON."""
    return {
        "capabilities": {
            "positionEncoding": position_encoding(params),
            "textDocumentSync": {
                "openClose": True,
                "change": _INCREMENTAL,
                "save": {"includeText": True},
            },
            "codeActionProvider": {"codeActionKinds": ["quickfix"]},
            "codeLensProvider": {"resolveProvider": False},
            "executeCommandProvider": {"commands": sorted(COMMANDS)},
            "workspace": {
                "workspaceFolders": {"supported": True, "changeNotifications": True},
                "fileOperations": _file_operations(params),
            },
        },
        "serverInfo": {"name": NAME, "version": __version__},
    }


def _file_operations(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what pygls would announce: only operations that the client said it sends."""
    at: object = params
    for name in ("capabilities", "workspace", "fileOperations", "didRename"):
        at = cast("Mapping[str, object]", at).get(name) if isinstance(at, Mapping) else None
    if at is not True:
        return {}
    return {"didRename": {"filters": [{"pattern": {"glob": "**"}, "scheme": "file"}]}}
