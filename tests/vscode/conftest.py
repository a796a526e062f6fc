"""Fixtures of the workbench tests (README.md). One browser and one code-server serve a whole test process."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Error as PlaywrightError

from sidecar.approvals import Approvals
from sidecar.config import AgentCommand
from tests.e2e import fast_agent, scripted
from tests.support import agents, tools
from tests.support.waiting import eventually
from tests.vscode import able_agent, vsix
from tests.vscode.browser import Browser
from tests.vscode.code_server import RECEIVED, CodeServer
from tests.vscode.panel import Panel
from tests.vscode.pictures import Picture, takes_pictures
from tests.vscode.processes import own_server
from tests.vscode.window import Window

HERE = Path(__file__).parent
FAILURES = tools.ROOT / ".cache" / "vscode-failures"
"""What the windows of a failed test looked like: a picture each, named after the test."""
_BROWSER = Browser()
_WINDOWS: list[Window] = []
"""Those open now."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE and item.get_closest_marker("timeout") is None:
            # several limited waits, and perhaps the start of a code-server and a window, on a busy machine
            item.add_marker(pytest.mark.timeout(400))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if item.path.parent != HERE:
        return (yield)
    with _BROWSER.entered():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if item.path.parent == HERE and report.when == "call" and report.failed:
        item.stash[FAILED] = True
        for number, window in enumerate(_WINDOWS):
            name = re.sub(r"[^\w.-]+", "_", f"{item.path.stem}-{item.name}-{number}")
            try:
                window.screenshot(FAILURES / f"{name}.png")
                report.sections.append(("what the workbench shows", window.words()))
            except (PlaywrightError, OSError) as problem:  # the failure to report is the test's own
                report.sections.append(("no picture", str(problem)))
            report.sections.append(("what the panel shows", Panel.words(window)))
            report.sections.append(("the workbench's logs", window.server.last_words()))
    return report


@pytest.fixture(scope="session")
def browser() -> Generator[Browser]:
    _BROWSER.start(tools.require("chromium"))
    yield _BROWSER
    _BROWSER.close()


StartCodeServer = Callable[..., CodeServer]


