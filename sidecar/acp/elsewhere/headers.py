"""Passes the HTTP headers for an agent's address to the program that connects to it. It uses the environment, because other users of the machine can
read a command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

_VARIABLE = "ACP_SIDECAR_HEADERS"


def given(headers: Mapping[str, str]) -> dict[str, str]:
    """The environment variables that carry the headers."""
    return {_VARIABLE: json.dumps(dict(headers))} if headers else {}


def taken(environ: Mapping[str, str]) -> dict[str, str]:
    """The headers that these environment variables carry."""
    found: object = json.loads(environ.get(_VARIABLE, "{}"))
    return cast("dict[str, str]", found) if isinstance(found, dict) else {}
