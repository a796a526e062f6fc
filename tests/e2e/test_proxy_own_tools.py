"""Own tools of a real agent behind `acp-sidecar proxy`, driven by a client that knows nothing of them: `make agents`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from sidecar.demo.editor import ALL_CUSTOM
from tests.e2e.model_server import ModelServer, script
from tests.e2e.third_party import BASE, KINDS, LIVE, results
from tests.gates.product import a_product
from tests.proxy.talk import Talk, behind_proxy
from tests.proxy.test_live import until_it_can_be_found, yes
from tests.support import tools

pytestmark = [
    pytest.mark.agents,
    pytest.mark.skipif(os.name == "nt", reason="there is no bridge on Windows yet"),
]
LED = [name for name in LIVE if KINDS[name].protocol == 1]


@pytest.mark.parametrize("name", LED)
async def test_they_read_and_edit_what_is_typed(
    name: str, tmp_path: Path, workspace: Path, model: ModelServer
) -> None:
    kind = KINDS[name]
    path, home = workspace / "a.txt", tmp_path / "home"
    path.write_text(BASE)
    home.mkdir()
    env = {"HOME": str(home), "IS_SANDBOX": ""} | {
        f"XDG_{one}_HOME": str(home / one.lower()) for one in ("CACHE", "CONFIG", "DATA", "STATE")
    }
    argv = behind_proxy([tools.require(kind.tool).command, *kind.args], "--name", kind.name)
    async with a_product(workspace, {}, answer=yes, client=list(ALL_CUSTOM)) as product:
        await until_it_can_be_found(workspace)
        product.open(path)
        async with Talk(argv, workspace, env | kind.environment(home, model.url)) as talk:
            talk.answer = allowed
            session = await talk.session()
            product.type(path, "typed later\n", at=0)
            answer = await talk.prompt(
                session, script(kind.read(path), kind.edit(path, "typed later", "TYPED LATER"))
            )
            assert answer["result"]["stopReason"] == "end_turn", answer
            assert "typed later" in results(model)
            assert product.document(path).text == "TYPED LATER\n" + BASE
            assert path.read_text() == BASE, "nothing is saved"
            changes: Any = await product.execute("sidecar.listChanges", {})
            assert [row["agent"] for row in changes] == [f"{kind.name} (proxy)"]
            product.undo(path)
            assert product.document(path).text == "typed later\n" + BASE


def allowed(message: Any) -> Any:
    """The client's user allows everything once."""
    options = message["params"].get("options", [])
    chosen = next(one["optionId"] for one in options if one["kind"] == "allow_once")
    return {"result": {"outcome": {"outcome": "selected", "optionId": chosen}}}
