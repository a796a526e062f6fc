"""The bundled scripted agent as a configured one: always available, marked "no AI", never the default."""

from __future__ import annotations

import sys

from sidecar.config import AgentCommand

DEMO_AGENT = {"demo": AgentCommand(sys.executable, ("-P", "-m", "sidecar.demo.agent"))}
"""-P: it runs in the folder that is open, whose `json.py` must not be taken for Python's."""
