"""offered_folders: a conversation that an agent offers (`session/list`) opens no folder that the user did not open or allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.gates.product import Script, a_product

pytestmark = pytest.mark.timeout(200)
CAN = {"loadSession": True, "sessionCapabilities": {"list": {}, "additionalDirectories": {}}}

# cwd · additional folders · the folders that are asked for; $ws is open, $allowed is in allowedRoots
ROWS: list[tuple[str, list[Any], list[str]]] = [
    ("$ws", [], []),
    ("$ws/sub", ["$ws/sub", "$allowed/deep", "$allowed"], []),
    ("$ws", ["/"], ["/"]),
    ("/", [], ["/"]),
    ("$outside", [], ["$outside"]),
    ("$ws", ["$outside"], ["$outside"]),
    ("$ws", ["$outside/deep", "$outside"], ["$outside/deep", "$outside"]),
    ("$ws/../outside", [], ["$outside"]),
    ("$ws", ["$ws/../outside/"], ["$outside"]),
    ("$ws/link", [], ["$outside"]),
    ("$ws", ["$ws/link/deep"], ["$outside/deep"]),
    ("$ws", ["$ws-secret"], ["$ws-secret"]),
    ("$ws", ["$outside/ü\u202e"], ["$outside/ü\\u202e"]),
    ("$ws", ["relative", "", "$ws\0", "file:///", "//host/share", 5, "$outside/missing"], []),
    ("$ws", [f"$outside/{n}" for n in range(30)], [f"$outside/{n}" for n in range(8)]),
]


def filled(text: Any, folder: Path) -> Any:
    if not isinstance(text, str):
        return text
    for name in ("ws-secret", "ws", "allowed", "outside"):
        text = text.replace(f"${name}", str(folder / name))
    return text


def reference(folder: Path, number: int) -> str:
    """The agent's id of a row's conversation: of this test alone, as what was opened once is remembered, by the planted defect too."""
    return f"{folder.name} {number}"


def script(folder: Path) -> Script:
    rows = [
        {
            "sessionId": reference(folder, number),
            "cwd": filled(cwd, folder),
            "additionalDirectories": [filled(path, folder) for path in more],
        }
        for number, (cwd, more, _) in enumerate(ROWS)
    ]
    targets = [folder / "outside", folder / "outside" / "deep", folder / "ws-secret"]
    acts: list[dict[str, Any]] = []
    for number, target in enumerate(targets):
        acts += [
            {"read": str(target / "text"), "as": f"r{number}"},
            {"write": str(target / "made"), "content": "x", "as": f"w{number}"},
        ]
    acts += [{"say": {"answer": f"{verb}{number}"}} for number in range(len(targets)) for verb in "rw"]
    return {
        "initialize": [{"reply": {"protocolVersion": 1, "agentCapabilities": CAN}}],
        "session/list": [{"reply": {"sessions": rows}}],
        "session/load": [{"reply": {}}],
        "turns": [acts],
    }


async def table(folder: Path, planted: str | None = None) -> list[str]:
    ws = _folders(folder)
    wrong: list[str] = []
    allow = [False]

    def answer(text: str, titles: Sequence[str]) -> str | None:
        return (
            next((title for title in titles if title.startswith("Allow this folder")), None)
            if allow[0]
            else None
        )

    options = {"allowedRoots": [str(folder / "allowed")]}
    async with a_product(ws, {"fake": script(folder)}, planted=planted, answer=answer, **options) as product:
        await product.session("fake")
        for number, (cwd, more, asks) in enumerate(ROWS):
            listed: Any = await product.tried("sidecar.listSessions", {"agent": "fake", "all": True})
            row = f"{cwd} with {more}"[:80]
            session_id = _id("fake", reference(folder, number))
            if all(one["sessionId"] != session_id for one in listed):
                wrong.append(f"{row}: is not listed")
                continue
            before = len(product.questions)
            loaded = await product.tried("sidecar.loadSession", {"sessionId": session_id})
            asked = [question.text for question in product.questions[before:]]
            expected = [filled(path, folder) for path in asks]
            if len(asked) != len(expected) or not all(
                f"in {path}," in text or f"in '{path}'," in text
                for text, path in zip(asked, expected, strict=True)
            ):
                wrong.append(f"{row}: asked {asked}, not for {expected}")
            refused = filled(cwd, folder) not in (str(ws), str(ws / "sub"))
            if ("error" in loaded) is not refused:
                wrong.append(f"{row}: {loaded}")
            if "error" not in loaded:
                outcome = await product.prompt(session_id)
                if outcome.get("stopReason") != "end_turn":
                    wrong.append(f"{row}: {outcome}")
                if "SECRET" in product.said({"sessionId": session_id}):
                    wrong.append(f"{row}: a file outside was read")
                await product.tried("sidecar.closeSession", {"sessionId": session_id})
        wrong += [f"{path} was made" for path in _made(folder)]
        allow[0] = True  # and what the user does allow is opened
        loaded = await product.tried("sidecar.loadSession", {"sessionId": _id("fake", reference(folder, 4))})
        outcome = await product.prompt(_id("fake", reference(folder, 4))) if "error" not in loaded else loaded
        if not (folder / "outside" / "made").exists() or (folder / "ws-secret" / "made").exists():
            said = product.said({"sessionId": _id("fake", reference(folder, 4))})
            wrong.append(f"what was allowed, and nothing else, is open: {outcome} {said}")
    return wrong


async def exchanged(folder: Path, fork: bool, planted: str | None = None) -> tuple[str, list[str]]:
    """(what the agent was answered, what the user was asked) in a conversation that was resumed before, when its additional folder was
    one of the user's, and is a link to another one now."""
    ws = _folders(folder)
    offered = [{"sessionId": reference(folder, 0), "cwd": str(ws), "additionalDirectories": [f"{ws}/sub"]}]
    text, made = str(folder / "outside" / "text"), str(folder / "outside" / "made")
    acts = [{"read": text, "as": "r"}, {"say": {"answer": "r"}}, {"write": made, "content": "x"}]
    can = {**CAN, "sessionCapabilities": {**CAN["sessionCapabilities"], "fork": {}}}
    agent: Script = {
        "initialize": [{"reply": {"protocolVersion": 1, "agentCapabilities": can}}],
        "session/list": [{"reply": {"sessions": offered}}],
        "session/load": [{"reply": {}}],
        "session/fork": [{"reply": {"sessionId": "forked"}}],
        "turns": [acts],
    }
    session = _id("fake", reference(folder, 0))
    async with a_product(ws, {"fake": agent}, planted=planted) as product:
        await product.session("fake")
        await product.tried("sidecar.listSessions", {"agent": "fake", "all": True})
        loaded = await product.tried("sidecar.loadSession", {"sessionId": session})
        assert "error" not in loaded, loaded
        await product.prompt(session)
        await product.tried("sidecar.closeSession", {"sessionId": session})
        (ws / "sub").rmdir()
        (ws / "sub").symlink_to(folder / "outside")
        again = "sidecar.forkSession" if fork else "sidecar.loadSession"
        opened = await product.tried(again, {"sessionId": session})
        assert "error" not in opened, opened
        await product.prompt(opened)
        said = product.said({"sessionId": opened["sessionId"]})
        return said, [question.text for question in product.questions]


