"""What is read from `initialize`, also when it is odd."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from sidecar.core.text import Encoding
from sidecar.lsp.capabilities import editor_capabilities, negotiated_encoding
from sidecar.workspace.ports.ports import EditorCapabilities


def announced(**changed: Any) -> EditorCapabilities:
    """The least, which includes message requests: LSP has no capability for them."""
    return EditorCapabilities(**{"show_message_request": True, **changed})


HELIX: dict[str, Any] = {"lf_lines": True, "in_any_order": True, "adds_final_end": True}
EDIT = {"workspaceEdit": {"documentChanges": True}}

CASES = {
    "nothing": ({}, announced()),
    "null": ({"capabilities": None, "clientInfo": None, "initializationOptions": None}, announced()),
    "wrong types": (
        {"capabilities": {"workspace": [], "window": {"workDoneProgress": "yes", "showDocument": True}}},
        announced(),
    ),
    "apply": ({"capabilities": {"workspace": {"applyEdit": True}}}, announced(apply_edit=True)),
    "versions": ({"capabilities": {"workspace": EDIT}}, announced(document_changes=True)),
    "create": (
        {
            "capabilities": {
                "workspace": {
                    "workspaceEdit": {"documentChanges": True, "resourceOperations": ["new-kind", "create"]}
                }
            }
        },
        announced(document_changes=True, create_files=True),
    ),
    "create without documentChanges, as Neovim": (
        {"capabilities": {"workspace": {"workspaceEdit": {"resourceOperations": ["delete", "create"]}}}},
        announced(document_changes=True, create_files=True, delete_files=True),
    ),
    "annotations": (
        {"capabilities": {"workspace": {"workspaceEdit": {"changeAnnotationSupport": {}}}}},
        announced(change_annotations=True),
    ),
    "window": (
        {"capabilities": {"window": {"workDoneProgress": True, "showDocument": {"support": True}}}},
        announced(work_done_progress=True, show_document=True),
    ),
    "refresh": (
        {
            "capabilities": {
                "workspace": {
                    "codeLens": {"refreshSupport": True},
                    "diagnostics": {"refreshSupport": True},
                    "didChangeWatchedFiles": {"dynamicRegistration": True},
                }
            }
        },
        announced(code_lens_refresh=True, diagnostics_refresh=True, watched_files=True),
    ),
    "helix": (
        {"clientInfo": {"name": "helix", "version": "25.01"}},
        EditorCapabilities(name="helix", version="25.01", **HELIX),
    ),
    "helix that announces messages": (
        {"clientInfo": {"name": "helix"}, "capabilities": {"window": {"showMessage": {}}}},
        announced(name="helix", **HELIX),
    ),
    "neovim": (
        {"clientInfo": {"name": "Neovim"}},
        announced(
            name="Neovim",
            lf_lines=True,
            keeps_lines=True,
            adds_final_end=True,
            reopens=True,
            ignores_version_zero=True,
        ),
    ),
    "kate": ({"clientInfo": {"name": "Kate"}}, EditorCapabilities(name="Kate")),
    "eglot": (
        {"clientInfo": {"name": "Eglot"}},
        announced(name="Eglot", lf_lines=True, adds_final_end=True, reopens=True),
    ),
    "a client that only our snippet names": (
        {"initializationOptions": {"client": {"name": "Emacs"}}},
        announced(name="Emacs", lf_lines=True, adds_final_end=True),
    ),
    "its own name goes before": (
        {"clientInfo": {"name": "other"}, "initializationOptions": {"client": {"name": "Emacs"}}},
        announced(name="other"),
    ),
    "custom": (
        {"initializationOptions": {"client": {"save": True, "sessionUpdates": True, "permissions": True}}},
        announced(save=True, session_updates=True, permissions=True),
    ),
    "custom, wrong type": ({"initializationOptions": {"client": {"save": 1}}}, announced()),
}


@pytest.mark.parametrize(("params", "expected"), CASES.values(), ids=CASES)
def test_capabilities(params: dict[str, Any], expected: EditorCapabilities) -> None:
    read = editor_capabilities(params)
    assert {f.name: getattr(read, f.name) for f in fields(read)} == {
        f.name: getattr(expected, f.name) for f in fields(expected)
    }


@pytest.mark.parametrize(
    ("wishes", "encoding"),
    [
        (None, Encoding.UTF_16),
        ([], Encoding.UTF_16),
        (["utf-8", "utf-16"], Encoding.UTF_8),
        (["utf-7", 8, "utf-32"], Encoding.UTF_32),
        ("utf-8", Encoding.UTF_16),
    ],
)
def test_encoding_is_the_clients_first_known_wish(wishes: object, encoding: Encoding) -> None:
    assert negotiated_encoding({"capabilities": {"general": {"positionEncodings": wishes}}}) is encoding
