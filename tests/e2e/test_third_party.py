"""Agents as they are, the real ones, with a scripted model on loopback, through the real sidecar: `make agents`.

What every agent must do is asserted; how it does it is noted in the table of docs/agents.md (agents_table.py)."""

from __future__ import annotations

import asyncio
import json
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sidecar.acp.dialect import OWNED
from sidecar.core.json_types import JsonDict
from tests.e2e.agents_table import Table
from tests.e2e.model_server import ModelServer, script
from tests.e2e.third_party import (
    BASE,
    CHOSEN,
    KINDS,
    LIVE,
    Kind,
    Step,
    a_scene,
    ended,
    first_result,
    held,
    put,
    results,
    undone,
)
from tests.gates.product import Product
from tests.support.agents import until_gone, until_written

every_agent = pytest.mark.parametrize("kind", [KINDS[name] for name in CHOSEN], ids=CHOSEN)
REREADS = [name for name in CHOSEN if KINDS[name].rereads]
OTHERS = [name for name in CHOSEN if name not in (*LIVE, *REREADS)]
every_other_agent = pytest.mark.parametrize("kind", [KINDS[name] for name in OTHERS], ids=OTHERS)
"""Those whose own tools are not led to ours, and who edit what they have read before: see test_own_tools.py for the rest."""
every_agent_that_rereads = pytest.mark.parametrize("kind", [KINDS[name] for name in REREADS], ids=REREADS)
pytestmark = pytest.mark.agents
HANGS = 60.0
"""Seconds in which something ends that does not hang, on a busy machine."""


def edits(kind: Kind, path: Path, old: str, new: str, **more: Any) -> tuple[Step, Step]:
    """Reads first: most refuse to edit what they have not read."""
    return kind.read(path), kind.edit(path, old, new) | more


async def changes(product: Product) -> list[tuple[str, str, str]]:
    rows: Any = await product.execute("sidecar.listChanges")
    return [(r["uri"].rpartition("/")[2], r["oldText"].strip(), r["newText"].strip()) for r in rows]