@pytest.fixture(scope="session")
def _start(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> StartCodeServer:
    tool = tools.require("code-server")

    def start(stack: ExitStack | Browser, **how: Any) -> CodeServer:
        folder = tmp_path_factory.mktemp("vs")
        ours = vsix.ours()
        machine = {**default_settings(folder), **how.pop("machine", {})}
        vsixes = how.pop("vsixes", [ours])
        server = CodeServer(
            tool, folder, [*vsixes, vsix.support(folder / "support.vsix")], machine=machine, **how
        )
        approve(server, machine)
        enter = stack.keep if isinstance(stack, Browser) else stack.enter_context
        return enter(server)

    return start


ASKING = "fast-agent that asks"
"""Its name when it asks for permission before every tool call."""


def default_settings(folder: Path) -> dict[str, Any]:
    """Machine settings: the scripted agent (default), the able one and, if installed, fast-agent; the bundled
    server runs on this Python.
    """
    script = agents.command({"prompted": True}, folder / RECEIVED)
    able = [able_agent.__file__, str(folder / able_agent.RECEIVED)]
    settings: dict[str, Any] = {
        "acpSidecar.agents": {
            scripted.NAME: {"command": script.command, "args": list(script.args)},
            able_agent.NAME: {"command": sys.executable, "args": able},
        },
        "acpSidecar.defaultAgent": scripted.NAME,
        "acpSidecar.python": sys.executable,
    }
    found = tools.find("fast-agent")
    if isinstance(found, tools.Tool):
        for name, options in {fast_agent.NAME: ["--no-permissions"], ASKING: []}.items():
            (agent,) = fast_agent.settings(found, folder / name, *options)["agents"].values()
            settings["acpSidecar.agents"][name] = agent
    return settings


def approve(server: CodeServer, machine: Mapping[str, Any]) -> None:
    """Approves every configured agent, as if a user had agreed once."""
    for agent in machine.get("acpSidecar.agents", {}).values():
        command = AgentCommand(agent["command"], tuple(agent.get("args", ())), agent.get("env", {}))
        Approvals(server.state).remember(command)


@pytest.fixture(scope="session")
def code_server(browser: Browser, _start: StartCodeServer) -> CodeServer:
    """The code-server with default settings."""
    return _start(browser)


@pytest.fixture
def start_code_server(_start: StartCodeServer) -> Generator[Callable[..., CodeServer]]:
    """Starts a code-server for this test only. `machine` and `user` settings, `environment`, `options` and
    `vsixes`: see CodeServer.
    """
    with ExitStack() as stack:
        yield lambda **how: _start(stack, **how)


OpenWindow = Callable[..., Window]


@pytest.fixture
def open_window(browser: Browser, code_server: CodeServer, tmp_path: Path) -> Generator[OpenWindow]:
    """Opens a window for this test only (several seconds): `open_window(root=…, server=…)`.

    root=None opens no folder, or the folders of `workspace`.
    """
    with ExitStack() as stack:

        def open_one(
            root: Path | None = tmp_path / "ws",
            server: CodeServer = code_server,
            workspace: Path | None = None,
        ) -> Window:
            context = stack.enter_context(
                browser.chromium.new_context(viewport={"width": 1280, "height": 800})
            )
            if root is not None:
                root.mkdir(parents=True, exist_ok=True)
            window = Window(server, context, root, workspace)
            _WINDOWS.append(window)
            stack.callback(_WINDOWS.remove, window)
            return window

        yield open_one


@pytest.fixture(scope="session")
def _shared(browser: Browser, code_server: CodeServer) -> Sequence[Window]:
    """The shared window; empty before it is needed."""
    return []


@pytest.fixture
def window(
    _shared: list[Window], browser: Browser, code_server: CodeServer, request: pytest.FixtureRequest
) -> Generator[Window]:
    """The window that tests share, reset, with the server running: no tabs, no sessions, nothing under review, and
    a folder for this test.
    """
    root = code_server.folder / "ws"
    name = re.sub(r"\W+", "_", request.node.name)
    if _shared:
        try:
            _shared[0].reset(root / name)
        # a new window, whatever the last test did to the old one
        except (PlaywrightError, OSError, AssertionError):
            _discard(_shared.pop())
    if not _shared:
        root.mkdir(exist_ok=True)
        context = browser.chromium.new_context(viewport={"width": 1280, "height": 800})
        _shared.append(Window(code_server, context, root))
        _shared[0].until_server_runs()
        _shared[0].reset(root / name)
    _WINDOWS.append(_shared[0])
    yield _shared[0]
    _WINDOWS.remove(_shared[0])
    if request.node.stash.get(FAILED, False):
        _discard(_shared.pop())


@pytest.fixture
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Window]:
    """`scene("shop")`: a window to take pictures of. If pictures are kept (PICTURES), its folder has this name;
    otherwise the shared window.
    """

    def make(name: str) -> Window:
        if "PICTURES" not in os.environ:
            return request.getfixturevalue("window")
        window: Window = request.getfixturevalue("open_window")(root=tmp_path / name)
        window.until_server_runs()
        return window

    return make


@pytest.fixture
def picture(tmp_path: Path) -> Picture:
    return takes_pictures(tmp_path)


Configure = Callable[..., None]


@pytest.fixture
def configure(window: Window) -> Generator[Configure]:
    """Changes machine settings until the end of the test and restarts the sidecar with them: `configure({…},
    runs=True)`.

    `runs` is False if it cannot restart, or if the user is asked first.
    """
    path = window.server.data / "Machine" / "settings.json"
    before = json.loads(path.read_text())

    def change(settings: Mapping[str, Any], *, runs: bool = True) -> None:
        earlier = own_server(window)
        window.server.write_settings("Machine", {**before, **settings})
        if not runs:
            return
        eventually(
            lambda: own_server(window) not in (None, earlier),
            "the sidecar is started anew",
            otherwise=window.server.last_words,
        )
        window.until_server_runs()

    yield change
    if json.loads(path.read_text()) != before:
        change({})


FAILED = pytest.StashKey[bool]()


def _discard(window: Window) -> None:
    window.page.context.close()
    window.server.restore_settings()
