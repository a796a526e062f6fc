"""Without an editor the proxy serves the disk, and what the agent changes can be taken back."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.gates.product import COMMAND, a_product
from tests.proxy.talk import Message, Talk, agent, behind_proxy, processes
from tests.proxy.test_live import until_it_can_be_found, yes

pytestmark = processes

BASE = "one\ntwo\nthree\n"


def command(folder: Path, *words: str) -> Any:
    done = subprocess.run([COMMAND[0], *words], cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout) if "--json" in words else done.stdout


def proxied(tmp_path: Path, *turns: list[Message]) -> list[str]:
    return behind_proxy(agent({"turns": list(turns)}, file=tmp_path / "script"), "--name", "robot")


async def test_a_write_is_journalled_and_can_be_reverted(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    path, made = folder / "a.txt", folder / "new" / "b.txt"
    path.write_text(BASE)
    (folder / ".env").write_text("KEY=1\n")
    steps: list[Message] = [
        {"read": str(path), "as": "read"},
        {"write": str(path), "content": BASE.replace("two", "TWO")},
        {"write": str(made), "content": "made\n"},
        {"read": str(folder / ".env"), "as": "secret"},
        {"say": {"answer": "read"}},
        {"say": {"answer": "secret"}},
    ]
    async with Talk(proxied(tmp_path, steps), folder) as talk:
        await talk.prompt(await talk.session())
        read, secret = talk.answers()
        assert read["result"] == {"content": BASE}
        assert secret["error"]["data"]["errorKind"] == "denied_by_user", "there is nobody to ask"
        assert await talk.hang_up() == 0
    assert "read and written on the disk" in talk.errors.decode()
    assert path.read_text() == BASE.replace("two", "TWO")
    rows = command(folder, "changes", "--json")
    assert [(Path(row["path"]).name, row["agent"]) for row in rows] == [
        ("b.txt", "robot (proxy)"),
        ("a.txt", "robot (proxy)"),
    ]
    for row in rows:
        command(folder, "revert", row["id"])
    assert path.read_text() == BASE
    assert not made.exists()


async def test_an_editor_that_comes_later_is_used_from_the_next_turn_on(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    path = folder / "a.txt"
    path.write_text(BASE)
    steps: list[Message] = [{"read": str(path), "as": "read"}, {"say": {"answer": "read"}}]
    async with Talk(proxied(tmp_path, steps), folder) as talk:
        session = await talk.session()
        await talk.prompt(session)
        async with a_product(folder, {}, answer=yes) as product:
            product.open(path)
            product.type(path, "typed\n", at=0)
            await until_it_can_be_found(folder)
            await talk.prompt(session)
        assert [answer["result"]["content"] for answer in talk.answers()] == [BASE, "typed\n" + BASE]
