"""`acp-sidecar acp` with clients that nobody here wrote: acpx, and the TypeScript SDK's example client."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attach.attached import ATTACH, an_editor
from tests.attach.test_by_http import address, code_of
from tests.attach.test_by_port import listening
from tests.proxy.talk import processes
from tests.support.clients import Heard, acpx, typescript_client, typescript_http_client

pytestmark = [processes, pytest.mark.agents]


async def test_acpx_prompts_an_agent_of_the_editors(tmp_path: Path) -> None:
    async with an_editor(tmp_path, [{"say": "from the editor's agent"}]) as product:
        assert await acpx(ATTACH, "go", tmp_path / "ws", {}) == Heard("from the editor's agent", "end_turn")
        await product.wait_for(lambda: [turn["stopReason"] for turn in product.turns] == ["end_turn"])


async def test_the_typescript_sdks_example_client_prompts_and_answers(tmp_path: Path) -> None:
    async with an_editor(tmp_path, [{"say": "from the editor's agent"}]) as product:
        said = await typescript_client(ATTACH, tmp_path / "ws", tmp_path)
        assert "from the editor's agent" in said
        assert "Agent completed with: end_turn" in said
        await product.wait_for(lambda: len(product.turns) == 1)


async def test_the_typescript_sdks_example_client_comes_over_http(tmp_path: Path) -> None:
    """With a code in its address, beside a header of its own that is none."""
    async with (
        an_editor(tmp_path, [{"say": "from the editor's agent"}]) as product,
        listening(product, tmp_path / "ws") as port,
    ):
        url = f"{address(port)}?code={await code_of(port)}"
        said = await typescript_http_client(url, tmp_path / "ws")
        assert "from the editor's agent" in said
        assert "Done: end_turn" in said
        assert "loadSession=true" in said
        await product.wait_for(lambda: len(product.turns) == 1)
