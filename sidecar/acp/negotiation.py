"""Negotiation: decides which version of ACP is spoken with an agent.

The protocol wants a client to ask for its newest version. We ask for version 1 first, unless the user configured another: only in version 1 can an
agent ask us for files. An agent that speaks only the other version says so and is started again, because after its answer nothing else can be agreed
on.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from sidecar.acp.dialect import Dialect
from sidecar.acp.errors import INVALID_PARAMS, INVALID_REQUEST
from sidecar.acp.facts import at
from sidecar.workspace.ports.ports import AgentFailed

log = logging.getLogger(__name__)

T = TypeVar("T")

VERSIONS = (1, 2)


def _dialect(version: int) -> Dialect:
    if version == 1:
        return Dialect()
    from sidecar.acp.v2.second import Second  # few agents need it

    return Second()


def other_version(agent: str, theirs: int) -> AgentFailed:
    ours = " and ".join(map(str, VERSIONS))
    return AgentFailed(
        "protocol_version",
        f"{agent} speaks version {theirs} of ACP, acp-sidecar speaks {ours}. Use a version of {agent} that speaks one of them.",
        {"theirs": theirs, "ours": max(VERSIONS)},
    )


def spoken(data: object) -> int | None:
    """The version that an agent says it speaks when it refuses another one, from its error's data. None if it does not say.

    The TypeScript SDK 2.4 says `supported`, the Python SDK 1.0.0rc3 `expectedProtocolVersion`.
    """
    supported = at(data, "supported")
    said = [*cast("list[object]", supported)] if isinstance(supported, list) else []
    said.append(at(data, "expectedProtocolVersion"))
    return max((one for one in said if isinstance(one, int) and not isinstance(one, bool)), default=None)


async def started(first: int, start: Callable[[Dialect], Awaitable[T]]) -> tuple[T, int]:
    """Start an agent with a version. Returns the result of `start` and the version that is spoken.

    The agent is started once more with the other version if it says that it speaks that one. The same happens if it refuses the form of `initialize`,
    which may mean the same (the Python SDK 1.0.0rc3 checks the form before the version).
    """
    try:
        return await start(_dialect(first)), first
    except AgentFailed as failed:
        other = _other(first, failed)
        if other is None:
            raise
        log.info("%s It is started with version %d.", failed.message, other)
        refused = failed
    try:
        return await start(_dialect(other)), other
    except AgentFailed:
        if refused.kind == "refused":
            raise refused from None  # the version was not the reason
        raise


def _other(first: int, failed: AgentFailed) -> int | None:
    """The version with which another start may succeed. None if there is none."""
    theirs = failed.data.get("theirs")
    if failed.kind == "refused" and failed.data.get("code") in (INVALID_REQUEST, INVALID_PARAMS):
        theirs = next(version for version in VERSIONS if version != first)
    return cast("int", theirs) if theirs in VERSIONS and theirs != first else None
