"""Chain: a link of a conductor's chain (RFD "Agent Extensions via ACP Proxies"). There is no agent of our own then: both the client and the
agent are reached through the conductor, over one pair of streams.

    from the conductor                          to the conductor
    proxy/initialize                            proxy/successor {method: "initialize", params}
    a request or notification (the client's)    proxy/successor {method, params}
    proxy/successor {method, params} (the       the request or notification itself
    agent's)
    an answer                                   the same answer

Ids need no table: all requests that the conductor sends here have different ids, so each is passed on under its own id, and the answer to it
is the answer to give. The draft says `proxy/…`, the conductor of the Rust SDK `_proxy/…`; we use the spelling that we hear first.
"""

from __future__ import annotations

import logging
from typing import Protocol

import msgspec

from sidecar.acp.messages import encode
from sidecar.proxy.announcing import with_mcp
from sidecar.proxy.heads import Head, Key, fields_of, head_of, raw, value_of

log = logging.getLogger(__name__)

_SPELLINGS = ("proxy/", "_proxy/")
NO_AGENT = "acp-sidecar proxy was started without an agent: name one after --, or let a conductor start it"


class Passing(Protocol):
    """See passing.py."""

    async def from_client(self, line: bytes) -> bytes | None: ...
    async def from_agent(self, line: bytes) -> bytes | None: ...


class Chain:
    def __init__(self, passing: Passing) -> None:
        self._passing = passing
        self._prefix = ""
        self._greeting: Key | None = None
        """The id of the unanswered `proxy/initialize`."""

    async def passes(self, line: bytes) -> bytes | None:
        """What the conductor gets for one of its lines. None: nothing."""
        head = head_of(line)
        if head is None:
            if line.strip():
                log.warning("the conductor sent a line that is no message")
            return None
        if head.method is msgspec.UNSET:
            return await self._answer(head, line)
        prefix, _, name = head.method.rpartition("/")
        if f"{prefix}/" in _SPELLINGS and name == "initialize":
            self._prefix, self._greeting = f"{prefix}/", head.key
            return await self._to_successor(_renamed(head, "initialize", head.params))
        if f"{prefix}/" in _SPELLINGS and name == "successor":
            inner = fields_of(head.params) or {}
            method = _text(inner.get("method"))
            if method is None:
                return _refused(head, "Invalid params: there is no method")
            return await self._passing.from_agent(_renamed(head, method, inner.get("params", msgspec.UNSET)))
        if not self._prefix:
            return _refused(head, NO_AGENT)
        return await self._to_successor(line)

    async def _answer(self, head: Head, line: bytes) -> bytes | None:
        if self._greeting is not None and head.key == self._greeting:
            self._greeting = None
            return with_mcp(line)
        return await self._passing.from_agent(line)

    async def _to_successor(self, line: bytes) -> bytes | None:
        passed = await self._passing.from_client(line)
        head = head_of(passed) if passed is not None else None
        if head is None:
            return None
        params = {"method": encode(head.method)} | (
            {} if head.params is msgspec.UNSET else {"params": raw(head.params)}
        )
        body = b",".join(b'"%b":%b' % (name.encode(), value) for name, value in params.items())
        return raw_message(head, f"{self._prefix}successor", b"{%b}" % body)


def raw_message(head: Head, method: str, params: bytes | None) -> bytes:
    """A message with the id of another one."""
    parts = [b'"jsonrpc":"2.0"']
    if head.id is not msgspec.UNSET:
        parts.append(b'"id":%b' % raw(head.id))
    parts.append(b'"method":%b' % encode(method))
    if params is not None:
        parts.append(b'"params":%b' % params)
    return b"{%b}" % b",".join(parts)


def _renamed(head: Head, method: str, params: msgspec.Raw | msgspec.UnsetType) -> bytes:
    return raw_message(head, method, None if params is msgspec.UNSET else raw(params))


def _refused(head: Head, words: str) -> bytes | None:
    if head.id is msgspec.UNSET:
        return None
    error = encode({"code": -32600, "message": words})
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (raw(head.id), error)


def _text(value: msgspec.Raw | None) -> str | None:
    text = None if value is None else value_of(value)
    return text if isinstance(text, str) else None
