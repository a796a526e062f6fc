"""Our tools for an agent that runs elsewhere, with real processes: in a mount namespace where the user's folder has another name."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from sidecar.config import WORKSPACE_FOLDER, Transport
from tests.gates.product import COMMAND, Product
from tests.mcp.live import SCRIPT, offered
from tests.relayed.far import a_far_agent, a_sidecar, a_turn, there
from tests.support.elsewhere import THERE, by_namespace
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.skipif(sys.platform == "win32", reason="there is no bridge on Windows yet"),
]
BASE = "one\ntwo\nthree\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text(BASE)
    return project


@pytest.fixture
def by(project: Path) -> Transport:
    return replace(by_namespace(project), sidecar=COMMAND[0])


def by_link(project: Path) -> Transport:
    """A transport wherever there are links."""
    far = project.parent / "there"
    far.symlink_to(project, target_is_directory=True)
    return Transport(("/usr/bin/env",), {str(far): WORKSPACE_FOLDER}, sidecar=COMMAND[0])


def by_there(project: Path) -> Transport:
    """The same, once it is there."""
    return Transport(("/usr/bin/env",), {str(project.parent / "there"): WORKSPACE_FOLDER})


async def test_what_was_typed_after_the_prompt_is_read_and_edited(
    project: Path, by: Transport, tmp_path: Path
) -> None:
    path = project / "a.txt"
    async with a_far_agent(project, by, tmp_path / "traces") as far:
        far.product.open(path)
        far.product.type(path, "typed\n", at=0)
        assert await far.call("Read", file_path=f"{THERE}/a.txt") == "typed\n" + BASE
        assert await far.call("Read", file_path="a.txt", offset=2, limit=1) == "one\n"
        said = await far.call("Edit", file_path=f"{THERE}/a.txt", old_string="typed", new_string="TYPED")
        assert said.startswith(f"The file {THERE}/a.txt has been updated.")
        assert far.product.document(path).text == "TYPED\n" + BASE
        assert path.read_text() == BASE, "the user's file is dirty, so nothing is saved"
        changes = await far.told("Changes")
        assert [change["file_path"] for change in changes["changes"]] == [f"{THERE}/a.txt"]
        far.product.undo(path)
        assert far.product.document(path).text == "typed\n" + BASE


async def test_every_tool_names_files_as_they_are_called_there(
    project: Path, by: Transport, tmp_path: Path
) -> None:
    """And none tells a path of this machine, but where a file's text has it."""
    path, a = project / "a.txt", f"{THERE}/a.txt"
    (project / "own.txt").write_text(f"file: {project}/own.txt\n")
    (project / "sub").mkdir()
    async with a_far_agent(project, by, tmp_path / "traces") as far:
        far.product.open(path)
        far.product.type(path, "typed\n", at=0)

        async def answer(tool: str, **arguments: Any) -> str:
            result = await far.client.call_tool(tool, arguments)
            text = "\n".join(getattr(block, "text", "") for block in result.content)
            assert str(project) not in text.replace(f"file: {project}/own.txt\n", "")
            assert str(project) not in json.dumps(result.structured_content or {})
            return text

        assert await answer("Read", file_path=f"{THERE}/own.txt") == f"file: {project}/own.txt\n"
        many = await answer("ReadMany", files=[{"file_path": "own.txt"}, {"file_path": f"{THERE}/no.txt"}])
        assert many.startswith(f"file: {THERE}/own.txt\nfile: {project}/own.txt\n\nerror: {THERE}/no.txt\n")
        listed = await far.told("ListFolder")
        assert (listed["path"], [row["name"] for row in listed["entries"]]) == (
            THERE,
            ["a.txt", "own.txt", "sub"],
        )
        assert await far.told("ListFolder", path=f"{THERE}/sub") == {"path": f"{THERE}/sub", "entries": []}
        assert await far.told("Glob", pattern="*.txt") == {"folder": THERE, "files": ["a.txt", "own.txt"]}
        found = await far.told("Search", pattern="typed")
        assert (found["folder"], found["matches"]) == (THERE, [{"file": "a.txt", "line": 1, "text": "typed"}])
        assert await far.told("OpenDocuments") == {"documents": [{"path": a, "unsaved": True, "lines": 5}]}
        assert (await far.told("Watch", file_path=a))["file_path"] == a
        assert f"The file {THERE}/new.txt has been" in await answer("Write", file_path="new.txt", content="n")
        assert (project / "new.txt").read_text() == "n"
        assert f"The file {a} has been" in await answer("Append", file_path=a, content="end\n")
        edits = [
            {"file_path": a, "old_string": "end", "new_string": "END"},
            {"file_path": f"{THERE}/new.txt", "old_string": "n", "new_string": "m"},
        ]
        assert [line.split()[2] for line in (await answer("EditMany", edits=edits)).splitlines()] == [
            a,
            f"{THERE}/new.txt",
        ]
        assert far.product.document(path).text == "typed\n" + BASE + "END\n"
        edits[1]["old_string"] = "gone"
        assert f"{THERE}/new.txt" in await answer("EditMany", edits=edits[1:])
        for wrong in ("Edit", "Write", "Read", "Changes", "Diagnostics", "ReadBytes"):
            more = {"old_string": "no such text", "new_string": ""} if wrong == "Edit" else {}
            more |= {"content": "x"} if wrong == "Write" else {}
            name = f"{THERE}/sub" if wrong == "Write" else f"{THERE}/no.txt"
            assert await answer(wrong, file_path=name, **more)
        for tool in ("Selection", "Diagnostics", "Changes"):
            await answer(tool)


