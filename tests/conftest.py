"""What holds for every test: nothing of the person's own is read or written, real parts run last, missing ones are named."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator
from contextlib import nullcontext
from inspect import iscoroutinefunction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from sidecar.lasting import lasting
from tests.support import processes_left, tools
from tests.support.spread import some

settings.register_profile(
    "default", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("fuzz", max_examples=5000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("default")

if sys.platform == "win32":  # the workbench is installed on Linux only, and its harness is made of Unix parts
    collect_ignore = ["vscode"]

HERE = Path(__file__).parent
MARKERS = {
    "e2e": [pytest.mark.e2e],
    "panel": [pytest.mark.e2e, pytest.mark.browser],
    "vscode": [pytest.mark.e2e, pytest.mark.browser],
}
"""By folder: what all its tests are marked with."""
BY_HAND = {"gauntlet", "agents"}
"""Markers of tests that run only when -m names them (make gauntlet, make agents)."""


@pytest.fixture(autouse=True, scope="session")
def no_home(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """State, settings and caches of the sidecar go to a folder of the run's own, in this process and its children."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("STATE", "CACHE", "CONFIG", "DATA"):
            patch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))  # private, as pytest makes it
        for name in list(os.environ):
            if name.startswith("ACP_SIDECAR_") and not name.startswith(
                ("ACP_SIDECAR_TOOL_", "ACP_SIDECAR_MAY_SKIP")
            ):
                patch.delenv(name)
        # also where an editor gets folders of its own for everything
        patch.setenv("ACP_SIDECAR_STATE", str(home / "state" / "acp-sidecar"))
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    words = "which cases of the tests are run: all, or some of each (what `make test` does; tests/support/spread.py)"
    parser.addoption("--cases", choices=("all", "some"), default="all", help=words)


@pytest.fixture(autouse=True)
def no_process_is_left_open(request: pytest.FixtureRequest) -> Generator[None]:
    """Of tests with an event loop. In the others only Playwright has one, whose process serves all of them."""
    has_loop = iscoroutinefunction(getattr(request, "function", None))
    with processes_left.none_left() if has_loop else nullcontext():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    with lasting():  # ten thousand tests, which the garbage collector would walk over again and again
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    for item in items:
        for marker in MARKERS.get(item.path.parts[len(HERE.parts)], ()):
            item.add_marker(marker)
    # Quick ones first: a failure in them makes waiting for editors pointless
    items.sort(key=lambda item: item.get_closest_marker("e2e") is not None)
    if not config.getoption("markexpr"):
        by_hand = [item for item in items if any(item.get_closest_marker(name) for name in BY_HAND)]
        config.hook.pytest_deselected(items=by_hand)
        left_out = set(by_hand)
        items[:] = [item for item in items if item not in left_out]
    yield  # what -k and -m leave
    if config.getoption("cases") == "some":
        kept = some(items)
        config.hook.pytest_deselected(items=list(set(items).difference(kept)))
        items[:] = kept
    items[:] = shared_out(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def shared_out(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Each worker begins with an equal part of the list (--dist worksteal). The last one begins with the browser's tests, so that one
    workbench serves nearly all of them; what is left of them at the end is shared like the rest."""
    if workers == 1:
        return items
    browser = [item for item in items if item.get_closest_marker("browser")]
    others = [item for item in items if not item.get_closest_marker("browser")]
    place = min(len(others), len(items) * (workers - 1) // workers)
    return [*others[:place], *browser, *others[place:]]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and isinstance(report.longrepr, tuple) and tools.MISSING in report.longrepr[2]:
        # pytest sums up skips of one place in one line: so one line a tool, not one a test
        report.longrepr = (str(tools.__file__), 1, report.longrepr[2])
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.getoption("cases") == "some":
        terminalreporter.line("Some cases of each test were run; CASES=all runs all of them, as CI does.")
    reasons = [
        str(report.longrepr)
        for kind in ("skipped", "error")
        for report in terminalreporter.stats.get(kind, [])
    ]
    missing = {match[1] for reason in reasons if (match := re.search(rf"{tools.MISSING}([^'\n]+)", reason))}
    if missing:
        terminalreporter.section("not tested here", yellow=True)
        for words in sorted(missing):
            terminalreporter.line(words)
