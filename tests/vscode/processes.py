"""The sidecars that run, by what the system tells of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.vscode.code_server import CodeServer
    from tests.vscode.window import Window


def installed(server: CodeServer) -> Path:
    """The extension's folder."""
    return next(server.folder.glob("extensions/acp-sidecar.acp-sidecar-*"))


def servers(server: CodeServer) -> list[int]:
    """Process ids of the sidecars that this code-server's windows started."""
    boot = str(installed(server) / "bundled" / "boot.py").encode()
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:  # it ended meanwhile
            continue
        if boot in words and b"lsp" in words:
            found.append(int(path.parent.name))
    return found


def own_server(window: Window) -> int | None:
    """The process id of the sidecar that this window's extension host started."""
    host = window.js("return process.pid")
    for process in servers(window.server):
        try:
            status = Path(f"/proc/{process}/status").read_text()
        except OSError:  # it ended meanwhile
            continue
        if f"\nPPid:\t{host}\n" in status:
            return process
    return None
