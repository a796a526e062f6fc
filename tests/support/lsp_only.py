"""The language server without the agents' side: an overlay, and commands that show its content.

python -m tests.support.lsp_only
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sidecar.core.overlay import Modification, Overlay
from sidecar.core.uri import normalise
from sidecar.lsp.main import run
from sidecar.lsp.protocol import CommandFailed
from sidecar.lsp.server import SidecarServer


@asynccontextmanager
async def build() -> AsyncIterator[SidecarServer]:
    overlay = Overlay()
    state: dict[str, Any] = {"applied": 0, "opaque": [], "cancelled": 0}

    def apply(modification: Modification) -> None:
        overlay.apply(modification)
        state["applied"] += 1

    server = SidecarServer(apply)

    @server.feature("initialize")
    def initialize(params: Any) -> None:
        overlay.encoding = server.encoding

    @server.feature("sidecar/opaque")
    def opaque(params: Any) -> None:
        state["opaque"].append(params)

    @server.feature("textDocument/hover")
    async def hover(params: Any) -> Any:
        return {"contents": params.text_document.uri}

    @server.command("test.text")
    def text(argument: Any) -> Any:
        document = overlay.get(normalise(argument["uri"]))
        if document is None:
            return None
        return {
            "text": str(document.snapshot()),
            "version": document.version,
            "desynchronised": document.desynchronised,
        }

    @server.command("test.state")
    def show(argument: Any) -> Any:
        return {**state, "folders": server.folders, "encoding": server.encoding.value}

    @server.command("test.echo")
    async def echo(argument: Any) -> Any:
        return argument

    @server.command("test.wait")
    async def wait(argument: Any) -> Any:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            state["cancelled"] += 1
            raise

    @server.command("test.fail")
    async def fail(argument: Any) -> Any:
        match argument:
            case "words":
                raise CommandFailed("The kettle is empty: fill it and try again.")
            case "exit":
                sys.exit(3)
            case "unserialisable":
                return object()
            case _:
                raise KeyError("secret of the implementation")

    @server.command("test.ask")
    async def ask(argument: Any) -> Any:
        return await server.request(argument["method"], argument.get("params"))

    @server.command("test.flood")
    def flood(argument: Any) -> Any:
        for number in range(argument["count"]):
            server.notify(
                "test/flood", {"number": number, "text": "x" * argument["size"]}, argument.get("key")
            )

    @server.command("test.print")
    def stray(argument: Any) -> Any:
        sys.stdout.write("a stray line\n")
        sys.stdout.flush()

    yield server


if __name__ == "__main__":
    sys.exit(run(build, announce=None))
