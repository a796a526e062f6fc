"""The .vsix in a clean profile, on machines that lack things: it works, or says in one sentence what to do."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import zipfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e import scripted
from tests.extension.node import EXTENSION
from tests.support import tools
from tests.support.read_only import read_only
from tests.support.waiting import eventually, written
from tests.vscode import vsix
from tests.vscode.code_server import CodeServer
from tests.vscode.conftest import Configure
from tests.vscode.offline import OfflineCodeServer, isolation
from tests.vscode.pictures import Picture
from tests.vscode.processes import installed, own_server, servers
from tests.vscode.window import Window

OpenWindow = Callable[..., Window]

# A workbench of its own, waits between crashes, and other tests beside
pytestmark = pytest.mark.timeout(400)

MARKS = ("anyio", "sidecar", "json", "pygls", "sitecustomize")
"""Modules that a repository may bring along."""


def log(server: CodeServer) -> str:
    return "".join(
        path.read_text() for path in server.data.glob("logs/**/acp-sidecar.acp-sidecar/ACP Sidecar.log")
    )


def test_what_is_in_it() -> None:
    with zipfile.ZipFile(vsix.ours()) as archive:
        names = [name.removeprefix("extension/") for name in archive.namelist()]
        manifest = archive.read("extension.vsixmanifest").decode()
        notices = archive.read("extension/dist/ThirdPartyNotices.txt").decode()
        messages = json.loads(archive.read("extension/l10n/bundle.l10n.json"))
    assert re.search(r'TargetPlatform="(linux|alpine|darwin|win32)-(x64|arm64)"', manifest)
    top = {name.split("/")[0] for name in names}
    known = {
        "bundled",
        "dist",
        "media",
        "l10n",
        "package.json",
        "package.nls.json",
        "readme.md",
        "changelog.md",
        "LICENSE.txt",
    }
    assert top == {*known, "extension.vsixmanifest", "[Content_Types].xml"}
    assert {name.split("/")[1] for name in names if name.startswith("bundled/")} == {
        *("boot.py", "lib", "cp311", "cp312", "cp313", "cp314")
    }
    assert [name for name in names if name.endswith((".pyc", ".ts", ".map")) or "/tests/" in name] == []
    assert "bundled/lib/sidecar/cli.py" in names
    for python in ("cp311", "cp314"):
        assert any(
            re.match(rf"bundled/{python}/pydantic_core/_pydantic_core\.\S+\.(so|pyd)$", name)
            for name in names
        )
    for library in ("vscode-languageclient", "pygls", "pydantic_core", "watchfiles"):
        assert re.search(rf"^{library} \d", notices, re.MULTILINE), library
    assert "An agent works in a folder. Open a folder first." in messages


def only_notification(window: Window, words: str) -> None:
    """That there is one sentence with these words, and nothing else is wrong. Told twice, VS Code takes the first one away and shows it
    again: for a moment there is none."""
    expect(window.notification(words)).to_have_count(1, timeout=60_000)
    assert [text for text in errors(window) if words not in text] == []


def errors(window: Window) -> list[str]:
    """The texts of error messages shown now."""
    toasts = window.page.locator(".notifications-toasts .notification-list-item")
    wrong = toasts.filter(has=window.page.locator(".codicon-error"))
    return wrong.locator(".notification-list-item-message").all_inner_texts()


def until_own_server(window: Window) -> int:
    """The process id of the window's sidecar, once it has one."""
    return eventually(lambda: own_server(window), "a sidecar runs", otherwise=window.server.last_words)


def opened(window: Window) -> set[str]:
    """The files that are documents in this window, as URIs. What an extension opens stays one for minutes after its tab was closed."""
    body = "return vscode.workspace.textDocuments.filter((one) => one.uri.scheme === 'file').map((one) => one.uri.fsPath)"
    return {Path(path).as_uri() for path in window.js(body)}


