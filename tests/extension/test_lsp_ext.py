"""`lsp_ext.ts` is the mirror of `ext.py`: the same commands, methods and announcements."""

from __future__ import annotations

import re
from pathlib import Path

from sidecar.config import _CLIENT
from sidecar.lsp import ext

MIRROR = (Path(__file__).parents[2] / "editor-extension" / "src" / "lsp_ext.ts").read_text()


def test_commands() -> None:
    assert sorted(re.findall(r'"(sidecar\.\w+)"', MIRROR)) == sorted(ext.COMMANDS)


def test_methods() -> None:
    methods = [
        value for value in vars(ext).values() if isinstance(value, str) and value.startswith("sidecar/")
    ]
    assert sorted(re.findall(r'"(sidecar/\w+)"', MIRROR)) == sorted(methods)


def test_flags() -> None:
    body = re.search(r"interface ClientFlags \{(.*?)\n\}", MIRROR, re.DOTALL)
    assert body is not None
    assert {*re.findall(r"^  (\w+)\??: boolean;", body[1], re.MULTILINE), "name"} == set(_CLIENT)
