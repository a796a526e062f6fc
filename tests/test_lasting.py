"""What is imported when a sidecar starts is left alone by the garbage collector, from then on."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.support.raw_lsp import INITIALIZE, message


def outcome(script: str, given: bytes = b"") -> Any:
    """What the script writes on stderr, which runs in a process of its own."""
    ran = subprocess.run([sys.executable, "-c", script], input=given, capture_output=True, check=True)
    return json.loads(ran.stderr)


NOTHING_ELSE = """
import gc, json, sys
from sidecar.lasting import lasting

try:
    with lasting():
        within = gc.isenabled()
        raise KeyError
except KeyError:
    print(json.dumps([within, gc.isenabled(), gc.get_freeze_count() > len(gc.get_objects())]), file=sys.stderr)
"""


def test_the_collector_rests_meanwhile_and_goes_on_after_an_error() -> None:
    assert outcome(NOTHING_ELSE) == [False, True, True]


AT_THE_END = """
import atexit, gc, json, sys
from sidecar.cli import main

def told():
    print(json.dumps([gc.isenabled(), gc.get_freeze_count(), len(gc.get_objects()), gc.get_stats()[2]["collections"]]), file=sys.stderr)

atexit.register(told)
sys.exit(main(["lsp"]))
"""


def test_a_sidecar_has_little_to_collect() -> None:
    """A start took 0.80 s of processor time with the collections, 0.55 s without; and each later one keeps the editor waiting."""
    said = [
        message(id=1, method="initialize", params=INITIALIZE),
        message(method="initialized", params={}),
        message(id=2, method="shutdown"),
        message(method="exit"),
    ]
    enabled, frozen, looked_at, whole = outcome(AT_THE_END, b"".join(said))
    assert enabled
    assert frozen > 10 * looked_at
    assert whole == 0, "nobody walked over everything"
