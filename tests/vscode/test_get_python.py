"""A machine without a Python: *Get Python* from the message to a running server, and never by a file that is not the pinned one.

What is fetched comes from a server on 127.0.0.1. Neither this nor the missing Pythons is a setting of the extension: the tests' own
extension shares a process with it, and changes there what Node answers.
"""

from __future__ import annotations

import hashlib
import io
import platform
import re
import sys
import threading
import zipfile
from collections.abc import Callable, Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.extension.node import EXTENSION
from tests.support.waiting import eventually
from tests.vscode.code_server import CodeServer
from tests.vscode.conftest import OpenWindow
from tests.vscode.processes import servers
from tests.vscode.reviewing import shown_settings
from tests.vscode.test_install import log, old_python, only_notification
from tests.vscode.test_walkthrough import WALKTHROUGH

STORAGE = Path("data") / "User" / "globalStorage" / "acp-sidecar.acp-sidecar"

# No file that a Python or uv could be is seen but those in a folder of the test's with args[1] in its path.
HIDDEN = """
const fs = require('node:fs');
const path = require('node:path');
const stat = fs.statSync;
fs.statSync = (name, ...rest) => {
  const hidden = /^(python|pypy|py$|py\\.exe|uv$)/.test(path.basename(String(name))) && !String(name).includes(args[1]);
  if (hidden) throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
  return stat(name, ...rest);
};
"""
# Everything is fetched from args[0]
FETCHED = """
const fetch = globalThis.fetch;
globalThis.fetch = (url, options) => fetch(args[0] + new URL(url).pathname, options);
"""
# The bytes with the digest args[0] count as those with the pinned one, args[1]
AS_PINNED = """
const crypto = require('node:crypto');
const createHash = crypto.createHash;
crypto.createHash = (name, ...rest) => {
  const hash = createHash(name, ...rest);
  const digest = hash.digest.bind(hash);
  hash.digest = (...how) => {
    const found = digest(...how);
    return found === args[0] ? args[1] : found;
  };
  return hash;
};
"""


class Release:
    """What stands for PyPI: answers everything with `content`, and keeps what it was asked for."""

    def __init__(self) -> None:
        self.content = b""
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                self.send_response(200)
                self.send_header("Content-Length", str(len(outer.content)))
                self.end_headers()
                self.wfile.write(outer.content)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}"


@pytest.fixture
def release() -> Generator[Release]:
    made = Release()
    thread = threading.Thread(target=made.http.serve_forever)
    thread.start()
    yield made
    made.http.shutdown()
    thread.join()
    made.http.server_close()


