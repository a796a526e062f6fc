"""Buffers without a file in both Neovims: agents get their text with a prompt, read it while it is typed, and change it in place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e import scripted, sidecar
from tests.e2e.nvim import Neovim
from tests.support import agents
from tests.support.waiting import eventually

TEXT = "one\ntwo\nthree\n"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return tmp_path / "trace"


@pytest.fixture
def sitting(nvim: Neovim, workspace: Path, trace: Path) -> Neovim:
    """Somebody who has just started Neovim, and typed."""
    nvim.setup(sidecar.COMMAND, scripted.settings(trace=trace), workspace)
    nvim.type(TEXT.rstrip("\n"))
    return nvim


def prompt(nvim: Neovim, *steps: dict[str, Any]) -> None:
    nvim.command("sidecar.prompt", {"prompt": scripted.steps(*steps), "wait": True})


def unnamed(nvim: Neovim) -> list[str]:
    documents = nvim.command("sidecar.status")["documents"]
    return [row["uri"] for row in documents if row["uri"].startswith("untitled:")]


def went_along(trace: Path) -> str:
    """The last prompt, as the agent got it."""
    prompts = [one for one in agents.received(trace) if one.get("method") == "session/prompt"]
    return str(prompts[-1]["params"]["prompt"])


def results(trace: Path) -> list[Any]:
    return [one.get("result") for one in agents.received(trace) if "method" not in one]


def listed(nvim: Neovim) -> list[tuple[str, str, str]]:
    rows = nvim.command("sidecar.listChanges", {})
    return [(row["uri"], row["oldText"], row["newText"]) for row in rows]


def test_it_goes_along_and_is_read_and_changed(sitting: Neovim, trace: Path) -> None:
    nvim = sitting
    (name,) = unnamed(nvim)
    changed = TEXT.replace("two", "TWO")
    prompt(nvim, scripted.read(name), scripted.write(name, changed))
    assert "one\\ntwo\\nthree\\n" in went_along(trace)
    read, write = results(trace)[-2:]
    assert read["content"] == TEXT
    assert write["_meta"] == {"saved": False, "note": "it has no file yet; the user saves it"}
    assert nvim.text() == changed
    hints = "return vim.tbl_map(function(one) return one.lnum end, vim.diagnostic.get(0))"
    eventually(
        lambda: nvim.lua(hints) == [1], "the change has a hint", otherwise=lambda: str(nvim.lua(hints))
    )
    assert nvim.lua("return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())") == [""], (
        "no buffer of that name was made"
    )
    assert listed(nvim) == [(name, "two", "TWO")]
    nvim.undo()
    assert nvim.text() == TEXT
    nvim.keys("<C-r>")
    assert nvim.text() == changed
    eventually(lambda: listed(nvim) == [(name, "two", "TWO")], "it is under review again")
    nvim.ex("AcpNext")
    eventually(
        lambda: nvim.lua("return vim.api.nvim_win_get_cursor(0)[1]") == 2, "the cursor is at the change"
    )
    nvim.ex("AcpReject")
    nvim.wait_for_text(TEXT)
    assert listed(nvim) == []


def test_what_is_typed_while_the_agent_works_is_read_and_kept(
    sitting: Neovim, trace: Path, tmp_path: Path
) -> None:
    nvim = sitting
    (name,) = unnamed(nvim)
    typed, written = scripted.Pause(tmp_path / "typed"), scripted.Pause(tmp_path / "written")
    steps = [typed.step, scripted.read(name), written.step, scripted.write(name, f"zero {TEXT}four\n")]
    nvim.command("sidecar.prompt", {"prompt": scripted.steps(*steps)})
    with typed:
        nvim.keys("ggIzero <Esc>")
        unnamed(nvim)  # a command tells what was typed first
    with written:
        nvim.keys("2GA, mine")  # they stay in insert mode
    changed = "zero one\ntwo, mine\nthree\nfour\n"
    nvim.wait_for_text(changed)
    nvim.keys(" too<Esc>")
    assert nvim.text() == changed.replace("mine", "mine too")
    assert {"content": f"zero {TEXT}"} in results(trace)


@pytest.mark.parametrize("naming", ["write", "file", "dos"])
def test_its_review_goes_on_when_it_gets_a_name(sitting: Neovim, workspace: Path, naming: str) -> None:
    nvim = sitting
    if naming == "dos":
        nvim.ex("set fileformat=dos")
        nvim.keys("x")
        nvim.undo()
    (name,) = unnamed(nvim)
    prompt(nvim, scripted.read(name), scripted.write(name, TEXT.replace("two", "TWO")))
    file = workspace / "new.txt"
    nvim.ex(f"file {file} | write" if naming == "file" else f"write {file}")
    assert file.read_text() == TEXT.replace("two", "TWO")
    eventually(
        lambda: listed(nvim) == [(file.as_uri(), "two", "TWO")],
        "it goes on there",
        otherwise=lambda: str(listed(nvim)),
    )
    assert unnamed(nvim) == []
    rows = "return #vim.tbl_filter(function(one) return one.lnum == 1 end, vim.diagnostic.get(0))"
    eventually(
        lambda: nvim.lua(rows) == 1, "one hint is there, the file's", otherwise=lambda: str(nvim.lua(rows))
    )
    prompt(nvim, scripted.read(file), scripted.write(file, TEXT.replace("two", "TWO").replace("one", "ONE")))
    assert nvim.text() == file.read_text() == "ONE\nTWO\nthree\n"
    nvim.ex("AcpRejectAll")
    nvim.wait_for_text(TEXT)
    eventually(lambda: file.read_text() == TEXT, "it is taken back on the disk")


def test_only_those_in_which_something_is(sitting: Neovim, trace: Path) -> None:
    """Neither an empty one, nor a help page, nor one that was thrown away; and another one of that kind is another one."""
    nvim = sitting
    (first,) = unnamed(nvim)
    nvim.ex("enew! | bwipeout! 1" if first.endswith("-1") else "enew!")
    eventually(lambda: unnamed(nvim) == [], "it is gone")
    nvim.ex("help | enew")
    prompt(nvim, {"say": "nothing"})
    assert unnamed(nvim) == []
    nvim.type("another")
    eventually(lambda: len(unnamed(nvim)) == 1, "it is told of")
    assert unnamed(nvim) != [first]
    prompt(nvim, {"say": "something"})
    assert "another" in went_along(trace)


def test_they_are_told_of_again_when_the_sidecar_is(sitting: Neovim) -> None:
    nvim = sitting
    before = unnamed(nvim)
    nvim.ex("AcpStop")
    eventually(lambda: not nvim.lua("return Acp.running()"), "it has ended")
    assert unnamed(nvim) == before
