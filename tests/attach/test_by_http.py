"""`acp-sidecar acp --listen` for clients that use ACP's draft of Streamable HTTP. The client is the Python SDK's own, over its own HTTP."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import acp
import httpx2
import pytest
from websockets.datastructures import Headers

from sidecar.attach import http_clients
from sidecar.attach.http_clients import HttpClients
from sidecar.attach.http_wire import HttpRequest
from tests.attach.attached import Waiting, an_editor
from tests.attach.test_by_port import Port, codes, listening
from tests.proxy.talk import processes
from tests.proxy.test_sdk_client import Person

pytestmark = [processes, pytest.mark.timeout(120)]
INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}


def address(port: Port) -> str:
    return port.url.replace("ws://", "http://")


def browser(cookies: Any = None) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(trust_env=False, timeout=60, cookies=cookies)


class Telling(Person):
    """What waits in `wait_for` looks again when an update comes: it comes by a connection that the editor knows nothing of."""

    def __init__(self, tell: Callable[[], None]) -> None:
        super().__init__()
        self._tell = tell

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        await super().session_update(session_id, update, **more)
        self._tell()


async def code_of(port: Port) -> str:
    async with browser() as http:
        told = await http.post(address(port), json=INITIALIZE)
    assert told.status_code == 401
    assert "The editor shows a code" in told.text
    await port.product.wait_for(lambda: codes(port.product))
    return port.code


@pytest.fixture
def sdk(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Its HTTP client, on the successor of the library that it names."""
    monkeypatch.setitem(sys.modules, "httpx", httpx2)
    from acp.http.client import create_http_stream

    return create_http_stream


ASKS = {
    "ask": {
        "toolCall": {"toolCallId": "t1", "title": "x"},
        "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}],
    },
    "as": "a",
}


async def test_the_sdks_client_drives_and_loads_a_conversation(tmp_path: Path, sdk: Any) -> None:
    async with (
        an_editor(tmp_path, [{"say": "from afar"}, ASKS, {"say": {"answer": "a"}}], make=Waiting) as product,
        listening(product, tmp_path / "ws") as port,
        browser() as http,
        browser() as other,
    ):
        url = f"{address(port)}?code={await code_of(port)}"
        person, second = Telling(product.happened), Telling(product.happened)
        client = acp.connect_to_agent(cast("Any", person), sdk(url, client=http))
        hello = await client.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert hello.agent_info is not None
        assert hello.agent_info.name == "acp-sidecar"
        session = (await client.new_session(cwd=str(tmp_path / "ws"), mcp_servers=[])).session_id
        done = await client.prompt(session_id=session, prompt=[acp.text_block("go")])
        assert done.stop_reason == "end_turn"
        assert person.asked == ["t1"]
        assert said(person).startswith("from afar")
        assert '"yes"' in said(person)
        # the code was used; who had it comes back with the cookie
        other.cookies = http.cookies
        again = acp.connect_to_agent(cast("Any", second), sdk(url, client=other))
        await again.initialize(protocol_version=acp.PROTOCOL_VERSION)
        await again.load_session(session_id=session, cwd=str(tmp_path / "ws"), mcp_servers=[])
        await product.wait_for(lambda: said(second) == said(person))
        assert second.updates[0].session_update == "user_message_chunk"
        done = await again.prompt(session_id=session, prompt=[acp.text_block("again")])
        assert done.stop_reason == "end_turn"
        await product.wait_for(lambda: said(second) == said(person) != "")
        await client.close()
        await again.close()
        async with browser() as third:
            assert (await third.post(url, json=INITIALIZE)).status_code == 401


def said(person: Person) -> str:
    return "".join(
        update.content.text
        for update in person.updates
        if update.session_update == "agent_message_chunk" and update.content
    )


