"""Kept code: keeps the byte code of lsprotocol's classes in a file beside that of this module, where Python keeps the byte code of modules.

Whenever lsprotocol is imported, attrs writes a script for each of its 550 classes and compiles it, which takes a third of a start's processor time
(measured: 1.05 s with it, 0.75 s without, on a busy machine).

Code is found by its whole script, so it never belongs to another version. If nothing can be kept, everything is compiled as usual.
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
"""Code by the arguments of `compile`: script, file name, mode."""


@contextmanager
def kept_code(path: str | None = None) -> Generator[None]:
    """Inside this context, code that attrs compiles is taken from the file `path`, or stored there for the next time."""
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
    names["compile"] = compiled  # a module's global takes precedence over the built-in function
    try:
        yield
    finally:
        del names["compile"]
    if used.keys() != known.keys() and not sys.dont_write_bytecode:
        _write(path, used)


def _names_of_attrs() -> dict[str, Any]:
    """Return the globals of the module that compiles. Another version of attrs may have another module, which compiles as usual."""
    with suppress(ImportError):
        return vars(importlib.import_module("attr._make"))
    return {}


def _read(path: str) -> Scripts:
    # byte code is specific to this very Python; a truncated file is ignored
    with suppress(OSError, ValueError, EOFError, TypeError), open(path, "rb") as file:
        if file.read(len(importlib.util.MAGIC_NUMBER)) == importlib.util.MAGIC_NUMBER:
            return cast("Scripts", marshal.load(file))
    return {}


def _write(path: str, scripts: Scripts) -> None:
    """Write the whole file or nothing: other processes may be reading or writing it."""
    part = f"{path}.{os.getpid()}"
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(part, "wb") as file:
            file.write(importlib.util.MAGIC_NUMBER)
            marshal.dump(scripts, file)
        os.replace(part, path)
