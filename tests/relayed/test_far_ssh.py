"""An agent behind a real sshd on 127.0.0.1, in a folder of another name: over ACP, in its commands, and with its own tools."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.config import WORKSPACE_FOLDER, Transport
from tests.gates.product import COMMAND
from tests.lsp.test_elsewhere_process import a_command, an_elsewhere, answers
from tests.relayed.far import a_far_agent
from tests.relayed.test_far_tools import relays
from tests.support.sshd import an_sshd
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.skipif(sys.platform != "linux", reason="sshd is installed by this project on Linux only"),
]


@pytest.fixture
def by(tmp_path: Path) -> Iterator[Transport]:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.txt").write_text("one\ntwo\n")
    there = tmp_path / "there it's"  # a name that a shell must not see bare
    there.symlink_to(tmp_path / "project", target_is_directory=True)
    with an_sshd(tmp_path / "ssh") as words:
        yield Transport(tuple(words), {str(there): WORKSPACE_FOLDER}, True, COMMAND[0])


async def test_its_files_and_commands(by: Transport, tmp_path: Path) -> None:
    path, (there,) = tmp_path / "project" / "a.txt", by.folders
    turn = [
        {"read": f"{there}/a.txt", "as": "read"},
        {"say": {"answer": "read"}},
        {"write": f"{there}/a.txt", "content": "unsaved\nTWO\n", "as": "write"},
        *a_command("pwd; echo $A", "ran", env=[{"name": "A", "value": "b 'c'"}]),
    ]
    async with an_elsewhere(tmp_path, by, turn) as editor:
        editor.open(path)
        editor.replace(path, "one", "unsaved")
        assert (await editor.prompt("go"))["stopReason"] == "end_turn"
        read, ran = answers(editor)
        assert read == {"content": "unsaved\ntwo\n"}
        assert (ran["output"], ran["exitStatus"]["exitCode"]) == (f"{there}\nb 'c'\n", 0)
        assert editor.document(path).text == "unsaved\nTWO\n"


async def test_its_own_tools(by: Transport, tmp_path: Path) -> None:
    path, (there,) = tmp_path / "project" / "a.txt", by.folders
    async with a_far_agent(tmp_path / "project", by, tmp_path / "traces") as far:
        far.product.open(path)
        far.product.type(path, "typed\n", at=0)
        assert await far.call("Read", file_path=f"{there}/a.txt") == "typed\none\ntwo\n"
        await far.call("Edit", file_path="a.txt", old_string="typed", new_string="TYPED")
        assert far.product.document(path).text == "TYPED\none\ntwo\n"
        assert path.read_text() == "one\ntwo\n"
        far.product.undo(path)
        assert far.product.document(path).text == "typed\none\ntwo\n"
        assert relays(far.server)
    eventually(lambda: not relays(far.server), "the relay has ended with its connection")
