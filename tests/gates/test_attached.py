"""attached: hostile clients attached to a sidecar (`acp-sidecar acp`). None answers for another after it was answered, none hears or drives what
it may not, and one that never reads costs a bounded number of bytes and nobody's time.

Each row tries one thing and says what it got; nothing is right. Without processes, but for the last, which goes through real pipes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sidecar.attach import attached as attached_module
from sidecar.attach import inbox
from sidecar.attach.attached import Attached
from sidecar.workspace.ports.ports import Option, Question
from sidecar.workspace.sessions.audience import Audience
from sidecar.workspace.sessions.guests import Guests
from tests.attach.attached import an_editor, clients
from tests.proxy.talk import Message, processes
from tests.support.workspaces import Bench, a_workspace
from tests.workspace.test_conversations import Editor

OPTIONS = (Option("no", "reject_once", "No"), Option("yes", "allow_once", "Yes"))


class Waits(Editor):
    """Nobody answers there."""

    async def ask(self, question: Question) -> str | None:
        self.questions.append(question)
        return await asyncio.get_running_loop().create_future()


class Scene:
    def __init__(self, bench: Bench, outside: Path) -> None:
        self.bench = bench
        self.workspace = bench.workspace
        self.outside = outside
        self.folder = str(bench.folder)

    async def client(self, name: str, *load: str) -> Attached:
        client = Attached(self.workspace)
        assert await self.call(client, "attach", client=name, folder=self.folder) == {}
        for session in load:
            assert await self.call(client, "loadSession", sessionId=session, tag=1) == {}
        return client

    async def call(self, who: Attached, method: str, /, **params: Any) -> Any:
        async with asyncio.timeout(30):
            return await who.methods()[method](params)

    async def refused(self, who: Attached, method: str, /, **params: Any) -> list[str]:
        try:
            answer = await self.call(who, method, **params)
        except Exception as error:  # noqa: BLE001 - it got as far as that
            return [f"{method} {params}: {error!r}"]
        return [] if "refused" in answer else [f"{method} {params}: {answer}"]

    def ask(self, number: str = "q1") -> asyncio.Future[str | None]:
        question = Question(number, self.bench.session, "execute", "rm?", OPTIONS)
        return asyncio.ensure_future(self.workspace.ask(question))

    async def open(self, number: str = "q1") -> asyncio.Future[str | None]:
        answer = self.ask(number)
        while number not in self.workspace.audience._open:  # noqa: ASYNC110 - no event says so
            await asyncio.sleep(0)
        return answer


Row = Callable[[Scene], Awaitable[list[str]]]


async def answers_after_another(scene: Scene) -> list[str]:
    first = await scene.client("first", scene.bench.session)
    second = await scene.client("second", scene.bench.session)
    answer = await scene.open()
    said = [
        await scene.call(client, "answerQuestion", id="q1", optionId=option)
        for client, option in ((first, "no"), (second, "yes"), (first, "yes"))
    ]
    after = await answer
    said.append(await scene.call(second, "answerQuestion", id="q1", optionId="yes"))
    counted = [one["counts"] for one in said]
    wrong = [] if counted == [True, False, False, False] else [f"counted: {counted}"]
    return wrong + ([] if after == "no" else [f"the agent was told {after}"])


async def answers_what_it_was_not_asked(scene: Scene) -> list[str]:
    """A client that has not loaded the conversation, an option that is not offered, another question's."""
    stranger, client = await scene.client("stranger"), await scene.client("client", scene.bench.session)
    await scene.call(stranger, "sessions")  # let in
    answer = await scene.open()
    tries = [(stranger, "q1", "yes"), (client, "q1", "always"), (client, "q2", "yes")]
    said = [await scene.call(who, "answerQuestion", id=q, optionId=option) for who, q, option in tries]
    wrong = [str(one) for one in said if one != {"counts": False}]
    heard = await scene.call(stranger, "events")
    wrong += [str(heard)] if heard["events"] else []
    scene.workspace.cancel(scene.bench.session)
    answer.cancel()
    return wrong


async def names_what_is_not_its(scene: Scene) -> list[str]:
    """An unknown conversation, one in a folder that is not the editor's, a guest's own, one it has not loaded; a folder from outside."""
    elsewhere = (await scene.workspace.new_session("agent", str(scene.outside))).session_id
    client = await scene.client("client")
    other = await scene.client("other")
    assert other._guest is not None
    wrong: list[str] = []
    for session in ("nope", "", "../x", elsewhere, other._guest.id):
        wrong += await scene.refused(client, "loadSession", sessionId=session, tag=1)
    for session in ("nope", elsewhere, scene.bench.session):
        prompt = [{"type": "text", "text": "go"}]
        wrong += await scene.refused(client, "promptSession", sessionId=session, prompt=prompt, tag=1)
        wrong += await scene.refused(client, "cancelSession", sessionId=session)
        wrong += await scene.refused(client, "setMode", sessionId=session, modeId="m")
    for folder in (str(scene.outside), "/", "relative", "", scene.folder + "/.."):
        wrong += await scene.refused(client, "newSession", cwd=folder, tag=1)
    rows = (await scene.call(client, "sessions"))["sessions"]
    return wrong + [f"listed: {row}" for row in rows if row["sessionId"] != scene.bench.session]


