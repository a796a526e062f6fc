"""trust_canary: an agent that was never approved on this machine is not started without a question that shows what would run;
nothing that lies in the folder that is open has a say."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sidecar.approvals import Approvals
from sidecar.config import AgentCommand
from sidecar.demo.editor import AskedQuestion
from tests.gates.product import Product, a_product, command
from tests.support import agents, tools

pytestmark = [
    pytest.mark.timeout(200),
    pytest.mark.skipif(sys.platform == "win32", reason="agents are scripts with a first line"),
]
Record = Callable[[str, object], None]


Configured = dict[str, Any]


def plain(folder: Path) -> Configured:
    return {**agent(folder), "env": {}}


def agent(folder: Path) -> Configured:
    """An agent that makes the file `canary` as soon as it runs."""
    program, *args = agents.argv({"start": [{"pid": str(folder / "canary")}]})
    return {"command": program, "args": args, "env": {}}


def with_more_arguments(folder: Path) -> Configured:
    found = agent(folder)
    return {**found, "args": [*found["args"], str(folder / "trace")]}


def with_a_variable(folder: Path) -> Configured:
    return {**agent(folder), "env": {"LD_PRELOAD": str(folder / "evil.so")}}


def from_the_folder(folder: Path) -> Configured:
    """By a bare name that is on no PATH, but is a program in the folder that is open."""
    script(folder / "canary-agent", folder)
    return {"command": "canary-agent", "args": [], "env": {}}


def relative(folder: Path) -> Configured:
    script(folder / "canary-agent", folder)
    return {"command": "./canary-agent", "args": [], "env": {}}


def script(path: Path, folder: Path) -> None:
    path.write_text(f"#!/bin/sh\necho 1 > '{folder / 'canary'}'\n")
    path.chmod(0o755)


# name · what is configured · what the user chooses · whether it may run
ROWS: list[tuple[str, Callable[[Path], Configured], str | None, bool]] = [
    ("dismissed", plain, None, False),
    ("refused", plain, "Do not", False),
    ("allowed once", plain, "this once", True),
    ("allowed for good", plain, "do not ask again", True),
    ("approved before, with other arguments now", with_more_arguments, None, False),
    ("approved before, with a variable now", with_a_variable, None, False),
    ("a bare name that is a program in the folder", from_the_folder, "this once", False),
    ("a relative path", relative, "this once", False),
]

# files that a repository brings, each of which names the canary as the tool it is for would want it
BROUGHT = (
    ".vscode/settings.json",
    ".mcp.json",
    ".acp-sidecar.json",
    "acp-sidecar.toml",
    ".helix/languages.toml",
    "pyproject.toml",
    "sitecustomize.py",
    "sidecar/__init__.py",
    "pygls.py",
    ".env",
)


def wrong_with(
    name: str,
    wanted: Configured,
    runs: bool,
    opened: dict[str, Any],
    ran: bool,
    asked: Sequence[AskedQuestion],
) -> Iterator[str]:
    if ("sessionId" in opened) is not runs:
        yield f"{name}: {opened}"
    if ran is not runs:
        yield f"{name}: it {'did' if ran else 'did not'} run"
    told = "\n".join(question.text for question in asked)
    if len(asked) != 1 or wanted["command"] not in told:
        yield f"{name}: not asked once, showing what would run: {told!r}"
    if wanted["env"] and ("LD_PRELOAD" not in told or "evil.so" in told):
        yield f"{name}: variables are told by name, and only so: {told!r}"
    if any(not question.titles[0].startswith("Do not") for question in asked):
        yield f"{name}: the first choice allows"


async def table(base: Path, planted: str | None = None) -> list[str]:
    """What is wrong with any row. Every agent has a folder of its own for its canary; programs lie in the one that is open."""
    made: dict[str, Configured] = {}
    for number, (name, make, _, _) in enumerate(ROWS):
        folder = base / str(number)
        folder.mkdir()
        made[name] = make(folder)
        if "before" in name:
            known = agent(folder)
            Approvals().remember(AgentCommand(known["command"], tuple(known["args"]), known["env"]))

    def answer(text: str, titles: Sequence[str]) -> str | None:
        chosen = next(choice for name, _, choice, _ in ROWS if name in text)
        return next((title for title in titles if chosen is not None and chosen in title), None)

    wrong: list[str] = []
    options = {"agents": made, "client": {"sessionUpdates": True}}
    async with Product(command(planted), base, options=options, answer=answer) as product:
        for number, (name, _, _, runs) in enumerate(ROWS):
            opened = await product.session(name, cwd=str(base / str(number)))
            ran = (base / str(number) / "canary").exists()
            asked = [question for question in product.questions if f"agent {name}?" in question.text]
            wrong += wrong_with(name, made[name], runs, opened, ran, asked)
    return wrong


async def test_nothing_unapproved_runs(tmp_path: Path, record_property: Record) -> None:
    assert await table(tmp_path) == []
    record_property("inputs", len(ROWS) + len(BROUGHT))


async def test_nothing_in_the_folder_has_a_say(tmp_path: Path) -> None:
    """All of it at once: whoever made the canary would be found by leaving some out."""
    canary = tmp_path / "canary"
    code = f"open({str(canary)!r}, 'w').close()\n"
    made = agent(tmp_path)
    for name in BROUGHT:
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        entry = {
            "agents": {"canary": made},
            "sidecar": {"agents": {"canary": made}},
            "defaultAgent": "canary",
        }
        file.write_text(code if name.endswith(".py") else json.dumps(entry))
    async with a_product(tmp_path, {}) as product:
        listed = await product.tried("sidecar.listAgents")
        opened = await product.session("canary")
        await product.session("demo")
    assert "canary" not in json.dumps(listed)
    assert "error" in opened
    assert not canary.exists()
    assert os.listdir(tmp_path)


@pytest.mark.skipif(
    shutil.which("npx") is None and tools.may_skip("node"),
    reason=f"{tools.MISSING}node: npx is not installed",
)
async def test_a_runner_of_packages_does_not_take_what_lies_in_the_folder(tmp_path: Path) -> None:
    """The agent that was approved is a package; the repository brings one of the same name and version, a `node`, and settings of npm."""
    folder, away = tmp_path / "ws", tmp_path / "away"
    archive = package(away, {"turns": [[{"cwd": True}]]})
    canary = folder / "canary"
    for name in ("node", "good-agent", "sh"):
        program = folder / "node_modules/.bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        script(program, folder)
    brought = folder / "node_modules/good-agent"
    brought.mkdir()
    (brought / "package.json").write_text(PACKAGE)
    script(brought / "agent.js", folder)
    (folder / ".npmrc").write_text(f"script-shell={folder}/node_modules/.bin/sh\n")
    made = AgentCommand(
        "npx",
        ("--offline", "--yes", "--package", str(archive), "good-agent"),
        {"HOME": str(away), "npm_config_update_notifier": "false"},
    )
    Approvals().remember(made)
    options = {"agents": {"good": {"command": made.command, "args": list(made.args), "env": dict(made.env)}}}
    options["client"] = {"sessionUpdates": True}
    async with Product(command(None), folder, options=options) as product:
        session = await product.session("good")
        assert not canary.exists()
        assert "sessionId" in session, session
        assert (await product.prompt(session))["stopReason"] == "end_turn"
        assert "fake_agent.py" in product.said(session)
    assert not canary.exists()


PACKAGE = json.dumps({"name": "good-agent", "version": "1.0.0", "bin": {"good-agent": "agent.js"}})


def package(folder: Path, scripted: dict[str, Any]) -> Path:
    """A package as npm packs it, of a program that becomes a scripted agent."""
    folder.mkdir()
    program, *args = agents.argv(scripted)
    run = f"require('child_process').spawnSync({json.dumps(program)}, {json.dumps(args)}, {{stdio: 'inherit'}})\n"
    archive = folder / "good-agent.tgz"
    with tarfile.open(archive, "w:gz") as packed:
        for name, text in (("package.json", PACKAGE), ("agent.js", f"#!/usr/bin/env node\n{run}")):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode = len(text.encode()), 0o755
            packed.addfile(entry, io.BytesIO(text.encode()))
    return archive


async def test_the_gate_can_fail(tmp_path: Path) -> None:
    assert "dismissed: it did run" in await table(tmp_path, "whoever_is_configured_is_started")