REFUSED: list[tuple[str, dict[str, str], object, int]] = [
    ("POST", {"Origin": "https://evil.example"}, INITIALIZE, 403),
    ("POST", {"Origin": "null"}, INITIALIZE, 403),
    ("POST", {"Host": "evil.example"}, INITIALIZE, 403),
    ("OPTIONS", {"Origin": "https://evil.example"}, None, 403),
    ("GET", {"Host": "127.0.0.1.evil.example:80", "Acp-Connection-Id": "x"}, None, 403),
    ("GET", {"Accept": "text/event-stream"}, None, 400),
    ("GET", {"Accept": "text/event-stream", "Acp-Connection-Id": "x"}, None, 404),
    ("GET", {"Accept": "text/html", "Acp-Connection-Id": "x"}, None, 406),
    ("DELETE", {"Acp-Connection-Id": "x"}, None, 404),
    ("DELETE", {}, None, 400),
    ("POST", {"Acp-Connection-Id": "x"}, {"jsonrpc": "2.0", "method": "x"}, 404),
    ("PUT", {}, None, 405),
    ("HEAD", {}, None, 405),
]


async def test_who_was_not_let_in_gets_nowhere_and_shows_no_code(tmp_path: Path) -> None:
    async with an_editor(tmp_path) as product, listening(product, tmp_path / "ws") as port, browser() as http:
        for method, headers, body, status in REFUSED:
            told = await http.request(method, address(port), headers=headers, json=body)
            assert told.status_code == status, (method, headers, told.text)
            assert "Access-Control-Allow-Origin" not in told.headers
        await product.execute("sidecar.status", {})  # what was shown before is heard
        assert codes(product) == []


async def test_what_is_no_message(tmp_path: Path) -> None:
    async with (
        an_editor(tmp_path) as product,
        listening(product, tmp_path / "ws") as port,
        browser() as http,
    ):
        url = f"{address(port)}?code={await code_of(port)}"
        opened = await http.post(url, json=INITIALIZE)
        assert opened.json()["id"] == 0
        mine = {"Acp-Connection-Id": opened.headers["Acp-Connection-Id"]}
        assert len(mine["Acp-Connection-Id"]) >= 43
        for body, kind, status in (
            (b"[]", "application/json", 501),
            (b"{", "application/json", 400),
            (b"\xff", "application/json", 400),
            (b"{}", "text/plain", 415),
            (b"", "application/json", 400),
        ):
            told = await http.post(url, content=body, headers={**mine, "Content-Type": kind})
            assert told.status_code == status, body
        # in several lines, and with an id of another kind: the answer comes by the connection's stream
        await http.post(url, content=b'{\n"jsonrpc": "2.0",\r\n"id": "a b", "method": "session/list",\n"params": {}}', headers={**mine, "Content-Type": "application/json; charset=utf-8"})  # fmt: skip
        accept = {"Accept": "text/event-stream"}
        async with http.stream("GET", url, headers={**mine, **accept}) as stream:
            event = await anext(stream.aiter_lines())
        assert json.loads(event.removeprefix("data: "))["id"] == "a b"
        many = [http.build_request("GET", url, headers={**mine, **accept, "Acp-Session-Id": "s" * 2000})]
        assert (await http.send(many[0])).status_code == 400
        assert (await http.delete(url, headers=mine)).status_code == 202
        assert (await http.delete(url, headers=mine)).status_code == 404


async def test_a_page_that_the_user_named_may_connect(tmp_path: Path) -> None:
    origin = {"Origin": "https://panel.example"}
    async with (
        an_editor(tmp_path) as product,
        listening(product, tmp_path / "ws", "--origin", origin["Origin"]) as port,
        browser() as http,
    ):
        asked = await http.options(address(port), headers=origin)
        assert asked.status_code == 204
        assert "Acp-Connection-Id" in asked.headers["Access-Control-Allow-Headers"]
        told = await http.post(address(port), json=INITIALIZE, headers=origin)
        assert (told.status_code, told.headers["Access-Control-Allow-Origin"]) == (401, origin["Origin"])
        await product.wait_for(lambda: codes(product))
        told = await http.post(
            address(port), json=INITIALIZE, headers={**origin, "Authorization": f"Bearer {port.code}"}
        )
        assert told.status_code == 200
        assert told.headers["Access-Control-Expose-Headers"] == "Acp-Connection-Id"


