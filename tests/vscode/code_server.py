"""A code-server with a clean profile: its own home and settings, extensions from .vsix files, and only loopback."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from tests.support.tools import Tool
from tests.support.waiting import eventually
from tests.vscode.processes import servers

DRAWN: Mapping[str, Any] = {
    "breadcrumbs.enabled": False,
    "editor.cursorBlinking": "solid",
    "editor.minimap.enabled": False,
    "editor.occurrencesHighlight": "off",
    "editor.stickyScroll.enabled": False,
    "window.commandCenter": False,
    "workbench.layoutControl.enabled": False,
}
"""Without what no test looks at and what is drawn again with every change, which took a sixth of a test's processor time. Pictures show it."""

USER: Mapping[str, Any] = {
    **({} if "PICTURES" in os.environ else DRAWN),
    "files.autoSave": "off",  # code-server's own default saves after a second
    # Features that would change typed text
    "editor.autoClosingBrackets": "never",
    "editor.autoClosingQuotes": "never",
    "editor.autoIndent": "none",
    "editor.acceptSuggestionOnEnter": "off",
    "editor.quickSuggestions": {"other": "off", "comments": "off", "strings": "off"},
    "editor.suggestOnTriggerCharacters": False,
    "editor.wordBasedSuggestions": "off",
    # Parts of the workbench that the tests do not need
    "chat.disableAIFeatures": True,
    # anything that moves is drawn sixty times a second, by the processor
    "workbench.reduceMotion": "on",
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "git.enabled": False,
    "remote.autoForwardPorts": False,
    # Features that would use the network
    "telemetry.telemetryLevel": "off",
    "extensions.autoCheckUpdates": False,
    "extensions.autoUpdate": False,
    "workbench.enableExperiments": False,
    "typescript.disableAutomaticTypeAcquisition": True,
    "json.schemaDownload.enable": False,
    "npm.fetchOnlinePackageInfo": False,
}

BUILT_IN = (
    *("configuration-editing", "diff", "git", "git-base", "ipynb", "javascript", "json"),
    *("json-language-features", "markdown-basics", "merge-conflict", "notebook-renderers"),
    *("python", "search-result", "theme-defaults", "theme-seti"),
)
"""Of the extensions that VS Code brings, those that the tests meet. Each window reads what all of them contribute, about a hundred."""

RECEIVED = "scripted.received"
"""In a code-server's folder: every line that the scripted agents started from it were sent."""

_INSTALLED: dict[tuple[object, ...], Path] = {}
"""Folders of extensions, by what was installed there."""


