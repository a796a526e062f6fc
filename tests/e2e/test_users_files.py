"""What a session leaves in the user's own folders and in their repository, with the real agents and a scripted model: `make agents`. An agent writes there
by itself (conversations, logs, caches); so it is compared with a session in which it has none of the sidecar's tools."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.agents_table import Table
from tests.e2e.model_server import ModelServer
from tests.e2e.test_own_tools import hashes
from tests.e2e.test_third_party import commit, edits, every_agent
from tests.e2e.third_party import BASE, BRIEF, Kind, a_scene, ended, put

pytestmark = pytest.mark.agents


def shape(path: str) -> str:
    """A file's name without what is another one each time: numbers, dates, ids; and without the companions of databases."""
    return re.sub(r"-(wal|shm|journal)$", "", re.sub(r"\w*\d\w*(-\w+)*", "#", path))


def touched(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    """Made, changed or removed."""
    names = before.keys() | after.keys()
    return {shape(name) for name in names if before.get(name) != after.get(name)}


async def a_session(
    kind: Kind, folder: Path, workspace: Path, model: ModelServer, own_tools: str
) -> tuple[set[str], set[str]]:
    """Reads, edits, runs a command, and is reverted. What is touched then, in the user's folders and in the repository."""
    home = folder / "home"
    home.mkdir(parents=True)
    put(home, kind.users)
    kind.environment(home, model.url)
    before = hashes(home), hashes(workspace)
    model.requests.clear()
    path = workspace / "a.txt"
    async with a_scene(kind, folder, workspace, model, ownTools=own_tools) as (product, session):
        product.open(path)
        turn = await ended(product, session, *edits(kind, path, "six", "SIX"), kind.run(f"cat {path}"))
        assert "SIX" in product.document(path).text
        argument = {"sessionId": session["sessionId"], "turn": turn["turn"]}
        reverted: Any = await product.tried("sidecar.revertTurn", argument)
        assert reverted.get("impossible") == [], reverted
    told = [str(body) for body in model.requests]
    assert not kind.users or any(BRIEF.strip() in words for words in told), (
        "it has its user's own instructions"
    )
    return touched(before[0], hashes(home)), touched(before[1], hashes(workspace))


@every_agent
async def test_nothing_of_the_users_is_written(
    kind: Kind, tmp_path: Path, workspace: Path, model: ModelServer, agents_table: Table
) -> None:
    (workspace / "a.txt").write_text(BASE)
    commit(workspace)
    shutil.copytree(workspace, tmp_path / "before")
    without = await a_session(kind, tmp_path / "without", workspace, model, "off")
    shutil.rmtree(workspace)
    shutil.copytree(tmp_path / "before", workspace)
    own_tools = "live" if kind.ours is None else "all"
    with_ours = await a_session(kind, tmp_path / "with", workspace, model, own_tools)
    more = (with_ours[0] - without[0]) | (with_ours[1] - without[1])
    assert {name for name in more if not name.startswith(("cache/", *kind.leaves))} == set()
    left = with_ours[0] | with_ours[1]
    assert {name for name in left if "sidecar" in name and not name.startswith("cache/")} == set()
    assert "a.txt" not in with_ours[1]
    for name in kind.users:  # Kilo changes its settings by itself
        one, other = (tmp_path / which / "home" / name for which in ("with", "without"))
        assert one.read_bytes() == other.read_bytes(), name
    more = {name for name in more if not name.startswith(kind.leaves)} if kind.leaves else more
    cell = "yes: except for a log about the sidecar's tools in its cache" if more else "yes"
    agents_table.note(kind.tool, "your files", cell)