@every_agent
async def test_an_edit_beside_unsaved_lines(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """Has the unsaved text; the unsaved line survives; listed; rejected; a second prompt works, and its edit is undone."""
    path = workspace / "a.txt"
    path.write_text(BASE)
    unsaved = "unsaved " + BASE
    async with a_scene(kind, tmp_path, workspace, model) as (product, session):
        rows: Any = await product.execute("sidecar.listAgents")
        versions = [row.get("version") for row in rows if row["id"] == kind.name]
        agents_table.versions[kind.tool] = versions[0] or ""
        product.open(path)
        product.type(path, "unsaved ", at=0)
        await ended(product, session, *edits(kind, path, "six", "SIX"))
        assert product.document(path).text == unsaved.replace("six", "SIX")
        was_read = "unsaved one" in first_result(model)
        assert was_read or any("unsaved one" in json.dumps(body) for body in model.requests)
        agents_table.note(
            kind.tool,
            "reads unsaved",
            "yes: by reading, and with the prompt" if was_read else "yes: with the prompt",
        )
        assert await changes(product) == [("a.txt", "six", "SIX")]
        await product.execute("sidecar.reject", {"all": True})
        assert product.document(path).text == unsaved
        await ended(product, session, *edits(kind, path, "five", "FIVE"))
        assert product.document(path).text == unsaved.replace("five", "FIVE")
        steps = undone(product, path, unsaved)
        cell = {0: "no", 1: "yes: one step"}.get(steps, f"yes: {steps} steps")
        agents_table.note(kind.tool, "writes undoable", cell)
        assert steps


@every_agent
async def test_typing_while_it_edits_elsewhere(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    path = workspace / "a.txt"
    path.write_text(BASE)
    async with a_scene(kind, tmp_path, workspace, model) as (product, session):
        product.open(path)
        words = "words that are typed while the agent works " * 3
        product.type(path, "", at=0)
        turn, _ = await asyncio.gather(
            product.prompt(session, script(*edits(kind, path, "six", "SIX"))),
            product.type_slowly(path, words, 0.02),
        )
        assert turn.get("stopReason") == "end_turn", turn
        wanted = (words + BASE).replace("six", "SIX")
        await product.wait_for(lambda: product.document(path).text == wanted)
        agents_table.note(kind.tool, "survives typing", "yes")


@every_other_agent
async def test_an_overlap_is_a_conflict_that_is_decided(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer
) -> None:
    """Both changed one line: the user's stands, the agent's is not lost, and either can be taken."""
    path = workspace / "a.txt"
    path.write_text(BASE)
    async with a_scene(kind, tmp_path, workspace, model) as (product, session):
        product.open(path)
        turn = await held(
            product,
            session,
            model,
            lambda: product.type(path, "unsaved ", at=0),
            *edits(kind, path, "one", "ONE", hold=True),
        )
        assert "error" not in turn, turn
        assert product.document(path).text == "unsaved " + BASE
        assert [words for words in product.boxes if "a.txt" in words and "line 1" in words], product.boxes
        (conflict,) = await _conflicts(product)
        (hunk,) = conflict["hunks"]
        assert (hunk["base"], hunk["mine"], hunk["agent"]) == ("one\n", "unsaved one\n", "ONE\n")
        await product.execute(
            "sidecar.resolveConflict", {"conflictId": conflict["conflictId"], "take": "agent"}
        )
        assert product.document(path).text == BASE.replace("one", "ONE")
        await product.execute("sidecar.reject", {"all": True})
        assert product.document(path).text == "unsaved " + BASE


@every_agent_that_rereads
async def test_both_change_one_line_and_the_agent_reads_it_again_through_us(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer
) -> None:
    """Its edit is made in the line as the user left it: there is nothing to decide."""
    path = workspace / "a.txt"
    path.write_text(BASE)
    async with a_scene(kind, tmp_path, workspace, model) as (product, session):
        product.open(path)
        turn = await held(
            product,
            session,
            model,
            lambda: product.type(path, "unsaved ", at=0),
            *edits(kind, path, "one", "ONE", hold=True),
        )
        assert "error" not in turn, turn
        made = "unsaved " + BASE.replace("one", "ONE")
        assert product.document(path).text == made
        assert await _conflicts(product) == []
        await product.execute("sidecar.reject", {"all": True})
        assert product.document(path).text == "unsaved " + BASE


async def _conflicts(product: Product) -> list[Any]:
    rows: Any = await product.execute("sidecar.listConflicts")
    return rows


@every_agent
async def test_a_turn_is_reverted(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """An open file, one that is not, and one that a command changes without a word about it."""
    names = ("open.txt", "closed.txt", "command.txt")
    for name in names:
        (workspace / name).write_text(BASE)
    commit(workspace)
    (workspace / "command.txt").write_text("never committed\n" + BASE)
    before = {name: (workspace / name).read_text() for name in names}
    async with a_scene(kind, tmp_path, workspace, model) as (product, session):
        product.open(workspace / "open.txt")
        turn = await ended(
            product,
            session,
            *edits(kind, workspace / "open.txt", "six", "SIX"),
            *edits(kind, workspace / "closed.txt", "six", "SIX"),
            kind.run(f"echo more >> {workspace / 'command.txt'}"),
        )
        assert "SIX" in product.document(workspace / "open.txt").text
        assert "SIX" in (workspace / "closed.txt").read_text()
        assert "more" in (workspace / "command.txt").read_text()
        listed = {name for name, _, _ in await changes(product)}
        reverted = await product.tried(
            "sidecar.revertTurn", {"sessionId": session["sessionId"], "turn": turn["turn"]}
        )
        assert reverted.get("impossible") == [], reverted
        assert product.document(workspace / "open.txt").text == BASE
        now = {name: (workspace / name).read_text() for name in names}
        assert (now["open.txt"], now["closed.txt"]) == (before["open.txt"], before["closed.txt"])
        assert {"open.txt", "closed.txt"} <= listed
        by_command = now["command.txt"] == before["command.txt"] and "command.txt" in listed
        cell = "yes" if by_command else "partly: not what its commands change in files that are not open"
        agents_table.note(kind.tool, "revertible", cell)


def commit(folder: Path) -> None:
    settings = ("-c", "user.name=nobody", "-c", "user.email=nobody@localhost", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "."), (*settings, "commit", "-q", "-m", "before")):
        subprocess.run(["git", *words], cwd=folder, check=True)


@every_agent
async def test_a_command(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    async with a_scene(kind, tmp_path, workspace, model) as (product, session):
        await ended(product, session, kind.run("echo it ran > ran.txt; cat ran.txt"))
        assert (workspace / "ran.txt").read_text() == "it ran\n"
        assert "it ran" in results(model), "its model is told what the command said"
        asked = [question for question in product.questions if "ran.txt" in question.text]
        assert len(asked) <= 1, [question.text for question in asked]
        shown = [params for method, params in product.notifications if method == "sidecar/terminalOutput"]
        ours = [params for params in shown if not str(params["terminalId"]).startswith(OWNED)]
        agents_table.note(kind.tool, "terminals", "yes" if ours else "no: it runs commands by itself")


@every_agent
@pytest.mark.parametrize("own_tools", ["live", "off"])
async def test_writes_are_denied(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table, own_tools: str
) -> None:
    """Neither its tools nor its commands change anything, whatever its user's own settings allow, and they are not asked; it can read."""
    put(tmp_path / "home", kind.allows)
    path, other = workspace / "a.txt", workspace / "b.txt"
    path.write_text(BASE)
    other.write_text(BASE)
    before = {path.name: BASE, other.name: BASE}
    async with a_scene(kind, tmp_path, workspace, model, writes="deny", ownTools=own_tools) as (
        product,
        session,
    ):
        product.open(path)
        acts = (
            edits(kind, path, "six", "SIX"),
            edits(kind, other, "six", "SIX"),
            (kind.run(f"echo it ran > {workspace / 'ran.txt'}"),),
            (kind.run(f"sed -i s/six/SIX/ {other}"),),
        )
        stops: set[str] = set()
        for command, choice in (None, None), *_freedoms(session):
            if command is not None:
                await product.tried(command, {"sessionId": session["sessionId"], **choice})
            for steps in acts:
                turn: Any = await product.prompt(session, script(*steps))
                stops.add(str(turn.get("stopReason", turn)))
        assert "seven" in results(model), "it can read"
        assert product.document(path).text == BASE
        assert await changes(product) == []
        assert [asked.text for asked in product.questions if "wants to read" not in asked.text] == []
    # fast-agent has its conversations there, in a folder
    assert {file.name: file.read_text() for file in workspace.iterdir() if file.is_file()} == before
    assert stops <= {"end_turn", "cancelled"}
    ends = "cancelled" in stops
    agents_table.note(kind.tool, "writes denied", "yes: what is refused may end its turn" if ends else "yes")


@pytest.mark.parametrize(
    "step",
    [
        {"tool": "Monitor", "args": {"description": "d", "timeout_ms": 5000, "command": "echo x > ran.txt"}},
        {"tool": "EnterWorktree", "args": {"name": "mine"}},
    ],
    ids=lambda step: step["tool"],
)
async def test_claude_has_more_tools_that_are_denied(
    step: Step, tmp_path: Path, workspace: Path, model: ModelServer
) -> None:
    (workspace / "a.txt").write_text(BASE)
    commit(workspace)
    kind = KINDS["claude-agent-acp"]
    allowed = {"permissions": {"allow": ["Bash", "Monitor", "EnterWorktree"], "defaultMode": "acceptEdits"}}
    put(tmp_path / "home", {".claude/settings.json": json.dumps(allowed)})
    async with a_scene(kind, tmp_path, workspace, model, writes="deny") as (product, session):
        await product.prompt(session, script(step, kind.read(workspace / "a.txt")))
        assert "seven" in results(model), "it can read"
    found = {file.name for file in workspace.rglob("*")} & {"ran.txt", "mine"}
    assert found == set()


def _freedoms(session: Any) -> list[tuple[str, JsonDict]]:
    """What can be chosen in it and might let it do more: its modes, and options like them."""
    modes = [mode["id"] for mode in (session.get("modes") or {}).get("availableModes", [])]
    options = [
        (option["id"], choice["value"])
        for option in session.get("configOptions") or ()
        if option.get("category") == "mode" or "allow" in option["id"]
        for choice in option["options"]
        if "value" in choice
    ]
    return [
        *(("sidecar.setMode", {"modeId": mode}) for mode in modes),
        *(("sidecar.setConfigOption", {"configId": name, "value": value}) for name, value in options),
    ]


@every_agent
async def test_cancel(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """While its model thinks, and while a command runs: the turn ends, and the next prompt works. What is left after 5 s ends with the agent."""
    async with a_scene(kind, tmp_path, workspace, model) as (product, session):
        await _cancelled(product, session, model, {"wait": True})
        again = await ended(product, session, {"say": "hello"})
        assert again["turn"] == 2
        started = workspace / "started"
        step = kind.run(f"echo $$ >> {started}; sleep 300 & echo $! >> {started}; wait")
        running = await _cancelled(product, session, model, step, started)
        assert not await until_gone(running, HANGS), "a command goes on after the stop"
        agents_table.note(kind.tool, "cancel", "yes")
        await ended(product, session, {"say": "hello"})


async def _cancelled(
    product: Product, session: Any, model: ModelServer, step: Step, command: Path | None = None
) -> set[int]:
    """`command`: a file that the step's command writes when it runs, and names. Cancels when its user sees it, or was asked.
    Its processes, before the cancel."""
    model.asked.clear()
    argument = {"sessionId": session["sessionId"], "prompt": script(step)}
    started: Any = await product.execute("sidecar.prompt", argument)
    assert await asyncio.to_thread(model.asked.wait, 60)
    running: set[int] = set()
    if command is not None:
        await until_written(command, 2, 60)
        running = _of_command(str(command))
        await product.wait_for(
            lambda: (
                product.questions or any(u.get("sessionUpdate") == "tool_call" for _, u in product.updates)
            )
        )
    await product.execute("sidecar.cancel", {"sessionId": session["sessionId"]})
    await product.wait_for(lambda: any(turn["turn"] == started["turn"] for turn in product.turns))
    assert product.turns[-1]["stopReason"] == "cancelled"
    return running


def _of_command(words: str) -> set[int]:
    """The processes with `words` in their command line, and those below. A sandbox gives them other numbers than we see, so they cannot say."""
    parents: dict[int, int] = {}
    found: set[int] = set()
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdigit():
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                if words in (folder / "cmdline").read_text():
                    found.add(int(folder.name))
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    assert len(found) > 1, found
    return found


@every_agent
async def test_a_conversation_is_taken_up_again(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """After the editor, the sidecar and the agent have ended: its model is told what was said before."""
    async with a_scene(kind, tmp_path, workspace, model) as (product, session):
        await ended(product, session, {"say": "the password is swordfish"})
    async with a_scene(kind, tmp_path, workspace, model, session=False) as (product, _):
        loaded: Any = await product.tried("sidecar.loadSession", {"sessionId": session["sessionId"]})
        assert "error" not in loaded, loaded
        model.requests.clear()
        await ended(product, session, {"say": "hello again"})
        remembers = "the password is swordfish" in json.dumps(model.requests)
        cell = "yes" if remembers else "partly: listed and shown, but the agent starts a new conversation"
        agents_table.note(kind.tool, "load", cell)