@pytest.fixture
def offline(browser: object, tmp_path_factory: pytest.TempPathFactory) -> CodeServer:
    if not isolation():
        pytest.skip("this system permits no network namespace")
    folder = tmp_path_factory.mktemp("vs")
    machine = {"acpSidecar.defaultAgent": "demo"}
    support = vsix.support(folder / "support.vsix")
    # Whatever Python the machine has on its own PATH; on Debian that is one without pip and ensurepip
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(folder / "ws")}
    return OfflineCodeServer(
        tools.require("code-server"),
        folder,
        [vsix.ours(), support],
        machine=machine,
        environment=environment,
        built_in=None,  # all that a user has
    )


def test_without_network_pip_or_writable_folder_next_to_hostile_files(
    offline: CodeServer, open_window: OpenWindow
) -> None:
    root = offline.folder / "ws"
    root.mkdir()
    mark = offline.folder / "was run"
    for name in MARKS:
        (root / f"{name}.py").write_text(f"open({str(mark)!r}, 'a').write('{name} ')\n")
    with offline, ExitStack() as at_end:
        extension = installed(offline)
        at_end.enter_context(read_only(extension))
        before = set(extension.rglob("*"))
        window = open_window(root=root, server=offline)
        window.until_server_runs()
        file = window.file("a.txt", "one\ntwo\n")
        window.open(file)
        window.type("zero")
        told = window.command("acpSidecar.prompt", f"Look at {file}")
        assert told["turn"] == 1
        eventually(lambda: len(window.changes(file)) == 1, "the demo agent's edit is under review", within=60)
        text = window.text(file)
        assert text is not None
        assert text.startswith("zeroone\n")
        assert errors(window) == []
        assert set(extension.rglob("*")) == before
        assert not mark.exists(), mark.read_text()

        # A click asks first, naming size and source, and failing is said in a sentence
        window.js("void vscode.commands.executeCommand('acpSidecar.getPython')")
        dialog = window.page.locator(".monaco-dialog-box")
        dialog.wait_for(timeout=30_000)
        words = dialog.inner_text()
        assert "35 MB" in words
        assert "releases.astral.sh" in words
        assert "PyPI" in words
        dialog.get_by_role("button", name="Download").click()
        only_notification(window, "Python could not be downloaded")
        assert not (
            offline.folder / "data" / "User" / "globalStorage" / "acp-sidecar.acp-sidecar" / "python"
        ).exists()


def old_python(folder: Path) -> Path:
    """A Python 3.10: a real one where there is one, else what answers as it does."""
    real = sorted(
        Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/3.10.*/bin/python")
    )
    if real:
        return real[0]
    program = folder / "python3.10"
    answer = {"version": "3.10.13", "executable": str(program), "problem": "version", "detail": ""}
    program.write_text(
        f"#!/bin/sh\necho '{json.dumps(answer)}'\n"
    )  # without any other program: PATH may be empty
    program.chmod(0o755)
    return program


def is_too_old(window: Window) -> None:
    """What the user is told of the Python that the settings name; no server runs."""
    only_notification(window, "from the setting acpSidecar.python, is Python 3.10.")
    assert window.notification("is Python 3.10.").get_by_role("button", name="Open Settings").count() == 1
    assert own_server(window) is None


def test_a_python_that_is_too_old_then_a_good_one_then_crashes(
    window: Window, configure: Configure, tmp_path: Path
) -> None:
    configure({"acpSidecar.python": str(old_python(tmp_path))}, runs=False)
    is_too_old(window)
    window.command("notifications.clearAll")

    # Restart on change
    configure({})

    # A crash: it comes back by itself, and knows what is open
    file = window.file("a.txt", "one\ntwo\n")
    window.open(file)
    window.type("zero")
    for _ in range(3):
        crashed = until_own_server(window)
        os.kill(crashed, signal.SIGKILL)
        eventually(lambda crashed=crashed: own_server(window) != crashed, "it is gone")
        until_own_server(window)
        window.until_server_runs()
    eventually(
        lambda: {each["uri"] for each in window.command("sidecar.status")["documents"]} == opened(window),
        "the new server has what is open",
        otherwise=lambda: f"{window.command('sidecar.status')['documents']}, {opened(window)}",
    )
    assert file.as_uri() in opened(window)
    assert errors(window) == []

    # Once more is too often: one sentence, and a button that starts it
    os.kill(until_own_server(window), signal.SIGKILL)
    only_notification(window, "acp-sidecar ended 4 times in a row (ended by SIGKILL")
    assert own_server(window) is None
    window.notification("4 times in a row").get_by_role("button", name="Restart").click()
    until_own_server(window)
    window.until_server_runs()


