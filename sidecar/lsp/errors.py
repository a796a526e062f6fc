"""Errors: the codes of JSON-RPC and LSP, and the exceptions that a feature raises to answer with one."""

from __future__ import annotations

from typing import Final

from pygls.exceptions import JsonRpcException

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
NOT_INITIALIZED: Final = -32002
REQUEST_CANCELLED: Final = -32800
REQUEST_FAILED: Final = -32803


class CommandFailed(JsonRpcException):
    """A request that was understood but could not be carried out. The message is for the user."""

    CODE = REQUEST_FAILED


class InvalidParams(JsonRpcException):
    """A request whose params its method does not accept."""

    CODE = INVALID_PARAMS
