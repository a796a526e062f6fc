"""Habits: how editors differ from the book, one switch each, and the editors that have them. All were observed (2022–2026).

The default is an editor that does everything as LSP says. A switch's comment names the editors it was seen in. Those of Neovim, eglot
and Helix are compared with the real ones by `tests/e2e/test_habits_*.py`; an editor named "…, ours" has our snippet loaded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from sidecar.demo.buffer import Encoding

NEVER = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    # How changes are told

    lag: float = 0.0
    """Seconds changes wait before they are told together (Neovim 0.15; eglot 0.5). Saving, closing and requests tell them first."""
    lag_restarts: bool = False
    """Every change starts the wait again (eglot: an idle timer; Neovim's is not)."""
    version_when_told: bool = False
    """The version counts what was told, not what was done: inside the lag an edit for the old version is accepted and lands in
    the wrong place (eglot 1.17 without a flush before applyEdit)."""
    told_before_edit: bool = False
    """Pending changes are told before applyEdit is looked at (eglot with our snippet)."""
    version_step: int = 1
    """Versions have gaps (Neovim: changedtick)."""
    first_version: int = 1
    """What didOpen says (Neovim, eglot, lsp-mode: 0)."""
    full_text: bool = False
    """didChange always carries everything (Kate)."""
    counts: Encoding | None = None
    """Characters are counted so, whatever was agreed (lsp-mode: code points as UTF-16)."""
    lf_lines: bool = False
    """Only "\\n" ends a line, a "\\r" is a character like any other (Neovim, eglot, Helix)."""
    any_order: bool = False
    """What is told in one moment may arrive in another order (Helix)."""
    noop_told: bool = False
    """An edit that changes nothing is told as a change (Neovim, eglot, Helix). VS Code says `true` and never tells it."""

    # How applyEdit is taken

    order: Literal["change first", "answer first", "either"] = "change first"
    """What comes first of didChange and the answer. VS Code, eglot: the answer; lsp-mode: the change; Neovim, Helix: either."""
    stale: Literal["false", "true", "error", "misapplied"] = "false"
    """An edit for an older version: `applied: false` (VS Code, Helix), `true` and nothing done (Neovim), an error (eglot), or made
    where it does not belong (eglot inside its lag, see version_when_told)."""
    stale_reason: str = ""
    """VS Code gives none."""
    error_code: int = -32603
    """eglot 1.9 says +32603, 1.17 -32603."""
    unchecked: frozenset[int] = frozenset()
    """Versions that are never compared (Neovim, lsp-mode: 0)."""
    newer_is_fine: bool = False
    """Only older versions count as stale (Neovim compares with <)."""
    refuses: bool = False
    """No edit is ever taken (Kate)."""
    thinks: float = 0.0
    """Seconds before it does anything: it asks its user (eglot 1.9), or hangs (NEVER)."""
    answers_after: float = 0.0
    """Seconds between doing it and saying so; NEVER: the answer is lost."""
    closes_first: bool = False
    """The user closes the document in the moment in which the edit arrives."""
    undo_joins: Literal["", "earlier", "later", "both", "around"] = ""
    """One undo takes typing along: what was typed before, what is typed after (lsp-mode), or, where something was typed right
    before, that and what is typed after (eglot)."""
    end_in_two: bool = False
    """The deletion of a file's last lines is told as two changes: what they say, then the line end that is left (Neovim)."""
    blank_line_past_end: bool = False
    """Text inserted behind the final line end gets another line end (Neovim 0.11)."""

    # Documents that are not open

    unopened: Literal["hidden", "twice", "change first", "untold", "refused"] = "hidden"
    """An edit opens them hidden (all); tells didOpen twice (eglot); tells didChange before didOpen, which still has the text before it
    (Helix, at times); tells nothing (lsp-mode after CreateFile); or refuses."""
    creates: Literal["yes", "in a folder", "no", "said"] = "yes"
    """CreateFile: with the folders it needs; only where the folder exists (Neovim 0.7); unsupported (eglot 1.17), and said to be done
    all the same (eglot 1.9)."""

    # Text and disk

    line_ends: Literal["raw", "majority", "unanimous", "lf"] = "raw"
    """raw: kept, also in edits (Helix). majority: the document has one line end, others are converted on the way in (VS Code).
    unanimous: CRLF only where all lines have it, edits converted (Neovim). lf: the buffer has LF, CRLF on disk; a CR in an edit stays and is doubled on
    disk (Emacs, Kate)."""
    final_end: Literal["text", "added", "setting"] = "text"
    """The final line end. text: a character like any other (VS Code). added: saving adds it where there is none, as a step of its own
    (Emacs, Helix). setting: a buffer is lines and this a flag of it; edits cannot take it away, an empty file is one empty line, and
    saving writes one without a word (Neovim)."""
    encoding: str = "utf-8"
    """Of files without a mark, as its user has set it (VS Code: files.encoding)."""
    keeps_bom: bool = False
    """The byte order mark is part of the text. (VS Code and Neovim strip it and put it back.)"""
    on_save: Callable[[str], str] | None = None
    """Save participants: a step of their own (VS Code: format, trim, final newline)."""
    exact_behind: bool = False
    """A text that has to stay as it is is saved like any other first, and where the participants changed it, it is put into the file behind
    the document, which takes it from there (VS Code with our extension, for what is not the active editor's)."""
    save_fails: Literal["", "always", "newer"] = ""
    """newer: when the file changed on disk (VS Code, Helix; the others ask their user, and our snippets answer no)."""
    save_takes: float = 0.0
    """Seconds from the moment whose text is saved until that is on the disk, and as long again until the save is told. What is typed
    meanwhile is told before that: the save is told, as one of the whole text, for a version newer than the bytes (VS Code, 0.01 to 0.04)."""
    reloads: float | None = None
    """Seconds after which a clean document that changed on disk is taken from there; None: never (Helix, Emacs and Neovim
    without focus)."""

    # What it says about itself

    client: str = "fake editor"
    encodings: tuple[Encoding, ...] = ("utf-16",)
    """Offered, best first. Empty: nothing is said (Neovim 0.7)."""
    document_changes: bool = True
    says_document_changes: bool = True
    """Neovim takes them and does not say so."""
    create_files: bool = True
    messages: bool = True
    """window/showMessageRequest (Helix 25.01 has none)."""
    says_messages: bool = True
    """eglot has it and does not say so."""


WELL_BEHAVED = Habits()
VSCODE = Habits(
    client="Visual Studio Code",
    order="answer first",
    line_ends="majority",
    save_fails="newer",
    reloads=0.2,
)
"""It saves at once here, for tests that look at the disk right after; VSCODE_SAVING saves as it really does."""
VSCODE_SAVING = replace(VSCODE, save_takes=0.02)
NEOVIM = Habits(
    client="Neovim",
    encodings=("utf-8", "utf-16", "utf-32"),
    says_document_changes=False,
    lag=0.15,
    lf_lines=True,
    noop_told=True,
    first_version=0,
    version_step=2,
    order="either",
    stale="true",
    unchecked=frozenset({0}),
    newer_is_fine=True,
    end_in_two=True,
    blank_line_past_end=True,
    line_ends="unanimous",
    final_end="setting",
    save_fails="newer",
)
NEOVIM_07 = replace(NEOVIM, encodings=(), blank_line_past_end=False, creates="in a folder")
NEOVIM_OURS = replace(
    NEOVIM,
    stale="false",
    stale_reason="version",
    unchecked=frozenset(),
    blank_line_past_end=True,
)
EGLOT_117 = Habits(
    client="Eglot",
    encodings=("utf-32", "utf-8", "utf-16"),
    says_messages=False,
    lag=0.5,
    lag_restarts=True,
    lf_lines=True,
    noop_told=True,
    version_when_told=True,
    first_version=0,
    order="answer first",
    stale="error",
    undo_joins="around",
    unopened="twice",
    creates="no",
    create_files=False,
    line_ends="lf",
    final_end="added",
    save_fails="newer",
)
EGLOT_19 = replace(
    EGLOT_117,
    client="",
    encodings=(),
    version_when_told=False,
    error_code=32603,
    thinks=3.0,
    creates="said",
)
EGLOT_OURS = replace(
    EGLOT_117,
    told_before_edit=True,
    order="change first",
    stale="false",
    stale_reason="version",
    undo_joins="",
    unopened="refused",
)
LSP_MODE = Habits(
    client="emacs",
    counts="utf-32",
    first_version=0,
    unchecked=frozenset({0}),
    undo_joins="later",
    unopened="untold",
    line_ends="lf",
)
HELIX = Habits(
    client="helix",
    encodings=("utf-8", "utf-32", "utf-16"),
    lf_lines=True,
    any_order=True,
    noop_told=True,
    first_version=0,
    order="either",
    stale_reason="document has changed",
    unopened="change first",
    final_end="added",
    save_fails="newer",
    messages=False,
)
KATE = Habits(client="Kate", first_version=0, full_text=True, refuses=True, line_ends="lf")

EDITORS = {
    "vscode": VSCODE,
    "neovim": NEOVIM,
    "neovim 0.7": NEOVIM_07,
    "neovim, ours": NEOVIM_OURS,
    "eglot 1.9": EGLOT_19,
    "eglot 1.17": EGLOT_117,
    "eglot, ours": EGLOT_OURS,
    "lsp-mode": LSP_MODE,
    "helix": HELIX,
    "kate": KATE,
}
