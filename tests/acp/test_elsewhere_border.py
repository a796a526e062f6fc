"""The border of an agent that runs elsewhere: every field with a path or a URI, in both directions."""

from __future__ import annotations

import asyncio
import copy
import os
from typing import Any, Self

import pytest

from sidecar.acp.elsewhere.border import Mapped
from sidecar.acp.elsewhere.folders import Folders
from sidecar.config import Transport
from sidecar.core.refusal import Kind, Refusal
from sidecar.workspace.ports.ports import AgentFailed, SessionRequest
from tests.acp.side import READ, WRITE, Side

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the paths are POSIX paths")

BY = Transport(("ssh", "host", "--"), {"/w": "/p"}, shell=True)
OUTSIDE = (-32002, "path_outside_workspace")


class Elsewhere(Side):
    def __init__(self) -> None:
        super().__init__(border=Mapped("fake", BY, Folders([("/w", "/p"), ("/x", "/other")])))

    async def __aenter__(self) -> Self:
        await self.ready(
            {"loadSession": True, "sessionCapabilities": {"list": {}, "additionalDirectories": {}}}
        )
        await self.open(cwd="/p/sub", additional_directories=("/other", "/nowhere"))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.agent.close()

    async def prompted(self, blocks: list[Any]) -> list[Any]:
        """The prompt as the agent gets it; the turn goes on."""
        self.turn = asyncio.ensure_future(self.agent.prompt("a1", blocks))
        sent = await self.wire.until(lambda message: message.get("method") == "session/prompt")
        return sent["params"]["prompt"]

    async def told(self, update: dict[str, Any]) -> Any:
        """The update as the workspace gets it."""
        count = len(self.workspace.updates)
        self.wire.notify("session/update", {"sessionId": "a1", "update": update})
        await self.workspace.until(lambda: len(self.workspace.updates) > count)
        return self.workspace.updates[-1][1]


async def test_a_session_is_opened_in_its_folders() -> None:
    async with Elsewhere() as side:
        (opened,) = (message for message in side.wire.sent if message.get("method") == "session/new")
        assert opened["params"]["cwd"] == "/w/sub"
        assert opened["params"]["additionalDirectories"] == ["/x"], "what is not mapped is not told"


async def test_a_folder_that_is_not_mapped() -> None:
    async with Elsewhere() as side:
        with pytest.raises(AgentFailed) as raised:
            await side.agent.new_session(SessionRequest("S2", "fake", "/q"))
    assert raised.value.message == (
        "fake runs elsewhere (ssh host --), and no folder there stands for /q (/w stands for /p, /x stands for /other)."
        ' Say in the settings where it is there: "agents": {"fake": {"transport": {"folders": {"/folder/there": "/q"}}}}.'
    )


# method · params · what the workspace got, or code and kind
REQUESTS: list[tuple[str, dict[str, Any], object]] = [
    (READ, {"path": "/w/f"}, ("read", "/p/f", None, None)),
    (READ, {"path": "/w/a/../f"}, ("read", "/p/f", None, None)),
    (WRITE, {"path": "/w/f", "content": "/w/f"}, ("write", "/p/f", "/w/f")),
    (READ, {"path": "/p/f"}, OUTSIDE),
    (READ, {"path": "/w/../p/f"}, OUTSIDE),
    (READ, {"path": "/w2/f"}, OUTSIDE),
    (WRITE, {"path": "/etc/passwd", "content": "x"}, OUTSIDE),
    (READ, {"path": "/w/" + "f" * 4096}, OUTSIDE),
    (READ, {"path": "/w/f\0"}, OUTSIDE),
    (READ, {"path": "w/f"}, (-32602, "bad_path")),
    (READ, {"path": "file:///w/f"}, (-32602, "bad_path")),
    (READ, {"path": 5}, (-32602, "bad_path")),
    (READ, {"path": "/w/f", "_meta": {"path": "/etc/passwd"}}, ("read", "/p/f", None, None)),
    ("terminal/create", {"command": "ls", "cwd": "/p"}, OUTSIDE),
    ("terminal/create", {"command": "ls", "cwd": "/w/../etc"}, OUTSIDE),
]


