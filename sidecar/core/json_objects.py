"""json_objects: joins JSON objects."""

from __future__ import annotations

from typing import cast

from sidecar.core.json_types import Json


def joined(one: Json, other: Json) -> Json:
    """The fields of both objects, joined in the same way where both have an object. Where both have another value,
    the value of `other`."""
    return {**one, **other} | {
        key: joined(cast("Json", one[key]), cast("Json", other[key]))
        for key in one.keys() & other.keys()
        if isinstance(one[key], dict) and isinstance(other[key], dict)
    }