@pytest.mark.parametrize("fork", [False, True], ids=["loaded", "forked"])
async def test_a_folder_that_was_exchanged_is_asked_for(tmp_path: Path, fork: bool) -> None:
    said, asked = await exchanged(tmp_path, fork)
    assert "SECRET" not in said
    assert _made(tmp_path) == []
    assert [f"in {tmp_path / 'outside'}," in text for text in asked] == [True]


async def test_the_gate_notices_a_folder_that_was_exchanged(tmp_path: Path) -> None:
    said, _ = await exchanged(tmp_path, False, "agents_name_folders")
    assert "SECRET" in said


def _folders(folder: Path) -> Path:
    for name in ("ws/sub", "ws-secret", "allowed/deep", "outside/deep", "outside/ü\u202e"):
        (folder / name).mkdir(parents=True)
    for n in range(30):
        (folder / "outside" / str(n)).mkdir()
    (folder / "ws" / "link").symlink_to(folder / "outside")
    for name in ("outside", "outside/deep", "ws-secret"):
        (folder / name / "text").write_text("SECRET")
    return folder / "ws"


def _made(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("made")]


def _id(agent: str, reference: str) -> str:
    from sidecar.workspace.sessions.conversations import _id_of

    return _id_of(agent, reference)


async def test_folders_come_from_the_user(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    assert await table(tmp_path) == []
    record_property("rows", len(ROWS))


async def test_the_gate_can_fail(tmp_path: Path) -> None:
    found = "\n".join(await table(tmp_path, "agents_name_folders"))
    assert "a file outside was read" in found
    assert "was made" in found
