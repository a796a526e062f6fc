"""Shapes: converts between plain JSON and lsprotocol's types, by method. Custom methods stay plain JSON.

pygls lets the JSON decoder convert every object on the way, so it mistook a message nested in another's params (relayed from an agent) for one of its
own. Here the top level determines the method, and its params are converted once.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, cast

from lsprotocol import types

from sidecar.lsp.errors import InvalidParams

_log = logging.getLogger(__name__)


class Shapes:
    """Converts with one of lsprotocol's converters (cattrs)."""

    def __init__(self, converter: Any) -> None:
        self._structure = converter.structure

    def params(self, method: str, params: object) -> Any:
        """Return the params as the method's type. Raises InvalidParams."""
        if method == types.INITIALIZE:
            return self._initialize(params)
        known = types.METHOD_TO_TYPES.get(method)
        if known is None:
            return params
        shape = known[2]
        if shape is None:
            return None  # shutdown has none; some clients send {}
        try:
            return self._structure({} if params is None else params, shape)
        except Exception as error:
            raise InvalidParams(f"invalid params for {method}") from error

    def result(self, method: str, result: object) -> Any:
        """Return the result as the method's type. Raises what the converter raises if the editor's answer is not valid LSP."""
        known = types.METHOD_TO_TYPES.get(method)
        if known is None:
            return result
        return self._structure({"jsonrpc": "2.0", "id": 0, "result": result}, known[1]).result

    def _initialize(self, params: object) -> types.InitializeParams:
        """Convert as much as possible: one odd capability must not cost the user the whole server."""
        if not isinstance(params, dict):
            raise InvalidParams("invalid params for initialize")
        fields: dict[str, Any] = {"capabilities": {}, **cast("dict[str, Any]", params)}
        try:
            return self._structure(fields, types.InitializeParams)
        except Exception:  # noqa: BLE001 - anything that the converter meets
            _log.warning("initialize has fields that LSP does not")
        given: object = fields["capabilities"]
        sections = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        fields["capabilities"] = self._sound(sections, types.ClientCapabilities, {})
        return self._structure(
            self._sound(fields, types.InitializeParams, {"capabilities": {}}), types.InitializeParams
        )

    def _sound(self, fields: Mapping[str, Any], shape: type[Any], least: dict[str, Any]) -> dict[str, Any]:
        """Return the fields that can be converted, tried one by one."""
        sound = dict(least)
        for key, value in fields.items():
            try:
                self._structure({**least, key: value}, shape)
            except Exception:  # noqa: BLE001 - anything that the converter meets
                _log.warning("initialize: %s is left out", key)
            else:
                sound[key] = value
        return sound