@pytest.mark.parametrize(("method", "params", "expected"), REQUESTS, ids=lambda value: str(value)[:60])
async def test_requests(method: str, params: dict[str, Any], expected: tuple[Any, ...]) -> None:
    async with Elsewhere() as side:
        side.workspace.files["/p/f"] = "text"
        side.wire.request(1, method, {"sessionId": "a1", **params})
        answer = await side.wire.answered(1)
        if isinstance(expected[0], int):
            error = answer["error"]
            assert (error["code"], error["data"]["errorKind"]) == expected
            assert side.workspace.log == []
            if expected == OUTSIDE:
                assert "transport, folders" in error["message"] or "of that name is /w" in error["message"]
        else:
            assert side.workspace.log[-1] == expected
        assert all(ticket.released for ticket in side.workspace.tickets)


async def test_an_error_names_the_path_there() -> None:
    async with Elsewhere() as side:
        side.wire.request(1, READ, {"sessionId": "a1", "path": "/w/none"})
        assert (await side.wire.answered(1))["error"]["data"]["uri"] == "/w/none"
        side.workspace.refusal = Refusal(Kind.BINARY, "Not text: /p/b", {"path": "/p/b"})
        side.wire.request(2, READ, {"sessionId": "a1", "path": "/w/b"})
        error = (await side.wire.answered(2))["error"]
        assert (error["message"], error["data"]["path"]) == ("Not text: /w/b", "/w/b")


def link(uri: str) -> dict[str, Any]:
    return {"type": "resource_link", "name": "n", "uri": uri}


def embedded(uri: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "text": "see file:///w/f"}}


# of the agent's URIs · ours
URIS = [
    ("file:///w/a%20b", "file:///p/a%20b"),
    ("file:///w/a#L1-L3", "file:///p/a#L1-L3"),
    ("FILE://localhost/w/%C3%BC", "file:///p/%C3%BC"),
    ("file:///w/%2E%2E/etc/passwd", "remote:///w/%2E%2E/etc/passwd"),
    ("file:///etc/passwd", "remote:///etc/passwd"),
    ("file://other/w/a", "remote://other/w/a"),
    ("file:///w/a%2Fb", "remote:///w/a%2Fb"),
    ("https://w/a", "https://w/a"),
    ("untitled:1", "untitled:1"),
]


@pytest.mark.parametrize(("there", "here"), URIS)
async def test_uris_in_updates(there: str, here: str) -> None:
    async with Elsewhere() as side:
        chunk = {"sessionUpdate": "agent_message_chunk", "content": link(there)}
        assert (await side.told(chunk))["content"] == link(here)
        kept = {"sessionUpdate": "compaction_update", "compactionId": "c", "summary": [link(there), "odd"]}
        assert (await side.told(kept))["summary"] == [link(here), "odd"]
        call = {
            "sessionUpdate": "tool_call",
            "toolCallId": "c",
            "content": [{"type": "content", "content": embedded(there)}],
        }
        assert (await side.told(call))["content"] == [{"type": "content", "content": embedded(here)}]


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("file:///p/a%20b", "file:///w/a%20b"),
        ("file:///p/a#L1-L3", "file:///w/a#L1-L3"),
        ("file:///home/me/a", "local:///home/me/a"),
        ("untitled:Untitled-1", "untitled:Untitled-1"),
    ],
)
async def test_uris_in_prompts(here: str, there: str) -> None:
    blocks = [link(here), embedded(here), {"type": "text", "text": here}]
    kept = copy.deepcopy(blocks)
    async with Elsewhere() as side:
        assert await side.prompted(blocks) == [link(there), embedded(there), blocks[2]]
        assert blocks == kept, "ours are not changed"


def a_call(diff: str, place: str) -> dict[str, Any]:
    return {
        "toolCallId": "c",
        "title": "/w/f",
        "locations": [{"path": place, "line": 3}, "odd", {"path": 5}],
        "content": [{"type": "diff", "path": diff, "oldText": "/w/f", "newText": "b"}, None],
        "rawInput": {"path": "/w/f"},
    }


