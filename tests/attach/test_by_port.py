"""`acp-sidecar acp --listen`: clients that connect to a port. The client is the Python SDK's own, over its own WebSocket."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import acp
import pytest
from acp.ws import create_websocket_stream
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin

from tests.attach.attached import ATTACH, an_editor
from tests.gates.product import Product
from tests.proxy.talk import processes
from tests.proxy.test_sdk_client import Person

pytestmark = [processes, pytest.mark.timeout(120)]


@dataclass
class Port:
    url: str
    process: asyncio.subprocess.Process
    product: Product

    @property
    def code(self) -> str:
        return codes(self.product)[-1]


def codes(product: Product) -> list[str]:
    texts = (
        str(params["message"]) for method, params in product.notifications if method == "window/showMessage"
    )
    return [found[1] for text in texts if (found := re.match(r"Code (\S+): ", text))]


@asynccontextmanager
async def listening(product: Product, folder: Path, *options: str) -> AsyncGenerator[Port]:
    argv = [*ATTACH, "--agent", "robot", "--listen", "0", *options]
    process = await asyncio.create_subprocess_exec(*argv, cwd=folder, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    try:
        first = (await asyncio.wait_for(process.stderr.readline(), 60)).decode()
        found = re.match(r"Listening on (ws://127\.0\.0\.1:\d+/acp) for the conversations of ", first)
        assert found is not None, first
        yield Port(found[1], process, product)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 60) == 128 + signal.SIGTERM


async def refused(url: str, **how: Any) -> InvalidStatus:
    with pytest.raises(InvalidStatus) as raised:
        async with connect(url, proxy=None, **how):
            pass
    return raised.value


async def test_a_client_is_let_in_by_the_code_that_the_editor_shows(tmp_path: Path) -> None:
    async with (
        an_editor(tmp_path, [{"say": "from afar"}]) as product,
        listening(product, tmp_path / "ws") as port,
    ):
        assert codes(product) == [], "nobody has come"
        told = await refused(port.url)
        assert told.response.status_code == 401
        assert "The editor shows a code" in told.response.body.decode()
        await product.wait_for(lambda: codes(product))
        person: Any = Person()
        stream = await create_websocket_stream(f"{port.url}?code={port.code}")
        client = acp.connect_to_agent(person, stream)
        hello = await client.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert hello.agent_info is not None
        assert hello.agent_info.name == "acp-sidecar"
        session = (await client.new_session(cwd=str(tmp_path / "ws"), mcp_servers=[])).session_id
        done = await client.prompt(session_id=session, prompt=[acp.text_block("go")])
        assert done.stop_reason == "end_turn"
        assert "from afar" in "".join(u.content.text for u in person.updates if hasattr(u, "content"))
        await client.close()
        # the code was used; who had it comes back by the cookie
        assert (await refused(f"{port.url}?code={port.code}")).response.status_code == 401


async def test_who_was_let_in_comes_back_with_its_cookie(tmp_path: Path) -> None:
    async with an_editor(tmp_path) as product, listening(product, tmp_path / "ws") as port:
        await refused(port.url)
        await product.wait_for(lambda: codes(product))
        async with connect(
            port.url, proxy=None, additional_headers={"Authorization": f"Bearer {port.code}"}
        ) as first:
            assert first.response is not None
            cookie = first.response.headers["Set-Cookie"]
        assert "HttpOnly; SameSite=Strict" in cookie
        async with connect(port.url, proxy=None, additional_headers={"Cookie": cookie.split(";")[0]}):
            pass
        wrong = cookie.split(";")[0][:-1]
        assert (await refused(port.url, additional_headers={"Cookie": wrong})).response.status_code == 401
        # another port's clients are not this one's
        async with listening(product, tmp_path / "ws") as other:
            told = await refused(other.url, additional_headers={"Cookie": cookie.split(";")[0]})
        assert told.response.status_code == 401


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({"Origin": "https://evil.example"}, "", 403),
        ({"Origin": "null"}, "", 403),
        ({"Host": "evil.example"}, "", 403),
        ({"Host": "127.0.0.1.evil.example:80"}, "", 403),
        ({}, "/../etc", 404),
    ],
)
async def test_pages_of_a_browser_get_nowhere_and_show_no_code(
    tmp_path: Path, headers: dict[str, str], path: str, status: int
) -> None:
    """Also not under a name that its server has given to this machine's address (DNS rebinding)."""
    async with an_editor(tmp_path) as product, listening(product, tmp_path / "ws") as port:
        host = headers.pop("Host", None)
        target, how = port.url, {}
        if host is not None:
            address = target.removeprefix("ws://").split("/")[0].split(":")
            target, how = f"ws://{host}/acp", {"host": address[0], "port": int(address[1])}
        told = await refused(target + path, additional_headers=headers, **how)
        assert told.response.status_code == status
        await product.execute("sidecar.status", {})  # what was shown before is heard
        assert codes(product) == []


async def test_a_page_that_the_user_named_may_connect(tmp_path: Path) -> None:
    origin = Origin("https://panel.example")
    async with (
        an_editor(tmp_path) as product,
        listening(product, tmp_path / "ws", "--origin", origin) as port,
    ):
        assert (await refused(port.url, origin=origin)).response.status_code == 401
        await product.wait_for(lambda: codes(product))
        async with connect(f"{port.url}?code={port.code}", origin=origin, proxy=None):
            pass


async def test_it_ends_with_its_clients(tmp_path: Path) -> None:
    """Nothing is left of it that could go on speaking for somebody."""
    async with an_editor(tmp_path) as product, listening(product, tmp_path / "ws") as port:
        await refused(port.url)
        await product.wait_for(lambda: codes(product))
        async with connect(f"{port.url}?code={port.code}", proxy=None) as client:
            port.process.send_signal(signal.SIGTERM)
            assert await port.process.wait() == 128 + signal.SIGTERM
            assert [frame async for frame in client] == []
            assert client.close_code == 1001


async def test_without_an_editor_it_does_not_begin(tmp_path: Path) -> None:
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "TMPDIR": str(tmp_path)}
    process = await asyncio.create_subprocess_exec(
        *ATTACH, "--listen", "0", cwd=tmp_path, env=env, stderr=asyncio.subprocess.PIPE
    )
    _, said = await process.communicate()
    assert process.returncode == 1
    assert "no editor with acp-sidecar has" in said.decode()
