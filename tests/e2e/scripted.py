"""An agent that does what its prompt says, step by step (tests/support/fake_agent.py): starts quickly, needs no model."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, BinaryIO

from sidecar.approvals import Approvals
from tests.support import agents
from tests.support.waiting import eventually

NAME = "scripted"


def settings(*, trace: Path | None = None, **more: Any) -> dict[str, Any]:
    """The sidecar's settings that make it the default agent. `trace` gets every line that it receives: see `answers`."""
    command = agents.command({"prompted": True}, trace)
    Approvals().remember(command)  # a person said yes to it once; the question itself has tests of its own
    return {
        "agents": {NAME: {"command": command.command, "args": list(command.args)}},
        "defaultAgent": NAME,
        **more,
    }


def steps(*all_of: dict[str, Any]) -> str:
    return json.dumps(all_of)


def read(path: Path | str) -> dict[str, Any]:
    return {"read": str(path), "as": f"read {path}", "wait": True}


def write(path: Path | str, content: str) -> dict[str, Any]:
    return {"write": str(path), "content": content, "as": f"write {path}", "wait": True}


def answers(trace: Path) -> list[str]:
    """What the agent's own requests were answered, in order: "ok", or the kind of the error."""
    told: list[str] = []
    for message in agents.received(trace):
        if "method" not in message:
            error = message.get("error")
            told.append(
                "ok" if error is None else str((error.get("data") or {}).get("errorKind", error["message"]))
            )
    return told


class Pause:
    """A place in a turn: the agent waits there (`step`) until the test has done what it does meanwhile (`with pause:`)."""

    def __init__(self, pipe: Path) -> None:
        os.mkfifo(pipe)
        self.step = {"file": str(pipe)}
        self._pipe = pipe

    def __enter__(self) -> None:
        self._held = eventually(self._opened, "the agent waits")

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def _opened(self) -> BinaryIO | None:
        try:
            return os.fdopen(os.open(self._pipe, os.O_WRONLY | os.O_NONBLOCK), "wb")
        except OSError:  # nobody reads it
            return None
