"""torn: whether a file is what is left of a write in place that was cut off.

A file with hard links or of another owner cannot be replaced, so it is written in place (disk.save): room is reserved, the new
bytes are laid over the old ones from the start, and what is left over is cut off. Every state in between can be told from
both texts, so it is told exactly; anything else in the file is somebody else's work.
"""

from __future__ import annotations


def is_torn(data: bytes, old: bytes, new: bytes) -> bool:
    """Neither the old bytes nor the new ones, but new ones followed by the old ones that were not reached."""
    if data in (old, new):
        return False
    reached = _common(data, new)
    reserved = old + bytes(max(0, len(new) - len(old)))
    if len(data) not in (len(reserved), max(len(old), reached)):
        return False
    return data[reached:] == reserved[reached : len(data)]


def _common(a: bytes, b: bytes) -> int:
    """Length of the common beginning."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
