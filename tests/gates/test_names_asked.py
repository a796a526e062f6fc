"""names_asked: what programs run is not created, and what holds secrets is not read, before the user was asked; by any spelling."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.core.test_guarded_names import CREATED, ORDINARY, READ
from tests.gates.product import a_product
from tests.gates.size import size

pytestmark = pytest.mark.timeout(200)


INSIDE = "what nobody may see"
"""No part of any name, in any letters: answers repeat names."""


def spellings(name: str) -> list[str]:
    """Other ways to say the same path."""
    every = [
        name,
        f"./{name}",
        f"sub/../{name}",
        f"sub//{name}",
        f"sub/{name.upper()}",
        f"sub/{name[0]}\u200d{name[1:]}",
    ]
    return every[: size(3, 6)]


async def table(folder: Path, planted: str | None = None) -> tuple[list[str], int]:
    """(what went unasked, or asked for nothing; how much was tried)"""
    (folder / "sub").mkdir()
    steps: list[dict[str, Any]] = []
    tried: list[tuple[str, str]] = []
    for name in READ:
        (folder / name).write_text(INSIDE)
        (folder / "sub" / name).write_text(INSIDE)
    for verb, names in (("read", READ), ("write", CREATED)):
        for name in [spelling for one in names for spelling in spellings(one)]:
            more = {"content": "x"} if verb == "write" else {}
            steps.append({verb: f"{folder}/{name}", **more, "as": f"{verb} {name}"})
            tried.append((verb, name))
    steps += [{"write": f"{folder}/sub/{name}", "content": "x"} for name in ORDINARY]
    steps += [{"say": {"answer": f"{verb} {name}"}} for verb, name in tried]
    async with a_product(
        folder, {"fake": {"turns": [steps]}}, planted=planted, scripts_in=folder.parent
    ) as product:
        session = await product.session("fake")
        outcome = await product.prompt(session)
        said, asked = product.said(session), len(product.questions)
    assert outcome.get("stopReason") == "end_turn", outcome
    wrong = ["a secret was read"] if INSIDE in said else []
    made = {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and path.read_text() == "x"
    }
    wrong += [f"{name} was created" for name in sorted(made - {f"sub/{name}" for name in ORDINARY})]
    wrong += [f"{name} was not created" for name in ORDINARY if f"sub/{name}" not in made]
    if asked != len(tried):
        wrong.append(f"{asked} questions for {len(tried)} requests")
    return wrong, len(tried)


async def test_nothing_goes_unasked(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    wrong, count = await table(folder)
    assert wrong == []
    record_property("requests", count)


async def test_the_gate_can_fail(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    wrong, _ = await table(folder, "lists_know_one_agent")
    assert "a secret was read" in wrong
    assert ".qwen/settings.json was created" in wrong
