"""A code-server in a network namespace of its own, where there is nothing, and without root's right to write what is read-only.

The browser, which is outside, reaches it through a socket in the file system and a relay.
"""

from __future__ import annotations

import contextlib
import shlex
import shutil
import socket
import socketserver
import subprocess
import threading
from pathlib import Path
from typing import Any

from tests.support.tools import Tool
from tests.vscode.code_server import CodeServer


def isolation() -> list[str]:
    """What makes a command run so; empty where the system does not permit a namespace."""
    ways = (
        ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override", "--"],
        ["unshare", "--map-root-user", "--net", "--"],
    )
    prefix: list[str] = []
    for way in ways:
        if shutil.which(way[0]) is None:
            continue
        if subprocess.run([*way, *prefix, "true"], capture_output=True, check=False).returncode == 0:
            prefix = [*way, *prefix]
    return prefix if "unshare" in prefix else []


class OfflineCodeServer(CodeServer):
    """As CodeServer; `isolation()` must not be empty."""

    def __init__(self, tool: Tool, folder: Path, vsixes: list[Path], **how: Any) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / "code-server"
        program.write_text(f'#!/bin/sh\nexec {shlex.join([*isolation(), tool.command])} "$@"\n')
        program.chmod(0o755)
        self._socket = folder / "c"
        self._relay: Relay | None = None
        options = [*how.pop("options", ["--disable-workspace-trust"]), "--socket", str(self._socket)]
        super().__init__(Tool(tool.name, str(program), tool.version), folder, vsixes, options=options, **how)

    def _address(self) -> str | None:
        if not self._socket.exists():
            return None
        self._relay = Relay(self._socket)
        return self._relay.url

    def stop(self) -> None:
        super().stop()
        if self._relay is not None:
            self._relay.close()


class Relay:
    """A port of this machine that leads to a socket in the file system."""

    def __init__(self, path: Path) -> None:
        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                inner = socket.socket(socket.AF_UNIX)
                with inner, contextlib.suppress(OSError):
                    inner.connect(str(path))
                    back = threading.Thread(target=_pump, args=(inner, self.request), daemon=True)
                    back.start()
                    _pump(self.request, inner)
                    back.join()

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
