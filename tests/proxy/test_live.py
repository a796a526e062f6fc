"""The promise through the proxy: the agent of any client reads what the user sees, and its writes are edits under review."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.gates.product import Product, a_product
from tests.mcp.live import found
from tests.proxy.talk import Message, Talk, agent, behind_proxy, processes
from tests.support.waiting import eventually

pytestmark = processes
BASE = "one\ntwo\nthree\n"


def yes(text: str, titles: Sequence[str]) -> str | None:
    """The answer that allows, once."""
    return next(
        (title for title in titles if "once" in title.lower() or "this session" in title.lower()), titles[-1]
    )


async def until_it_can_be_found(folder: Path) -> None:
    """The sidecar of a folder, by other processes."""
    await asyncio.to_thread(eventually, lambda: found(folder), "the sidecar can be found")


@asynccontextmanager
async def both(
    tmp_path: Path, steps: list[Message], answer: Any = yes, name: str = "robot", **options: Any
) -> AsyncIterator[tuple[Product, Talk, str]]:
    """An editor with its sidecar, and a client with a proxied agent in the same folder, which does these steps with the prompt."""
    folder = tmp_path / "ws"
    folder.mkdir(exist_ok=True)
    async with a_product(folder, {}, answer=answer, **options) as product:
        await until_it_can_be_found(folder)
        argv = behind_proxy(agent({"turns": [steps]}, file=tmp_path / "script"), "--name", name)
        async with Talk(argv, folder) as talk:
            yield product, talk, await talk.session()


async def test_the_agent_reads_and_writes_the_live_text(tmp_path: Path) -> None:
    """Though the client offers no files: the unsaved line is read, the write is an edit of the buffer, under review under the agent's name, one
    undo step, and the client never hears of it."""
    path = tmp_path / "ws" / "a.txt"
    path.parent.mkdir()
    path.write_text(BASE)
    steps = [
        {"read": str(path), "as": "read"},
        {"write": str(path), "content": "typed\none\nTWO\nthree\n", "as": "wrote"},
        {"say": {"answer": "read"}},
        {"say": {"answer": "wrote"}},
    ]
    async with both(tmp_path, steps) as (product, talk, session):
        product.open(path)
        product.type(path, "typed\n", at=0)
        assert (await talk.prompt(session))["result"] == {"stopReason": "end_turn"}
        read, wrote = talk.answers()
        assert read["result"] == {"content": "typed\n" + BASE}
        assert wrote["result"] == {"_meta": {"saved": False, "note": wrote["result"]["_meta"]["note"]}}
        assert product.document(path).text == "typed\none\nTWO\nthree\n"
        assert path.read_text() == BASE
        changes = await product.execute("sidecar.listChanges", {})
        assert [(c["agent"], c["oldText"], c["newText"]) for c in changes] == [
            ("robot (proxy)", "two", "TWO")
        ]
        assert [q.text for q in product.questions if "robot (proxy)" in q.text]
        assert [m["method"] for m in talk.asked if m["method"].startswith("fs/")] == []
        product.undo(path)
        assert product.document(path).text == "typed\n" + BASE
        await asyncio.wait_for(talk.hang_up(), 60)


async def test_without_the_users_yes_nothing_is_read(tmp_path: Path) -> None:
    path = tmp_path / "ws" / "a.txt"
    path.parent.mkdir()
    path.write_text(BASE)
    steps = [
        {"read": str(path), "as": "read"},
        {"write": str(path), "content": "x", "as": "wrote"},
        {"say": {"answer": "read"}},
        {"say": {"answer": "wrote"}},
    ]
    async with both(tmp_path, steps, lambda text, titles: titles[0]) as (product, talk, session):
        await talk.prompt(session)
        assert [answer["error"]["data"]["errorKind"] for answer in talk.answers()] == ["denied_by_user"] * 2
        assert len([q for q in product.questions if "robot" in q.text]) == 1, "asked once"
    assert path.read_text() == BASE


async def test_what_both_changed_is_a_conflict_and_what_is_outside_is_refused(tmp_path: Path) -> None:
    """As for an agent of the sidecar's own: three texts for a conflict, a question for a secret, nothing from outside."""
    path, secret = tmp_path / "ws" / "a.txt", tmp_path / "ws" / ".env"
    path.parent.mkdir()
    path.write_text(BASE)
    secret.write_text("KEY=1\n")
    (tmp_path / "outside.txt").write_text("outside\n")
    (tmp_path / "ws" / "link").symlink_to(tmp_path / "outside.txt")
    wanted = ["../outside.txt", "link", ".env", "a.txt"]
    steps: list[Message] = [{"read": str(path.parent / name), "as": name} for name in wanted]
    steps += [
        {"say": "typing"},
        {"wait_for": "_typed"},
        {"write": str(path), "content": BASE.replace("two", "TWO"), "as": "write"},
        {"write": str(tmp_path / "outside.txt"), "content": "x", "as": "write outside"},
        *({"say": {"answer": name}} for name in [*wanted, "write", "write outside"]),
    ]

    def answer(text: str, titles: Sequence[str]) -> str | None:
        return titles[0] if ".env" in text else yes(text, titles)

    async with both(tmp_path, steps, answer) as (product, talk, session):
        product.open(path)
        prompt = asyncio.ensure_future(talk.prompt(session))
        await talk.until(lambda: "typing" in talk.said())
        product.replace(path, "two", "mine")
        await product.execute("sidecar.status")
        talk.tell("_typed")
        await prompt
        answers = [json.loads(text) for text in talk.said() if text != "typing"]
    kinds = [a["error"]["data"]["errorKind"] if "error" in a else "read" for a in answers]
    outside = "path_outside_workspace"
    assert kinds == [outside, "symlink_escape", "denied_by_user", "read", "conflict", outside]
    assert (tmp_path / "outside.txt").read_text() == "outside\n"


