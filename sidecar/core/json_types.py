"""What a JSON object is in this program's types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = Mapping[str, object]
"""One that is only read, and of which nothing is known but that it is an object."""
JsonDict = dict[str, Any]
"""One that is being made, or that whoever reads it takes at its word."""
