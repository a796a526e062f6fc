"""GuestCaller: which sidecar a call is for, and what the agent is told when that does not work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from sidecar.mcp.guest_caller import GuestCaller, absolute

OK: dict[str, Any] = {"content": [{"type": "text", "text": "ok"}]}


class FakeSidecar:
    def __init__(self, *answers: object, visit: object = None) -> None:
        self._answers = list(answers)
        self._visit = {"token": "t"} if visit is None else visit
        self.visits = 0
        self.called: list[tuple[str, Any]] = []

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        if method == "visit":
            assert params == {"agent": "claude", "folder": "/w"}
            self.visits += 1
            answer = self._visit
        else:
            assert params["token"] == "t"
            self.called.append((params["name"], params["arguments"]))
            answer = self._answers.pop(0) if self._answers else OK
        if isinstance(answer, Exception):
            raise answer
        return answer


class FakeSidecars:
    def __init__(self, files: Mapping[str, FakeSidecar], folders: Mapping[str, FakeSidecar]) -> None:
        self._files = files
        self._folders = folders
        self.within: list[bool] = []

    async def for_file(self, path: str) -> FakeSidecar | None:
        return self._files.get(path)

    async def for_folder(self, path: str, *, within: bool) -> FakeSidecar | None:
        self.within.append(within)
        return self._folders.get(path)


class Scene:
    def __init__(self, **files: FakeSidecar) -> None:
        self.disk = FakeSidecar()
        self.folder = FakeSidecar()
        self.sidecars = FakeSidecars({f"/w/{name}": one for name, one in files.items()}, {"/w": self.folder})
        self.caller = GuestCaller("claude", "/w", self.sidecars, self.on_disk)

    async def on_disk(self) -> FakeSidecar:
        return self.disk

    async def __call__(self, name: str, **arguments: Any) -> str:
        answer = await self.caller.call(name, arguments)
        return "\n".join(block["text"] for block in answer["content"])


async def test_the_file_says_which() -> None:
    """The first one, of several; a call without a file is for the folder of the agent, or the one that it names."""
    a, b = FakeSidecar(), FakeSidecar()
    scene = Scene(a=a, b=b)
    await scene("Read", file_path="a")
    await scene("Read", file_path="/w/b", limit=1)
    await scene("EditMany", edits=[{"file_path": "b"}, {"file_path": "a"}])
    await scene("ReadMany", files=[{"file_path": "a", "offset": 2}])
    await scene("Read", file_path="c")
    assert a.called == [
        ("Read", {"file_path": "/w/a"}),
        ("ReadMany", {"files": [{"file_path": "/w/a", "offset": 2}]}),
    ]
    assert b.called == [
        ("Read", {"file_path": "/w/b", "limit": 1}),
        ("EditMany", {"edits": [{"file_path": "/w/b"}, {"file_path": "/w/a"}]}),
    ]
    assert scene.disk.called == [("Read", {"file_path": "/w/c"})]
    for name in ("Selection", "OpenDocuments", "Diagnostics", "Changes"):
        await scene(name)
    await scene("ListFolder")
    await scene("ListFolder", path="/elsewhere")
    assert [name for name, _ in scene.folder.called] == [
        *("Selection", "OpenDocuments", "Diagnostics", "Changes"),
        "ListFolder",
    ]
    assert scene.folder.called[-1] == ("ListFolder", {"path": "/w"})
    assert scene.disk.called[-1] == ("ListFolder", {"path": "/elsewhere"})
    assert scene.sidecars.within == [True, True, True, False, False, False]
    assert (a.visits, b.visits, scene.disk.visits, scene.folder.visits) == (1, 1, 1, 1)


NO_FILE: list[dict[str, Any]] = [
    {"file_path": 1},
    {"file_path": ""},
    {"edits": []},
    {"edits": [1]},
    {"edits": "x"},
    {"files": [{}]},
]


@pytest.mark.parametrize("arguments", NO_FILE)
async def test_what_names_no_file_is_for_the_folders_sidecar_to_refuse(arguments: dict[str, Any]) -> None:
    scene = Scene()
    await scene("EditMany", **arguments)
    assert scene.folder.called == [("EditMany", arguments)]


def test_absolute() -> None:
    given = {"path": "x", "file_path": "file:///a", "pattern": "y", "edits": [{"file_path": "../z"}, 3]}
    assert absolute(given, "/w") == {**given, "path": "/w/x", "edits": [{"file_path": "/w/../z"}, 3]}


async def test_a_sidecar_that_is_lost_is_looked_for_again() -> None:
    scene = Scene(a=FakeSidecar(ConnectionError("it hung up")))
    words = await scene("Edit", file_path="a")
    assert "it hung up" in words
    assert "not known whether" in words
    assert await scene("Read", file_path="a") == "ok"


async def test_a_session_that_was_closed_in_the_editor_is_opened_anew() -> None:
    a = FakeSidecar({"refused": "closed"})
    scene = Scene(a=a)
    assert await scene("Read", file_path="a") == "closed"
    assert await scene("Read", file_path="a") == "ok"
    assert a.visits == 2


@pytest.mark.parametrize(
    ("visit", "words"),
    [
        (ValueError("no such method"), "another version"),
        ({"refused": "no folder"}, "no folder"),
        (ConnectionError("gone"), "gone"),
    ],
)
async def test_where_it_may_not_come(visit: object, words: str) -> None:
    """It does not go to the disk behind the editor's back."""
    scene = Scene(a=FakeSidecar(visit=visit))
    assert words in await scene("Write", file_path="a", content="x")
    assert scene.disk.called == []


async def test_on_the_disk_it_says_why_nobody_is_asked() -> None:
    denied = {"isError": True, "structuredContent": {"errorKind": "denied_by_user"}, **OK}
    scene = Scene(a=FakeSidecar(denied))
    scene.disk = FakeSidecar(denied)
    assert await scene("Read", file_path="a") == "ok"
    assert "cannot be asked" in await scene("Read", file_path="b")
