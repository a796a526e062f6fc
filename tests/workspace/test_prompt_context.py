"""What a prompt refers to goes along with it: selections with unsaved text, other programs' diagnostics; never our hints, never secrets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sidecar.core.text import Position, Range
from sidecar.core.uri import from_path
from sidecar.lsp import ext
from sidecar.lsp.commands import parse
from sidecar.workspace.ports import prompt_context
from sidecar.workspace.ports.prompt_context import Mention, Problem
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run
from tests.support.workspaces import a_workspace
from tests.workspace.test_prompting import ASKED, Listening

SECOND = Range(Position(1, 0), Position(2, 0))


def heard(folder: Path, *context: Mention, embedded: bool = True) -> tuple[list[Any], list[str]]:
    """The blocks behind the prompt, and what the user was told."""
    agents = Listening(embedded=embedded)

    async def main() -> FakeEditor:
        fake = FakeEditor(VSCODE, folder)
        async with a_workspace(folder, fake, agents, {"beforePrompt": "nothing"}) as bench:
            fake.attach(bench.workspace.apply)
            for name in ("a.txt", ".env"):
                (folder / name).write_text("one\ntwo\nthree\n")
                fake.opens(name)
            fake.replaces("a.txt", "two", "zwei")
            await bench.workspace.start_prompt(bench.session, [ASKED], context)[2]
        return fake

    editor = run(main())
    (blocks,) = agents.heard
    assert blocks[0] == ASKED
    return list(blocks[1:]), [words for _, words in editor.shown]


def of(folder: Path, name: str, selection: Range | None = None, *problems: Problem) -> Mention:
    return Mention(from_path(str(folder / name)), selection, problems)


@pytest.mark.parametrize(
    ("selection", "fragment", "text"),
    [
        (SECOND, "L2", "zwei\n"),
        (Range(Position(0, 1), Position(1, 2)), "L1-L2", "ne\nzw"),
        (Range(Position(2, 0), Position(99, 9)), "L3-L100", "three\n"),
        (Range(Position(1, 3), Position(1, 1)), "L2", ""),
    ],
)
def test_a_selection(tmp_path: Path, selection: Range, fragment: str, text: str) -> None:
    ((block,), told) = heard(tmp_path, of(tmp_path, "a.txt", selection))
    assert block["type"] == "resource"
    assert block["resource"]["uri"].endswith(f"a.txt#{fragment}")
    assert block["resource"]["text"] == text
    assert not told


def test_an_agent_that_takes_no_resources(tmp_path: Path) -> None:
    ((block,), _) = heard(tmp_path, of(tmp_path, "a.txt", SECOND), embedded=False)
    assert block["type"] == "text"
    assert "a.txt, line 2:\n```\nzwei\n" in block["text"]


def test_diagnostics_the_gravest_first_without_our_own(tmp_path: Path) -> None:
    at = Position(1, 4)
    problems = (
        Problem(at, "unused", 2, "linter", "F401"),
        Problem(at, "Changed by an agent", 4, prompt_context.OWN_SOURCE),
        Problem(Position(0, 0), "no such\n  name", 1, "types"),
    )
    ((block,), _) = heard(tmp_path, of(tmp_path, "a.txt", None, *problems))
    lines = block["text"].splitlines()
    assert lines[0].startswith(f"Diagnostics of {tmp_path / 'a.txt'}")
    assert lines[1:] == ["1:1 error [types]: no such name", "2:5 warning [linter F401]: unused"]


def test_many_diagnostics_are_bounded(tmp_path: Path) -> None:
    problems = [Problem(Position(n, 0), "x" * 5000, 1) for n in range(500)]
    ((block,), _) = heard(tmp_path, of(tmp_path, "a.txt", None, *problems))
    assert len(block["text"].splitlines()) == 1 + prompt_context.MAX_PROBLEMS
    assert len(block["text"]) < 200_000


@pytest.mark.parametrize("name", [".env", "/etc/hostname", "not-open.txt"])
def test_what_does_not_go_along_is_told(tmp_path: Path, name: str) -> None:
    blocks, told = heard(tmp_path, of(tmp_path, name, SECOND))
    assert blocks == []
    assert len([words for words in told if "could not be sent with the prompt" in words]) == 1


def test_the_command_s_shape() -> None:
    start, end = {"line": 1, "character": 0}, {"line": 2, "character": 0}
    item: dict[str, Any] = {"uri": "file:///w/a.txt", "range": {"start": start, "end": end}}
    item["diagnostics"] = [{"range": item["range"], "message": "m", "code": 7, "tags": [1]}]
    given = parse(ext.PROMPT, ext.Prompt, {"prompt": "p", "context": [item]})
    problem = Problem(Position(1, 0), "m", None, "", "7")
    assert ext.mention(given.context[0]) == Mention(from_path("/w/a.txt"), SECOND, (problem,))
    start["line"] = -1
    with pytest.raises(Exception, match="context"):
        parse(ext.PROMPT, ext.Prompt, {"prompt": "p", "context": [item]})
