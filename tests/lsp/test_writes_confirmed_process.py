"""`"writes": "confirm"` with the real process: the agent hears what the user decided, and why, in the answer to its write."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from tests.gates.product import Product, a_product


async def waits(product: Product, times: int) -> Any:
    """The change about which the agent waits, for the first time or the second."""
    await product.wait_for(lambda: [words for words in product.boxes if "waits until" in words][times - 1 :])
    (change,) = cast("list[Any]", await product.execute("sidecar.listChanges", {}))
    return change


async def test_the_agent_waits_and_hears_the_reason(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    file = tmp_path / "ws" / "a.txt"
    file.write_text("before\n")
    steps: list[dict[str, Any]] = [
        {"read": str(file)},
        {"write": str(file), "content": "after\n", "as": "written"},
        {"say": {"answer": "written"}},
        {"read": str(file)},
        {"write": str(file), "content": "once more\n", "as": "again"},
        {"say": {"answer": "again"}},
    ]
    scripts = {"agent": {"turns": [steps]}}
    async with a_product(tmp_path / "ws", scripts, traces=tmp_path, writes="confirm") as product:
        session = await product.session("agent")
        product.open(str(file))
        await product.execute("sidecar.prompt", {"sessionId": session["sessionId"], "prompt": "go"})
        change = await waits(product, 1)
        assert product.said(session) == ""
        rejected: Any = await product.execute(
            "sidecar.reject", {"changeId": change["changeId"], "reason": 'say "later"'}
        )
        assert rejected["told"] == [change["changeId"]]
        await product.wait_for(lambda: product.said(session))
        assert "rejected" in product.said(session)
        assert "later" in product.said(session)
        change = await waits(product, 2)
        assert product.document(str(file)).text == "once more\n"
        await product.execute("sidecar.keep", {"changeId": change["changeId"]})
        await product.wait_for(lambda: product.turns)
        assert product.said(session).count("rejected") == 1
        assert file.read_text() == "before\n", "this editor leaves saving to the user"
