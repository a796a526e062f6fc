"""`acp-sidecar codex-environment` as Codex starts it, against the real sidecar and without one. Codex' exec-server is a stand-in here; the real
Codex is tests/e2e/test_codex_live.py's."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sidecar.acp.own_tools.plugins import SERVER
from tests.gates.product import COMMAND, Product, a_product
from tests.mcp.live import SCRIPT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at an agent's environment in /proc")
STAND_IN = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    told = {"own": message["method"], "arguments": sys.argv[1:], "told": "ACP_SIDECAR_TOOLS" in os.environ}
    print(json.dumps({"id": message["id"], "result": told}), flush=True)
"""
OWN = {"arguments": ["--listen", "stdio"], "told": False}


class Environment:
    """Its program is the parent's, with `exec-server` and more: for a Python, that is a script of this name."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._number = 0

    async def __call__(self, method: str, path: Path, **params: Any) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": {"path": path.as_uri(), **params}}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        answer = json.loads(await asyncio.wait_for(self._process.stdout.readline(), 60))
        assert answer.pop("id") == self._number
        return answer.get("result", answer)

    async def read(self, path: Path) -> str:
        found = await self("fs/readFile", path)
        return base64.b64decode(found["dataBase64"]).decode() if "dataBase64" in found else str(found)

    async def write(self, path: Path, text: str) -> Any:
        return await self("fs/writeFile", path, dataBase64=base64.b64encode(text.encode()).decode())


@asynccontextmanager
async def an_environment(folder: Path, env: dict[str, str]) -> AsyncGenerator[Environment]:
    folder.mkdir(exist_ok=True)
    (folder / "exec-server").write_text(STAND_IN)
    process = await asyncio.create_subprocess_exec(
        COMMAND[0],
        "codex-environment",
        cwd=folder,
        env=os.environ | env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield Environment(process)
        assert process.stdin is not None
        process.stdin.close()
        assert await asyncio.wait_for(process.wait(), 60) == 0, "it ends with Codex"
    finally:
        if process.returncode is None:
            process.kill()


async def begun(product: Product) -> tuple[Any, asyncio.Task[Any]]:
    """A session in the middle of a turn."""
    session = await product.session("codex")
    turn = asyncio.ensure_future(product.prompt(session))
    await product.wait_for(lambda: product.said(session) == "begun")
    return session, turn


async def ended(product: Product, session: Any, turn: asyncio.Task[Any]) -> None:
    await product.execute("sidecar.cancel", {"sessionId": session["sessionId"]})
    await turn


async def pid_of_codex(product: Product) -> int:
    status: Any = await product.execute("sidecar.status")
    (pid,) = (row["pid"] for row in status["agents"] if row["agent"] == "codex")
    return pid


def told(pid: int) -> dict[str, str]:
    """What it has of ours in its environment."""
    pairs = [pair.partition("=") for pair in Path(f"/proc/{pid}/environ").read_text().split("\0")]
    return {name: value for name, _, value in pairs if name == SERVER}


@pytest.fixture
def codex_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "codex-home"
    folder.mkdir()
    monkeypatch.setenv("CODEX_HOME", str(folder))
    return folder


async def test_an_agent_that_is_not_connected_is_told_nothing(tmp_path: Path, codex_home: Path) -> None:
    async with a_product(tmp_path, {"codex": SCRIPT}) as product:
        session, turn = await begun(product)
        assert SERVER not in told(await pid_of_codex(product))
        await ended(product, session, turn)


async def test_with_the_sidecar(tmp_path: Path, codex_home: Path) -> None:
    (codex_home / "environments.toml").write_text('args = ["codex-environment"]')
    workspace = tmp_path / "ws"
    workspace.mkdir()
    path, away = workspace / "a.txt", tmp_path / "a.txt"
    path.write_text("one\n")
    (workspace / "b.bin").write_bytes(b"\0\1")
    async with a_product(workspace, {"codex": SCRIPT}) as product:
        session, turn = await begun(product)
        product.open(path)
        product.type(path, "typed\n", at=0)
        async with an_environment(tmp_path / "codex", told(await pid_of_codex(product))) as environment:
            assert await environment.read(path) == "typed\none\n"
            assert await environment.write(path, "TYPED\none\n") == {}
            assert product.document(path).text == "TYPED\none\n"
            assert path.read_text() == "one\n", "the user has unsaved text, so nothing is saved"
            assert await environment.write(workspace / "new.txt", "new\n") == {}
            assert (workspace / "new.txt").read_text() == "new\n"
            for request in (
                environment("fs/readFile", workspace / "b.bin"),
                environment("fs/readFile", workspace / "none"),
                environment("fs/readFile", away),
            ):
                assert await request == {"own": "fs/readFile", **OWN}
            assert await environment.write(away, "x") == {"own": "fs/writeFile", **OWN}
            assert (await environment("fs/remove", path))["own"] == "fs/remove"
            await product.execute("sidecar.reject", {"all": True})
            assert await environment.read(path) == "typed\none\n"

            other, more = await begun(product)
            assert (await environment("fs/readFile", path))["own"] == "fs/readFile", "whose is it?"
            await ended(product, other, more)
            await ended(product, session, turn)
            assert (await environment("fs/readFile", path))["own"] == "fs/readFile", "nobody has a turn"


async def test_a_file_that_codex_moves_away_is_its_doing(tmp_path: Path, codex_home: Path) -> None:
    """Its tool call names only the new place."""
    (codex_home / "environments.toml").write_text('args = ["codex-environment"]')
    workspace = tmp_path / "ws"
    workspace.mkdir()
    path = workspace / "here.txt"
    path.write_text("one\n")
    call = {"sessionUpdate": "tool_call", "toolCallId": "c1", "kind": "edit", "title": "Editing files"}
    patching = [{"update": {**call, "status": "in_progress"}}, *SCRIPT["turns"][0]]
    async with a_product(workspace, {"codex": {"turns": [patching]}}) as product:
        session, turn = await begun(product)
        async with an_environment(tmp_path / "codex", told(await pid_of_codex(product))) as environment:
            await environment.write(workspace / "there.txt", "one\n")
            assert (await environment("fs/remove", path))["own"] == "fs/remove"
            path.unlink()
        await ended(product, session, turn)
        await product.execute("sidecar.reject", {"all": True})
        assert sorted(file.name for file in workspace.iterdir()) == ["here.txt"]


async def test_without_one_everything_passes_through(tmp_path: Path) -> None:
    """Also in a terminal, where nobody gave a token."""
    dead = {SERVER: json.dumps({"env": {"ACP_SIDECAR_TOKEN": "x", "ACP_SIDECAR_BRIDGE": "gone"}})}
    for env in (dead, {SERVER: "{}"}):
        async with an_environment(tmp_path / "codex", env) as environment:
            assert (await environment("fs/readFile", tmp_path / "a.txt"))["own"] == "fs/readFile"
            assert (await environment.write(tmp_path / "a.txt", "x"))["own"] == "fs/writeFile"
            assert await environment("process/start", tmp_path) == {"own": "process/start", **OWN}
