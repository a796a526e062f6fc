"""The whole product with real parts: Emacs with eglot 1.9 and 1.17, the sidecar, fast-agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e import fast_agent, sidecar
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


@pytest.fixture
def file(workspace: Path) -> Path:
    path = workspace / "a.txt"
    path.write_text(DISK)
    return path


@pytest.fixture
def ready(emacs: Emacs, file: Path, tmp_path: Path) -> Emacs:
    settings: dict[str, Any] = fast_agent.settings(
        tools.require("fast-agent"), tmp_path / "agent", "--no-permissions"
    )
    emacs.setup(sidecar.COMMAND, settings | {"client": {"sessionUpdates": True}})
    emacs.eval(COLLECT_UPDATES)
    emacs.open(file)
    emacs.start()
    return emacs


def test_the_agent_reads_what_was_typed_and_not_saved(ready: Emacs, file: Path) -> None:
    ready.type("mine ")
    ready.wait_for_text(TYPED)
    turn = ready.request("sidecar.prompt", {"prompt": fast_agent.read(file), "wait": True})
    assert turn["stopReason"] == "end_turn"
    assert TYPED in ready.look("acp-test-said")
    assert file.read_text() == DISK


def test_what_the_agent_writes_is_one_undo_step(ready: Emacs, file: Path) -> None:
    ready.type("mine ")
    ready.wait_for_text(TYPED)
    written = "mine one\nTWO\nthree\nfour\nfive\n"
    ready.request("sidecar.prompt", {"prompt": fast_agent.write(file, written), "wait": True})
    ready.wait_for_text(written)
    assert file.read_text() == DISK, "it was dirty, so it stays the user's to save"
    ready.undo()
    ready.wait_for_text(TYPED)


def test_a_file_that_was_clean_is_saved(ready: Emacs, file: Path) -> None:
    ready.request("sidecar.prompt", {"prompt": fast_agent.write(file, "new\n"), "wait": True})
    ready.wait_for_text("new\n")
    eventually(lambda: file.read_text() == "new\n", "it is on disk", otherwise=ready.messages)
    assert not ready.modified()


def test_a_new_file_appears_on_disk(ready: Emacs, file: Path, workspace: Path) -> None:
    path = workspace / "deep" / "er" / "new.txt"
    ready.request("sidecar.prompt", {"prompt": fast_agent.write(path, "hello\n"), "wait": True})
    assert path.read_text() == "hello\n"
