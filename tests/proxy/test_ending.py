"""The proxy ends with its client and with the agent, and leaves nothing that the agent started."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.proxy.talk import HANGS, Talk, agent, behind_proxy, processes
from tests.support.agents import until_gone, until_written

pytestmark = processes


def stubborn(pids: Path) -> list[dict[str, object]]:
    return [
        {"pid": str(pids)},
        {"ignore": "SIGTERM"},
        {"ignore": "eof"},
        {"spawn": "setsid", "pids": str(pids)},
        {"spawn": "stubborn", "pids": str(pids)},
    ]


@pytest.mark.parametrize("death", ["end of input", "SIGTERM", "SIGKILL"])
async def test_nothing_of_the_agent_is_left(tmp_path: Path, death: str) -> None:
    pids = tmp_path / "pids"
    async with Talk(behind_proxy(agent({"start": stubborn(pids)})), tmp_path) as talk:
        await talk.session()
        left = await until_written(pids, 3)
        if death == "end of input":
            assert await talk.hang_up() == 0
        else:
            number = getattr(signal, death)
            os.kill(talk.process.pid, number)
            assert await talk.ended() == (-number if death == "SIGKILL" else 128 + number)
    assert await until_gone(left, HANGS) == set()


async def test_it_ends_with_the_agent_and_as_the_agent(tmp_path: Path) -> None:
    """What the agent said last arrives, and its exit code is the proxy's."""
    script = {"turns": [[{"fill": 3_000_000, "with": "x"}, {"raw": "\nlast words"}, {"exit": 7}]]}
    async with Talk(behind_proxy(agent(script)), tmp_path) as talk:
        session = await talk.session()
        asyncio.ensure_future(talk.prompt(session)).add_done_callback(lambda done: done.cancelled())
        assert await talk.ended() == 7
    assert talk.received.endswith(b"x" * 3_000_000 + b"\nlast words")


ECHO = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line)"


async def test_what_was_said_before_the_end_of_input_is_answered(tmp_path: Path) -> None:
    """As with `printf … | acp-sidecar proxy -- agent`; the last line has no end."""
    said = b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"_x"}\n' % number for number in range(1000)) + b"{}"
    async with Talk(behind_proxy([sys.executable, "-S", "-c", ECHO]), tmp_path) as talk:
        talk.answer = lambda message: None
        talk.write(said)
        assert await talk.hang_up() == 0
    assert talk.received == said


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["no-such-agent-anywhere"], "there is no such program"),
        (["/etc/passwd"], "there is no such program"),
    ],
)
async def test_an_agent_that_cannot_be_started(tmp_path: Path, argv: list[str], words: str) -> None:
    async with Talk(behind_proxy(argv), tmp_path) as talk:
        assert await talk.ended() == 1
    assert words in talk.errors.decode()
    assert len(talk.errors.splitlines()) == 1
