"""Codes: shows the user the code with which a client may connect to `acp-sidecar acp --listen`.

showCode {code, port} → {}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from sidecar.attach.pairing import LENGTH, LETTERS
from sidecar.bridge.server import Method, Refused

_HALF = f"[{LETTERS}]{{{LENGTH // 2}}}"
_CODE = re.compile(f"{_HALF}-{_HALF}")


class Codes:
    """`show`: as `Editor.show`."""

    def __init__(self, show: Callable[[Literal["info"], str], None]) -> None:
        self._show = show

    def methods(self) -> dict[str, Method]:
        return {"showCode": self._show_code}

    async def _show_code(self, params: Mapping[str, Any]) -> object:
        code, port = params.get("code"), params.get("port")
        if not isinstance(code, str) or _CODE.fullmatch(code) is None or not isinstance(port, int):
            raise Refused("showCode needs a code and a port")
        # The code first: VS Code shows one line of it
        self._show(
            "info",
            f"Code {code}: enter it in the client that wants to connect to acp-sidecar on port {port}. It is valid once, for two minutes."
            " If that is not you, do nothing.",
        )
        return {}
