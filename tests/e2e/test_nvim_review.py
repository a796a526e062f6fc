"""Review in both Neovims, with the sidecar and a scripted agent: commands, keys, conflicts, and hunks after a restart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import scripted, sidecar
from tests.e2e.conftest import NEOVIMS
from tests.e2e.nvim import Neovim
from tests.support.waiting import eventually

DISK = "".join(f"line {number}\n" for number in range(1, 13))
EDITED = DISK.replace("line 2\n", "LINE 2\nand more\n").replace("line 7\n", "").replace("line 11", "LINE 11")


@pytest.fixture
def file(workspace: Path) -> Path:
    path = workspace / "a.txt"
    path.write_text(DISK)
    return path


def sit_down(nvim: Neovim, file: Path, **more: Any) -> Neovim:
    nvim.setup(sidecar.COMMAND, scripted.settings(afterWrite="never", **more), file.parent)
    nvim.open(file)
    nvim.wait_until_ready()
    return nvim


def prompt(nvim: Neovim, *steps: dict[str, Any]) -> dict[str, Any]:
    """One turn to its end."""
    return dict(nvim.command("sidecar.prompt", {"prompt": scripted.steps(*steps), "wait": True}))


def changes(nvim: Neovim, file: Path) -> list[str]:
    return [change["newText"] for change in nvim.command("sidecar.listChanges", {"uri": file.as_uri()})]


def wait_for_changes(nvim: Neovim, file: Path, *texts: str) -> None:
    eventually(
        lambda: changes(nvim, file) == [*texts],
        f"under review: {texts}",
        otherwise=lambda: str(changes(nvim, file)),
    )


def line(nvim: Neovim) -> int:
    return int(nvim.lua("return vim.api.nvim_win_get_cursor(0)[1]"))


def goes(nvim: Neovim, how: Callable[[], None], to: int) -> None:
    how()
    eventually(lambda: line(nvim) == to, f"the cursor is in line {to}", otherwise=lambda: str(line(nvim)))


def test_by_command(nvim: Neovim, file: Path) -> None:
    sit_down(nvim, file)
    prompt(nvim, scripted.read(file), scripted.write(file, EDITED))
    nvim.wait_for_text(EDITED)
    wait_for_changes(nvim, file, "LINE 2\nand more", "", "LINE")
    nvim.keys("gg")
    for to in (2, 8, 11, 2):
        goes(nvim, lambda: nvim.ex("AcpNext"), to)
    for to in (11, 8):
        goes(nvim, lambda: nvim.ex("AcpPrevious"), to)

    nvim.ex("AcpReject")
    nvim.wait_for_text(EDITED.replace("line 8\n", "line 7\nline 8\n"))
    wait_for_changes(nvim, file, "LINE 2\nand more", "LINE")
    nvim.undo()
    nvim.wait_for_text(EDITED)
    nvim.ex("3 | AcpKeep")
    eventually(lambda: "LINE 2\nand more" not in changes(nvim, file), "the first is kept")
    nvim.ex("AcpRejectAll")
    nvim.wait_for_text(DISK.replace("line 2\n", "LINE 2\nand more\n"))
    wait_for_changes(nvim, file)
    assert file.read_text() == DISK


def test_no_key_is_taken_unless_it_is_asked_for(nvim: Neovim, file: Path) -> None:
    sit_down(nvim, file)
    for keys in ("]h", "[h", "<leader>hk", "<leader>hr", "<leader>hK", "<leader>hR"):
        assert nvim.lua("return vim.fn.maparg(..., 'n')", keys) == ""


def test_by_keys(nvim: Neovim, file: Path, workspace: Path) -> None:
    sit_down(nvim, file, keys=True)
    other = workspace / "b.txt"
    other.write_text("b\n")
    prompt(nvim, scripted.write(file, EDITED), scripted.write(other, "B\n"))
    nvim.wait_for_text(EDITED)
    wait_for_changes(nvim, file, "LINE 2\nand more", "", "LINE")
    goes(nvim, lambda: nvim.keys("gg]h"), 2)
    nvim.keys("\\hr")
    nvim.wait_for_text(EDITED.replace("LINE 2\nand more\n", "line 2\n"))
    wait_for_changes(nvim, file, "", "LINE")
    goes(nvim, lambda: nvim.keys("gg[h"), 10)
    nvim.keys("\\hk")
    eventually(lambda: changes(nvim, file) == [""], "the last is kept")
    nvim.keys("\\hR")
    nvim.wait_for_text(DISK.replace("line 11", "LINE 11"))
    assert changes(nvim, other) == ["B"], "another file's are its own"
    nvim.ex("AcpRejectAll!")
    eventually(lambda: changes(nvim, other) == [], "all files'")


def test_typing_on_the_agents_line_is_a_conflict_and_nothing_is_lost(nvim: Neovim, file: Path) -> None:
    sit_down(nvim, file)
    prompt(nvim, scripted.read(file))
    nvim.keys("2GAmine<Esc>")
    session = nvim.command("sidecar.status")["sessions"][0]["sessionId"]
    theirs = DISK.replace("line 2", "theirs").replace("line 9", "LINE 9")
    steps = scripted.steps(scripted.write(file, theirs))
    turn = nvim.command("sidecar.prompt", {"prompt": steps, "wait": True, "sessionId": session})
    assert turn["changes"] == []
    assert nvim.text() == DISK.replace("line 2", "line 2mine")
    eventually(lambda: "wanted to change" in nvim.messages(), "the user hears of it", otherwise=nvim.messages)
    nvim.ex("AcpMessages")
    eventually(lambda: "Your text stays" in nvim.messages(), "all of it", otherwise=nvim.messages)


def test_what_was_typed_before_the_server_was_there_is_no_obstacle(nvim: Neovim, file: Path) -> None:
    nvim.open(file)
    nvim.setup(sidecar.COMMAND, scripted.settings(), file.parent)
    nvim.keys("ggOtyped<Esc>")
    prompt(nvim, scripted.read(file), scripted.write(file, "typed\n" + EDITED))
    nvim.wait_for_text("typed\n" + EDITED)


@pytest.mark.parametrize("name", NEOVIMS)
def test_hunks_are_back_after_a_restart(start_nvim: Callable[[str], Neovim], file: Path, name: str) -> None:
    first = sit_down(start_nvim(name), file)
    prompt(first, scripted.read(file), scripted.write(file, EDITED))
    first.wait_for_text(EDITED)
    first.ex("silent write")
    wait_for_changes(first, file, "LINE 2\nand more", "", "LINE")
    first.close()

    second = sit_down(start_nvim(name), file)
    wait_for_changes(second, file, "LINE 2\nand more", "", "LINE")
    second.ex("2 | AcpReject")
    second.wait_for_text(EDITED.replace("LINE 2\nand more\n", "line 2\n"))
