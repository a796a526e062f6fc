"""Main: one editor connection on this process's stdin and stdout, from the first byte to the exit code.

It deliberately imports little: heavy modules are imported after the editor has its answer to `initialize`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from sidecar.lasting import lasting
from sidecar.lsp import announcement
from sidecar.lsp.greeting import Announce, greet
from sidecar.lsp.stdio import claim

if TYPE_CHECKING:
    from sidecar.lsp.server import SidecarServer

TO_A_PERSON = """\
acp-sidecar lsp is a language server. Your editor starts it and talks to it on stdin and stdout; there is nothing to type here.
  acp-sidecar setup EDITOR   prints the set-up file for your editor and says where to put it
  acp-sidecar demo           shows in this terminal what the server does
Ctrl-C ends it.
"""


def run(
    build: Callable[[], AbstractAsyncContextManager[SidecarServer]],
    announce: Announce | None = announcement.announce,
) -> int:
    """Serve until the editor ends the connection. Returns the exit code (see `server.serve`).

    `build` is called on the event loop and should import what it needs only then. `announce` gives the result of `initialize` early. Without it, the
    result comes from the registered features, after they were imported."""
    try:
        stdin, stdout = claim(TO_A_PERSON)
        greeting = greet(stdin, stdout, announce)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 1
    if greeting.first is None:
        return 1  # the editor went away before it said anything

    import anyio

    from sidecar import given_back
    from sidecar.lsp.kept_code import kept_code

    given_back.one_arena()
    with lasting(), kept_code():
        from sidecar.lsp.server import serve

    return anyio.run(serve, stdin, stdout, build, greeting)