def test_a_running_turn_is_not_ended_by_a_setting_without_asking(
    window: Window, configure: Configure
) -> None:
    window.begin(scripted.steps({"wait_for": "session/cancel"}))
    eventually(
        lambda: [each["running"] for each in window.command("sidecar.status")["sessions"]] == [True],
        "the turn runs",
    )
    first = own_server(window)
    question = window.notification("A restart ends the running turn")

    configure({"acpSidecar.env": {"ONE": "1"}}, runs=False)
    question.first.wait_for()
    window.command("notifications.clearAll")
    assert [each["running"] for each in window.command("sidecar.status")["sessions"]] == [True]
    assert own_server(window) == first

    configure({"acpSidecar.env": {"TWO": "2"}}, runs=False)
    question.first.get_by_role("button", name="Restart").click()
    eventually(
        lambda: own_server(window) not in (None, first),
        "another one runs",
        otherwise=window.server.last_words,
    )
    window.until_server_runs()
    second = own_server(window)
    assert b"TWO=2" in Path(f"/proc/{second}/environ").read_bytes()
    assert errors(window) == []


def says_why_it_is_off(window: Window, why: str) -> None:
    """What VS Code shows of an extension that it does not run: one line, in its list and on its page. `why`: a key of package.nls.json."""
    line = json.loads((EXTENSION / "package.nls.json").read_text())[why]
    assert line.startswith("Coding agents are off ")
    window.command("workbench.extensions.search", "@installed acp-sidecar")
    row = window.page.locator(".extensions-list .monaco-list-row", has_text="Coding agents").first
    row.click()
    expect(window.page.locator(".extension-editor .header")).to_contain_text(line, timeout=60_000)


def test_nothing_runs_in_a_folder_that_is_not_trusted(
    start_code_server: Callable[..., CodeServer], open_window: OpenWindow, picture: Picture
) -> None:
    server = start_code_server(options=())
    window = open_window(server=server)
    window.page.get_by_text("Restricted Mode", exact=True).wait_for(timeout=60_000)
    active = "return vscode.extensions.getExtension('acp-sidecar.acp-sidecar')?.isActive ?? false"
    # Everything that starts by itself has started: the extension that the tests bring is one of these
    assert window.js("return vscode.workspace.isTrusted") is False
    assert window.js(active) is False
    assert servers(server) == []
    assert not any(
        name.startswith("acpSidecar.") for name in window.js("return await vscode.commands.getCommands(true)")
    )
    says_why_it_is_off(window, "untrusted")
    picture(window, "restricted", ".extension-editor .header")
    assert servers(server) == []
    window.page.locator(".banner").get_by_text("Manage").click()
    window.page.locator(".workspace-trust-editor").get_by_role("button", name="Trust", exact=True).click()
    eventually(lambda: servers(server), "a sidecar runs", within=60, otherwise=server.last_words)