def wheel(script: str) -> bytes:
    """With a program `uv` that is this shell script."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("uv-0.data/scripts/uv", f"#!/bin/sh\n{script}")
    return data.getvalue()


def pinned() -> tuple[str, str]:
    """The path and the SHA-256 of the wheel for this machine, as the extension has them."""
    system = "alpine" if Path("/etc/alpine-release").exists() else "linux"
    machine = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
    source = (EXTENSION / "src/server/python/uv_wheels.ts").read_text()
    found = re.search(rf'"{system}-{machine}": wheel\(\s*"([^"]+)",\s*"[^"]+",\s*"([0-9a-f]{{64}})"', source)
    assert found is not None
    return f"/packages/{found[1]}/", found[2]


def test_from_no_python_at_all_to_a_running_server(
    start_code_server: Callable[..., CodeServer], open_window: OpenWindow, release: Release, tmp_path: Path
) -> None:
    folder, digest = pinned()
    none = {"acpSidecar.python": "", "acpSidecar.defaultAgent": "demo", "acpSidecar.agents": {}}
    server = start_code_server(machine=none)
    storage = server.folder / STORAGE
    window = open_window(server=server)
    window.js("await vscode.extensions.getExtension('acp-sidecar.acp-sidecar').activate()", seconds=60)
    window.js(HIDDEN + FETCHED, release.url, "globalStorage")
    window.command("acpSidecar.restart", seconds=60)
    window.command("notifications.clearAll")
    window.js("void vscode.commands.executeCommand('acpSidecar.restart')")
    only_notification(window, "acp-sidecar needs Python 3.11 to 3.14, but none was found on this machine")
    assert servers(server) == []
    steps = window.page.locator(".getting-started-step")
    window.command("workbench.action.openWalkthrough", WALKTHROUGH)
    expect(steps.filter(has_text="Get Python")).to_be_visible()  # where there is one, this is not offered
    window.command("workbench.action.closeActiveEditor")

    # A program that is not the pinned one is not even unpacked
    release.content = wheel(f"touch {tmp_path}/was-run\n")
    window.notification("none was found").get_by_role("button", name="Get Python").click()
    dialog = window.page.locator(".monaco-dialog-box")
    dialog.wait_for()
    words = dialog.inner_text()
    assert "20 MB" in words
    assert "PyPI" in words
    assert release.asked == [], "nothing is fetched before consent"
    dialog.get_by_role("button", name="Download").click()
    only_notification(window, "the download from files.pythonhosted.org does not have the expected digest")
    assert [path.startswith(folder) for path in release.asked] == [True]
    assert not (tmp_path / "was-run").exists()
    assert not (storage / "python").exists()
    assert list(storage.glob("uv-*")) == []
    window.command("notifications.clearAll")

    # The pinned one puts a Python there, by which the server starts at once
    release.content = wheel(
        'while [ "$1" != --install-dir ]; do shift; done\n'
        f'mkdir -p "$2/cpython-3.13/bin" && ln -s {sys.executable} "$2/cpython-3.13/bin/python3"\n'
    )
    window.js(AS_PINNED, hashlib.sha256(release.content).hexdigest(), digest)
    window.js("void vscode.commands.executeCommand('acpSidecar.getPython')")
    dialog.get_by_role("button", name="Download").click()
    eventually(lambda: servers(server), "a sidecar runs", otherwise=server.last_words)
    window.until_server_runs()
    assert "(fetched)" in log(server)
    assert list(storage.glob("uv-*")) == [], "uv is removed again"
    assert len(release.asked) == 2


def test_where_there_is_only_python_3_10_one_can_be_fetched(
    start_code_server: Callable[..., CodeServer], open_window: OpenWindow, release: Release, tmp_path: Path
) -> None:
    """On PATH and in a folder where Pythons usually are; what says that it is too old is the search."""
    none = {"acpSidecar.python": "", "acpSidecar.defaultAgent": "demo", "acpSidecar.agents": {}}
    server = start_code_server(machine=none)
    home = server.folder / "home"
    # An extension host has the environment of a login shell
    on_path, usual = (
        home / "programs" / "python3",
        home / ".pyenv" / "versions" / "3.10.13" / "bin" / "python3",
    )
    (home / ".profile").write_text(
        f"PATH={on_path.parent}\nPYENV_ROOT={home}/.pyenv\nexport PATH PYENV_ROOT\n"
    )
    for program in (on_path, usual):
        program.parent.mkdir(parents=True)
        program.symlink_to(old_python(tmp_path))
    window = open_window(server=server)
    window.js("await vscode.extensions.getExtension('acp-sidecar.acp-sidecar').activate()", seconds=60)
    window.js(HIDDEN + FETCHED, release.url, str(server.folder))
    window.command("acpSidecar.restart", seconds=60)
    only_notification(
        window,
        f"acp-sidecar needs Python 3.11 to 3.14, but none was found on this machine: {on_path} is Python 3.10.",
    )
    assert f"{usual} is Python 3.10." in log(server), "both were asked"
    assert servers(server) == []

    window.notification("none was found").get_by_role("button", name="Choose Python").click()
    shown_settings(window, "Python")
    window.js("void vscode.commands.executeCommand('acpSidecar.restart')")
    window.answer("none was found", "Get Python")
    dialog = window.page.locator(".monaco-dialog-box")
    expect(dialog.get_by_role("button", name="Download")).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    assert release.asked == []
    assert servers(server) == []
