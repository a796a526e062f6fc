"""Kept code: whenever lsprotocol is imported, attrs writes a script for each of its 550 classes and compiles it, which takes a third
of a start's processor time (measured: 1.05 s with it, 0.75 s without, on a busy machine). Their byte code is kept in a file beside
that of this module, where Python keeps the byte code of modules.

Code is found by its whole script, so it is never that of another version. Where nothing can be kept, everything is compiled as usual.
"""

from __future__ import annotations

import importlib
import importlib.util
import marshal
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from types import CodeType
from typing import Any, cast

Scripts = dict[tuple[str, str, str], CodeType]
"""By the arguments of `compile`: script, file name, mode."""


@contextmanager
def kept_code(path: str | None = None) -> Generator[None]:
    """While it lasts, what attrs compiles is taken from the file `path`, or will be in it the next time."""
    if path is None:
        path = importlib.util.cache_from_source(__file__) + ".attrs"
    known = _read(path)
    used: Scripts = {}

    def compiled(script: str, name: str, mode: str) -> CodeType:
        key = (script, name, mode)
        code = known.get(key) or compile(script, name, mode)
        used[key] = code
        return code

    names = _names_of_attrs()
    names["compile"] = compiled  # a global of its module comes before the built-in function
    try:
        yield
    finally:
        del names["compile"]
    if used.keys() != known.keys() and not sys.dont_write_bytecode:
        _write(path, used)


def _names_of_attrs() -> dict[str, Any]:
    """The globals of the module that compiles. Another version of attrs may have another module, which compiles as it likes."""
    with suppress(ImportError):
        return vars(importlib.import_module("attr._make"))
    return {}


def _read(path: str) -> Scripts:
    # the format of byte code is that of this very Python; a file that was cut short is not read
    with suppress(OSError, ValueError, EOFError, TypeError), open(path, "rb") as file:
        if file.read(len(importlib.util.MAGIC_NUMBER)) == importlib.util.MAGIC_NUMBER:
            return cast("Scripts", marshal.load(file))
    return {}


def _write(path: str, scripts: Scripts) -> None:
    """Whole or not at all: others may be reading it, or writing it too."""
    part = f"{path}.{os.getpid()}"
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(part, "wb") as file:
            file.write(importlib.util.MAGIC_NUMBER)
            marshal.dump(scripts, file)
        os.replace(part, path)
