"""Habits: how editors differ from the specification, one switch each, and the editors that have them. All were observed
(2022–2026).

By default an editor follows LSP exactly. A switch's comment names the editors with that habit.
`tests/e2e/test_habits_*.py` compare the habits of Neovim, eglot and Helix with the real editors. An editor named "…,
ours" has our snippet loaded.
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
    # How changes are sent

    lag: float = 0.0
    """Seconds that changes wait before they are sent together (Neovim 0.15; eglot 0.5). Saving, closing and requests
    send them first.
    """
    lag_restarts: bool = False
    """Every change restarts the wait (eglot: an idle timer; not Neovim)."""
    version_when_told: bool = False
    """The version counts what was sent, not what was done. During the lag, an edit for the old version is accepted and
    applied at the wrong place (eglot 1.17 without a flush before applyEdit).
    """
    told_before_edit: bool = False
    """Pending changes are sent before applyEdit is handled (eglot with our snippet)."""
    version_step: int = 1
    """Versions have gaps (Neovim: changedtick)."""
    first_version: int = 1
    """The version in didOpen (Neovim, eglot, lsp-mode: 0)."""
    full_text: bool = False
    """didChange always contains the whole text (Kate)."""
    counts: Encoding | None = None
    """The units in which it counts characters, whatever was agreed (lsp-mode: code points as UTF-16)."""
    lf_lines: bool = False
    """Only "\\n" ends a line; "\\r" is an ordinary character (Neovim, eglot, Helix)."""
    any_order: bool = False
    """Notifications sent at the same moment may arrive in any order (Helix)."""
    noop_told: bool = False
    """An edit that changes nothing is reported as a change (Neovim, eglot, Helix). VS Code says `true` and never
    reports it.
    """
    tells_twice: bool = False
    """What a request has it report early is reported once more, under the same version and with nothing in it (Neovim 0.7, where the
    timer had just run out).
    """

    # How applyEdit is handled

    order: Literal["change first", "answer first", "either"] = "change first"
    """Which comes first, didChange or the answer. VS Code, eglot: the answer; lsp-mode: the change; Neovim, Helix:
    either.
    """
    stale: Literal["false", "true", "error", "misapplied"] = "false"
    """An edit for an older version: `applied: false` (VS Code, Helix), `true` with nothing done (Neovim), an error
    (eglot), or applied at the wrong place (eglot during its lag, see version_when_told).
    """
    stale_reason: str = ""
    """VS Code gives none."""
    error_code: int = -32603
    """eglot 1.9 says +32603, 1.17 -32603."""
    unchecked: frozenset[int] = frozenset()
    """Versions that are never checked (Neovim, lsp-mode: 0)."""
    newer_is_fine: bool = False
    """Only older versions count as stale (Neovim compares with <)."""
    refuses: bool = False
    """Never accepts an edit (Kate)."""
    thinks: float = 0.0
    """Seconds before it acts: it asks its user (eglot 1.9), or hangs (NEVER)."""
    answers_after: float = 0.0
    """Seconds between acting and answering; NEVER: the answer is lost."""
    closes_first: bool = False
    """The user closes the document at the moment when the edit arrives."""
    undo_joins: Literal["", "earlier", "later", "both", "around"] = ""
    """One undo includes typing: what was typed before, what is typed after (lsp-mode), or, if something was typed right
    before, that and what is typed after (eglot).
    """
    end_in_two: bool = False
    """The deletion of a file's last lines is reported as two changes: the lines' content, then the remaining line end
    (Neovim).
    """
    blank_line_past_end: bool = False
    """Text inserted after the final line end gets another line end (Neovim 0.11)."""

    # Documents that are not open

    unopened: Literal["hidden", "twice", "change first", "untold", "refused"] = "hidden"
    """How an edit opens documents: hidden (all); with two didOpens (eglot); with didChange before a didOpen that still
    has the old text (Helix, at times); without telling the server (lsp-mode after CreateFile); or not at all.
    """
    creates: Literal["yes", "in a folder", "no", "said"] = "yes"
    """CreateFile: creates folders too; works only in an existing folder (Neovim 0.7); unsupported (eglot 1.17), or
    claimed to be done although unsupported (eglot 1.9).
    """

    # Text and disk

    line_ends: Literal["raw", "majority", "unanimous", "lf"] = "raw"
    """raw: kept, also in edits (Helix). majority: the document has one line end, and others are converted when they
    enter (VS Code). unanimous: CRLF only if all lines have it; edits are converted (Neovim). lf: the buffer has LF,
    CRLF is on disk; a CR in an edit stays and is doubled on disk (Emacs, Kate).
    """
    final_end: Literal["text", "added", "setting"] = "text"
    """The final line end. text: an ordinary character (VS Code). added: a save adds a missing one as its own undo step
    (Emacs, Helix). setting: a buffer consists of lines and this is one of its flags; edits cannot remove it, an empty
    file is one empty line, and a save writes it silently (Neovim).
    """
    fixes_end: bool = True
    """With `setting`: a save ends the last line ('fixendofline'). Otherwise the file keeps what it had (Neovim with nofixendofline)."""
    encoding: str = "utf-8"
    """The encoding of files without a mark, set by the user (VS Code: files.encoding)."""
    keeps_bom: bool = False
    """The byte order mark is part of the text. (VS Code and Neovim strip it and put it back.)"""
    on_save: Callable[[str], str] | None = None
    """Save participants, which make their own undo step (VS Code: format, trim, final newline)."""
    exact_behind: bool = False
    """To keep a text exact, it is first saved normally. If the participants changed it, the exact text is written to
    the file, and the document is reloaded from there (VS Code with our extension, for documents that are not active).
    """
    save_fails: Literal["", "always", "newer"] = ""
    """newer: if the file changed on disk (VS Code, Helix; the others ask their user, and our snippets answer no)."""
    refused_save_told: bool = False
    """A user's save that fails is told like one that was carried out (Neovim: it tells of every `:write`, also of one
    to whose question the user said no).
    """
    save_takes: float = 0.0
    """Seconds from the moment whose text is saved until it is on disk, and again until didSave. Keys typed meanwhile
    are reported before that, so didSave, with the whole text, is for a newer version than the bytes (VS Code, 0.01 to
    0.04).
    """
    told_after_save: bool = False
    """What is pending when a save begins is told when that is over, right before didSave: until then the file says what the mirror does not (Neovim: 0.01;
    eglot). With `save_takes`.
    """
    save_tells: Literal["now", "saved"] = "now"
    """The text that didSave brings: that of its own moment, or the saved one, however old it is by then (Helix, seen up
    to some keys later).
    """
    lets_go: bool = False
    """A document that nobody looks at is closed as soon as it is saved at our request (VS Code, sometimes)."""
    reload_takes: float = 0.0
    """Seconds from the version check of a requested reload until the document has the text on disk, and again until the
    edits are on top. Keys typed before that text arrives are replaced with the old text; the edits are moved along with
    keys typed after it (VS Code).
    """
    reloads: float | None = None
    """Seconds until a clean document that changed on disk is reloaded; None: never (Helix, and Emacs and Neovim without
    focus).
    """
    reopens: bool = False
    """A document that is taken from the disk again is told as closed and opened; what was pending of it is never told (Neovim, eglot)."""
    undo_reopens: bool = False
    """Undoing or redoing what was taken from the disk is told as edits, and then as closed and opened (Neovim)."""
    top_told_later: float = 0.0
    """Seconds from then, and from the answer, until the edits on top are told (Neovim: 0.01 to 0.03, and 0.15 or more after something else was told; what
    the user does until then is told with them)."""

    # What it announces about itself

    client: str = "fake editor"
    encodings: tuple[Encoding, ...] = ("utf-16",)
    """The offered encodings, best first. Empty: none is offered (Neovim 0.7)."""
    document_changes: bool = True
    says_document_changes: bool = True
    """Whether it announces documentChanges. Neovim supports them without announcing them."""
    create_files: bool = True
    messages: bool = True
    """window/showMessageRequest (Helix 25.01 has none)."""
    says_messages: bool = True
    """eglot supports it without announcing it."""


WELL_BEHAVED = Habits()
VSCODE = Habits(
    client="Visual Studio Code",
    order="answer first",
    line_ends="majority",
    save_fails="newer",
    reloads=0.2,
)
"""Saves at once, for tests that look at the disk right afterwards. VSCODE_SAVING saves with the real delays."""
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
    refused_save_told=True,
    told_after_save=True,
    reopens=True,
    undo_reopens=True,
    top_told_later=0.02,
)
NEOVIM_07 = replace(NEOVIM, encodings=(), blank_line_past_end=False, creates="in a folder", tells_twice=True)
NEOVIM_OURS = replace(
    NEOVIM,
    stale="false",
    stale_reason="version",
    unchecked=frozenset(),
    blank_line_past_end=True,
)
NEOVIM_KEEPING_END = replace(NEOVIM_OURS, fixes_end=False)
"""With nofixendofline."""
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
    told_after_save=True,
    reopens=True,
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
    save_tells="saved",
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
