"""The rules for Windows paths, as pure functions: which requests are refused before the disk is touched, and which path is beneath which.

Win32 gives one file many names (`a:stream`, `a.`, `A~1`, `\\\\?\\C:\\a`), and some names are not files at all (`CON`). Anything that cannot be a
plain file name is refused here. For the rest, the final path of the open handle decides (win32.py). A UNC path makes Windows log in to the host that
it names, so it is refused without a look unless a root is a UNC path.
"""

from __future__ import annotations

import ntpath
import re

_DEVICE_NAMES = re.compile(r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9¹²³])\Z", re.IGNORECASE)
_FORBIDDEN = re.compile(r'[\x00-\x1f<>:"|?*]')


def refused(path: str, *, unc_allowed: bool = False) -> str | None:
    """Return why a request is refused without a look at the disk, as a message, or None if it may be looked up. `path` is absolute and contains no NUL."""
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
    """Whether looking at `path` (a root, or a link's target) would contact another host."""
    slashed = path.replace("/", "\\")
    if slashed.upper().startswith(("\\\\?\\UNC\\", "\\??\\UNC\\")):
        return True
    return slashed.startswith("\\\\") and not slashed.startswith(("\\\\?\\", "\\\\.\\"))


def plain(path: str) -> str:
    """Return the path in one form: backslashes, `..` resolved as text as Windows does, no `\\\\?\\` prefix, a capital drive letter."""
    path = path.replace("/", "\\")
    if path.upper().startswith("\\\\?\\UNC\\"):
        path = "\\\\" + path[8:]
    elif path.startswith("\\\\?\\"):
        path = path[4:]
    path = ntpath.normpath(path)
    return path[0].upper() + path[1:] if path[1:2] == ":" else path


def relative(path: str, root: str) -> str | None:
    """Return `path` relative to `root` (both in plain form), compared by component without regard to letter case. None if it is not beneath `root`."""
    parts, above = _parts(path), _parts(root)
    if len(parts) <= len(above) or any(
        a.casefold() != b.casefold() for a, b in zip(above, parts, strict=False)
    ):
        return None
    return "\\".join(parts[len(above) :])


def _parts(path: str) -> list[str]:
    drive, rest = ntpath.splitdrive(path)
    return [drive, *(name for name in rest.split("\\") if name)]
