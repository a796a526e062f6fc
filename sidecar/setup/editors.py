"""Editors with a set-up file. Keep it small: every command line imports this module for the names."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class SetUp(NamedTuple):
    """One editor's set-up file."""

    title: str
    file: str
    """Below editor-extension/, with `/`."""
    place: tuple[str, ...]
    """The folders and file name where the editor looks for it: below `configuration()`, or absolute. Empty: no fixed
    place.
    """
    merged: bool
    """The file also holds the editor's own settings. The user merges ours by hand, and `--write` only creates the file."""
    then: str
    """What to do next."""


def configuration(
    environment: Mapping[str, str], platform: str = sys.platform, *, windows: str = "APPDATA"
) -> Path:
    """The folder for users' settings: XDG's, also on macOS, as Neovim, Helix and Kate use it."""
    home = Path(environment.get("HOME") or os.path.expanduser("~"))
    if platform == "win32":
        return Path(environment.get(windows) or home)
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config")


EDITORS = {
    "nvim": SetUp(
        "Neovim 0.7 and newer",
        "nvim/acp-sidecar.lua",
        ("nvim", "lua", "acp-sidecar.lua"),
        False,
        """\
Then put this into init.lua, with your agent:

  require('acp-sidecar').setup {
    agents = { ['fast-agent'] = { command = 'fast-agent-acp', args = { '--model', 'passthrough' } } },
    defaultAgent = 'fast-agent',
  }

:AcpPrompt TEXT asks the agent, :AcpChat opens a chat.""",
    ),
    "emacs": SetUp(
        "Emacs 28 and newer, with eglot",
        "emacs/acp-sidecar.el",
        ("emacs", "lisp", "acp-sidecar.el"),
        False,
        """\
Then put this into your init file, with your agent:

  (add-to-list 'load-path "{folder}")
  (require 'acp-sidecar)
  (setq acp-sidecar-settings
        '(:agents (:fast-agent (:command "fast-agent-acp" :args ["--model" "passthrough"]))
          :defaultAgent "fast-agent"))

M-x acp-sidecar in a file starts it for that project.""",
    ),
    "helix": SetUp(
        "Helix 25.01 and newer",
        "helix/languages.toml",
        ("helix", "languages.toml"),
        True,
        """\
Then name your agent under [language-server.acp-sidecar.config].
:lsp-workspace-command sidecar.openChat opens a chat.""",
    ),
    "vscode": SetUp(
        "VS Code 1.106 and newer",
        "vscode/settings.json",
        (),
        True,
        """\
VS Code needs the extension, acp-sidecar-PLATFORM-VERSION.vsix: build it with `make vsix` in a clone of the project, or take it from
the project's releases. Then run
  code --install-extension FILE
The extension includes the server. The file above goes into your user settings (Preferences: Open User Settings (JSON)), with your agent.""",
    ),
    "kate": SetUp(
        "Kate (it accepts no edits from a language server, so agents change files on disk)",
        "kate/settings.json",
        ("kate", "lspclient", "settings.json"),
        True,
        """\
Instead, you can paste its text in Settings > Configure Kate > LSP Client > User Server Settings.
Then enable the plugin LSP Client, name your agent, and list in highlightingModeRegex the modes in which you want the sidecar:
Kate runs one language server for each mode.""",
    ),
    "other": SetUp(
        "any other LSP client",
        "other/settings.json",
        (),
        True,
        """\
Configure your client to start `acp-sidecar lsp` on stdio for every file type, and to send the file above, with your agent,
as initializationOptions. The command sidecar.openChat (workspace/executeCommand) opens a chat.""",
    ),
}


def place(name: str, environment: Mapping[str, str], platform: str = sys.platform) -> Path | None:
    """Where this user's editor looks for its set-up file. None if it has no fixed place."""
    parts = EDITORS[name].place
    if not parts:
        return None
    if name == "emacs" and (folder := _emacs_folder(environment, platform)) is not None:
        return folder.joinpath(*parts[1:])
    windows = "LOCALAPPDATA" if name in ("nvim", "kate") else "APPDATA"
    return configuration(environment, platform, windows=windows).joinpath(*parts)


def _emacs_folder(environment: Mapping[str, str], platform: str) -> Path | None:
    """`~/.emacs.d`: Emacs prefers it if it exists, and always uses it on Windows."""
    if platform == "win32":
        return configuration(environment, platform) / ".emacs.d"
    folder = Path(environment.get("HOME") or os.path.expanduser("~")) / ".emacs.d"
    xdg = configuration(environment, platform) / "emacs"
    return folder if folder.is_dir() or not xdg.is_dir() else None
