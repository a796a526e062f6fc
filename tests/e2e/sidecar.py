"""How the tests start the sidecar: the program that the project installs, as an editor starts it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

COMMAND = [
    str(Path(sys.executable).with_name("acp-sidecar.exe" if os.name == "nt" else "acp-sidecar")),
    "lsp",
]
