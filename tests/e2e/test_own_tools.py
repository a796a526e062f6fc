"""Agents' own Read and Edit led to ours, with the real agents and a scripted model: `make agents`. What the agent does must be as if its tools
worked on the text of the moment; that none of it is written to the user's folders is asserted, too."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.agents_table import Table
from tests.e2e.model_server import ModelServer
from tests.e2e.third_party import (
    BASE,
    CHOSEN,
    KINDS,
    LIVE,
    PLUGINS,
    Kind,
    Step,
    a_scene,
    allow,
    delegated,
    ended,
    held,
    results,
    undone,
)
from tests.gates.product import Product

pytestmark = pytest.mark.agents
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PDF = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\0\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"


def hashes(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@dataclass
class Scene:
    """A file that is open, and an agent."""

    kind: Kind
    workspace: Path
    model: ModelServer
    product: Product
    session: Any
    table: Table

    def yes(self, *columns: str, how: str = "yes") -> None:
        for column in columns:
            self.table.note(self.kind.tool, column, how)

    @property
    def path(self) -> Path:
        return self.workspace / "a.txt"

    @property
    def text(self) -> str:
        return self.product.document(self.path).text

    def type(self, text: str) -> None:
        self.product.type(self.path, text, at=0)

    def read(self) -> Step:
        return self.kind.read(self.path)

    def edit(self, old: str, new: str, **more: Any) -> Step:
        return self.kind.edit(self.path, old, new) | more

    async def turn(self, *steps: Step) -> None:
        await ended(self.product, self.session, *steps)

    async def typed_in_turn(self, text: str, *steps: Step) -> None:
        """The user types at the step that is held."""
        turn = await held(self.product, self.session, self.model, lambda: self.type(text), *steps)
        assert turn.get("stopReason") == "end_turn", turn

    async def edited_at_once(self, read: Step, edit: Callable[[str, str], Step]) -> None:
        """Three edits in one answer of the model's, one of them of a line that only the buffer has. All are made, in any order; each is one undo step."""
        before = hashes(self.workspace)
        news = {"typed later": "TYPED LATER", "two": "TWO", "six": "SIX"}
        together = [edit(old, new) for old, new in news.items()]
        await self.typed_in_turn("typed later\n", {**read, "hold": True}, {"together": together})
        unsaved = wanted = "typed later\n" + BASE
        for old, new in news.items():
            wanted = wanted.replace(old, new)
        assert self.text == wanted
        assert hashes(self.workspace) == before, "the user has unsaved text, so nothing is saved"
        seen: list[int] = []
        for _ in news:
            seen.append(sum(new in self.text for new in news.values()))
            self.product.undo(self.path)
        assert (seen, self.text) == ([3, 2, 1], unsaved)

    def said(self) -> list[str]:
        """What the user was told of the agent's own tools."""
        return [words for words in self.product.boxes if "when you sent the prompt" in words]


