"""asyncio's transports of processes that a test left open. Otherwise the garbage collector tells of one in the middle of some later test."""

from __future__ import annotations

from asyncio.base_subprocess import BaseSubprocessTransport
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

_begin = BaseSubprocessTransport.__init__
_begun: WeakSet[BaseSubprocessTransport] = WeakSet()


def _noted(self: BaseSubprocessTransport, *args: Any, **options: Any) -> None:
    _begun.add(self)
    _begin(self, *args, **options)


@contextmanager
def none_left() -> Generator[None]:
    """Fails if one that was made meanwhile is still open at the end."""
    before = {id(one) for one in _begun}
    BaseSubprocessTransport.__init__ = _noted
    try:
        yield
    finally:
        BaseSubprocessTransport.__init__ = _begin
    left = [one for one in _begun if id(one) not in before and not one.is_closing()]
    assert left == []
