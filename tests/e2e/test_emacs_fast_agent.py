"""The whole product with real parts: Emacs with eglot 1.9 and 1.17, the sidecar, fast-agent."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import fast_agent, sidecar
from tests.e2e.conftest import EMACSES
from tests.e2e.emacs import Emacs
from tests.support import tools
from tests.support.waiting import eventually

DISK = "one\ntwo\nthree\nfour\n"
TYPED = "mine one\ntwo\nthree\nfour\n"

COLLECT_UPDATES = """
(progn
  (defvar acp-test-said "")
  (cl-defmethod eglot-handle-notification
    ((_server acp-sidecar-server) (_method (eql sidecar/sessionUpdate)) &key update &allow-other-keys)
    (when (equal (plist-get update :sessionUpdate) "agent_message_chunk")
      (setq acp-test-said (concat acp-test-said (plist-get (plist-get update :content) :text))))))
"""


@pytest.fixture(scope="module", params=EMACSES)
def station(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[tuple[Emacs, Path]]:
    """An Emacs with the sidecar and its workspace, for all tests of this file: an agent takes seconds to start."""
    folder = tmp_path_factory.mktemp("station")
    settings: dict[str, Any] = fast_agent.settings(
        tools.require("fast-agent"), folder / "agent", "--no-permissions"
    )
    workspace = folder / "ws"
    workspace.mkdir()
    with Emacs(tools.require(request.param), tools.require("tmux"), folder / "emacs", workspace) as emacs:
        emacs.setup(sidecar.COMMAND, settings | {"client": {"sessionUpdates": True}})
        emacs.eval(COLLECT_UPDATES)
        first = workspace / "first.txt"
        first.write_text("first\n")
        emacs.open(first)
        emacs.start()
        yield emacs, workspace


@pytest.fixture
def file(station: tuple[Emacs, Path], request: pytest.FixtureRequest) -> Path:
    path = station[1] / f"{re.sub(r'[^a-z]+', '_', request.node.originalname)}.txt"
    path.write_text(DISK)
    return path


@pytest.fixture
def ready(station: tuple[Emacs, Path], file: Path) -> Emacs:
    """With the file open, and nothing said yet."""
    emacs, _ = station
    emacs.open(file)
    emacs.wait_for("(and eglot--managed-mode t)", "the server manages the buffer")
    emacs.eval('(setq acp-test-said "")')
    return emacs


@pytest.fixture
def session(ready: Emacs) -> str:
    """A conversation of this test's own."""
    return str(ready.request("sidecar.newSession", {"agent": fast_agent.NAME})["sessionId"])


def prompt(emacs: Emacs, session: str, text: str) -> Any:
    """One turn to its end."""
    return emacs.request("sidecar.prompt", {"prompt": text, "wait": True, "sessionId": session})


def test_the_agent_reads_what_was_typed_and_not_saved(ready: Emacs, session: str, file: Path) -> None:
    ready.type("mine ")
    ready.wait_for_text(TYPED)
    turn = prompt(ready, session, fast_agent.read(file))
    assert turn["stopReason"] == "end_turn"
    assert TYPED in ready.look("acp-test-said")
    assert file.read_text() == DISK


def test_what_the_agent_writes_is_one_undo_step(ready: Emacs, session: str, file: Path) -> None:
    ready.type("mine ")
    ready.wait_for_text(TYPED)
    written = "mine one\nTWO\nthree\nfour\nfive\n"
    prompt(ready, session, fast_agent.write(file, written))
    ready.wait_for_text(written)
    assert file.read_text() == DISK, "it was dirty, so it stays the user's to save"
    ready.undo()
    ready.wait_for_text(TYPED)


def test_a_file_that_was_clean_is_saved(ready: Emacs, session: str, file: Path) -> None:
    prompt(ready, session, fast_agent.write(file, "new\n"))
    ready.wait_for_text("new\n")
    eventually(lambda: file.read_text() == "new\n", "it is on disk", otherwise=ready.messages)
    assert not ready.modified()


def test_a_new_file_appears_on_disk(ready: Emacs, session: str, file: Path) -> None:
    path = file.parent / "deep" / "er" / "new.txt"
    prompt(ready, session, fast_agent.write(path, "hello\n"))
    assert path.read_text() == "hello\n"
