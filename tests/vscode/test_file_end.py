"""An agent's edits at a file's end, and their rejection: what the agent is told is what was done (tests/support/file_ends.py)."""

from __future__ import annotations

from tests.e2e import scripted
from tests.support.file_ends import FILE_ENDS, failures, files_of
from tests.vscode.window import Window


def test_written_and_rejected(window: Window) -> None:
    """One turn writes all of them."""
    files = files_of(window.folder)
    for path in files.values():
        window.open(path)
    turn = [
        step
        for name, path in files.items()
        for step in (scripted.read(path), scripted.write(path, FILE_ENDS[name][1]))
    ]
    window.prompt(scripted.steps(*turn))
    answers = dict(zip(files, window.answers()[1::2], strict=True))

    def written(name: str) -> tuple[str, str]:
        return "ok" if "result" in answers[name] else str(answers[name]), window.text(files[name]) or ""

    def rejected(name: str) -> str:
        window.command("sidecar.reject", {"uri": files[name].as_uri()})
        return window.text(files[name]) or ""

    assert failures(written, rejected, str) == {}
