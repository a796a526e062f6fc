"""The running program, as words that start it again with another command: the installed one, or the extension's bundled one."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def own_program(argv: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the words to put before a command of `acp-sidecar`. `argv`: `sys.orig_argv` of the language server, which tells how it was started."""
    if "lsp" in argv[1:]:
        before = list(argv[1 : argv.index("lsp", 1)])
        if before and os.path.isfile(before[-1]):
            before[-1] = os.path.abspath(before[-1])
            return (sys.executable, *before)
    return (sys.executable, "-I", "-c", "from sidecar.cli import main; raise SystemExit(main())")
