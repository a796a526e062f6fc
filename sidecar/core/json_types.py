"""json_types: the types of a JSON object in this program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = Mapping[str, object]
"""An object that is only read, and about whose content nothing is known."""
JsonDict = dict[str, Any]
"""An object that is being built, or whose content the reader trusts."""
