"""What the SDK costs: only the parts that we use are imported, and the garbage collector does not walk over them again and again."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def outcome(script: str) -> Any:
    """What the script prints, which runs in a process of its own."""
    return json.loads(subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout)


COLLECTIONS = """
import asyncio, gc, json
from sidecar.acp.host import load_sdk

async def main():
    await asyncio.gather(load_sdk(), load_sdk())
    looked_at = len(gc.get_objects())  # frozen ones are not among them
    frozen = gc.get_freeze_count()
    gc.collect()
    await load_sdk()  # what lives by then is left alone: later calls freeze nothing
    print(json.dumps([gc.isenabled(), frozen, looked_at, gc.get_freeze_count()]))

asyncio.run(main())
"""


def test_a_collection_has_little_to_look_at() -> None:
    enabled, frozen, looked_at, later = outcome(COLLECTIONS)
    assert enabled
    assert frozen > 20 * looked_at
    assert later <= frozen


PARTS = """
import asyncio, json, sys
from sidecar.acp.host import load_sdk

asyncio.run(load_sdk())
print(json.dumps([name for name in ("acp.connection", "acp.schema", "acp.agent", "acp.http") if name in sys.modules]))
"""


def test_only_the_parts_that_are_used_are_imported() -> None:
    """The models alone take half a second of processor at an agent's start, and 20 MB."""
    assert outcome(PARTS) == ["acp.connection"]


WHOLE = """
import json
from sidecar.acp import sdk
import acp
from acp import schema
from acp import spawn_agent_process

print(json.dumps([
    acp.Agent.__module__,
    spawn_agent_process is acp.spawn_agent_process,
    schema.InitializeResponse.model_validate({"protocolVersion": 1}).protocol_version,
    acp.RequestError is sdk.RequestError,
    acp.__name__,
    hasattr(acp, "no_such_name"),
]))
"""


def test_whoever_asks_for_the_rest_gets_it() -> None:
    """A program that uses the sidecar and the SDK, as our tests and benchmarks do."""
    assert outcome(WHOLE) == ["acp.interfaces", True, 1, True, "acp", False]


FIRST = """
import json
import acp
from sidecar.acp import sdk

print(json.dumps([acp.RequestError is sdk.RequestError, acp.PROTOCOL_VERSION == sdk.PROTOCOL_VERSION]))
"""


def test_an_sdk_that_is_imported_already_is_taken() -> None:
    assert outcome(FIRST) == [True, True]