NO_HTTP = [
    b"",
    b"nonsense\r\n\r\n",
    b"POST /acp HTTP/1.1\r\n",
    b"POST /acp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{",
    b"POST /acp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: x\r\n\r\n",
    b"POST /acp HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 20_000,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
]


async def test_what_is_no_http_costs_only_its_connection(tmp_path: Path) -> None:
    async with an_editor(tmp_path) as product, listening(product, tmp_path / "ws") as port, browser() as http:
        for sent in NO_HTTP:
            reader, writer = await asyncio.open_connection("127.0.0.1", number_of(port))
            writer.write(sent)
            writer.write_eof()
            answer = await asyncio.wait_for(reader.read(), 30)
            assert answer[:9] in (b"", b"HTTP/1.1 "), (sent[:40], answer)
            writer.close()
            assert (await http.get(address(port))).status_code == 400
        assert codes(product) == []


def number_of(port: Port) -> int:
    return int(port.url.split(":")[2].split("/")[0])


async def test_the_end_waits_for_nobody(tmp_path: Path) -> None:
    """Neither for one that has said nothing, nor for one that listens."""
    async with an_editor(tmp_path) as product, listening(product, tmp_path / "ws") as port, browser() as http:
        url = f"{address(port)}?code={await code_of(port)}"
        opened = await http.post(url, json=INITIALIZE)
        mine = {"Acp-Connection-Id": opened.headers["Acp-Connection-Id"], "Accept": "text/event-stream"}
        silent, begun = [await asyncio.open_connection("127.0.0.1", number_of(port)) for _ in range(2)]
        begun[1].write(b"POST /acp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{")
        async with http.stream("GET", url, headers=mine) as stream:
            assert stream.status_code == 200
            port.process.terminate()
            async with asyncio.timeout(10):
                await port.process.wait()
        for _, writer in (silent, begun):
            writer.close()


async def test_a_client_that_has_gone_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """It listens to nothing any more, and says nothing of that. One that listens stays."""
    monkeypatch.setattr(http_clients, "ALONE_SECONDS", 0.2)
    ended: list[object] = []

    async def start() -> Any:
        answers = """read line; echo '{"jsonrpc":"2.0","id":0,"result":{}}'; cat"""
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec("sh", "-c", answers, stdin=pipe, stdout=pipe)

    async def end(process: Any) -> None:
        process.stdin.close()
        await process.wait()
        ended.append(process)

    def asked(method: str, **headers: str) -> HttpRequest:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return HttpRequest(method, "/acp", Headers(named), json.dumps(INITIALIZE).encode())

    clients = HttpClients(start, end)
    gone, stays = [await clients.answered(asked("POST", Content_Type="application/json")) for _ in range(2)]
    assert (gone.status, stays.status) == (200, 200)
    stream = await clients.answered(
        asked("GET", Accept="text/event-stream", Acp_Connection_Id=stays.headers["Acp-Connection-Id"])
    )
    assert stream.stream is not None
    listening = asyncio.ensure_future(anext(cast("Any", stream.stream)))
    async with asyncio.timeout(20):
        while not ended:  # noqa: ASYNC110 - no event says so
            await asyncio.sleep(0.01)
    assert not clients.knows(asked("GET", Acp_Connection_Id=gone.headers["Acp-Connection-Id"]))
    assert clients.knows(asked("GET", Acp_Connection_Id=stays.headers["Acp-Connection-Id"]))
    await clients.aclose()
    assert len(ended) == 2
    with pytest.raises(StopAsyncIteration):
        await listening
