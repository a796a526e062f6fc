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
