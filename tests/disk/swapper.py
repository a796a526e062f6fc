"""Run by tests in a process of its own: exchanges two names as fast as it can, until it is killed.

python -m tests.disk.swapper FIRST SECOND
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def exchanger(first: str, second: str) -> Callable[[], object]:
    """One system call where there is one: neither name is ever missing, which is the most favourable case for an attack."""
    if sys.platform == "linux":
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
        names = os.fsencode(first), os.fsencode(second)
        return lambda: renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE)

    def three_renames() -> None:
        os.rename(first, first + ".hold")
        os.rename(second, first)
        os.rename(first + ".hold", second)

    return three_renames


def main() -> None:
    exchange = exchanger(sys.argv[1], sys.argv[2])
    exchange()
    sys.stdout.write("swapping\n")
    sys.stdout.flush()
    while True:
        exchange()


if __name__ == "__main__":
    main()
