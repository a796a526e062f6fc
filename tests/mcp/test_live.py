"""`acp-sidecar mcp` from end to end: started as an agent starts it, with the official client, against the real sidecar."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sidecar.bridge.finding import find
from tests.gates.product import a_product
from tests.mcp.live import a_live_agent, offered

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="there is no bridge on Windows yet"),
]
BASE = "one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    return tmp_path / "ws"


async def test_what_was_typed_after_the_prompt_is_read_and_edited(folder: Path, tmp_path: Path) -> None:
    """The whole of the promise: the text of the moment is read, a line that only the buffer has is edited, what is typed meanwhile stays, the
    edit is under review and one undo step, and the disk is as it was."""
    path = folder / "a.txt"
    path.write_text(BASE)
    async with a_live_agent(folder, tmp_path / "traces") as live:
        live.product.open(path)
        live.product.type(path, "typed after the prompt\n", at=0)
        assert await live.call("Read", file_path=str(path)) == "typed after the prompt\n" + BASE
        assert await live.call("Read", file_path="a.txt", offset=2, limit=2) == "one\ntwo\n"
        await live.call("Edit", file_path=str(path), old_string="typed after", new_string="TYPED AFTER")
        wanted = "TYPED AFTER the prompt\n" + BASE
        assert live.product.document(path).text == wanted
        await live.call("Edit", file_path=str(path), old_string="four", new_string="FOUR")
        assert live.product.document(path).text == wanted.replace("four", "FOUR")
        assert path.read_text() == BASE, "the user's file is dirty, so nothing is saved"
        changes = await live.told("Changes")
        assert [(c["before"].strip(), c["after"].strip(), c["firstLine"]) for c in changes["changes"]] == [
            ("typed after", "TYPED AFTER", 1),
            ("four", "FOUR", 5),
        ]
        live.product.undo(path)
        assert live.product.document(path).text == wanted
        documents = await live.told("OpenDocuments")
        assert documents == {"documents": [{"path": str(path), "unsaved": True, "lines": 7}]}


async def raw(server: Mapping[str, Any], token: object, tool: str, **arguments: object) -> Any:
    """A call over the bridge by another process of this user, which knows everything but, perhaps, the token."""
    env = {pair["name"]: pair["value"] for pair in server["env"]}

    def call() -> Any:
        found = find("/", os.environ | env)
        assert found is not None
        with found:
            return found.call("tool", {"token": token, "name": tool, "arguments": arguments})

    return await asyncio.to_thread(call)


async def test_a_token_speaks_for_its_session_only(folder: Path, tmp_path: Path) -> None:
    """Another process without it is refused, so is one with a made-up token, and one whose session was closed."""
    (folder / "a.txt").write_text(BASE)
    traces = tmp_path / "traces"
    async with a_live_agent(folder, traces) as live:
        environment = {pair["name"]: pair["value"] for pair in live.server["env"]}
        own = environment["ACP_SIDECAR_TOKEN"]
        assert "five" in str(await raw(live.server, own, "Read", file_path="a.txt"))
        for token in ("", "0" * 64, own[:-1], None, [own], {"token": own}):
            assert set(await raw(live.server, token, "Read", file_path="a.txt")) == {"refused"}
        second = await live.product.session("one")
        servers = offered(traces / "one")
        tokens = [{p["name"]: p["value"] for p in server["env"]}["ACP_SIDECAR_TOKEN"] for server in servers]
        assert len(set(tokens)) == len(tokens) == 2, "each session has its own"
        assert "five" in str(await raw(live.server, tokens[1], "Read", file_path="a.txt"))
        # it has no turn: nothing is written for it, though the first session's turn runs
        assert (await raw(live.server, tokens[1], "Write", file_path="b.txt", content="x"))["isError"]
        assert not (folder / "b.txt").exists()
        await live.product.execute("sidecar.closeSession", {"sessionId": second["sessionId"]})
        assert set(await raw(live.server, tokens[1], "Read", file_path="a.txt")) == {"refused"}
        assert await live.call("Read", file_path="a.txt") == BASE


async def test_outside_the_sessions_folders_nothing_is_read_or_written(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret\n")
    (folder / "link").symlink_to(secret)
    (folder / ".env").write_text("KEY=1\n")
    async with a_live_agent(folder, tmp_path / "traces") as live:
        for path in (str(secret), "../secret.txt", str(folder / "link")):
            assert "secret\n" not in await live.refused("Read", file_path=path)
            await live.refused("Write", file_path=path, content="x")
            await live.refused("Edit", file_path=path, old_string="secret", new_string="x")
            await live.refused("ReadBytes", file_path=path)
            await live.refused("Append", file_path=path, content="x")
        await live.refused("ListFolder", path="..")
        await live.refused("Glob", pattern="*", path=str(tmp_path))
        await live.refused("Search", pattern="secret", path="..")
        assert "KEY" not in await live.refused("Read", file_path=".env"), (
            "the user is asked, and dismisses it"
        )
        found = await live.told("Search", pattern="KEY|secret")
        assert found["matches"] == []
        assert found["needPermission"].startswith("1 ")
        assert secret.read_text() == "secret\n"


async def test_calls_take_effect_in_the_order_in_which_they_come(folder: Path, tmp_path: Path) -> None:
    path = folder / "a.txt"
    path.write_text("0\n")
    async with a_live_agent(folder, tmp_path / "traces") as live:
        live.product.open(path)
        edits = [
            live.client.call_tool("Append", {"file_path": "a.txt", "content": f"{number}\n"})
            for number in range(1, 9)
        ]
        answers = await asyncio.gather(*edits, live.client.call_tool("Read", {"file_path": "a.txt"}))
        assert [answer.is_error for answer in answers] == [False] * 9
        assert live.product.document(path).text == "".join(f"{number}\n" for number in range(9))
        assert answers[-1].content[0].text == live.product.document(path).text


async def test_no_server_of_ours_when_it_is_switched_off(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    async with a_product(folder, {"one": {}}, traces=tmp_path / "traces", ownTools="off") as product:
        assert "error" not in await product.session("one")
        assert offered(tmp_path / "traces" / "one") == []
