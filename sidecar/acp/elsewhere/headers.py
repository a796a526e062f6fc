"""How the HTTP headers for an agent's address get to the program that calls it: by its environment, since others on the machine can read a command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

_VARIABLE = "ACP_SIDECAR_HEADERS"


def given(headers: Mapping[str, str]) -> dict[str, str]:
    """The environment that has them."""
    return {_VARIABLE: json.dumps(dict(headers))} if headers else {}


def taken(environ: Mapping[str, str]) -> dict[str, str]:
    """Those of such an environment."""
    found: object = json.loads(environ.get(_VARIABLE, "{}"))
    return cast("dict[str, str]", found) if isinstance(found, dict) else {}
