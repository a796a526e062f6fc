"""Conflicts through the real process: told to a client that shows them itself; lenses, code actions and warnings for every other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sidecar.core.uri import from_path, to_path
from sidecar.lsp import ext
from tests.gates.product import Product, a_product, in_folder

BASE = "one\ntwo\nthree\n"
SCRIPT: dict[str, Any] = {
    "turns": [
        [
            {"update": {"sessionUpdate": "tool_call", "toolCallId": "c1", "kind": "edit"}},
            {"put": "$folder/a.txt", "text": BASE.replace("two", "TWO")},
        ]
    ]
}


@asynccontextmanager
async def a_conflict(folder: Path, *client: str) -> AsyncIterator[tuple[Product, str]]:
    """With the document's URI: the user typed in line 2, and the agent wrote the same line on the disk."""
    path = folder / "a.txt"
    path.write_text(BASE)
    scripts, options = {"agent": in_folder(SCRIPT, folder)}, {"beforePrompt": "nothing"}
    async with a_product(folder, scripts, client=client, **options) as product:
        product.open(path)
        product.replace(path, "two", "zwei")
        session = await product.session("agent")
        assert (await product.prompt(session))["stopReason"] == "end_turn"
        assert product.document(path).text == BASE.replace("two", "zwei")
        yield product, from_path(str(path))


def told(product: Product, method: str) -> list[Any]:
    return [params for name, params in product.notifications if name == method]


async def lenses(product: Product, uri: str) -> list[Any]:
    return await product.request("textDocument/codeLens", {"textDocument": {"uri": uri}})


async def actions(product: Product, uri: str, line: int) -> list[Any]:
    where = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 0}}
    params = {"textDocument": {"uri": uri}, "range": where, "context": {"diagnostics": []}}
    return await product.request("textDocument/codeAction", params)


def warnings(product: Product) -> list[Any]:
    """The diagnostics published last, without hints."""
    published: Sequence[Any] = told(product, "textDocument/publishDiagnostics")
    return [d for d in published[-1]["diagnostics"] if d["severity"] == 2] if published else []


CHAT = "Chat with an agent"
"""Offered everywhere, for clients that run no commands by name."""
TITLES = ["Keep my lines", "Take the lines of agent", "Ask agent to do it again"]


async def test_any_editor(tmp_path: Path) -> None:
    async with a_conflict(tmp_path) as (product, uri):
        (box,) = product.boxes
        assert "line 2" in box
        (warning,) = warnings(product)
        assert warning["range"]["start"] == {"line": 1, "character": 0}
        assert '"TWO"' in warning["message"]
        assert '"two"' in warning["message"]
        assert [lens["command"]["title"] for lens in await lenses(product, uri)] == TITLES
        assert [action["title"] for action in await actions(product, uri, 0)] == [CHAT]
        offered = await actions(product, uri, 1)
        assert [action["title"] for action in offered] == [*TITLES, CHAT]
        chat: Any = await product.execute(offered[-1]["command"]["command"])
        prompt = Path(to_path(chat["uri"]) or "").read_text().splitlines()
        assert "## Prompt" in prompt, "a chat to write a prompt in"
        command = offered[1]["command"]
        answer: Any = await product.execute(command["command"], *command["arguments"])
        assert answer["outcome"] == "agent"
        assert product.document(tmp_path / "a.txt").text == BASE.replace("two", "TWO")
        await product.wait_for(lambda: not warnings(product))
        left = [lens["command"]["title"] for lens in await lenses(product, uri)]
        assert not set(left) & set(TITLES)
        assert [title for title in left if "Reject" in title], "it is under review now"
        assert told(product, ext.CONFLICT) == []


async def test_a_client_that_shows_them_itself(tmp_path: Path) -> None:
    async with a_conflict(tmp_path, "conflicts") as (product, uri):
        await product.wait_for(lambda: told(product, ext.CONFLICT))
        (row,) = told(product, ext.CONFLICT)
        assert set(row) <= set(ext.ConflictParams.__annotations__)
        assert (row["uri"], row["state"], row["origin"], row["agent"]) == (uri, "open", "disk", "agent")
        (hunk,) = row["hunks"]
        assert set(hunk) == set(ext.ConflictHunk.__annotations__)
        assert (hunk["base"], hunk["mine"], hunk["agent"]) == ("two\n", "zwei\n", "TWO\n")
        assert not product.boxes
        assert not warnings(product)
        assert await lenses(product, uri) == []
        listed: Any = await product.execute(ext.LIST_CONFLICTS, uri)
        assert listed == [row]
        await product.execute(ext.RESOLVE_CONFLICT, {"conflictId": row["conflictId"], "take": "mine"})
        assert product.document(tmp_path / "a.txt").text == BASE.replace("two", "zwei")
        last = told(product, ext.CONFLICT)[-1]
        assert (last["state"], last["outcome"]) == ("closed", "mine")
        again = await product.tried(ext.RESOLVE_CONFLICT, {"conflictId": row["conflictId"], "take": "mine"})
        assert "no open conflict" in again["error"]
        wrong = await product.tried(ext.RESOLVE_CONFLICT, {"conflictId": "c1", "take": "theirs"})
        assert wrong["code"] == -32602
