"""The rules of Windows paths, as pure functions: which requests are refused before any look at the disk, and what is beneath what.

Win32 gives one file many names (`a:stream`, `a.`, `A~1`, `\\\\?\\C:\\a`) and some names are no files at all (`CON`). What cannot be a plain
file name is refused here; for the rest the final path of the opened handle decides (win32.py). A UNC path makes Windows log in to
whatever host it names, so it is refused unseen unless a root is one.
"""

from __future__ import annotations

import ntpath
import re

_DEVICE_NAMES = re.compile(r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9¹²³])\Z", re.IGNORECASE)
_FORBIDDEN = re.compile(r'[\x00-\x1f<>:"|?*]')


def refused(path: str, *, unc_allowed: bool = False) -> str | None:
    """Why a request is refused unseen, in words; None when it may be looked up. `path` is absolute and without NUL."""
    slashed = path.replace("/", "\\")
    if slashed.startswith(("\\\\?\\", "\\\\.\\", "\\??\\")):
        return "device namespaces are not paths of files"
    if slashed.startswith("\\\\") and not unc_allowed:
        return "network paths are only opened beneath a network folder of the session"
    drive, rest = ntpath.splitdrive(slashed)
    if not drive or not rest.startswith("\\"):
        return "the path must be absolute, with its drive"
    for name in rest.split("\\"):
        if name in ("", ".", ".."):
            continue
        if _FORBIDDEN.search(name):
            return "a name has a character that Windows gives another meaning (a stream, a wildcard)"
        if name[-1] in ". ":
            return "a name ends with a dot or a blank, which Windows drops"
        if _DEVICE_NAMES.match(name.partition(".")[0].rstrip(" ")):
            return "a name is a device's"
    return None


def is_unc(path: str) -> bool:
    """Whether looking at `path` (a root, a link's target) would talk to another host."""
    slashed = path.replace("/", "\\")
    if slashed.upper().startswith(("\\\\?\\UNC\\", "\\??\\UNC\\")):
        return True
    return slashed.startswith("\\\\") and not slashed.startswith(("\\\\?\\", "\\\\.\\"))


def plain(path: str) -> str:
    """One form: backslashes, `..` taken by text as Windows does, no `\\\\?\\` before a final path, drive letter large."""
    path = path.replace("/", "\\")
    if path.upper().startswith("\\\\?\\UNC\\"):
        path = "\\\\" + path[8:]
    elif path.startswith("\\\\?\\"):
        path = path[4:]
    path = ntpath.normpath(path)
    return path[0].upper() + path[1:] if path[1:2] == ":" else path


def relative(path: str, root: str) -> str | None:
    """`path` below `root` (both plain), compared by components in any letter case; None when it is not beneath it."""
    parts, above = _parts(path), _parts(root)
    if len(parts) <= len(above) or any(
        a.casefold() != b.casefold() for a, b in zip(above, parts, strict=False)
    ):
        return None
    return "\\".join(parts[len(above) :])


def _parts(path: str) -> list[str]:
    drive, rest = ntpath.splitdrive(path)
    return [drive, *(name for name in rest.split("\\") if name)]
