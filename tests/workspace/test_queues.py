"""Places in the queues of files, for whoever writes several at once."""

from __future__ import annotations

import anyio

from sidecar.workspace.state.queues import Queues


async def test_two_names_of_one_file_have_one_place() -> None:
    """Of two, one would wait for the other."""
    queues = Queues()
    with anyio.fail_after(5):
        async with queues.places(["/a", "/A", "/b"], str.lower, 600):
            assert queues.lengths() == {"/a": 1, "/b": 1}
    assert queues.lengths() == {}


async def test_places_are_left_when_whoever_waits_for_them_is_stopped() -> None:
    queues = Queues()
    earlier = queues.take("", "/a", str, "write")
    with anyio.move_on_after(0.05):
        async with queues.places(["/b", "/a"], str, 600):
            raise AssertionError("the place was somebody's")
    assert queues.lengths() == {"/a": 1}
    earlier.release()
    assert queues.lengths() == {}
