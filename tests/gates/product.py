"""The real `acp-sidecar lsp` as a process behind its real pipes, with scripted agents: what the gates are run against.

Both peers are raw bytes of our own: the editor is demo/editor.py (JSON by hand), the agents are support/fake_agent.py.
`planted` names a defect of planted.py: the same process, made bad on purpose, by which a gate shows that it can fail.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sidecar.approvals import Approvals
from sidecar.core.json_types import JsonDict
from sidecar.demo.editor import HeadlessEditor, dismiss
from sidecar.demo.wire import ErrorAnswer
from tests.support import agents

Script = dict[str, Any]
Answer = Callable[[str, Sequence[str]], str | None]

COMMAND = (str(Path(sys.executable).with_name("acp-sidecar")), "lsp")
"""As editors start it. (`python -m` would take modules from the folder that is open.)"""
END = 60.0
"""Seconds the process may take to end in order: several times the ladder, for a busy machine."""
TURN = 120.0
"""Seconds any command may take before the harness gives up: a bound on hanging, beyond every limit of the sidecar's own."""


class Product(HeadlessEditor):
    """An editor and its sidecar. Failures of commands are values here: words under `error`."""

    async def session(self, agent: str, **more: Any) -> JsonDict:
        """`{sessionId …}` or `{error}`."""
        return await self.tried("sidecar.newSession", {"agent": agent, "cwd": self.folder, **more})

    async def prompt(self, session: JsonDict | str, text: str = "go") -> JsonDict:
        """The turn's outcome or `{error}`."""
        session_id = session if isinstance(session, str) else session["sessionId"]
        return await self.tried("sidecar.prompt", {"sessionId": session_id, "prompt": text, "wait": True})

    async def tried(self, command: str, argument: object = None) -> JsonDict:
        try:
            return await self.execute(command, *([] if argument is None else [argument]), timeout=TURN)
        except ErrorAnswer as error:
            return {"error": str(error), "code": error.code, "data": error.data}

    def said(self, session: JsonDict) -> str:
        """What the agent of that session said."""
        return "".join(
            text
            for session_id, update in self.updates
            if session_id == session["sessionId"]
            and update.get("sessionUpdate") == "agent_message_chunk"
            and isinstance(content := update.get("content"), dict)
            and isinstance(text := content.get("text"), str)
        )

    @property
    def boxes(self) -> list[str]:
        """Message boxes the user was shown. (`window/logMessage` is in `logged`.)"""
        return [params["message"] for method, params in self.notifications if method == "window/showMessage"]

    def heard(self, method: str, params: JsonDict) -> None:
        if method == "window/showMessage":
            self.notifications.append((method, params))
        super().heard(method, params)


def settings(
    scripts: Mapping[str, Script],
    *,
    traces: Path | None = None,
    approved: bool = True,
    scripts_in: Path | None = None,
) -> JsonDict:
    """The `agents` of initializationOptions; `traces`: a folder that gets, by agent, every line the agent received;
    `scripts_in`: a folder for scripts that are too long for a command line."""
    found: JsonDict = {}
    for number, (name, script) in enumerate(scripts.items()):
        file = None if scripts_in is None else scripts_in / f"script-{number}.json"
        command = agents.command(script, None if traces is None else traces / name, file=file)
        if approved:
            Approvals().remember(command)
        found[name] = {"command": command.command, "args": list(command.args), "env": dict(command.env)}
    return found


def command(planted: str | None) -> tuple[str, ...]:
    if planted is None:
        return COMMAND
    return (sys.executable, str(Path(__file__).with_name("planted.py")), planted)


@asynccontextmanager
async def a_product(
    folder: Path,
    scripts: Mapping[str, Script],
    *,
    planted: str | None = None,
    traces: Path | None = None,
    approved: bool = True,
    scripts_in: Path | None = None,
    answer: Answer = dismiss,
    client: Sequence[str] = ("sessionUpdates",),
    make: type[Product] = Product,
    **options: Any,
) -> AsyncIterator[Product]:
    """`scripts`: agent → script of fake_agent.py. Ends in order; fails when the process did not, or logged a traceback."""
    agents_ = settings(scripts, traces=traces, approved=approved, scripts_in=scripts_in)
    told = {"agents": agents_, "client": dict.fromkeys(client, True), **options}
    product = make(command(planted), folder, options=told, answer=answer)
    async with product:
        yield product
        code = await product.stop(END)
    last_words = "\n".join(product.stderr)
    assert code == 0, f"ended with {code}: {last_words}"
    assert "Traceback" not in last_words, last_words


def in_folder(script: Any, folder: Path) -> Any:
    """The script with `$folder` filled in."""
    if isinstance(script, str):
        return script.replace("$folder", str(folder))
    if isinstance(script, list):
        return [in_folder(one, folder) for one in script]
    if isinstance(script, dict):
        return {key: in_folder(value, folder) for key, value in script.items()}
    return script


async def all_wrong(work: Sequence[Awaitable[list[str]]], at_once: int = 6) -> list[str]:
    """What each of them found wrong, together; so many at a time."""
    free = asyncio.Semaphore(at_once)

    async def one(item: Awaitable[list[str]]) -> list[str]:
        async with free:
            return await item

    return [wrong for found in await asyncio.gather(*map(one, work)) for wrong in found]
