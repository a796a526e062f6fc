"""The extension that pi loads, run by Node with a stand-in for pi's own tools: against the real sidecar, and without one. The real pi is
tests/e2e/test_own_tools.py's."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from sidecar.acp.own_tools import plugins
from sidecar.acp.read_only import READ_ONLY
from sidecar.acp.ways import LIVE
from tests.gates.product import a_product
from tests.mcp.live import SCRIPT
from tests.mcp.plugin_runs import PluginRun, environment_of, told_by_sidecar
from tests.mcp.test_live import raw
from tests.mcp.test_opencode_plugin import REFUSED

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at an agent's environment in /proc")
BASE = "one\ntwo\nthree\n"
PI = """
import { pathToFileURL } from "node:url"
const [program, cwd, steps] = process.argv.slice(2)
const tools = {}
const builtin = ["read", "bash", "edit", "write"].map((name) => ({ name, sourceInfo: { source: "builtin" } }))
const pi = {
  registerTool: (tool) => (tools[tool.name] = tool),
  on: (event, run) => (pi[event] = run),
  getAllTools: () => builtin.map((tool) => (tool.name === process.env.THEIRS ? { ...tool, sourceInfo: { source: "local" } } : tool)),
  getActiveTools: () => builtin.map((tool) => tool.name).filter((name) => name !== process.env.INACTIVE),
}
;(await import(pathToFileURL(program))).default(pi)
if (Object.keys(tools).length) throw new Error("too early: pi would not start where the user has such a tool")
pi.session_start()
const answers = []
for (const [name, input, session = "s1"] of JSON.parse(steps)) {
  try {
    const blocked = await pi.tool_call({ toolName: name, input })
    if (blocked?.block) throw new Error(blocked.reason)
    if (!tools[name]) answers.push("its own")
    else answers.push(await tools[name].execute("id", input, undefined, undefined, { cwd, sessionManager: { getSessionId: () => session } }))
  } catch (error) {
    answers.push({ error: error.message })
  }
}
console.log(JSON.stringify({ answers, names: Object.keys(tools), left: process.env.ACP_SIDECAR_TOOLS ?? null }))
process.exit()
"""
PACKAGE = """
import * as fs from "node:fs/promises"
import { dirname, resolve } from "node:path"

const disk = {
  access: (path) => fs.access(path),
  readFile: (path) => fs.readFile(path),
  writeFile: (path, text) => fs.writeFile(path, text),
  mkdir: (path) => fs.mkdir(path, { recursive: true }),
  detectImageMimeType: async (path) => (path.endsWith(".png") ? "image/png" : null),
}

const tool = (name, run) => (cwd, { operations = disk } = {}) => ({
  name,
  execute: async (id, input, signal, update, ctx) => run(resolve(ctx.cwd, input.path), input, operations),
})

export const createReadToolDefinition = tool("read", async (path, input, files) => {
  await files.access(path)
  if (await files.detectImageMimeType?.(path)) return "image"
  return String(await files.readFile(path))
})

export const createEditToolDefinition = tool("edit", async (path, { old, put }, files) => {
  await files.access(path)
  const text = String(await files.readFile(path))
  if (!text.includes(old)) throw new Error("pi: not found")
  await files.writeFile(path, text.replace(old, put))
  return "edited"
})

export const createWriteToolDefinition = tool("write", async (path, { content }, files) => {
  await files.mkdir(dirname(path))
  await files.writeFile(path, content)
  return "written"
})
"""
"""What of pi's package is used: the same operations, in the same order, as pi 0.87.1 calls them."""


def plugin_of(folder: Path, workspace: Path, env: dict[str, str], *, harness: str = PI) -> PluginRun:
    package = folder / "node_modules" / "@earendil-works" / "pi-coding-agent"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"type": "module", "main": "index.js"}')
    (package / "index.js").write_text(PACKAGE)
    return PluginRun(folder, "pi.js", harness, workspace, env)


def read(path: Path | str) -> tuple[str, dict[str, Any]]:
    return "read", {"path": str(path)}


def edit(path: Path | str, old: str, put: str) -> tuple[str, dict[str, Any]]:
    return "edit", {"path": str(path), "old": old, "put": put}


def write(path: Path | str, content: str) -> tuple[str, dict[str, Any]]:
    return "write", {"path": str(path), "content": content}


