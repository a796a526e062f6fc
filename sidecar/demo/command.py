"""The bundled scripted agent as a configured one: always available, marked "no AI", never the default."""

from __future__ import annotations

import sys

from sidecar.config import AgentCommand

DEMO_AGENT = {"demo": AgentCommand(sys.executable, ("-m", "sidecar.demo.agent"))}
