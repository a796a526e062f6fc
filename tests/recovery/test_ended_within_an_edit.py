"""The real sidecar ends while its editor has not answered an edit; then `acp-sidecar revert --session` in a terminal."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.json_types import JsonDict
from sidecar.demo.editor import ALL_CUSTOM
from tests.gates.product import COMMAND, Product, settings
from tests.gates.test_no_orphans import DEATHS, die

pytestmark = [
    pytest.mark.timeout(200),
    pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX"),
]

BEFORE = "one\ntwo\nthree\n"
FIRST = "one\nTWO\nthree\n"
SECOND = "one\nTwo\nthree\n"
"""The agent's second write changes the same place again: taken back without having been made, it is in its own way."""


class Mute(Product):
    """An editor that applies the first edit and never answers the second."""

    edits = 0

    def apply_edit(self, params: JsonDict) -> object:
        self.edits += 1
        if self.edits == 1:
            return super().apply_edit(params)
        self.happened()
        return asyncio.get_running_loop().create_future()


@pytest.mark.parametrize("death", DEATHS)
async def test_the_session_can_be_taken_back(tmp_path: Path, death: str) -> None:
    file = tmp_path / "a.txt"
    file.write_text(BEFORE)
    steps: list[dict[str, Any]] = [{"read": str(file)}]
    steps += [{"write": str(file), "content": text} for text in (FIRST, SECOND)]
    told = {"agents": settings({"agent": {"turns": [steps]}}), "client": dict(ALL_CUSTOM)}
    product = Mute(COMMAND, tmp_path, options=told)
    async with product:
        product.open(file)
        session = await product.session("agent")
        turn = asyncio.ensure_future(product.prompt(session))
        await product.wait_for(lambda: product.edits == 2)
        await die(product, death)
        await asyncio.gather(turn, return_exceptions=True)
        await product.kill()
    assert file.read_text() == FIRST
    command = [COMMAND[0], "revert", "--session", session["sessionId"]]
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert file.read_text() == BEFORE
