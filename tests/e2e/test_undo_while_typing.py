"""Undo around an agent's edit that comes while somebody is typing: one step takes the edit back, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e import scripted, sidecar
from tests.e2e.nvim import Neovim
from tests.support.waiting import eventually

BASE = "".join(f"line {number}\n" for number in range(1, 9))
WHERE = {"another line": ("line 6", "LINE 6"), "a line more": ("line 6\n", "line 6\nand more\n")}


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("typed_after", ["", "bbb"])
def test_neovim(nvim: Neovim, workspace: Path, where: str, typed_after: str) -> None:
    file = workspace / "a.txt"
    file.write_text(BASE)
    nvim.setup(sidecar.COMMAND, scripted.settings(afterWrite="never"), workspace)
    nvim.open(file)
    nvim.wait_until_ready()

    def edited(text: str) -> str:
        return text.replace(*WHERE[where])

    def listed() -> list[str]:
        return [change["newText"] for change in nvim.command("sidecar.listChanges", {"uri": file.as_uri()})]

    typed, both = BASE.replace("line 2", "line 2aaa"), BASE.replace("line 2", "line 2aaa" + typed_after)
    nvim.keys("2GAaaa")
    steps = scripted.steps(scripted.read(file), scripted.write(file, edited(typed)))
    nvim.command("sidecar.prompt", {"prompt": steps, "wait": True})
    nvim.wait_for_text(edited(typed))
    assert nvim.mode() == "i", "still typing"
    under_review = listed()
    assert under_review
    nvim.keys(typed_after + "<Esc>")
    assert nvim.text() == edited(both)
    texts = [nvim.text()]
    while texts[-1] != BASE:
        assert len(texts) < 5, texts
        nvim.undo()
        texts.append(nvim.text())
    made = ["LINE 6" in text or "and more" in text for text in texts]
    at = made.index(False)
    assert not any(made[at:]), "taken back once"
    assert texts[at - 1] == edited(texts[at]), "and nothing else in that step"
    eventually(lambda: listed() == [], "what was undone is not under review")
    for text in reversed(texts[:-1]):
        nvim.keys("<C-r>")
        assert nvim.text() == text
    eventually(
        lambda: listed() == under_review,
        "under review again",
        within=10,
        otherwise=lambda: str(texts) + str(listed()),
    )
