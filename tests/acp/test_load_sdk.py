"""What the SDK brings along is not walked over by the garbage collector again and again: that stops every answer meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys

SCRIPT = """
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
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=True)
    enabled, frozen, looked_at, later = json.loads(done.stdout)
    assert enabled
    assert frozen > 20 * looked_at
    assert later <= frozen


MODELS = """
import asyncio, json
from sidecar.acp.host import load_sdk

asyncio.run(load_sdk())

from acp import schema
from pydantic import BaseModel, ValidationError

models = [each for each in vars(schema).values() if isinstance(each, type) and issubclass(each, BaseModel)]
built = lambda: sum(each.__pydantic_complete__ for each in models)
before = built()
said = schema.InitializeResponse.model_validate({"protocolVersion": 1, "agentInfo": {"name": "x", "version": "1"}})
try:
    schema.InitializeResponse.model_validate({"protocolVersion": "one"})
    refused = False
except ValidationError:
    refused = True

class Own(BaseModel):
    number: int

print(json.dumps([len(models) > 200, before < 30, said.agent_info.name, refused, built() < 60, Own.__pydantic_complete__]))
"""


def test_only_the_models_that_are_used_are_built() -> None:
    """Building all of them takes 0.1 s of processor at every start."""
    done = subprocess.run([sys.executable, "-c", MODELS], capture_output=True, check=True)
    assert json.loads(done.stdout) == [True, True, "x", True, True, True]