def test_several_folders(open_window: OpenWindow, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    workspace = tmp_path / "both.code-workspace"
    workspace.write_text(json.dumps({"folders": [{"path": str(first)}, {"path": str(second)}]}))
    window = open_window(root=None, workspace=workspace)
    window.until_server_runs()
    window.js("keep.made = vscode.commands.executeCommand('acpSidecar.newSession')")
    picks = window.page.locator(".quick-input-list .monaco-list-row")
    picks.filter(has_text="second").click()
    picks.filter(has_text="demo").click()
    made = window.js("return await keep.made")
    (session,) = window.command("sidecar.status")["sessions"]
    assert session["sessionId"] == made["sessionId"]
    assert session["cwd"] == str(second)


def test_the_server_is_started_apart_from_the_workspace(window: Window) -> None:
    process = Path(f"/proc/{own_server(window)}")
    words = process.joinpath("cmdline").read_bytes().decode().split("\0")
    storage = window.server.data / "User" / "globalStorage" / "acp-sidecar.acp-sidecar"
    boot = installed(window.server) / "bundled" / "boot.py"
    assert words[1:-1] == ["-I", "-X", f"pycache_prefix={storage / 'pycache'}", str(boot), "lsp"]
    assert process.joinpath("cwd").readlink() == storage


def test_the_protocol_log_shows_messages_while_it_is_on(window: Window) -> None:
    def lines() -> str:
        return "".join(
            path.read_text() for path in window.server.data.glob("logs/**/ACP Sidecar*Protocol.log")
        )

    asked = "Sending request 'workspace/executeCommand"
    window.command("sidecar.status")
    before = lines().count(asked)
    window.command("acpSidecar.toggleProtocolLog")
    window.command("sidecar.status")
    eventually(lambda: lines().count(asked) > before, "the request is in the log", otherwise=lines)
    assert '"sidecar.status"' in lines(), "with its content"
    window.command("acpSidecar.toggleProtocolLog")
    window.command("notifications.clearAll")


def test_get_python_through_the_uv_that_is_there(
    start_code_server: Callable[..., CodeServer], open_window: OpenWindow, tmp_path: Path
) -> None:
    """uv is a script that does what uv does, with the Python of the tests; nothing is fetched."""
    programs = tmp_path / "bin"
    programs.mkdir()
    uv = programs / "uv"
    uv.write_text(
        "#!/bin/sh\n"
        f'echo "$@" > {tmp_path}/asked\n'
        'while [ "$1" != --install-dir ]; do shift; done\n'
        f'mkdir -p "$2/cpython-3.13/bin" && ln -s {sys.executable} "$2/cpython-3.13/bin/python3"\n'
    )
    uv.chmod(0o755)
    old = {"acpSidecar.python": str(old_python(tmp_path)), "acpSidecar.defaultAgent": "demo"}
    server = start_code_server(machine=old)
    # An extension host has the environment of a login shell
    (server.folder / "home" / ".profile").write_text(f"PATH={programs}:$PATH\nexport PATH\n")
    window = open_window(server=server)
    is_too_old(window)
    window.js("void vscode.commands.executeCommand('acpSidecar.getPython')")
    dialog = window.page.locator(".monaco-dialog-box")
    dialog.wait_for(timeout=30_000)
    assert f"{uv} does this." in dialog.inner_text()
    assert not (tmp_path / "asked").exists(), "nothing happens before consent"
    dialog.get_by_role("button", name="Download").click()
    asked = written(tmp_path / "asked", "uv is asked", otherwise=server.last_words)
    assert asked.startswith("python install 3.13 --install-dir ")
    # The setting that named the old one is cleared: what was fetched is among those that are looked at
    server.write_settings("Machine", {"acpSidecar.defaultAgent": "demo", "acpSidecar.agents": {}})
    window.until_server_runs()


OTHER_SERVER = """
import json, sys
while header := sys.stdin.buffer.readline():
    length = int(header.split(b":")[1])
    sys.stdin.buffer.readline()
    message = json.loads(sys.stdin.buffer.read(length))
    if "id" not in message:
        continue
    result = None
    if message["method"] == "initialize":
        result = {"capabilities": {}, "serverInfo": {"name": "acp-sidecar", "version": "9.9.9"}}
    body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n%b" % (len(body), body))
    sys.stdout.buffer.flush()
"""


def test_a_server_path_that_leads_nowhere_or_to_another_version(
    window: Window, configure: Configure, tmp_path: Path
) -> None:
    other = tmp_path / "acp-sidecar"
    other.write_text(f"#!{sys.executable}\n{OTHER_SERVER}")
    other.chmod(0o755)
    configure({"acpSidecar.serverPath": str(tmp_path / "missing")}, runs=False)
    only_notification(window, f"{tmp_path / 'missing'} cannot be run")
    window.command("notifications.clearAll")
    configure({"acpSidecar.serverPath": str(other)}, runs=False)
    only_notification(window, f"{other} is acp-sidecar 9.9.9, but this extension needs")
