"""What is logged of an agent's noise is short, however much there was."""

from __future__ import annotations

import logging

import pytest

from sidecar.acp.noise import Noise
from tests.acp.test_transport import side

LOG = logging.getLogger("tests.noise")


@pytest.mark.parametrize("words", ["x" * 10**7, b"\xff" * 10**7, "\n" * 10**7, ""])
def test_words_are_shortened(words: str | bytes, caplog: pytest.LogCaptureFixture) -> None:
    Noise(LOG, "agent").say("said", words)
    assert len(caplog.messages[0]) < 2000


def test_what_is_left_out_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    noise = Noise(LOG, "agent", burst=2, period=1000)
    for _ in range(5):
        noise.say("said")
    assert len(caplog.messages) == 2


@pytest.mark.parametrize(
    "line", ['{"id":["%s"],"result":1}', '{"id":7,"result":"%s"}', '{"id":1,"method":["%s"]}'], ids=str
)
async def test_of_a_message_only_its_name_is_told(line: str, caplog: pytest.LogCaptureFixture) -> None:
    async with side() as there:
        there.wire.feed((line % ("x" * 5000) + "\n").encode())
        there.wire.request("probe", "ping")
        await there.wire.answered("probe")
    assert caplog.messages
    assert "xxx" not in "".join(caplog.messages)
