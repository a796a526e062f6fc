"""Editors' habits: what a client does that it does not announce, recognised by the name that it gives itself.

One row for each client, with the versions in which this was seen. docs/clients.md says for each habit how it was noticed and what the sidecar
does about it; tests/e2e/test_habits_*.py compare the rows with the real editors. A client without a row does as LSP says.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorHabits:
    """The defaults follow LSP. The first five are the fields of the same name of `EditorCapabilities`."""

    lf_lines: bool = False
    in_any_order: bool = False
    keeps_lines: bool = False
    adds_final_end: bool = False
    reopens: bool = False
    ignores_version_zero: bool = False
    message_requests: bool = True
    """It answers `window/showMessageRequest`, which LSP 1.0 has without a capability. `showMessage` (3.16) announces only extras."""
    seen: str = ""
    """In which versions."""


TABLE: dict[str, EditorHabits] = {
    "neovim": EditorHabits(
        lf_lines=True,
        keeps_lines=True,
        adds_final_end=True,  # 'fixendofline', which is on by default
        reopens=True,
        ignores_version_zero=True,
        seen="0.7 and 0.11",
    ),
    "helix": EditorHabits(
        lf_lines=True,
        in_any_order=True,
        adds_final_end=True,  # insert-final-newline, which is on by default
        message_requests=False,
        seen="25.01",
    ),
    "eglot": EditorHabits(
        lf_lines=True,
        adds_final_end=True,  # mode-require-final-newline, which is on by default
        reopens=True,
        seen="1.17",
    ),
    "emacs": EditorHabits(  # lsp-mode's name, and the one that our snippet gives to an eglot that gives none (which reopens)
        lf_lines=True,
        adds_final_end=True,
        seen="eglot 1.9",
    ),
    "kate": EditorHabits(message_requests=False, seen="22.12"),
}
"""By the client's name in lower case."""
NONE = EditorHabits()


def habits_of(name: str) -> EditorHabits:
    """The habits of the client that calls itself `name`, in any case."""
    return TABLE.get(name.lower(), NONE)
