"""Planted defects: `python planted.py DEFECT` is `acp-sidecar lsp`, made bad on purpose. Each gate must notice those of its own.

A careless change could make any of these. (`impatient` is no defect: it shortens the time limits, so that they can be waited for.)
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any


def impatient() -> None:
    from sidecar import connection
    from sidecar.acp.limits import Limits, WireLimits

    quick = Limits(initialize=1.5, silence=1.5, cancel=0.5, wire=WireLimits(stalled=1.5))
    connection.HostedAgents = functools.partial(connection.HostedAgents, limits=quick)  # type: ignore[misc,assignment]


def meta_shadows() -> None:
    """What the SDK's routers do: members of `_meta` override the arguments."""
    from sidecar.acp import client, files

    parse = files.parse

    def shadowed(method: str, params: Any) -> Any:
        return parse(method, {**params, **(params.get("_meta") or {})})

    client.files.parse = shadowed


def noise_is_fatal() -> None:
    """What the SDK's transport does: a line that is JSON and no object ends the connection."""
    from sidecar.acp.transport import LineTransport

    lenient, read = LineTransport._decode_leniently, LineTransport._read
    ended: set[LineTransport] = set()

    def strict(self: LineTransport, line: bytes) -> None:
        lenient(self, line)
        if line in (b"42", b"null", b"[]"):
            ended.add(self)
            self._lines.clear()

    async def fragile(self: LineTransport) -> bool:
        if self in ended:
            self._end("sent a line that is no message")
            return False
        return await read(self)

    LineTransport._decode_leniently = strict
    LineTransport._read = fragile


def wrong_params_go_unanswered() -> None:
    """As pygls does."""
    from sidecar.lsp.errors import InvalidParams
    from sidecar.lsp.protocol import SidecarProtocol

    answer = SidecarProtocol._answer_exception

    def silent(self: SidecarProtocol, msg_id: Any, method: str, error: BaseException) -> None:
        if not isinstance(error, InvalidParams):
            answer(self, msg_id, method, error)

    SidecarProtocol._answer_exception = silent


def bad_input_pops_up() -> None:
    """As pygls does."""
    from sidecar.lsp.protocol import SidecarProtocol

    broken = SidecarProtocol._on_broken

    def loud(self: SidecarProtocol, message: Any) -> None:
        self.notify("window/showMessage", {"type": 1, "message": message.reason})
        broken(self, message)

    SidecarProtocol._on_broken = loud


DEFECTS: Mapping[str, Callable[[], None]] = {
    defect.__name__: defect
    for defect in (
        impatient,
        meta_shadows,
        noise_is_fatal,
        wrong_params_go_unanswered,
        bad_input_pops_up,
    )
}


if __name__ == "__main__":
    del sys.path[0]  # this folder
    DEFECTS[sys.argv[1]]()
    from sidecar.cli import main

    raise SystemExit(main(["lsp"]))
