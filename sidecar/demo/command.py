"""The bundled scripted agent as a configured agent: always available, marked "no AI", never the default."""

from __future__ import annotations

import sys
from pathlib import Path

from sidecar.config import AgentCommand

# -I: it runs in the open folder, whose `json.py` must not replace Python's. An isolated Python does not know where this
# package is (a bundle is on no default path), so the path is passed in. The agent needs no other library.
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from sidecar.demo.agent import main; main()"
_BYTE_CODE = ("-X", f"pycache_prefix={sys.pycache_prefix}") if sys.pycache_prefix else ()

DEMO_AGENT = {
    "demo": AgentCommand(sys.executable, ("-I", *_BYTE_CODE, "-c", _START, str(Path(__file__).parents[2])))
}