async def test_only_paths_of_the_mapped_folders(project: Path, tmp_path: Path) -> None:
    """What lies outside, also by way of `..` and of a link, is refused in words that tell no path but those that it named."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("SECRET")
    (project / "link").symlink_to(outside / "secret")
    by = by_link(project)
    far_project = next(iter(by.folders))
    by = replace(by, folders={**by.folders, "/outside": str(outside)})
    named = [
        str(outside / "secret"),
        "/outside/secret",
        f"{far_project}/../outside/secret",
        f"{far_project}2/../outside/secret",
        f"{far_project}/link",
        "../outside/secret",
        str(project / "a.txt"),
        "/etc/passwd",
        "/" + "x" * 5000,
        "a\0b",
        "file:///etc/passwd",
    ]
    async with a_far_agent(project, by, tmp_path / "traces") as far:
        far.product.open(project / "a.txt")
        for path in named:
            calls: list[tuple[str, dict[str, Any]]] = [
                ("Read", {"file_path": path}),
                ("Write", {"file_path": path, "content": "x"}),
                ("Edit", {"file_path": path, "old_string": "SECRET", "new_string": "x"}),
                ("EditMany", {"edits": [{"file_path": path, "old_string": "", "new_string": "x"}]}),
                ("Search", {"pattern": "SECRET", "path": path}),
                ("ListFolder", {"path": path}),
                ("ReadBytes", {"file_path": path}),
            ]
            for tool, arguments in calls:
                words = await far.refused(tool, **arguments)
                assert str(outside) not in words.replace(path, ""), (tool, path, words)
                assert str(project) not in words.replace(path, ""), (tool, path, words)
        many = await far.call("ReadMany", files=[{"file_path": "link"}])
        assert "SECRET" not in many
        assert far.product.document(project / "a.txt").text == BASE
        assert "is in no mapped folder" in await far.refused("Read", file_path="/etc/passwd")
    assert (outside / "secret").read_text() == "SECRET"


def environment(server: Mapping[str, Any]) -> dict[str, str]:
    return {pair["name"]: pair["value"] for pair in server["env"]}


async def test_a_token_counts_for_its_session_by_its_relay_only(project: Path, tmp_path: Path) -> None:
    """Not by the relay of another agent, not over the bridge, not made up, and not after its session."""
    by = by_link(project)
    async with a_sidecar(project, {"one": by, "two": by}, tmp_path / "traces") as product:
        turns = a_turn(product, "one"), a_turn(product, "two")
        async with turns[0], turns[1]:
            (one,), (two,) = offered(tmp_path / "traces" / "one"), offered(tmp_path / "traces" / "two")
            assert set(environment(one)) == {"ACP_SIDECAR_RELAY", "ACP_SIDECAR_TOKEN"}
            relay, token = environment(one).values()
            other, others = environment(two).values()
            assert (relay != other, token != others) == (True, True)

            async def tried(relay: str, token: str) -> str:
                env = {"ACP_SIDECAR_RELAY": relay, "ACP_SIDECAR_TOKEN": token}
                server = {**one, "env": [{"name": k, "value": v} for k, v in env.items()]}
                async with Client(there(by, server)) as client:
                    result = await client.call_tool("Read", {"file_path": "a.txt"})
                    return "".join(getattr(block, "text", "") for block in result.content)

            assert await tried(relay, token) == BASE
            for wrong in ((other, token), (relay, others), (relay, "0" * 64)):
                assert "belongs to no open session of this agent" in await tried(*wrong)
            assert "without a session" in await tried(relay, "")
            from sidecar.bridge.finding import find

            def over_the_bridge() -> Any:
                found = find(str(project), os.environ)
                assert found is not None
                with found:
                    return found.call("tool", {"token": token, "name": "Read", "arguments": {}})

            assert set(await asyncio.to_thread(over_the_bridge)) == {"refused"}
            second = await product.session("one")
            _, later = offered(tmp_path / "traces" / "one")
            assert environment(later)["ACP_SIDECAR_RELAY"] == relay
            token = environment(later)["ACP_SIDECAR_TOKEN"]
            assert await tried(relay, token) == BASE
            await product.execute("sidecar.closeSession", {"sessionId": second["sessionId"]})
            assert "belongs to no open session" in await tried(relay, token)


def relays(server: Mapping[str, Any]) -> list[int]:
    """The processes of the relay that this server would use."""
    name = Path(environment(server)["ACP_SIDECAR_RELAY"]).stem.encode()
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdecimal() else []
        except OSError:
            continue
        if words[-4:-1] == [b"relay", b"--id", name]:
            found.append(int(entry.name))
    return found


async def way(product: Product) -> str:
    agents = (await product.execute("sidecar.status"))["agents"]
    return next(agent["files"] for agent in agents if agent["agent"] == "far")


linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")


@linux
async def test_a_relay_that_is_killed_in_the_middle_of_a_write(project: Path, tmp_path: Path) -> None:
    """The caller is told in words; the write was made once and waits for the user; the relay is started again, and the next call goes through it."""
    path = project / "a.txt"
    async with a_far_agent(project, by_link(project), tmp_path / "traces", writes="confirm") as far:
        far.product.open(path)
        far.product.type(path, "typed\n", at=0)
        write = asyncio.ensure_future(
            far.refused("Edit", file_path="a.txt", old_string="two", new_string="TWO")
        )
        await far.product.wait_for(lambda: "TWO" in far.product.document(path).text)
        (pid,) = relays(far.server)
        os.kill(pid, signal.SIGKILL)
        assert "whether this call was carried out is not known: read the file again" in await write
        assert far.product.document(path).text == "typed\none\nTWO\nthree\n"
        assert len(await far.product.execute("sidecar.listChanges", {})) == 1
        eventually(lambda: relays(far.server) not in ([], [pid]), "a relay is started again")
        read = await until(lambda: far.client.call_tool("Read", {"file_path": "a.txt"}))
        assert read == "typed\none\nTWO\nthree\n"


async def until(call: Callable[[], Any]) -> str:
    """The text of the first answer that is no error."""
    async with asyncio.timeout(60):
        while True:
            result = await call()
            if not result.is_error:
                return "".join(getattr(block, "text", "") for block in result.content)
            await asyncio.sleep(0.05)


@linux
async def test_nothing_is_left_there(project: Path, by: Transport, tmp_path: Path) -> None:
    """The relay ends with its agent, and so does its socket, while the sidecar goes on."""
    async with a_sidecar(project, {"far": by}, tmp_path / "traces") as product:
        async with a_turn(product, "far") as session:
            (server,) = offered(tmp_path / "traces" / "far")
            assert len(relays(server)) == 1
            socket = Path(environment(server)["ACP_SIDECAR_RELAY"])
            assert (socket.stat().st_mode & 0o777, socket.parent.stat().st_mode & 0o777) == (0o600, 0o700)
            assert "our tools are not live" not in await way(product)
            await product.execute("sidecar.cancel", {"sessionId": session["sessionId"]})
        await product.execute("sidecar.closeSession", {"sessionId": session["sessionId"]})
        eventually(lambda: not relays(server) and not socket.exists(), "the relay has ended")


async def test_an_agent_of_version_2_is_given_them(project: Path, tmp_path: Path) -> None:
    """It cannot ask for files, so they are how it reaches the text in the editor, without any setting."""
    path = project / "a.txt"
    how: dict[str, Any] = {"script": {**SCRIPT, "speaks": 2}, "protocol": 2, "ownTools": "live"}
    async with a_sidecar(project, {"far": by_link(project)}, tmp_path / "traces", **how) as product:
        product.open(path)
        opened = await product.session("far")
        turn = asyncio.ensure_future(product.prompt(opened))
        (server,) = offered(tmp_path / "traces" / "far")
        assert server["type"] == "stdio"
        await product.wait_for(lambda: product.said(opened) == "begun")
        product.type(path, "typed\n", at=0)
        async with Client(there(by_there(project), server)) as client:
            result = await client.call_tool("Read", {"file_path": "a.txt"})
        assert getattr(result.content[0], "text", "") == "typed\n" + BASE
        await product.execute("sidecar.cancel", {"sessionId": opened["sessionId"]})
        await turn


@linux
async def test_after_the_agents_death_they_come_by_a_new_relay(project: Path, tmp_path: Path) -> None:
    async with a_sidecar(project, {"far": by_link(project)}, tmp_path / "traces") as product:
        opened = await product.session("far")
        turn = asyncio.ensure_future(product.prompt(opened))
        await product.wait_for(lambda: product.said(opened) == "begun")
        (first,) = offered(tmp_path / "traces" / "far")
        agents = (await product.execute("sidecar.status"))["agents"]
        os.kill(next(agent["pid"] for agent in agents if agent["agent"] == "far"), signal.SIGKILL)
        assert "error" in await turn
        eventually(lambda: not relays(first), "its relay has ended")
        turn = asyncio.ensure_future(product.prompt(opened))
        await product.wait_for(lambda: product.said(opened) == "begunbegun")
        _, second = offered(tmp_path / "traces" / "far")
        assert environment(second) != environment(first)
        async with Client(there(by_there(project), second)) as client:
            result = await client.call_tool("Read", {"file_path": "a.txt"})
        assert getattr(result.content[0], "text", "") == BASE
        await product.execute("sidecar.cancel", {"sessionId": opened["sessionId"]})
        await turn


async def test_writes_that_are_denied(project: Path, tmp_path: Path) -> None:
    async with a_far_agent(project, by_link(project), tmp_path / "traces", writes="deny") as far:
        far.product.open(project / "a.txt")
        assert await far.call("Read", file_path="a.txt") == BASE
        for tool, arguments in (
            ("Write", {"file_path": "a.txt", "content": "x"}),
            ("Write", {"file_path": "new.txt", "content": "x"}),
            ("Edit", {"file_path": "a.txt", "old_string": "two", "new_string": "x"}),
            ("Append", {"file_path": "a.txt", "content": "x"}),
        ):
            assert "settings" in await far.refused(tool, **arguments)
        assert far.product.document(project / "a.txt").text == BASE
    assert sorted(path.name for path in project.iterdir()) == ["a.txt"]


OTHER = """#!/bin/sh
echo '{"acp-sidecar relay": 2, "program": "9.9.9", "plug": "x"}'
cat > /dev/null
"""
NOT_THERE = [
    ("acp-sidecar-is-not-here", "ended with code 127"),
    ("/bin/false", "ended with code 1"),
    ("#!/bin/sh\nyes no relay here\n", "did not answer as one"),
    ("#!/bin/sh\nhead -c 1000000 /dev/zero | tr '\\0' x; cat\n", "did not answer as one"),
    (OTHER, "is of acp-sidecar 9.9.9, which this one"),
]


@pytest.mark.parametrize(("program", "why"), NOT_THERE)
async def test_where_acp_sidecar_is_not_there(project: Path, tmp_path: Path, program: str, why: str) -> None:
    """The user is told once, and what to do; the agent gets no server of ours and works as before."""
    if program.startswith("#!"):
        script = tmp_path / "program"
        script.write_text(program)
        script.chmod(0o755)
        program = str(script)
    by = replace(by_link(project), sidecar=program)
    async with a_sidecar(project, {"far": by}, tmp_path / "traces") as product:
        for _ in range(2):
            async with a_turn(product, "far"):
                pass
        (words,) = [box for box in product.boxes if "not live there" in box]
        assert f"`/usr/bin/env {program} relay` {why}" in words
        assert "Install acp-sidecar" in words
        assert "(agents, far, transport, sidecar)" in words
        assert offered(tmp_path / "traces" / "far") == []
        assert "our tools are not live" in await way(product)