async def test_pipelined_requests_take_effect_in_order(tmp_path: Path) -> None:
    path = tmp_path / "ws" / "a.txt"
    steps: list[Message] = [
        *({"write": str(path), "content": f"{n}\n", "as": f"w{n}", "wait": False} for n in range(30)),
        {"read": str(path), "as": "read", "wait": False},
        *({"await": f"w{n}"} for n in range(30)),
        {"await": "read"},
        {"say": {"answer": "read"}},
    ]
    async with both(tmp_path, steps) as (_, talk, session):
        await talk.prompt(session)
        assert talk.answers()[0]["result"] == {"content": "29\n"}


async def test_a_cancelled_turn_writes_nothing_more(tmp_path: Path) -> None:
    """The client's cancel passes to the agent, and the sidecar does nothing more for the agent, whatever it asks."""
    path = tmp_path / "ws" / "a.txt"
    steps: list[Message] = [
        {"write": str(path), "content": "first\n"},
        {"say": "go on"},
        {"wait_for": "session/cancel"},
        {"wait_for": "_stopped"},
        {"write": str(path), "content": "late\n", "as": "late"},
        {"say": {"answer": "late"}},
        {"stop": "cancelled"},
    ]
    async with both(tmp_path, steps) as (_, talk, session):
        prompt = asyncio.ensure_future(talk.prompt(session))
        await talk.until(lambda: "go on" in talk.said())
        talk.tell("session/cancel", {"sessionId": session})
        talk.tell("_stopped")
        assert (await prompt)["result"] == {"stopReason": "cancelled"}
        assert json.loads(talk.said()[-1])["error"]["data"]["errorKind"] == "withdrawn"
    assert path.read_text() == "first\n"


