"""pi, through pi-acp: an extension (pi.js). No variable of pi names an extension, but one of pi-acp names the program to run in place of
`pi`."""

from __future__ import annotations

import os
import shlex

from sidecar.acp.own_tools.row import OwnTools, Plugin


def _starter(program: str) -> str:
    if os.name == "nt":
        return f'@pi.cmd %* --extension "{program}"\r\n'
    return f'#!/bin/sh\nexec pi "$@" --extension {shlex.quote(program)}\n'


PI = OwnTools(
    names=frozenset({"pi", "pi-acp"}),
    seen=("0.0.34",),
    plugin=Plugin(
        "pi.js", "PI_ACP_PI_COMMAND", _starter, suffix=".cmd" if os.name == "nt" else "", starts="pi"
    ),
)
