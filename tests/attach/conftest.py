"""Sockets need short paths."""

from tests.mcp.conftest import tmp_path

__all__ = ["tmp_path"]