async def test_an_agent_known_to_read_again_before_it_writes_takes_nothing_away(tmp_path: Path) -> None:
    """fast-agent's program reads a file just before it writes it, which its model does not see: what was typed since the model read it stays."""
    path = tmp_path / "ws" / "a.txt"
    path.parent.mkdir()
    path.write_text(BASE)
    call: Message = {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "read", "kind": "read"}
    steps: list[Message] = [
        {"update": call},
        {"read": str(path)},
        {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed"}},
        {"say": "typing"},
        {"wait_for": "_typed"},
        {"read": str(path)},
        {"write": str(path), "content": BASE.replace("three", "THREE")},
    ]
    async with both(tmp_path, steps, name="fast-agent") as (product, talk, session):
        product.open(path)
        prompt = asyncio.ensure_future(talk.prompt(session))
        await talk.until(lambda: "typing" in talk.said())
        product.type(path, "typed\n", at=0)
        await product.execute("sidecar.status")
        talk.tell("_typed")
        await prompt
        assert product.document(path).text == "typed\n" + BASE.replace("three", "THREE")


async def test_what_the_agent_does_to_the_disk_itself_is_under_review_too(tmp_path: Path) -> None:
    """Most agents write by themselves. Their turns are known, so that is found, and can be rejected."""
    path = tmp_path / "ws" / "a.txt"
    path.parent.mkdir()
    path.write_text(BASE)
    call = {
        "sessionUpdate": "tool_call",
        "toolCallId": "t1",
        "title": "edit",
        "kind": "edit",
        "status": "in_progress",
    }
    call["locations"] = [{"path": str(path)}]
    steps: list[Message] = [
        {"update": call},
        {"put": str(path), "text": BASE.replace("two", "TWO")},
        {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed"}},
    ]
    async with both(tmp_path, steps) as (product, talk, session):
        await talk.prompt(session)
        await product.wait_for(lambda: product.turns)
        changes = await product.execute("sidecar.listChanges", {})
        assert [(c["agent"], c["newText"].strip()) for c in changes] == [("robot (proxy)", "TWO")]
        await product.execute("sidecar.reject", {"all": True})
    assert path.read_text() == BASE


async def test_when_the_editor_ends_the_agent_goes_on_with_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "ws" / "a.txt"
    steps: list[Message] = [
        {"read": str(path), "as": "read"},
        {"say": {"answer": "read"}},
        {"write": str(path), "content": "written\n"},
    ]
    async with both(tmp_path, steps) as (product, talk, session):
        path.write_text(BASE)
        product.open(path)
        product.type(path, "typed\n", at=0)
        await talk.prompt(session)
        await product.stop(60)
        path.write_text(BASE)
        await talk.prompt(session)
        first, second = talk.answers()
        assert first["result"] == {"content": "typed\n" + BASE}
        assert second["result"] == {"content": BASE}
    assert path.read_text() == "written\n"


async def test_a_session_above_the_editors_folder_sees_its_unsaved_text(tmp_path: Path) -> None:
    """Files in the editor's folder are the editor's; those beside it the disk's, and all of it in one session, in order."""
    inner = tmp_path / "ws" / "inner"
    inner.mkdir(parents=True)
    path, beside = inner / "a.txt", tmp_path / "ws" / "b.txt"
    path.write_text(BASE)
    beside.write_text("beside\n")
    (tmp_path / "ws" / "link").symlink_to(path)
    steps: list[Message] = [
        {"read": str(path), "as": "inner"},
        {"read": str(beside), "as": "beside"},
        {"read": str(tmp_path / "ws" / "link"), "as": "link"},
        {"write": str(path), "content": "typed\n" + BASE.upper()},
        {"write": str(beside), "content": "BESIDE\n"},
        *({"say": {"answer": name}} for name in ("inner", "beside", "link")),
    ]
    async with a_product(inner, {}, answer=yes) as product:
        await until_it_can_be_found(inner)
        product.open(path)
        product.type(path, "typed\n", at=0)
        argv = behind_proxy(agent({"turns": [steps]}, file=tmp_path / "script"), "--name", "robot")
        async with Talk(argv, tmp_path / "ws") as talk:
            await talk.prompt(await talk.session())
            texts = [answer["result"]["content"] for answer in talk.answers()]
            assert texts == ["typed\n" + BASE, "beside\n", "typed\n" + BASE]
            assert product.document(path).text == "typed\n" + BASE.upper()
            assert path.read_text() == BASE
    assert beside.read_text() == "BESIDE\n"
