"""Chromium. It starts itself again by /proc/self/exe, so the loader cannot be its command: the machine's loader and libc run it."""

from __future__ import annotations

import shutil
from pathlib import Path

from scripts.tools import debian
from scripts.tools.base import TOOLS, Entry, checked, launcher, one
from scripts.tools.self_contained import is_libc

LIBRARIES = TOOLS / "chromium.lib"
"""Links to the unpacked libraries but those of libc6, which must be of one piece with the loader."""


def chromium(root: Path) -> Entry:
    shutil.rmtree(LIBRARIES, ignore_errors=True)
    LIBRARIES.mkdir()
    for folder in debian.libraries(root):
        for path in folder.glob("*.so*"):
            if not is_libc(path.name):
                (LIBRARIES / path.name).symlink_to(path)
    environment = {
        "LD_LIBRARY_PATH": str(LIBRARIES),
        "FONTCONFIG_SYSROOT": str(root),
        "GIO_MODULE_DIR": str(LIBRARIES),  # none of the machine's, which were built with other libraries
    }
    return checked(launcher("chromium", [one(root, "usr/lib/chromium/chromium")], environment), "--version")
