"""The program that opencode loads, run by Node as opencode runs it: against the real sidecar, and without one. The real agent is
tests/e2e/test_own_tools.py's."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sidecar.acp.own_tools import plugins
from sidecar.acp.read_only import READ_ONLY
from sidecar.acp.ways import LIVE
from sidecar.core.json_types import JsonDict
from sidecar.mcp.schemas import TOOLS
from tests.gates.product import a_product
from tests.mcp.live import SCRIPT
from tests.mcp.plugin_runs import PluginRun, environment_of, told_by_sidecar
from tests.mcp.test_live import raw

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at an agent's environment in /proc")
BASE = "one\ntwo\nthree\n"
REFUSED = "Changing files and running commands is switched off by the user's settings."
OPENCODE = """
import { pathToFileURL } from "node:url"
const [plugin, directory, steps] = process.argv.slice(2)
const { AcpSidecar } = await import(pathToFileURL(plugin))
const parents = { child: "s1", grandchild: "child" }
const hooks = await AcpSidecar({ client: { session: { get: async ({ path }) => ({ data: { parentID: parents[path.id] } }) } } })
const asked = []
const answers = []
for (const [tool, args, sessionID = "s1"] of JSON.parse(steps)) {
  const call = { tool, sessionID, callID: String(answers.length) }
  const ctx = { ...call, directory, worktree: directory, ask: async (question) => asked.push(question.permission) }
  try {
    await hooks["tool.execute.before"](call, { args })
    if (tool === "read") {
      const output = { output: "<path>p</path>\\n<type>file</type>\\n<content>\\n1: disk\\n</content>\\n<more>", metadata: {} }
      await hooks["tool.execute.after"]({ ...call, args }, output)
      answers.push([output.output, args])
    } else if (!hooks.tool[tool]) answers.push("its own")
    else answers.push((await hooks.tool[tool].execute(args, ctx)).output)
  } catch (error) {
    answers.push({ error: error.message })
  }
}
const shown = ["edit", "edit", "bash"].map((toolID, at) => ({ toolID, description: at === 1 ? hooks.tool.edit.description : `own ${at}`, jsonSchema: at }))
for (const output of shown) await hooks["tool.definition"]({ toolID: output.toolID }, output)
console.log(JSON.stringify({ answers, asked, shown, left: process.env.ACP_SIDECAR_TOOLS ?? null }))
process.exit()
"""


def plugin_of(folder: Path, workspace: Path, env: dict[str, str]) -> PluginRun:
    return PluginRun(folder, "opencode.js", OPENCODE, workspace, env)


def read(path: Path | str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "read", {"filePath": str(path), **more}


def edit(path: Path | str, old: str, new: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "edit", {"filePath": str(path), "oldString": old, "newString": new, **more}


def content(answer: Any) -> str:
    text: str = answer[0]
    assert text.startswith("<path>p</path>\n<type>file</type>\n<content>\n")
    assert text.endswith("\n</content>\n<more>"), "what opencode adds stays"
    return text.partition("<content>\n")[2].partition("\n</content>")[0]


async def test_with_the_sidecar(tmp_path: Path) -> None:
    workspace, traces = tmp_path / "ws", tmp_path / "traces"
    for folder in (workspace, traces, tmp_path / "away"):
        folder.mkdir()
    path, away = workspace / "a.txt", tmp_path / "away" / "a.txt"
    path.write_text(BASE)
    (workspace / ".env").write_text("KEY=1\n")
    away.write_text(BASE)
    async with a_product(workspace, {"opencode": SCRIPT}, traces=traces) as product:
        session = await product.session("opencode")
        turn = asyncio.ensure_future(product.prompt(session))
        await product.wait_for(lambda: product.said(session) == "begun")
        assert json.loads((traces / "opencode").read_text().splitlines()[1])["params"]["mcpServers"] == []
        status: Any = await product.execute("sidecar.status")
        (agent,) = (row for row in status["agents"] if row["agent"] == "opencode")
        assert (agent["files"], status["sessions"][0]["ownToolsLive"]) == (LIVE, True)
        told = environment_of(agent["pid"])
        plugin = plugin_of(tmp_path, workspace, told_by_sidecar(agent["pid"]))
        product.open(path)
        product.type(path, "typed\n", at=0)
        done = await plugin(
            read(path),
            read(path, offset=2, limit=2),
            read(workspace / "none.txt"),
            read(workspace / ".env"),
            edit(path, "typed", "TYPED"),
            ("edit", edit(path, "two", "TWO")[1], "grandchild"),
            edit(path, "gone", "x"),
            edit(path, "T", "x"),
            ("write", {"filePath": str(workspace / "new.txt"), "content": "new\n"}),
            edit(away, "two", "TWO"),
            ("edit", edit(path, "one", "ONE")[1], "nobody's"),
        )
        answers = done["answers"]
        assert content(answers[0]) == "1: typed\n2: one\n3: two\n4: three\n\n(End of file - total 4 lines)"
        assert content(answers[1]) == "2: one\n3: two\n\n(Showing lines 2-3. Use offset=4 to continue.)"
        assert answers[1][1] == {"filePath": str(path), "offset": 1, "limit": 1}, "what opencode itself reads"
        assert (content(answers[2]), answers[2][1]) == ("1: disk", {"filePath": f"{workspace}/none.txt"})
        assert "KEY" not in str(answers[3])
        assert ".env" in answers[3]["error"]
        assert "has been updated" in answers[4]
        assert "has been updated" in answers[5]
        assert answers[6]["error"].startswith("Could not find oldString")
        assert answers[7]["error"].startswith("Found multiple matches")
        assert product.document(path).text == "TYPED\none\nTWO\nthree\n"
        assert path.read_text() == "ONE\ntwo\nthree\n", "the last one was nobody's, so it went to the disk"
        assert (workspace / "new.txt").read_text() == "new\n"
        assert away.read_text() == "one\nTWO\nthree\n"
        assert done["asked"] == ["edit"] * 6 + ["external_directory", "edit"]
        assert done["shown"][1] == done["shown"][0], "its model is shown what it knows"
        assert done["shown"][2]["description"] == "own 2"
        assert done["left"] is None, "what it runs does not get the token"

        token = json.loads(told[plugins.SERVER])["env"]["ACP_SIDECAR_TOKEN"]
        server = {"env": [{"name": "ACP_SIDECAR_BRIDGE", "value": told["ACP_SIDECAR_BRIDGE"]}]}
        refused = await raw(server, token, "Read", file_path="a.txt")
        assert set(refused) == {"refused"}, "with an agent's token, a call has to name one of its sessions"
        await product.execute("sidecar.cancel", {"sessionId": session["sessionId"]})
        await turn


@pytest.mark.parametrize("command", ["/does/not/exist", "/bin/false", ""])
async def test_without_one_it_works_on_the_disk(tmp_path: Path, command: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\r\ntwo\r\nthree\r\n")
    told = {plugins.SERVER: json.dumps({"command": command, "args": [], "env": {}})} if command else {}
    plugin = plugin_of(tmp_path, tmp_path, {"PATH": "", **told})
    done = await plugin(
        read(path, offset=7),
        edit(path, "one\ntwo", "1\n2"),
        edit(path, "e", "E"),
        edit(path, "e", "E", replaceAll=True),
        edit(tmp_path / "new" / "b.txt", "", "made\n"),
        edit(path, "", "overwritten\n"),
    )
    answers = done["answers"]
    assert (content(answers[0]), answers[0][1]["offset"]) == ("1: disk", 7)
    assert path.read_bytes() == b"1\r\n2\r\nthrEE\r\n"
    assert answers[2]["error"].startswith("Found multiple matches")
    assert (tmp_path / "new" / "b.txt").read_text() == "made\n"
    assert "EEXIST" in answers[5]["error"]


def reads(tool: JsonDict) -> bool:
    annotations: JsonDict = tool["annotations"]
    return bool(annotations["readOnlyHint"])


async def test_where_it_may_only_read(tmp_path: Path) -> None:
    """`"writes": "deny"`: whatever its user's own permissions are. A tool that is not known to only read is refused."""
    path = tmp_path / "a.txt"
    path.write_text(BASE)
    plugin = plugin_of(tmp_path, tmp_path, {"PATH": "", READ_ONLY: "1"})
    writing = ("write", {"filePath": str(tmp_path / "b.txt"), "content": ""})
    others: list[Any] = [
        (tool, {}) for tool in ("bash", "apply_patch", "of_a_newer_version", "theirs_delete")
    ]
    ours: list[Any] = [(f"sidecar_{tool['name']}", {}) for tool in TOOLS]
    done = await plugin(
        edit(path, "one", "1"), writing, *others, *ours, read(path), ("grep", {}), ("task", {})
    )
    *refused, shown, own, sub = done["answers"]
    of_ours = refused[-len(ours) :]
    assert {answer["error"] for answer in refused[: -len(ours)]} == {REFUSED}
    assert [isinstance(answer, str) for answer in of_ours] == [reads(tool) for tool in TOOLS]
    assert (content(shown), own, sub) == ("1: disk", "its own", "its own")
    assert [file.name for file in tmp_path.glob("*.txt")] == ["a.txt"]
    assert path.read_text() == BASE
