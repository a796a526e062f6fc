"""Chromium's headless shell: the same engine as in the browser, without the windows, which nobody sees here and which took a sixth of
the tests' processor time. It starts itself again by /proc/self/exe, so the loader cannot be its command: the machine's loader and libc run it."""

from __future__ import annotations

import shutil
from pathlib import Path
from xml.sax.saxutils import escape

from scripts.tools import debian
from scripts.tools.base import TOOLS, Entry, checked, launcher, one
from scripts.tools.self_contained import is_libc

LIBRARIES = TOOLS / "chromium.lib"
"""Links to the unpacked libraries but those of libc6, which must be of one piece with the loader."""

FONTS = TOOLS / "chromium.fonts.conf"
FONTS_TEXT = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>{root}/usr/share/fonts</dir>
  <cachedir>{tools}/chromium.fonts.cache</cachedir>
  <alias><family>sans-serif</family><prefer><family>DejaVu Sans</family></prefer></alias>
  <alias><family>serif</family><prefer><family>DejaVu Serif</family></prefer></alias>
  <alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
"""
"""The unpacked fonts, and no others: without any, text has no size and counts as hidden. Not FONTCONFIG_SYSROOT: with that,
Chromium looks for the fonts of the unpacked folder on the machine."""


def chromium(root: Path) -> Entry:
    shutil.rmtree(LIBRARIES, ignore_errors=True)
    LIBRARIES.mkdir()
    for folder in debian.libraries(root):
        for path in folder.glob("*.so*"):
            if not is_libc(path.name):
                (LIBRARIES / path.name).symlink_to(path)
    FONTS.write_text(FONTS_TEXT.format(root=escape(str(root)), tools=escape(str(TOOLS))))
    environment = {
        "LD_LIBRARY_PATH": str(LIBRARIES),
        "FONTCONFIG_FILE": str(FONTS),
        "GIO_MODULE_DIR": str(LIBRARIES),  # none of the machine's, which were built with other libraries
    }
    return checked(
        launcher("chromium", [one(root, "usr/lib/chromium/chromium-headless-shell")], environment),
        "--version",
    )