class CodeServer:
    """Settings with `machine` scope must be in `machine`, not in `user`, as in any remote window of VS Code."""

    def __init__(
        self,
        tool: Tool,
        folder: Path,
        vsixes: Sequence[Path],
        *,
        machine: Mapping[str, Any],
        user: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
        options: Sequence[str] = ("--disable-workspace-trust",),
        built_in: Sequence[str] | None = BUILT_IN,
    ) -> None:
        """`built_in`: the names of VS Code's own extensions; None: all."""
        self.folder = folder
        self.data = folder / "data"
        self.log = folder / "code-server.log"
        self.sockets = folder / "s"  # the path of a socket is limited to about a hundred bytes
        self._command = [
            tool.command,
            "--user-data-dir",
            str(self.data),
            "--extensions-dir",
            str(folder / "extensions"),
        ]
        self._options = options
        self._vsixes = vsixes
        self._environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("VSCODE_", "ELECTRON_"))
            },
            "HOME": str(folder / "home"),
            **{
                f"XDG_{name}_HOME": str(folder / "home" / name.lower())
                for name in ("CACHE", "CONFIG", "DATA", "STATE")
            },
            "XDG_RUNTIME_DIR": str(self.sockets),
            "TMPDIR": str(self.sockets),
            "ACP_SIDECAR_STATE": str(folder / "state"),
            "ACP_TEST_SOCKETS": str(self.sockets),
            "SHELL": "/bin/bash",  # VS Code follows no commands in the terminals of those whose shell is a plain sh
            "EXTENSIONS_GALLERY": "{}",  # no marketplace
            **(environment or {}),
        }
        for part in (self.sockets, folder / "home"):
            part.mkdir(parents=True, mode=0o700)
        if built_in is not None:
            self._command += _only(built_in, tool, folder / "built-in")
        self._settings = {"User": {**USER, **(user or {})}, "Machine": dict(machine)}
        self.restore_settings()

    @property
    def state(self) -> Path:
        """The sidecars' state folder."""
        return Path(self._environment["ACP_SIDECAR_STATE"])

    @property
    def settings(self) -> Mapping[str, Any]:
        """What it was started with, of both scopes."""
        return {**self._settings["User"], **self._settings["Machine"]}

    def restore_settings(self) -> None:
        """Undoes what a test configured."""
        for scope, settings in self._settings.items():
            self.write_settings(scope, settings)

    def write_settings(self, scope: str, settings: Mapping[str, Any]) -> None:
        """Writes the settings. `scope`: User or Machine. A running workbench notices a moment later."""
        path = self.data / scope / "settings.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings))

    def __enter__(self) -> Self:
        self._install()
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *self._command,
                    *("--bind-addr", "127.0.0.1:0", "--auth", "none"),
                    *("--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"),
                    # how long the extension host of a closed window stays
                    *("--reconnection-grace-time", "5"),
                    *self._options,
                ],
                env=self._environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self.url = eventually(self._address, "code-server listens", otherwise=self.last_words)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends it and everything that it started. The sidecars end by themselves, and write in the tests' folders until then."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(10)
        eventually(lambda: not servers(self), "its sidecars have ended", within=30)

    def last_words(self) -> str:
        """The ends of its log and of our extension's log, for a failure's message."""
        logs = [self.log, *self._extensions_logs()]
        return "\n".join(
            f"--- {log.name}\n{log.read_text(errors='replace')[-3000:]}" for log in logs if log.exists()
        )

    def logged(self, words: str) -> int:
        """How often our extension's log says this."""
        return sum(log.read_text(errors="replace").count(words) for log in self._extensions_logs())

    def _extensions_logs(self) -> list[Path]:
        return sorted(self.data.glob("logs/**/acp-sidecar.acp-sidecar/*.log"))

    def _install(self) -> None:
        """As a user does, once for each kind of server and the same extensions; later ones get a copy of what that left."""
        kind = (type(self), *((vsix.name, vsix.stat().st_size) for vsix in self._vsixes))
        installed = self.folder / "extensions"
        earlier = _INSTALLED.get(kind)
        if earlier is None:
            self._install_each()
            _INSTALLED[kind] = installed
            return
        shutil.copytree(earlier, installed)
        listed = installed / "extensions.json"
        listed.write_text(listed.read_text().replace(f"{earlier}/", f"{installed}/"))

    def _install_each(self) -> None:
        """All at once, because starting code-server takes longer than installing one."""
        done = subprocess.run(
            [*self._command, *(word for vsix in self._vsixes for word in ("--install-extension", str(vsix)))],
            env=self._environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=240,
            check=False,
        )
        assert done.stdout.count("was successfully installed") == len(self._vsixes), (
            f"{done.stdout[-1000:]}{done.stderr[-1000:]}"
        )

    def _address(self) -> str | None:
        found = re.search(
            r"HTTP server listening on (http://127\.0\.0\.1:\d+)", self.log.read_text(errors="replace")
        )
        return found[1] if found else None


def _only(names: Sequence[str], tool: Tool, folder: Path) -> list[str]:
    """The options with which code-server has only these of its own extensions. None where they are not found: another copy of it may be
    laid out in another way."""
    found = re.search(r"/\S+/out/node/entry\.js", Path(tool.command).read_text(errors="replace"))
    brought = Path(found[0]).parents[2] / "lib" / "vscode" / "extensions" if found else None
    if brought is None or not all((brought / name).is_dir() for name in names):
        return []
    folder.mkdir()
    for name in names:
        (folder / name).symlink_to(brought / name)
    return ["--builtin-extensions-dir", str(folder)]