async def test_tool_calls_and_questions() -> None:
    async with Elsewhere() as side:
        update = await side.told({"sessionUpdate": "tool_call", **a_call("/w/f", "/etc/passwd")})
        assert update == {"sessionUpdate": "tool_call", **a_call("/p/f", "remote:/etc/passwd")}
        relative = await side.told({"sessionUpdate": "tool_call_update", **a_call("src/f", "/w/../p/f")})
        assert relative == {"sessionUpdate": "tool_call_update", **a_call("src/f", "remote:/w/../p/f")}
        side.workspace.choose = lambda question: "y"
        await side.prompted([])
        options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
        side.wire.request(
            1,
            "session/request_permission",
            {"sessionId": "a1", "toolCall": a_call("/w/f", "/p/f"), "options": options},
        )
        await side.wire.answered(1)
        assert side.workspace.questions[-1].details["paths"] == ["/p/f", "remote:/p/f"]


LONG = "/w/" + "a/" * 200 + "f"
MANY = 2000
COSTLY = [
    ("locations", {"path": "/w/f"}, {"path": "/p/f"}, {"path": "remote:/w/f"}),
    ("locations", {"path": LONG + "/"}, {"path": "/p" + LONG[2:]}, {"path": f"remote:{LONG}/"}),
    ("content", link("file:///w/%41"), link("file:///p/A"), link("remote:///w/%41")),
]


@pytest.mark.parametrize(("field", "item", "first", "last"), COSTLY, ids=["short", "long", "uri"])
async def test_only_so_much_of_a_message_is_looked_at(
    field: str, item: dict[str, Any], first: object, last: object
) -> None:
    """What is left over names nothing here; the next message is looked at again."""
    wrap = (lambda one: {"type": "content", "content": one}) if field == "content" else copy.copy
    update = {"sessionUpdate": "tool_call", "toolCallId": "c", field: [wrap(item) for _ in range(MANY)]}
    async with Elsewhere() as side:
        for _ in range(2):
            found = (await side.told(update))[field]
            assert (len(found), found[0], found[-1]) == (MANY, wrap(first), wrap(last))
            mapped = sum(one == wrap(first) for one in found)
            assert 10 < mapped < MANY


@pytest.mark.parametrize("path", ["/w/" + "a/" * 300, "/w/" + "f" * 4094, "/w/" + "f" * 10**6])
async def test_paths_that_take_too_long(path: str) -> None:
    async with Elsewhere() as side:
        found = await side.told(
            {"sessionUpdate": "tool_call", "toolCallId": "c", "locations": [{"path": path}]}
        )
        assert found["locations"] == [{"path": f"remote:{path}"}]


async def test_the_list_of_sessions() -> None:
    rows = [
        {"sessionId": "1", "cwd": "/w/sub/", "title": "a", "additionalDirectories": ["/x", "/etc"]},
        {"sessionId": "2", "cwd": "/etc"},
        {"sessionId": "3"},
        "odd",
    ]
    async with Elsewhere() as side:
        for asked, sent in (("/p/sub", {"cwd": "/w/sub"}), ("/q", {}), (None, {})):
            side.wire.sent.clear()
            task = asyncio.ensure_future(side.agent.list_sessions(asked, None))
            request = await side.wire.reply("session/list", {"sessions": rows, "nextCursor": "n"})
            assert request["params"] == sent
            assert await task == {
                "sessions": [
                    {"sessionId": "1", "cwd": "/p/sub", "title": "a", "additionalDirectories": ["/other"]}
                ],
                "nextCursor": "n",
            }


async def test_an_earlier_conversation_is_taken_up_there() -> None:
    async with Elsewhere() as side:
        task = asyncio.ensure_future(side.agent.load_session(SessionRequest("S2", "fake", "/p"), "a2"))
        request = await side.wire.reply("session/load", {})
        assert (request["params"]["sessionId"], request["params"]["cwd"]) == ("a2", "/w")
        await task
