"""Which editor serves which file of one session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sidecar.proxy.conversations import SessionFolders
from sidecar.proxy.routes import MOST, Routes


class Window:
    """A guest that says where it is."""

    def __init__(self, place: SessionFolders) -> None:
        self.place = place
        self.turns = 0

    def read(self, path: str, line: int | None, limit: int | None) -> Any:
        return self.place.cwd, path

    def turn_began(self) -> None:
        self.turns += 1

    async def turn_begins(self) -> None:
        self.turns += 1

    def turn_ends(self, reason: str) -> None:
        self.turns -= 1


class World:
    def __init__(self, base: Path, cwd: str, *folders: str, additional: str = "") -> None:
        """`folders`: those that editors have open."""
        self.windows: list[Window] = []
        self.base = base
        more = (str(base / additional),) if additional else ()
        opened = sorted((base / folder for folder in folders), key=lambda path: -len(path.parts))

        def make(place: SessionFolders) -> Any:
            self.windows.append(Window(place))
            return self.windows[-1]

        def innermost(path: str) -> str | None:
            return next((str(folder) for folder in opened if Path(path).is_relative_to(folder)), None)

        self.routes = Routes(make, SessionFolders(str(base / cwd), more), innermost)

    def where(self, path: str) -> str:
        found: Any = self.routes.read(str(self.base / path), None, None)
        return " ".join(str(Path(part).relative_to(self.base)) for part in found)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    for folder in ("ws/one/deep", "ws/two", "other", "ws/onetwo"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "ws" / "link").symlink_to(tmp_path / "ws" / "one" / "a")
    (tmp_path / "ws" / "out").symlink_to(tmp_path / "other" / "a")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("ws/a", "ws ws/a"),
        ("ws/one/a", "ws/one ws/one/a"),
        ("ws/one/deep/a", "ws/one/deep ws/one/deep/a"),
        ("ws/onetwo/a", "ws ws/onetwo/a"),
        ("ws/two/../one/a", "ws/one ws/one/a"),
        ("ws/link", "ws/one ws/one/a"),
        ("ws/out", "ws ws/out"),
        ("other/a", "ws other/a"),
        ("ws/one", "ws/one ws/one"),
        ("ws/one/new/folder/a", "ws/one ws/one/new/folder/a"),
    ],
)
def test_a_file_is_of_the_innermost_editor_in_the_sessions_folders(
    base: Path, path: str, wanted: str
) -> None:
    assert World(base, "ws", "ws/one", "ws/one/deep", "ws/two", "other").where(path) == wanted


def test_an_editor_around_the_session_is_where_it_is(base: Path) -> None:
    world = World(base, "ws/one", "ws")
    assert world.where("ws/one/a") == "ws/one ws/one/a"
    assert len(world.windows) == 1


def test_additional_folders_are_the_sessions(base: Path) -> None:
    assert World(base, "ws", "other", additional="other").where("other/a") == "other other/a"


async def test_each_has_the_turns_of_the_session(base: Path) -> None:
    world = World(base, "ws", "ws/one", "ws/two")
    await world.routes.turn_begins()
    world.where("ws/one/a")
    await world.routes.turn_begins()
    world.where("ws/two/a")
    assert [window.turns for window in world.windows] == [2, 2, 2]
    world.routes.turn_ends("end_turn")
    assert [window.turns for window in world.windows] == [1, 1, 1]


def test_there_is_a_bound(base: Path) -> None:
    folders = [f"ws/{number}" for number in range(MOST + 5)]
    for folder in folders:
        (base / folder).mkdir()
    world = World(base, "ws", *folders)
    assert [world.where(f"{folder}/a").split()[0] for folder in folders].count("ws") == 5
