"""The real programs: `acp-sidecar lsp` with a headless editor, the demo agent, and `acp-sidecar revert` in a terminal beside it."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sidecar.bridge.finding import find
from sidecar.demo.editor import ALL_CUSTOM, HeadlessEditor
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[2]
SERVER = [sys.executable, "-m", "sidecar", "lsp"]
BEFORE = "def one():\n    return 1\n"

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(os.name == "nt", reason="there is no bridge on Windows yet"),
]


class Desk:
    """One user's machine: a project with a file, an editor on it when `editing`, and a terminal."""

    def __init__(self, base: Path) -> None:
        self.runtime = base / "run"
        self.runtime.mkdir(mode=0o700)
        self.registry = self.runtime / "acp-sidecar"
        self.project = base / "project"
        self.project.mkdir()
        self.file = self.project / "a.py"
        self.file.write_text(BEFORE)
        self.elsewhere = base / "elsewhere"
        self.elsewhere.mkdir()
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "XDG_STATE_HOME": str(base / "state"),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "NO_COLOR": "1",
        }

    @asynccontextmanager
    async def editing(self, **options: Any) -> AsyncGenerator[HeadlessEditor]:
        editor = HeadlessEditor(
            SERVER,
            self.project,
            environment=self.environment,
            options={"defaultAgent": "demo", "client": dict(ALL_CUSTOM), **options},
            answer=lambda text, titles: next((t for t in titles if t == "Start it this once"), None),
        )
        async with editor:
            yield editor

    async def terminal(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sidecar", *arguments]
        return await asyncio.to_thread(
            subprocess.run,
            command,
            cwd=cwd or self.project,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    async def changes(self) -> Sequence[dict[str, Any]]:
        done = await self.terminal("changes", "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    async def found(self) -> None:
        """Until the sidecar can be found from the project."""
        look = functools.partial(find, str(self.project), self.environment)
        client = await asyncio.to_thread(eventually, look, "the sidecar can be found")
        client.close()

    async def agent_works(self, editor: HeadlessEditor) -> str:
        """The agent changes the file; the session's id."""
        outcome = await editor.execute("sidecar.prompt", {"prompt": f"change {self.file}", "wait": True})
        assert outcome["stopReason"] == "end_turn", editor.stderr
        await self.found()
        return outcome["sessionId"]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_a_file_that_is_open_is_taken_back_in_the_editor(desk: Desk) -> None:
    async with desk.editing() as editor:
        buffer = editor.open(desk.file)
        editor.type(desk.file, "# mine, unsaved\n", 0)
        await desk.agent_works(editor)
        with_both = buffer.text
        assert with_both not in (BEFORE, "# mine, unsaved\n" + BEFORE)
        (change,) = await desk.changes()
        done = await desk.terminal("revert", change["id"])
        assert done.returncode == 0, done.stdout + done.stderr
        assert "in the editor" in done.stdout
        assert buffer.text == "# mine, unsaved\n" + BEFORE
        assert desk.file.read_text() == BEFORE, "what the user had not saved is not saved now either"
        await editor.wait_for(lambda: buffer.text == "# mine, unsaved\n" + BEFORE)
        assert await editor.execute("sidecar.listChanges") == []
        taken_back, agents = await desk.changes()
        assert (agents["id"], agents["state"]) == (change["id"], "undone")
        assert (taken_back["agent"], taken_back["via"], taken_back["state"]) == ("revert", "editor", "done")
        editor.undo(desk.file)
        assert buffer.text == with_both, "one undo step"


async def test_taking_back_can_be_taken_back_and_a_clean_file_is_saved(desk: Desk) -> None:
    async with desk.editing() as editor:
        buffer = editor.open(desk.file)
        session = await desk.agent_works(editor)
        changed = buffer.text
        assert desk.file.read_text() == changed
        done = await desk.terminal("revert", "--session", session)
        assert done.returncode == 0, done.stdout + done.stderr
        assert buffer.text == desk.file.read_text() == BEFORE
        back = (await desk.changes())[0]["sessionId"]
        done = await desk.terminal("revert", "--session", back, cwd=desk.elsewhere)
        assert done.returncode == 0, done.stdout + done.stderr
        assert buffer.text == desk.file.read_text() == changed


async def test_later_work_in_the_same_place_stays_and_it_is_said(desk: Desk) -> None:
    async with desk.editing() as editor:
        buffer = editor.open(desk.file)
        await desk.agent_works(editor)
        added = next(line for line in buffer.text.splitlines() if line not in BEFORE)
        editor.replace(desk.file, added, "    # mine instead")
        (change,) = await desk.changes()
        done = await desk.terminal("revert", change["id"])
        assert done.returncode == 1
        assert "changed in the same place since" in done.stdout + done.stderr
        assert "# mine instead" in buffer.text


async def test_a_file_that_is_not_open_is_taken_back_on_the_disk(desk: Desk) -> None:
    async with desk.editing() as editor:
        editor.open(desk.file)
        await desk.agent_works(editor)
        editor.close(desk.file)
        await editor.execute("sidecar.status")  # so the close has arrived
        (change,) = await desk.changes()
        done = await desk.terminal("revert", change["id"])
        assert done.returncode == 0, done.stdout + done.stderr
        assert desk.file.read_text() == BEFORE
        assert (await desk.changes())[0]["via"] == "disk"


async def test_nothing_is_left_when_the_editor_ends(desk: Desk) -> None:
    async with desk.editing():
        await desk.found()
        assert len(os.listdir(desk.registry)) == 3
    assert os.listdir(desk.registry) == []


async def test_what_a_killed_sidecar_leaves_is_swept_by_the_next(desk: Desk) -> None:
    async with desk.editing() as editor:
        await desk.found()
        dead = set(os.listdir(desk.registry))
        assert editor._process is not None
        editor._process.kill()
        await editor._process.wait()
        assert set(os.listdir(desk.registry)) == dead
        done = await desk.terminal("revert", "000000")
        assert done.returncode == 1, "words, and no waiting for the dead"
    async with desk.editing():
        await desk.found()
        left = set(os.listdir(desk.registry))
        assert len(left) == 3
        assert not left & dead


async def test_agents_and_what_they_start_know_their_sidecar(desk: Desk) -> None:
    script = "import os, sys; open(sys.argv[1], 'w').write(os.environ['ACP_SIDECAR_BRIDGE'])"
    told = desk.elsewhere / "told"
    agent = {"command": sys.executable, "args": ["-c", script, str(told)]}
    async with desk.editing(agents={"teller": agent}) as editor:
        await desk.found()
        (name,) = [name.removesuffix(".json") for name in os.listdir(desk.registry) if name.endswith(".json")]
        with pytest.raises(Exception, match="teller"):
            await editor.execute("sidecar.newSession", {"agent": "teller"})
        assert told.read_text() == name
        client = find(str(desk.elsewhere), {**desk.environment, "ACP_SIDECAR_BRIDGE": name})
        assert client is not None
        client.close()
