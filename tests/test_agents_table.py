"""The table of docs/agents.md: written as it was seen, and a run fails when a cell of it got worse or was not seen any more."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.acp.own_tools.table import own_tools_of
from sidecar.config import AgentCommand
from tests.e2e.agents_table import COLUMNS, GIVEN, LIVE, Table, parse, publish, render
from tests.e2e.third_party import KINDS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "agents.md"
ROW = {"cancel": "yes", "load": "partly: listed", "terminals": "no: by itself"}


def table(**cells: str) -> Table:
    return Table({"some-agent": {**ROW, **cells}}, {"some-agent": "1.2"})


def test_the_page_says_what_was_seen(tmp_path: Path) -> None:
    page = tmp_path / "agents.md"
    assert publish(page, table()) == []
    read = parse(page.read_text())
    assert (read.rows, read.versions) == (table().rows, table().versions)
    assert render(read) == page.read_text()


@pytest.mark.parametrize(
    ("now", "words"),
    [
        ({}, []),
        ({"load": "yes", "terminals": "partly: some", "survives typing": "no"}, []),
        ({"load": "partly: otherwise"}, []),
        ({"cancel": "partly: late"}, ["some-agent, cancel: was “yes”, is “partly: late”"]),
        ({"load": "no"}, ["some-agent, load: was “partly: listed”, is “no”"]),
    ],
)
def test_worse(tmp_path: Path, now: dict[str, str], words: list[str]) -> None:
    page = tmp_path / "agents.md"
    publish(page, table())
    before = page.read_text()
    assert publish(page, table(**now)) == words
    assert (page.read_text() == before) == (bool(words) or not now)


def test_what_was_not_seen_is_worse(tmp_path: Path) -> None:
    page = tmp_path / "agents.md"
    publish(page, table())
    found = publish(page, Table({"other": {"cancel": "yes"}}))
    assert [words.partition(":")[0] for words in found] == [
        "some-agent, terminals",
        "some-agent, cancel",
        "some-agent, load",
    ]
    assert publish(page, Table({"other": {"cancel": "yes"}}), only=["other"]) == []
    assert set(parse(page.read_text()).rows) == {"some-agent", "other"}


def test_the_worst_of_a_run_counts() -> None:
    seen = Table()
    for cell in ("yes", "no: once", "yes"):
        seen.note("a", "cancel", cell)
    assert seen.rows["a"]["cancel"] == "no: once"


def test_the_page_of_the_project() -> None:
    read = parse(PAGE.read_text())
    assert render(read) == PAGE.read_text(), "written by make agents, not by hand"
    for agent, row in read.rows.items():
        name = KINDS[agent].name
        tools = own_tools_of(name, AgentCommand(f"/x/{name}"))
        live = tools.live or tools.connected is not None
        given = KINDS[agent].ours is not None
        assert set(row) == {*COLUMNS, *(LIVE if live else ()), *(GIVEN if given else ())}, (
            "every cell was seen"
        )


@pytest.mark.parametrize(
    ("columns", "title"), [(LIVE, "## Live tools"), (GIVEN, "## The sidecar's tools in addition to its own")]
)
def test_live_and_given_tools_are_tables_of_their_own(
    tmp_path: Path, columns: dict[str, str], title: str
) -> None:
    page = tmp_path / "agents.md"
    live = table(**dict.fromkeys(columns, "yes"))
    live.rows["other"] = {"cancel": "yes"}
    assert publish(page, live) == []
    head, tail = page.read_text().split(title)
    assert "| other |" in head
    assert "| other |" not in tail
    assert parse(page.read_text()).rows == live.rows
    assert publish(page, table()) == [
        f"some-agent, {c}: was “yes”, was not seen in this run" for c in columns
    ] + ["other, cancel: was “yes”, was not seen in this run"]