@pytest.fixture(params=LIVE)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture(params=PLUGINS)
def loads_ours(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@asynccontextmanager
async def a_file(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, table: Table, **options: Any
) -> AsyncIterator[Scene]:
    (workspace / "a.txt").write_text(BASE)
    async with a_scene(kind, tmp_path, workspace, model, **options) as (product, session):
        product.open(workspace / "a.txt")
        yield Scene(kind, workspace, model, product, session, table)


async def test_its_own_tools_work_on_the_text_of_the_moment(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """Typed after the prompt: read; edited, twice in one turn; nothing on the disk; one undo step each; rejected, and it goes on."""
    async with a_file(kind, tmp_path, workspace, model, agents_table) as it:
        before = hashes(workspace)
        await it.typed_in_turn(
            "typed later\n",
            {**it.read(), "hold": True},
            it.edit("typed later", "TYPED LATER"),
            it.edit("six", "SIX"),
        )
        assert "typed later" in results(model)
        wanted = "TYPED LATER\n" + BASE
        assert it.text == wanted.replace("six", "SIX")
        assert hashes(workspace) == before, "the user has unsaved text, so nothing is saved"
        assert undone(it.product, it.path, wanted) == 1
        await it.product.execute("sidecar.reject", {"all": True})
        assert it.text == "typed later\n" + BASE
        await it.turn(it.read(), it.edit("five", "FIVE"))
        assert it.text == "typed later\n" + BASE.replace("five", "FIVE")
        assert it.said() == []
        it.yes("typed after the prompt", "second edit", "after a rejection")


async def test_edits_of_one_file_in_one_answer(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    async with a_file(kind, tmp_path, workspace, model, agents_table) as it:
        await it.edited_at_once(it.read(), it.edit)
        assert it.said() == []
        it.yes("parallel edits")


async def test_what_is_no_text_and_what_is_denied(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    (workspace / "b.png").write_bytes(PNG)
    (workspace / "c.pdf").write_bytes(PDF)
    (workspace / ".env").write_text("KEY=secret\n")
    async with a_file(kind, tmp_path, workspace, model, agents_table) as it:
        await it.turn(kind.read(workspace / "b.png"))
        assert "image" in str(model.requests[-1]["messages"])
        assert base64.b64encode(PNG).decode()[:40] in str(model.requests[-1]["messages"])

        await it.turn(kind.read(workspace / "c.pdf"))
        if base64.b64encode(PDF).decode()[:40] in str(model.requests[-1]["messages"]):
            it.yes("PDFs")
        elif "%PDF-1.4" in results(model):
            it.yes("PDFs", how="no: it treats them as text, as without the sidecar")
        else:
            assert "is not text" in results(model) or "binary" in results(model), results(model)[-500:]
            it.yes("PDFs", how="no: it says that the file is not text")

        allow, it.product.answer = it.product.answer, lambda text, titles: None
        await it.turn(kind.read(workspace / ".env"))
        assert "KEY=secret" not in results(model)
        it.product.answer = allow
        assert it.said() == []
        it.yes("pictures", "denied files")


async def test_a_sub_agent(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """opencode never passes a sub-agent's questions on, with its own tools just the same: it waits for ever."""
    if kind.delegate is None:
        agents_table.note(kind.tool, "sub-agent", "no: it has none")
        return
    async with a_file(kind, tmp_path, workspace, model, agents_table, env=kind.asks_nothing) as it:
        it.type("typed\n")
        prompt = delegated(kind, it.read(), it.edit("typed", "TYPED"))
        turn: Any = await it.product.prompt(it.session, prompt)
        assert turn.get("stopReason") == "end_turn", turn
        await it.product.wait_for(lambda: it.text == "TYPED\n" + BASE)
        it.yes("sub-agent")


async def test_an_edit_in_a_line_that_the_user_is_in_is_made_where_the_text_stands(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """It replaces text, not lines: what the user typed beside it stays, and there is nothing to decide."""
    async with a_file(kind, tmp_path, workspace, model, agents_table) as it:
        await it.typed_in_turn("unsaved ", it.read(), it.edit("one", "ONE", hold=True))
        assert it.text == "unsaved " + BASE.replace("one", "ONE")
        it.yes("in your line")


async def test_switched_off_its_own_tools_stay_its_own(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """What is typed after the prompt is read only if it is saved in time, and stays."""
    async with a_file(kind, tmp_path, workspace, model, agents_table, ownTools="off") as it:
        await it.typed_in_turn("typed later\n", {**it.read(), "hold": True}, it.edit("six", "SIX"))
        await it.product.wait_for(lambda: it.text == "typed later\n" + BASE.replace("six", "SIX"))
        assert it.said() == []
        it.yes("switched off")


async def test_switched_off_what_the_user_saves_while_it_asks_stays(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """It has read the file, and writes it back after the answer, unless it sees that the file is another by then. What it reads next has what was typed."""
    saved: list[str] = []
    async with a_file(kind, tmp_path, workspace, model, agents_table, ownTools="off") as it:

        def answer(text: str, titles: Sequence[str]) -> str | None:
            if not saved:
                it.type("saved while it asks\n")
                assert it.product.save(it.path)
                saved.append(it.path.read_text())
            return allow(text, titles)

        it.product.answer = answer
        await it.turn(it.read(), it.edit("six", "SIX"))
        if not saved:
            pytest.skip(f"{kind.tool} asks nothing")
        mine = "saved while it asks\n" + BASE
        assert saved[0] == mine
        made = mine.replace("six", "SIX")
        await it.product.wait_for(lambda: it.text in (mine, made))
        text = it.text
        await it.turn(it.read(), it.edit("five", "FIVE"))
        assert "saved while it asks" in results(model)
        await it.product.wait_for(lambda: it.text == text.replace("five", "FIVE"))


def tool_processes(command: bytes) -> list[int]:
    """Every `acp-sidecar` with this command below this process."""
    parents: dict[int, int] = {}
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if command in words:
            found.append(int(folder.name))
    return [pid for pid in found if os.getpid() in _above(pid, parents)]


def _above(pid: int, parents: dict[int, int]) -> list[int]:
    above: list[int] = []
    while pid := parents.get(pid, 0):
        above.append(pid)
    return above


def kill_tools(command: bytes = b"mcp") -> None:
    """The agent may start others."""
    pids = tool_processes(command)
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


async def test_its_tool_process_is_killed(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """It starts another one. Claude may not have noticed the death yet, and then the one call fails."""
    async with a_file(kind, tmp_path, workspace, model, agents_table) as it:

        def meanwhile() -> None:
            it.type("typed later\n")
            kill_tools()

        steps = it.read(), it.edit("six", "SIX", hold=True)
        turn = await held(it.product, it.session, model, meanwhile, *steps)
        assert turn.get("stopReason") == "end_turn", turn
        made = "typed later\n" + BASE.replace("six", "SIX")
        failed = "typed later\n" + BASE
        assert it.text in ((made, failed) if kind.name == "claude-agent-acp" else (made,))
        await it.turn(it.read(), it.edit("typed later", "TYPED LATER"))
        assert it.text in (
            made.replace("typed later", "TYPED LATER"),
            failed.replace("typed later", "TYPED LATER"),
        )
        assert it.said() == []
        it.yes("tools killed", how="yes: it starts them again")


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the sidecar's socket is; its path has to be short."""
    with tempfile.TemporaryDirectory(prefix="m") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


async def cut_off(it: Scene, runtime: Path) -> None:
    """The sidecar's socket goes away between a read and an edit, while its user types."""

    def meanwhile() -> None:
        it.type("typed later\n")
        for socket in runtime.rglob("*.sock"):
            socket.unlink()
        kill_tools()

    steps = it.read(), it.edit("six", "SIX", hold=True)
    turn = await held(it.product, it.session, it.model, meanwhile, *steps)
    assert turn.get("stopReason") == "end_turn", turn


async def test_the_sidecar_cannot_be_reached_any_more(
    loads_ours: Kind,
    runtime: Path,
    tmp_path: Path,
    workspace: Path,
    model: ModelServer,
    agents_table: Table,
) -> None:
    """A plugin works on the disk then, as it would without us. The user is told once."""
    kind = loads_ours
    async with a_file(kind, tmp_path, workspace, model, agents_table) as it:
        await cut_off(it, runtime)
        await it.product.wait_for(lambda: it.text == "typed later\n" + BASE.replace("six", "SIX"))
        new = workspace / "new.txt"
        await it.turn(it.read(), it.edit("five", "FIVE"), kind.edit(new, "", "made\n"))
        assert "SIX" in results(model)
        await it.product.wait_for(lambda: "FIVE" in it.text)
        assert it.text == "typed later\n" + BASE.replace("six", "SIX").replace("five", "FIVE")
        assert new.read_text() == "made\n"
        assert len(it.said()) == 1, it.product.boxes


async def test_claude_is_told_that_the_sidecar_cannot_be_reached(
    runtime: Path, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """Its own Read and Edit are not there any more in this conversation; its commands are, and nothing is lost."""
    kind = KINDS["claude-agent-acp"]
    async with a_file(kind, tmp_path, workspace, model, agents_table) as it:
        await cut_off(it, runtime)
        await it.turn(it.read(), kind.run(f"sed -i s/five/FIVE/ {it.path}"))
        assert "is not running any more" in results(model)
        await it.product.wait_for(lambda: it.text == "typed later\n" + BASE.replace("five", "FIVE"))


async def test_a_conversation_that_is_continued_after_a_restart(
    loads_ours: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """A plugin is there for every conversation."""
    kind = loads_ours
    async with a_file(kind, tmp_path, workspace, model, agents_table) as it:
        await it.turn({"say": "hello"})
        before = it.session
    async with a_file(kind, tmp_path, workspace, model, agents_table, session=False) as it:
        loaded: Any = await it.product.tried("sidecar.loadSession", {"sessionId": before["sessionId"]})
        assert "error" not in loaded, loaded
        it.type("typed\n")
        it.session = before
        await it.turn(it.read(), it.edit("typed", "TYPED"))
        assert it.text == "TYPED\n" + BASE
        assert it.said() == []


PI_ONLY = pytest.mark.skipif("pi-acp" not in CHOSEN, reason="not chosen")


@PI_ONLY
async def test_pi_starts_with_a_read_of_its_users_own(
    tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    """Two extensions with a tool of one name, and pi does not start. The user's stands; edit is led to us."""
    kind = KINDS["pi-acp"]
    folder = tmp_path / "home" / kind.settings / "extensions"
    folder.mkdir(parents=True)
    (folder / "mine.js").write_text(
        'export default (pi) => pi.registerTool({ name: "read", label: "read", description: "mine", parameters: { type: "object" }, '
        'execute: async () => ({ content: [{ type: "text", text: "my own read" }] }) })'
    )
    async with a_file(kind, tmp_path, workspace, model, agents_table) as it:
        it.type("typed\n")
        await it.turn(it.read(), it.edit("typed", "TYPED"))
        assert "my own read" in results(model), results(model)
        assert it.text == "TYPED\n" + BASE


@PI_ONLY
async def test_pi_gets_no_tool_that_its_user_switched_off(
    tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    kind = KINDS["pi-acp"]

    def environment(home: Path, url: str) -> dict[str, str]:
        made = kind.environment(home, url)
        settings = home / kind.settings / "settings.json"
        settings.write_text(json.dumps(json.loads(settings.read_text()) | {"defaultTools": ["read"]}))
        return made

    async with a_file(replace(kind, environment=environment), tmp_path, workspace, model, agents_table) as it:
        it.type("typed\n")
        await it.turn(it.read())
        assert "typed" in results(model)
        assert [tool["function"]["name"] for tool in model.requests[-1]["tools"]] == ["read"]
