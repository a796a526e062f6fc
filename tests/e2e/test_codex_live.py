"""Codex' own tools led to ours (`acp-sidecar connect codex-live`), with the real agent and a scripted model: `make agents`. Its `apply_patch` works
on the text of the moment; it has no tool to read a text but commands, which read the disk."""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.agents_table import Table
from tests.e2e.model_server import ModelServer, script
from tests.e2e.test_own_tools import PNG, Scene, a_file, hashes, kill_tools
from tests.e2e.third_party import BASE, CHOSEN, KINDS, Step, allow_none, delegated, held, results, undone
from tests.gates.product import COMMAND

pytestmark = [
    pytest.mark.agents,
    pytest.mark.skipif("codex-acp" not in CHOSEN, reason="not chosen"),
]
KIND = KINDS["codex-acp"]


def users(home: Path) -> Path:
    """The folder of a user who has settings, a log-in and instructions."""
    folder = home / ".codex"
    folder.mkdir(parents=True)
    (folder / "auth.json").write_text('{"auth_mode": "apikey", "OPENAI_API_KEY": "dummy"}')
    (folder / "AGENTS.md").write_text("Be brief.\n")
    return folder


def run(home: Path, command: str) -> None:
    env = os.environ | {"HOME": str(home), "CODEX_HOME": str(home / ".codex")}
    subprocess.run(
        [COMMAND[0], command, "codex-live", "--yes"], env=env, check=True, capture_output=True, timeout=60
    )


@asynccontextmanager
async def connected(
    tmp_path: Path, workspace: Path, model: ModelServer, table: Table, **options: Any
) -> AsyncGenerator[Scene]:
    users(tmp_path / "home")
    run(tmp_path / "home", "connect")
    async with a_file(KIND, tmp_path, workspace, model, table, **options) as it:
        yield it


def patch(*lines: str) -> Step:
    return {"tool": "apply_patch", "text": "\n".join(("*** Begin Patch", *lines, "*** End Patch", ""))}


