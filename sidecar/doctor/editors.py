"""Installed editors, and their known limits. The limits were observed, not copied from announcements."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping

from sidecar.doctor.finding import Finding, Mark

KNOWN: tuple[tuple[str, str, Mark, str], ...] = (
    ("nvim", "Neovim", "ok", "everything, with the file that `acp-sidecar setup nvim` prints"),
    (
        "hx",
        "Helix",
        "note",
        "save edited files yourself; questions and commands are code actions in the chat",
    ),
    (
        "emacs",
        "Emacs",
        "note",
        "with eglot 1.17, edits can land in the wrong line without the file that `acp-sidecar setup emacs` prints",
    ),
    (
        "kate",
        "Kate",
        "warn",
        "refuses every edit by a language server: agents read your buffers; files without unsaved changes are written to disk",
    ),
    ("code", "VS Code", "ok", "everything, with the extension acp-sidecar (`make vsix`)"),
)


def look(env: Mapping[str, str] | None = None) -> Iterator[Finding]:
    area = "editors"
    env = os.environ if env is None else env
    here = [one for one in KNOWN if shutil.which(one[0], path=env.get("PATH"))]
    for _, name, mark, words in here:
        yield Finding(area, mark, f"{name}: {words}")
    if not here:
        yield Finding(area, "note", "no known editor is on PATH; any LSP client works")
