"""When the files that matter are looked at: told by the editor or the system, else twice a second; and what is told twice counts once.

In virtual time, over the fake editor; the system's watcher is played."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from sidecar.workspace.behind import disk_watch
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_behind import BASE, CHANGED, Turn, listed, opened, play


class Watch:
    """`disk.watching.FolderWatch` as a test wants it."""

    made: list[Watch]
    why_not = ""

    def __init__(
        self,
        roots: Sequence[str],
        folders: Iterable[str],
        changed: Callable[[], None],
        ended: Callable[[], None],
    ) -> None:
        self.folders = [*roots, *folders]
        self.running = True
        self.changed, self.ended = changed, ended
        self.made.append(self)

    def covers(self, path: str) -> bool:
        return self.running and any(path.startswith(folder + "/") for folder in self.folders)

    def covers_folders(self, folders: Iterable[str]) -> bool:
        return set(folders) <= set(self.folders)

    def stop(self) -> None:
        self.running = False

    def join(self, seconds: float) -> bool:
        return True


@pytest.fixture
def watches() -> list[Watch]:
    Watch.made = []
    return Watch.made


async def _by_nobody(bench: Bench) -> None: ...


async def _by_the_system(bench: Bench) -> None:
    await asyncio.sleep(0.05)
    Watch.made[-1].changed()


async def _by_the_editor(bench: Bench) -> None:
    await asyncio.sleep(0.05)
    bench.workspace.files_changed([bench.uri("a.txt")])


async def _by_all_of_them(bench: Bench) -> None:
    for _ in range(3):
        await _by_the_system(bench)
        await _by_the_editor(bench)


Tell = Callable[[Bench], object]
# who tells · whether the system watches · whether the editor does · a moment after the write, the document says it
TELLS: dict[str, tuple[Tell, bool, bool, bool]] = {
    "nobody watches": (_by_nobody, False, False, True),
    "the system watches and says nothing": (_by_nobody, True, False, False),
    "the system says it": (_by_the_system, True, False, True),
    "the editor watches and says nothing": (_by_nobody, False, True, False),
    "the editor says it": (_by_the_editor, False, True, True),
    "both, several times": (_by_all_of_them, True, False, True),
}
MOMENT = 1.2
"""Seconds of virtual time: more than two looks of those that come by themselves, less than one where somebody watches."""


@pytest.mark.parametrize("named", [True, False], ids=["named", "not named"])
@pytest.mark.parametrize(("tell", "system", "editors", "at_once"), TELLS.values(), ids=TELLS)
def test_looked_at_when_it_is_told(
    tmp_path: Path, watches: list[Watch], tell: Tell, system: bool, editors: bool, at_once: bool, named: bool
) -> None:
    seen: list[bool] = []

    async def before(bench: Bench, editor: FakeEditor) -> None:
        await opened(bench, editor)
        bench.workspace.watched_by_editor(lambda: editors)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", *(["a.txt"] if named else []))
        await asyncio.sleep(4)
        turn.puts("a.txt", CHANGED)
        await tell(turn.bench)
        await asyncio.sleep(MOMENT)
        seen.append(editor.text("a.txt") == CHANGED)
        await asyncio.sleep(disk_watch.WATCHED_SECONDS)
        seen.append(editor.text("a.txt") == CHANGED)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert [(n, o.strip(), t.strip()) for n, o, t in listed(bench)] == [("a.txt", "four", "FOUR")]

    journal = MemoryJournal()
    play(
        tmp_path, VSCODE, script, before=before, after=after, journal=journal, watch=Watch if system else None
    )
    assert seen == [at_once, True], "and in the end it is seen whoever says what"
    assert len(journal.entries) == 1, "once, however often it was told"
    assert len(watches) == int(system and not editors), "one who tells is enough"
    assert not any(watch.running for watch in watches), "only while an agent works"


@pytest.mark.parametrize("first", ["disk", "us"])
def test_written_told_and_sent_counts_once(tmp_path: Path, watches: list[Watch], first: str) -> None:
    """opencode and kilo: a tool call names the file, the disk is written, and the same text is sent; two watchers say so as well."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt")
        if first == "disk":
            turn.puts("a.txt", CHANGED)
            await _by_all_of_them(turn.bench)
        sent = asyncio.create_task(turn.bench.write("a.txt", CHANGED, session=turn.session))
        await _by_all_of_them(turn.bench)
        await sent
        turn.puts("a.txt", CHANGED)
        await _by_all_of_them(turn.bench)
        turn.says("edit", "a.txt", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == CHANGED
        assert [(n, o.strip(), t.strip()) for n, o, t in listed(bench)] == [("a.txt", "four", "FOUR")]

    journal = MemoryJournal()
    editor = play(tmp_path, VSCODE, script, before=opened, after=after, journal=journal, watch=Watch)
    assert [(c["added"], c["removed"]) for c in editor.outcomes[0]["changes"]] == [(1, 1)]
    done = [journal.entries[i] for i, state in journal.states.items() if state == "done"]
    assert [(e.before, e.after) for e in done if e.before != e.after] == [(BASE, CHANGED)]


def test_a_watch_that_fails_leaves_the_looks(tmp_path: Path, watches: list[Watch]) -> None:
    seen: list[bool] = []

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt")
        (watch,) = watches
        watch.running, watch.why_not = False, "no watches left"
        watch.ended()
        turn.puts("a.txt", CHANGED)
        await asyncio.sleep(MOMENT)
        seen.append(editor.text("a.txt") == CHANGED)

    play(tmp_path, VSCODE, script, before=opened, watch=Watch)
    assert seen == [True]


def test_what_is_watched(tmp_path: Path, watches: list[Watch]) -> None:
    """Every folder of the session with files in it, none that is left out."""
    more = tmp_path / "more"
    for name in ("w/src/deep/a.txt", "w/node_modules/x/b.txt", "w/.cache/c.txt", "more/lib/d.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text("x")

    async def script(turn: Turn, editor: FakeEditor) -> None: ...

    play(tmp_path / "w", VSCODE, script, watch=Watch, also=[str(more)])
    (watch,) = watches
    beneath = {Path(folder).relative_to(tmp_path).as_posix() for folder in watch.folders}
    assert beneath == {"w", "w/src/deep", "more", "more/lib"}
