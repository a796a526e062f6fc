"""Clients attached to a real sidecar over its real pipes: what they see and drive is what the editor has."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sidecar.core.uri import normalise, to_path
from tests.attach.attached import Client, an_editor, clients
from tests.proxy.talk import processes
from tests.support.waiting import eventually

pytestmark = processes


async def test_two_clients_and_the_editor_share_a_conversation(tmp_path: Path) -> None:
    """Each prompts once. Everybody has the same text in the end: the clients by updates, the second by loading, the editor as ever."""
    first, second, third = ([{"say": f"answer {n}. "}] for n in range(3))
    async with (
        an_editor(tmp_path, first, second, third) as product,
        clients(tmp_path / "ws", 2) as (one, two),
    ):
        session = await one.new()
        assert (await one.prompt(session, "from one"))["result"] == {"stopReason": "end_turn"}
        listed = (await two.ask("session/list"))["result"]["sessions"]
        assert [(row["sessionId"], row["title"]) for row in listed] == [(session, "from one")]
        assert "result" in await two.load(session)
        assert (two.texts("user"), two.texts()) == ("from one", "answer 0. ")
        assert (await two.prompt(session, "from two"))["result"] == {"stopReason": "end_turn"}
        await one.until(lambda: "answer 1" in one.texts())
        assert one.texts("user") == "from two"
        await product.prompt(session, "from the editor")
        for client in (one, two):
            await client.until(lambda client=client: "answer 2" in client.texts())
            assert client.texts() == "answer 0. answer 1. answer 2. "
            assert client.texts("user").endswith("from the editor")
        assert product.said({"sessionId": session}) == "answer 0. answer 1. answer 2. "
        asked = [q.text for q in product.questions if "(attached)" in q.text]
        assert len(asked) == 2, "each client was asked about once"
        assert "take part in your conversations" in asked[0]


async def test_a_conversation_that_is_not_open_is_opened_again(tmp_path: Path) -> None:
    async with an_editor(tmp_path, [{"say": "said"}]) as product:
        session = (await product.session("robot"))["sessionId"]
        await product.prompt(session, "go")
        await product.execute("sidecar.closeSession", {"sessionId": session})
        async with clients(tmp_path / "ws", 1) as (client,):
            assert "result" in await client.load(session)
            assert (client.texts("user"), client.texts()) == ("go", "said")
            assert (await client.prompt(session))["result"] == {"stopReason": "end_turn"}


MODES = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}]}
MODEL = {
    "id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": "small",
    "options": [{"value": "small", "name": "Small"}],
}  # fmt: skip


async def test_a_client_is_told_what_can_be_chosen_however_the_session_was_made(tmp_path: Path) -> None:
    """By itself, by the editor, and by its own prompt in one that the agent has forgotten."""
    able = {"modes": MODES, "configOptions": [MODEL]}
    script = {"session/new": [{"reply": {"sessionId": "s $id", **able}}]}
    async with an_editor(tmp_path, [{"say": "said"}], script=script) as product:
        session = (await product.session("robot"))["sessionId"]
        await product.prompt(session, "go")
        async with clients(tmp_path / "ws", 1) as (client,):
            new = await client.ask("session/new", {"cwd": str(client.cwd), "mcpServers": []})
            assert {key: new["result"][key] for key in able} == able
            assert (await client.load(session))["result"] == able
            await client.until(lambda: client.texts() == "said")
            await product.execute("sidecar.closeSession", {"sessionId": session})
            assert (await client.load(session))["result"] == {}, "nobody knows yet"
            await client.prompt(session)
            kinds = {u["sessionUpdate"]: u for u in client.updates()}
            assert kinds["config_option_update"]["configOptions"] == [MODEL]
            assert kinds["current_mode_update"]["currentModeId"] == "ask"


async def test_a_client_forks_what_can_be_forked(tmp_path: Path) -> None:
    can = {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"fork": {}}}}
    forks = {"initialize": [{"reply": can}], "session/fork": [{"reply": {"sessionId": "f", "modes": MODES}}]}
    async with (
        an_editor(tmp_path, [{"say": "in $session. "}], script=forks) as product,
        clients(tmp_path / "ws", 1) as (client,),
    ):
        session = await client.new()
        await client.prompt(session)
        asked = {"sessionId": session, "cwd": str(client.cwd), "mcpServers": []}
        fork = (await client.ask("session/fork", asked))["result"]
        assert fork["modes"] == MODES
        await client.prompt(fork["sessionId"])
        assert client.texts() == "in s1. in f. "
        assert {row["open"] for row in await product.execute("sidecar.listSessions")} == {True}
        gone = await client.ask("session/fork", {**asked, "sessionId": "nope"})
        assert "there is no conversation" in gone["error"]["message"]


async def test_a_client_gets_only_the_updates_that_it_understands(tmp_path: Path) -> None:
    """Live, and from the record. ACP: compaction and notices only for clients that announce them."""
    said: list[dict[str, object]] = [
        {"sessionUpdate": "notice", "severity": "info", "title": "N"},
        {"sessionUpdate": "compaction_update", "compactionId": "c", "status": "completed"},
        {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "T", "name": "read_file"},
    ]
    announced: list[tuple[dict[str, object], list[object]]] = [
        ({}, ["tool_call"]),
        ({"session": {"notices": {}, "compaction": None}}, ["notice", "tool_call"]),
        ({"session": {"notices": {}, "compaction": {}}}, ["notice", "compaction_update", "tool_call"]),
    ]
    async with an_editor(tmp_path, [*({"update": one} for one in said), {"say": "done"}]):
        session = ""
        for capabilities, kinds in announced:
            async with Client(tmp_path / "ws") as client:
                await client.hello(capabilities=capabilities)
                if session:
                    await client.load(session)
                else:
                    session = await client.new()
                    await client.prompt(session)
                await client.until(lambda client=client: "done" in client.texts())
                known = [
                    u["sessionUpdate"]
                    for u in client.updates()
                    if u["sessionUpdate"] in {k["sessionUpdate"] for k in said}
                ]
                assert known == kinds
                assert [u["name"] for u in client.updates() if "name" in u] == ["read_file"]


async def test_a_clients_cancel_is_a_stop_and_its_end_is_none(tmp_path: Path) -> None:
    steps = [{"say": "begun"}, {"wait_for": "session/cancel"}, {"stop": "cancelled"}]
    async with an_editor(tmp_path, steps) as product, clients(tmp_path / "ws", 2) as (one, two):
        session = await one.new()
        await two.load(session)
        running = asyncio.ensure_future(one.prompt(session))
        await two.until(lambda: "begun" in two.texts())
        await one.hang_up()
        running.cancel()
        status = await product.execute("sidecar.status")
        assert [row["running"] for row in status["sessions"] if row["sessionId"] == session] == [True]
        two.tell("session/cancel", {"sessionId": session})
        await product.wait_for(lambda: product.turns)
        assert product.turns[-1]["stopReason"] == "cancelled"


async def test_without_the_users_yes_nothing_is_told(tmp_path: Path) -> None:
    def no(text: str, titles: object) -> str:
        return "Deny"

    async with an_editor(tmp_path, [{"say": "secret"}], answer=no) as product:
        session = (await product.session("robot"))["sessionId"]
        await product.prompt(session)
        async with clients(tmp_path / "ws", 1) as (client,):
            for answer in (
                await client.ask("session/list"),
                await client.load(session),
                await client.prompt(session),
                await client.ask("session/new", {"cwd": str(client.cwd), "mcpServers": []}),
            ):
                assert "did not allow" in answer["error"]["message"]
            assert client.asked == []


async def test_without_a_sidecar_it_says_what_to_do(tmp_path: Path) -> None:
    async with Client(tmp_path) as client:
        error = (await client.hello())["error"]
        assert str(tmp_path) in error["message"]
        assert "open this folder" in error["message"]
        assert await client.hang_up() == 0


async def test_when_the_editor_ends_the_client_is_told(tmp_path: Path) -> None:
    steps = [{"say": "begun"}, {"never": True}]
    async with an_editor(tmp_path, steps) as product, clients(tmp_path / "ws", 1) as (client,):
        session = await client.new()
        running = asyncio.ensure_future(client.prompt(session))
        await client.until(lambda: "begun" in client.texts())
        await product.stop(60)
        answer = await running
        assert "error" in answer or answer["result"] == {"stopReason": "cancelled"}
        assert await client.ended() == 1
        assert b"has ended" in client.errors


async def test_a_chat_in_the_editor_shows_what_a_client_prompts(tmp_path: Path) -> None:
    """An editor without a panel has a chat as a file."""
    async with (
        an_editor(tmp_path, [{"say": "said"}], client=()) as product,
        clients(tmp_path / "ws", 1) as (client,),
    ):
        session = await client.new()
        chat = await product.execute("sidecar.openChat", {"sessionId": session})
        await client.prompt(session, "from a client")
        path = Path(to_path(normalise(chat["uri"])) or "")
        await asyncio.to_thread(
            eventually,
            lambda: "said" in path.read_text() and "from a client" in path.read_text(),
            "it is shown",
        )
        assert path.read_text().index("from a client") < path.read_text().index("said")
