"""The parts of the ACP SDK (`agent-client-protocol`) that we use, imported without the rest of it.

Importing any part of the SDK first runs its package, which imports all parts: 300 models, two transports and their dependencies. That
takes 0.5 s of processor time and 23 MB at the first start of an agent. The modules below need none of it. So the package is
registered without having run. It runs when something asks it for a name of its own, which nothing in the sidecar does.
"""

from __future__ import annotations

import importlib.util
import sys


def _leave_out_the_rest() -> None:
    name = "acp"
    spec = importlib.util.find_spec(name) if name not in sys.modules else None
    if spec is None or spec.loader is None:
        return  # already imported as a whole, or missing, which the imports below report better
    package, loader = importlib.util.module_from_spec(spec), spec.loader

    def run_it(wanted: str) -> object:
        """The package's `__getattr__` (PEP 562) until it has run."""
        if wanted.startswith("__"):  # names that the import system asks of any package
            raise AttributeError(wanted)
        vars(package).pop("__getattr__", None)
        loader.exec_module(package)
        return getattr(package, wanted)

    vars(package)["__getattr__"] = run_it
    sys.modules[name] = package


_leave_out_the_rest()

# must follow the line above
from acp.connection import Connection
from acp.exceptions import RequestError
from acp.meta import AGENT_METHODS, CLIENT_METHODS, PROTOCOL_VERSION

__all__ = ["AGENT_METHODS", "CLIENT_METHODS", "PROTOCOL_VERSION", "Connection", "RequestError"]
