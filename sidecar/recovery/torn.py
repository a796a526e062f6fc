"""torn: recognises a file whose in-place write was interrupted.

A file with hard links or another owner cannot be replaced, so disk.save writes it in place: it reserves space, writes the new bytes over the old ones
from the start, and cuts off the rest. Every intermediate state can be computed exactly from the two texts. Any other content is somebody else's work.
"""

from __future__ import annotations


def is_torn(data: bytes, old: bytes, new: bytes) -> bool:
    """Whether the file has the start of the new bytes followed by the old bytes that were not yet reached, and is neither the old nor the new content."""
    if data in (old, new):
        return False
    reached = _common(data, new)
    reserved = old + bytes(max(0, len(new) - len(old)))
    if len(data) not in (len(reserved), max(len(old), reached)):
        return False
    return data[reached:] == reserved[reached : len(data)]


def _common(a: bytes, b: bytes) -> int:
    """Return the length of the common start, in bytes."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
