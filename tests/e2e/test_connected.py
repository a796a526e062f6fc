"""Agents that somebody else starts, as their users run them in a terminal after `acp-sidecar connect`, with a scripted model: `make agents`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.cli import main
from tests.e2e.model_server import ModelServer, script
from tests.e2e.third_party import BASE, KINDS, results
from tests.gates.product import COMMAND, Product, a_product
from tests.mcp.live import found
from tests.support import tools
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.agents,
    pytest.mark.skipif(os.name == "nt", reason="there is no bridge on Windows yet"),
]


@dataclass(frozen=True)
class Terminal:
    """An agent's command in a terminal."""

    tool: str
    environment: Callable[[Path, str], dict[str, str]]
    words: tuple[str, ...]
    """With which it takes its prompt from stdin."""
    called: str
    """How its model calls a tool of ours, with `{}` for the name."""


TERMINALS = {
    "claude": Terminal(
        "claude",
        KINDS["claude-agent-acp"].environment,
        ("--allowedTools", "mcp__acp-sidecar", "--print"),
        "mcp__acp-sidecar__{}",
    ),
    "opencode": Terminal("opencode", KINDS["opencode"].environment, ("run",), "acp-sidecar_{}"),
}


def allow(text: str, titles: Sequence[str]) -> str | None:
    return next(title for title in titles if title.startswith("Allow for now"))


@asynccontextmanager
async def an_editor(folder: Path, *client: str) -> AsyncGenerator[Product]:
    async with a_product(folder, {}, answer=allow, client=("sessionUpdates", *client)) as product:
        await asyncio.to_thread(eventually, lambda: found(folder), "the sidecar can be found")
        yield product


async def run(terminal: Terminal, folder: Path, env: Mapping[str, str], prompt: str) -> str:
    command = [tools.require(terminal.tool).command, *terminal.words]
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={**os.environ, **env},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await asyncio.wait_for(process.communicate(prompt.encode()), 100)
    assert process.returncode == 0, out.decode()
    return out.decode()


@pytest.mark.parametrize("name", TERMINALS)
async def test_it_works_on_the_text_of_the_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Connected, asked about once, reads and edits a line that only the buffer has, under review by its name; the repository is untouched."""
    terminal = TERMINALS[name]
    tools.require(terminal.tool)
    home, folder = tmp_path / "home", tmp_path / "ws"
    folder.mkdir()
    path = folder / "a.txt"
    path.write_text(BASE)
    (home / "config" / "opencode").mkdir(parents=True)
    (home / ".claude").mkdir()
    monkeypatch.setattr(sys, "argv", [COMMAND[0]])
    with ModelServer() as model:
        env = {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_DATA_HOME": str(home / "data"),
        }
        env |= terminal.environment(home, model.url)
        for key in ("HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR"):
            monkeypatch.setenv(key, env.get(key, ""))
        assert main(["connect", name, "--yes"]) == 0
        async with an_editor(folder) as product:
            product.open(path)
            product.type(path, "typed and not saved\n", at=0)
            steps: list[dict[str, Any]] = [
                {"tool": terminal.called.format("Read"), "args": {"file_path": str(path)}},
                {
                    "tool": terminal.called.format("Edit"),
                    "args": {"file_path": str(path), "old_string": "typed and", "new_string": "TYPED AND"},
                },
                {"say": "done"},
            ]
            await run(terminal, folder, env, script(*steps))
            assert "typed and not saved" in results(model)
            assert product.document(path).text == "TYPED AND not saved\n" + BASE
            assert path.read_text() == BASE
            rows = await product.execute("sidecar.listChanges", {})
            assert [row["agent"] for row in rows] == [f"{name} (terminal)"]
            assert len(product.questions) == 1
        assert [entry.name for entry in folder.iterdir()] == ["a.txt"]
        assert main(["disconnect", name, "--yes"]) == 0
        left = [f for f in home.rglob("*") if f.is_file() and f.suffix in (".json", ".jsonc", ".toml")]
        assert not [f for f in left if '"--guest"' in f.read_text(errors="replace")], (
            "also after it wrote its settings anew"
        )


async def test_claudes_own_tools_find_saved_what_its_user_sees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the hook: its own Read and Edit, on the disk, of a line that was not saved. Neither its settings nor the repository keep anything of it."""
    terminal = TERMINALS["claude"]
    tools.require(terminal.tool)
    home, folder = tmp_path / "home", tmp_path / "ws"
    folder.mkdir()
    path = folder / "a.txt"
    path.write_text(BASE)
    (home / ".claude").mkdir(parents=True)
    settings = home / ".claude" / "settings.json"
    settings.write_text('{"includeCoAuthoredBy": false}\n')
    monkeypatch.setattr(sys, "argv", [COMMAND[0]])
    with ModelServer() as model:
        env = {"HOME": str(home), **terminal.environment(home, model.url)}
        for key in ("HOME", "CLAUDE_CONFIG_DIR"):
            monkeypatch.setenv(key, env[key])
        for name in ("claude", "claude-hook"):
            assert main(["connect", name, "--yes"]) == 0
        async with an_editor(folder, "save") as product:
            product.open(path)
            product.type(path, "typed and not saved\n", at=0)
            edit = {"file_path": str(path), "old_string": "typed and", "new_string": "TYPED AND"}
            steps: list[dict[str, Any]] = [
                {"tool": "Read", "args": {"file_path": str(path)}},
                {"tool": "Edit", "args": edit},
                {"say": "done"},
            ]
            words = ("--allowedTools", "Read,Edit", "--permission-mode", "acceptEdits", "--print")
            await run(replace(terminal, words=words), folder, env, script(*steps))
            assert "typed and not saved" in results(model)
            assert path.read_text() == "TYPED AND not saved\n" + BASE
        assert main(["disconnect", "claude-hook", "--yes"]) == 0
        assert settings.read_text() == '{"includeCoAuthoredBy": false}\n'
        assert [entry.name for entry in folder.iterdir()] == ["a.txt"]