async def comes_with_anothers_words(scene: Scene) -> list[str]:
    """There is no token to replay: what counts is the connection. Nor can one attach twice, or come back after its end."""
    first = await scene.client("first", scene.bench.session)
    stranger = Attached(scene.workspace)
    wrong: list[str] = []
    assert first._guest is not None
    for more in ({}, {"token": first._guest.id, "client": "first"}):
        for method in ("sessions", "events", "cancelSession", "answerQuestion"):
            wrong += await scene.refused(stranger, method, sessionId=scene.bench.session, **more)
    wrong += await scene.refused(first, "attach", client="again", folder=scene.folder)
    first.gone()
    wrong += await scene.refused(first, "sessions")
    return wrong


async def goes_on_after_it_was_stopped(scene: Scene) -> list[str]:
    client = await scene.client("client", scene.bench.session)
    await scene.call(client, "events")
    assert client._guest is not None
    scene.workspace.cancel(client._guest.id)
    tell(scene, "after the stop")
    got = await scene.call(client, "events")
    return [] if "stopped" in got.get("dropped", "") else [str(got)]


async def never_reads(scene: Scene) -> list[str]:
    """It is dropped with a word when what waits for it has reached the bound; another one hears everything."""
    deaf, other = (
        await scene.client("deaf", scene.bench.session),
        await scene.client("other", scene.bench.session),
    )
    heard, megabyte = 0, "x" * 1024 * 1024
    await scene.call(other, "events")
    for _ in range(20):
        tell(scene, megabyte)
        heard += len((await scene.call(other, "events"))["events"])
    waiting = deaf._inbox._size
    got = await scene.call(deaf, "events")
    wrong = [] if "did not read" in got.get("dropped", "") else [str(got)[:200]]
    wrong += [] if heard == 20 else [f"the other one heard {heard}"]
    wrong += [] if waiting == 0 and len(scene.workspace.audience._listeners) == 1 else [f"{waiting} are kept"]
    return wrong + await scene.refused(deaf, "sessions")


def tell(scene: Scene, words: str) -> None:
    content = {"type": "text", "text": words}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    scene.workspace.session_update(scene.bench.session, update)


ROWS: list[Row] = [
    answers_after_another,
    answers_what_it_was_not_asked,
    names_what_is_not_its,
    comes_with_anothers_words,
    goes_on_after_it_was_stopped,
    never_reads,
]


async def wrong_in(row: Row, tmp_path: Path) -> list[str]:
    folder, outside = tmp_path / "ws", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    async with a_workspace(folder, editor=Waits()) as bench:
        return await row(Scene(bench, outside))


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attached_module, "POLL", 0.05)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.__name__)
async def test_a_hostile_client_gets_nothing(row: Row, tmp_path: Path) -> None:
    assert await wrong_in(row, tmp_path) == []


def last_answer_counts(patch: pytest.MonkeyPatch) -> None:
    def answered(self: Audience, listener: object, question_id: str, option_id: str) -> bool:
        asked = self._open.get(question_id)
        if asked is not None:
            if asked.answer.done():
                asked.answer = asyncio.get_running_loop().create_future()
            asked.answer.set_result(option_id)
        return True

    patch.setattr(Audience, "answered", answered)


def every_client_hears_everything(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Attached, "hears", lambda self, session_id: True)


def folders_are_not_compared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Attached, "_is_ours", lambda self, folder: True)


def a_name_is_enough(patch: pytest.MonkeyPatch) -> None:
    """Whoever names the session of another one's is taken for that one."""

    def let_in(self: Attached, work: Any) -> Any:
        async def called(params: Any) -> object:
            if self._guest is None and "token" in params:
                self._guest = self._service.guests.session(params["token"])
            return await work(params)

        return called

    patch.setattr(Attached, "_if_let_in", let_in)


def a_stop_is_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Guests, "is_let_in", lambda self, session_id: True)


def there_is_always_room(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(inbox, "MOST_BYTES", 1 << 40)


DEFECTS: list[tuple[Row, Callable[[pytest.MonkeyPatch], None]]] = [
    (answers_after_another, last_answer_counts),
    (answers_what_it_was_not_asked, every_client_hears_everything),
    (names_what_is_not_its, folders_are_not_compared),
    (comes_with_anothers_words, a_name_is_enough),
    (goes_on_after_it_was_stopped, a_stop_is_not_looked_at),
    (never_reads, there_is_always_room),
]


@pytest.mark.parametrize(("row", "defect"), DEFECTS, ids=lambda one: one.__name__)
async def test_the_gate_can_fail(
    row: Row,
    defect: Callable[[pytest.MonkeyPatch], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    defect(monkeypatch)
    assert await wrong_in(row, tmp_path)


@processes
async def test_wrong_lines_cost_nobody_else_anything(tmp_path: Path) -> None:
    """Through real pipes: an id that is used again, ids that are none, 10 MB of prompt, params of any shape. Each is answered, and the next prompt works."""
    large = "x" * (9 * 1024 * 1024)
    steps: list[Message] = [{"say": "heard"}]
    async with an_editor(tmp_path, steps) as product, clients(tmp_path / "ws", 1) as (client,):
        session = await client.new()
        twice = json.dumps({"jsonrpc": "2.0", "id": "again", "method": "session/list", "params": {}})
        before = client.received.count(b'"again"')
        client.write((twice + "\n").encode() * 2)
        await client.until(lambda: client.received.count(b'"again"') == before + 2)
        for params in ([], 5, {}, {"sessionId": 5}, {"sessionId": session, "prompt": "words"}):
            assert "error" in await client.ask("session/prompt", params), params
        assert (await client.prompt(session, large))["result"] == {"stopReason": "end_turn"}
        assert "error" in await client.prompt(session, large * 2), "more than the text of any file"
        assert (await client.prompt(session))["result"] == {"stopReason": "end_turn"}
        await product.wait_for(lambda: len(product.turns) == 2)
