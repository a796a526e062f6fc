"""Files that are not UTF-8, which the user has told VS Code by `files.encoding`: open or not, they are read, changed and saved as what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e import scripted
from tests.vscode.window import Window

TEXT = "grün\nzwölf\n"
WRITTEN = "grün\nzwölf\ngrößer\n"


@pytest.fixture
def latin(window: Window) -> Path:
    window.configure({"files.encoding": "iso88591"})
    return window.file("a.txt", TEXT.encode("latin-1"))


def written(window: Window, file: Path) -> list[dict[str, object]]:
    """What an agent is answered that reads the file and writes it."""
    known = len(window.answers())
    window.prompt(scripted.steps(scripted.read(file), scripted.write(file, WRITTEN)))
    return window.answers()[known:]


@pytest.mark.parametrize("where", ["open", "behind another tab", "closed"])
def test_a_clean_file_is_read_changed_and_saved(window: Window, latin: Path, where: str) -> None:
    if where != "closed":
        window.open(latin)
    if where == "behind another tab":
        window.open(window.file("b.txt", "mine\n"))
    answers = written(window, latin)
    assert [answer.get("error") for answer in answers] == [None] * len(answers), answers
    assert {"content": TEXT} in [answer["result"] for answer in answers]
    assert latin.read_bytes() == WRITTEN.encode("latin-1")
    window.command("sidecar.reject", {"all": True})
    assert latin.read_bytes() == TEXT.encode("latin-1")
    assert window.changes() == []


def test_what_the_user_has_not_saved_stays_unsaved(window: Window, latin: Path) -> None:
    window.open(latin)
    window.type("süß ")
    known = len(window.answers())
    window.prompt(scripted.steps(scripted.read(latin), scripted.write(latin, f"süß {WRITTEN}")))
    assert {"content": f"süß {TEXT}"} in [answer.get("result") for answer in window.answers()[known:]]
    assert window.text(latin) == f"süß {WRITTEN}"
    assert latin.read_bytes() == TEXT.encode("latin-1")
    window.until_dirty(latin, True)
    window.save()
    window.until_disk(latin, f"süß {WRITTEN}", encoding="latin-1")