async def test_its_edits_are_made_in_the_text_of_the_moment(
    tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """In its default mode. Typed after the prompt, and edited, twice in one turn; one undo step each; rejected, and it goes on."""
    async with connected(tmp_path, workspace, model, agents_table) as it:
        before = hashes(workspace)
        await it.typed_in_turn(
            "typed later\n",
            {**it.read(), "hold": True},
            it.edit("typed later", "TYPED LATER"),
            it.edit("six", "SIX"),
            it.read(),
        )
        wanted = "TYPED LATER\n" + BASE
        assert it.text == wanted.replace("six", "SIX")
        assert hashes(workspace) == before, "the user has unsaved text, so nothing is saved"
        assert "typed later" not in results(model), "its commands read the disk"
        assert undone(it.product, it.path, wanted) == 1
        await it.product.execute("sidecar.reject", {"all": True})
        assert it.text == "typed later\n" + BASE
        await it.turn(it.edit("five", "FIVE"))
        assert it.text == "typed later\n" + BASE.replace("five", "FIVE")
        it.yes(
            "typed after the prompt",
            how="partly: it edits the line; it reads with commands, which see the disk",
        )
        it.yes("second edit", "after a rejection")


async def test_patches_of_one_file_in_one_answer(
    tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    async with connected(tmp_path, workspace, model, agents_table) as it:
        await it.edited_at_once(it.read(), it.edit)
        it.yes("parallel edits")


async def test_files_that_it_makes_moves_and_removes(
    tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """All are found, and all are taken back."""
    (workspace / "gone.txt").write_text("gone\n")
    (workspace / "here.txt").write_text("one\ntwo\nthree\n")
    async with connected(tmp_path, workspace, model, agents_table) as it:
        before = hashes(workspace)
        made = workspace / "made.txt"
        await it.turn(
            patch(f"*** Add File: {made}", "+made"),
            patch(f"*** Delete File: {workspace}/gone.txt"),
            patch(
                f"*** Update File: {workspace}/here.txt",
                f"*** Move to: {workspace}/there.txt",
                "@@",
                "-two",
                "+TWO",
            ),
            KIND.run(f"echo by a command > {workspace}/told.txt; env | grep -c ACP_SIDECAR_TO"),
        )
        assert sorted(hashes(workspace)) == ["a.txt", "made.txt", "there.txt", "told.txt"]
        assert "Output:\\n0\\n" in results(model), "its commands do not get the token"
        await it.product.execute("sidecar.reject", {"all": True})
        assert hashes(workspace) == before


async def test_what_the_user_types_meanwhile(
    tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """Elsewhere, both stay. In the line itself, the patch finds no such line: nothing is lost, and its model is told."""
    async with connected(tmp_path, workspace, model, agents_table) as it:
        await it.typed_in_turn("typed\n", it.edit("two", "TWO"), it.edit("six", "SIX", hold=True))
        made = "typed\n" + BASE.replace("two", "TWO").replace("six", "SIX")
        assert it.text == made
        model.held.clear()
        model.go.clear()
        await it.typed_in_turn("in it ", it.edit("typed", "TYPED", hold=True))
        assert it.text == "in it " + made
        assert "Failed to find expected lines" in results(model)
        it.yes("in your line", how="no: its patch names whole lines, so it fails, and the agent is told")


async def test_pictures_and_what_is_denied(
    tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    (workspace / "b.png").write_bytes(PNG)
    (workspace / ".env").write_text("KEY=secret\n")
    async with connected(tmp_path, workspace, model, agents_table) as it:
        await it.turn({"tool": "view_image", "args": {"path": str(workspace / "b.png")}})
        assert base64.b64encode(PNG).decode()[:40] in str(model.requests[-1]["messages"])
        it.yes("pictures")
        it.yes("PDFs", how="no: it has no tool for them")
        it.product.answer = allow_none
        await it.turn(KIND.edit(workspace / ".env", "KEY=secret", "KEY=mine"))
        assert (workspace / ".env").read_text() == "KEY=secret\n"
        assert "did not allow" in results(model)
        it.yes("denied files", how="partly: its patches do not read it; its commands read any file")


async def test_writes_are_denied(
    tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """Its patches come to us, and what it does past us is kept back by its mode; nobody is asked."""
    async with connected(tmp_path, workspace, model, agents_table, writes="deny") as it:
        before = hashes(workspace)
        it.type("typed\n")
        for step in (
            it.edit("typed", "TYPED"),
            KIND.edit(workspace / "new.txt", "", "new"),
            KIND.run(f"touch {workspace}/ran"),
        ):
            await it.product.prompt(it.session, script(step))  # a refusal may end its turn
        assert it.text == "typed\n" + BASE
        assert hashes(workspace) == before
        assert it.product.questions == []


async def test_a_sub_agent(tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table) -> None:
    async with connected(tmp_path, workspace, model, agents_table) as it:
        it.type("typed\n")
        waits = {"tool": "wait_agent", "namespace": "collaboration", "args": {"timeout_ms": 60000}}
        prompt = delegated(KIND, it.edit("typed", "TYPED"), then=[waits])
        turn: Any = await it.product.prompt(it.session, prompt)
        assert turn.get("stopReason") == "end_turn", turn
        await it.product.wait_for(lambda: it.text == "TYPED\n" + BASE)
        it.yes("sub-agent")


async def test_switched_off_and_outside_of_the_sidecar_it_works_on_the_disk(
    tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    async with connected(tmp_path, workspace, model, agents_table, ownTools="off") as it:
        await it.typed_in_turn("typed later\n", {**it.read(), "hold": True}, it.edit("six", "SIX"))
        assert "SIX" in it.path.read_text()
        await it.product.wait_for(lambda: it.text == "typed later\n" + BASE.replace("six", "SIX"))
        it.yes("switched off")


async def test_our_program_is_killed(
    tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """Why it is for the user to choose. Codex asks nothing else to do its work before it is started anew."""
    async with connected(tmp_path, workspace, model, agents_table) as it:

        def killed() -> None:
            kill_tools(b"codex-environment")

        turn = await held(it.product, it.session, model, killed, it.edit("six", "SIX", hold=True))
        assert turn.get("stopReason") == "end_turn", turn
        assert it.text == BASE
        it.yes("tools killed", how="no: its tools and commands fail until it is restarted")


async def test_nothing_of_the_users_is_written(
    tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """But for the one file that the user said yes to, which goes again. Codex itself adds conversations, logs and databases to its folder."""
    home = tmp_path / "home"
    folder = users(home)
    KIND.environment(home, model.url)
    before = hashes(folder)
    assert set(before) == {"auth.json", "AGENTS.md", "config.toml"}
    run(home, "connect")
    connected = hashes(folder)
    assert {name: now for name, now in connected.items() if name != "environments.toml"} == before
    async with a_file(KIND, tmp_path, workspace, model, agents_table) as it:
        it.type("typed\n")
        on_disk = hashes(workspace)
        await it.turn(it.edit("typed", "TYPED"))
        assert it.text == "TYPED\n" + BASE
        assert hashes(workspace) == on_disk
        assert "Be brief." in str(model.requests[-1]["messages"]), "it has the user's own instructions"
    now = hashes(folder)
    assert {name: now.get(name) for name in connected} == connected
    run(home, "disconnect")
    now = hashes(folder)
    assert "environments.toml" not in now
    assert {name: now.get(name) for name in before} == before
