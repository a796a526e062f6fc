"""Which sidecars a process that no sidecar started talks to, file by file; and what the server keeps for each of its clients."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from sidecar.bridge import folder
from sidecar.bridge.calling import Calling
from sidecar.bridge.client import Client, Failed, Unreachable
from sidecar.bridge.several import Several
from tests.bridge.serving import Serving, serving
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no bridge on Windows yet")


class Windows:
    """Running sidecars by name; what each is asked, they say."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.runtime = base / "run"
        self.runtime.mkdir(mode=0o700)
        self.several = Several({"XDG_RUNTIME_DIR": str(self.runtime)})

    def start(self, stack: ExitStack, name: str, *roots: str, has_open: str = "") -> Serving:
        async def who(params: Mapping[str, Any]) -> object:
            return name

        async def is_open(params: Mapping[str, Any]) -> object:
            return {"open": params["path"] == str(self.base / has_open)}

        for root in roots:
            (self.base / root).mkdir(parents=True, exist_ok=True)
        methods = {"who": who, "isOpen": is_open} if has_open != "older" else {"who": who}
        return stack.enter_context(serving(self.runtime, methods, [str(self.base / root) for root in roots]))

    async def of_file(self, path: str) -> str | None:
        return await self._who(await self.several.for_file(str(self.base / path)))

    async def of_folder(self, path: str, *, within: bool = False) -> str | None:
        return await self._who(await self.several.for_folder(str(self.base / path), within=within))

    async def _who(self, sidecar: Calling | None) -> str | None:
        return None if sidecar is None else await sidecar.call("who", {})


@pytest.fixture
def windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Windows:
    for name in ("SYSTEM", "SHORT"):
        monkeypatch.setattr(folder, name, str(tmp_path / "nothing"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return Windows(tmp_path)


async def test_who_has_the_file_open_or_else_the_innermost_folder(windows: Windows) -> None:
    with ExitStack() as stack:
        assert await windows.of_file("p/f") is None
        windows.start(stack, "outer", "p", has_open="p/q/open")
        windows.start(stack, "older", "p", has_open="older")
        windows.start(stack, "inner", "p/q")
        windows.start(stack, "aside", "pp")
        assert await windows.of_file("p/q/f") == "inner"
        assert await windows.of_file("p/q/open") == "outer"
        assert await windows.of_file("p/f") == "older", "the newest among equals"
        assert await windows.of_file("pp/x/y") == "aside"
        assert await windows.of_file("other/f") is None
        (windows.base / "link").symlink_to(windows.base / "p" / "q")
        assert await windows.of_file("link/open") == "outer"
        assert await windows.of_folder("p/q/r") == "inner"
        assert await windows.of_folder("p/q") == "inner"
        assert await windows.of_folder(".") is None
        assert await windows.of_folder(".", within=True) == "aside", "the newest of those in it"
        assert await windows.of_folder("p", within=True) == "older", "one that contains it comes first"


async def test_sidecars_come_and_go(windows: Windows) -> None:
    with ExitStack() as outer:
        windows.start(outer, "first", "p")
        assert await windows.of_file("p/f") == "first"
        with ExitStack() as inner:
            windows.start(inner, "second", "p")
            assert await windows.of_file("p/f") == "second"
        assert await windows.of_file("p/f") == "first"
    assert await windows.of_file("p/f") is None


async def test_one_that_lives_and_does_not_answer_is_not_passed_over(
    windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its files would be changed on the disk, behind the editor's back."""

    def busy(entry: object) -> Client:
        raise Unreachable("it did not answer in time")

    with ExitStack() as stack:
        windows.start(stack, "busy", "p")
        monkeypatch.setattr(Client, "connect", busy)
        with pytest.raises(ConnectionError, match="busy"):
            await windows.of_file("p/f")
    assert await windows.of_file("p/f") is None


def test_each_client_has_methods_of_its_own_until_it_hangs_up(tmp_path: Path) -> None:
    told: list[str] = []

    class Own:
        def __init__(self) -> None:
            self.number = len(told)
            told.append("here")

        def methods(self) -> dict[str, Any]:
            async def number(params: Mapping[str, Any]) -> object:
                return self.number

            return {"number": number}

        def gone(self) -> None:
            told[self.number] = "gone"

    tmp_path.chmod(0o700)
    with serving(tmp_path, each=lambda: [Own()]) as server:
        first, second = Client.connect(server.entry), Client.connect(server.entry)
        assert {first.call("number"), second.call("number")} == {0, 1}
        assert first.call("echo", {"a": 1}) == {"a": 1}
        mine: int = first.call("number")
        first.close()
        eventually(lambda: bool(told[mine] == "gone"), "it is told that the client is gone")
        assert told.count("here") == 1
        with pytest.raises(Failed):
            second.call("nothing")
        second.close()