async def test_with_the_sidecar(tmp_path: Path) -> None:
    workspace, traces, away = (tmp_path / name for name in ("ws", "traces", "away"))
    for folder in (workspace, traces, away):
        folder.mkdir()
    path = workspace / "a.txt"
    path.write_text(BASE)
    (workspace / ".env").write_text("KEY=1\n")
    (workspace / "b.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (workspace / "latin.txt").write_bytes(b"caf\xe9\0\n")
    (away / "a.txt").write_text(BASE)
    async with a_product(workspace, {"opencode": SCRIPT}, traces=traces) as product:
        session = await product.session("opencode")
        turn = asyncio.ensure_future(product.prompt(session))
        await product.wait_for(lambda: product.said(session) == "begun")
        status: Any = await product.execute("sidecar.status")
        (agent,) = (row for row in status["agents"] if row["agent"] == "opencode")
        assert agent["files"] == LIVE
        plugin = plugin_of(tmp_path, workspace, told_by_sidecar(agent["pid"]))
        product.open(path)
        product.type(path, "typed\n", at=0)
        done = await plugin(
            read(path),
            read(workspace / "none.txt"),
            read(workspace / ".env"),
            read(workspace / "b.png"),
            edit("a.txt", "typed", "TYPED"),
            edit(path, "two", "TWO"),
            edit(path, "gone", "x"),
            edit(workspace / ".env", "1", "2"),
            edit(workspace / "latin.txt", "caf", "x"),
            write(workspace / "made" / "new.txt", "new\n"),
            write(away / "made" / "new.txt", "new\n"),
            edit(away / "a.txt", "two", "TWO"),
            (*edit(path, "one", "ONE"), "nobody's"),
        )
        answers = done["answers"]
        assert done["names"] == ["read", "edit", "write"]
        assert answers[0] == "typed\n" + BASE
        assert "ENOENT" in answers[1]["error"], "in pi's own words"
        assert ".env" in answers[2]["error"]
        assert "KEY" not in str(answers[2])
        assert answers[3] == "image"
        assert answers[4:6] == ["edited"] * 2
        assert answers[6] == {"error": "pi: not found"}
        assert ".env" in answers[7]["error"]
        assert "latin.txt" in answers[8]["error"]
        assert answers[9:] == ["written", "written", "edited", "edited"]
        assert product.document(path).text == "TYPED\none\nTWO\nthree\n"
        assert path.read_text() == "ONE\ntwo\nthree\n", "the last one was nobody's, so it went to the disk"
        assert (workspace / ".env").read_text() == "KEY=1\n"
        assert (workspace / "latin.txt").read_bytes() == b"caf\xe9\0\n"
        assert (workspace / "made" / "new.txt").read_text() == "new\n"
        assert (away / "made" / "new.txt").read_text() == "new\n"
        assert (away / "a.txt").read_text() == "one\nTWO\nthree\n"
        assert done["left"] is None, "what it runs does not get the token"

        told = environment_of(agent["pid"])
        token = json.loads(told[plugins.SERVER])["env"]["ACP_SIDECAR_TOKEN"]
        server = {"env": [{"name": "ACP_SIDECAR_BRIDGE", "value": told["ACP_SIDECAR_BRIDGE"]}]}
        assert set(await raw(server, token, "Read", file_path="a.txt")) == {"refused"}
        await product.execute("sidecar.cancel", {"sessionId": session["sessionId"]})
        await turn


@pytest.mark.parametrize("command", ["/does/not/exist", "/bin/false", ""])
async def test_without_one_it_works_on_the_disk(tmp_path: Path, command: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(BASE)
    told = {plugins.SERVER: json.dumps({"command": command, "args": [], "env": {}})} if command else {}
    plugin = plugin_of(tmp_path, tmp_path, {"PATH": "", **told})
    new = tmp_path / "made" / "new.txt"
    done = await plugin(read(path), edit(path, "two", "TWO"), write(new, "new\n"))
    assert done["answers"] == [BASE, "edited", "written"]
    assert path.read_text() == "one\nTWO\nthree\n"
    assert new.read_text() == "new\n"


async def test_where_it_may_only_read(tmp_path: Path) -> None:
    """`"writes": "deny"`."""
    path = tmp_path / "a.txt"
    path.write_text(BASE)
    plugin = plugin_of(tmp_path, tmp_path, {"PATH": "", READ_ONLY: "1"})
    done = await plugin(
        edit(path, "two", "TWO"),
        write(tmp_path / "b.txt", ""),
        ("bash", {}),
        ("new", {}),
        read(path),
        ("grep", {}),
    )
    *refused, shown, own = done["answers"]
    assert {answer["error"] for answer in refused} == {REFUSED}
    assert (shown, own) == (BASE, "its own")
    assert [file.name for file in tmp_path.glob("*.txt")] == ["a.txt"]
    assert path.read_text() == BASE


@pytest.mark.parametrize("which", ["THEIRS", "INACTIVE"])
async def test_tools_that_the_user_replaced_or_switched_off_stay_so(tmp_path: Path, which: str) -> None:
    done = await plugin_of(tmp_path, tmp_path, {"PATH": "", which: "edit"})()
    assert done["names"] == ["read", "write"]


DIFFERENCES = """
import { pathToFileURL } from "node:url"
const { difference } = await import(pathToFileURL(process.argv[2]))
const pairs = JSON.parse(process.argv[4])
console.log(JSON.stringify(pairs.map(([before, after]) => difference(before, after))))
"""


async def test_an_edit_is_sent_as_lines_that_stand_only_once(tmp_path: Path) -> None:
    plugin = plugin_of(tmp_path, tmp_path, {"PATH": ""}, harness=DIFFERENCES)
    chance = random.Random(7)

    def text() -> str:
        return "".join(chance.choices(("a\n", "b\n", "\n", "\r\n", "a", "é𝄞"), k=chance.randrange(9)))

    pairs = [(a, b) for a, b in ((text(), text()) for _ in range(2000)) if a != b]
    found = await plugin(*pairs)
    for (before, after), one in zip(pairs, found, strict=True):
        old, new = one["old_string"], one["new_string"]
        assert before.find(old) == before.rfind(old) or old == before, (before, after, one)
        assert (before.replace(old, new, 1) if old else new) == after, (before, after, one)
    lines = [f"line {number}\n" for number in range(1000)]
    changed = [*lines[:500], "LINE 500\n", *lines[501:]]
    (one,) = await plugin(("".join(lines), "".join(changed)))
    assert one["old_string"].count("\n") <= 2, "not the whole file"
