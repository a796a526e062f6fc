"""Policy: decides what an agent may read or write without asking, by names alone.

`check_request` refuses what is not a plain absolute path, before any system call. `decide` takes the path as it was requested and as the
disk resolved it, and answers Allow, Ask or Deny. Both names are *folded* first, so that another spelling of `.git` (letter case,
full-width letters, zero-width characters, NTFS streams, 8.3 names) is still `.git`: file systems disagree on which of these are the same
file, so the strictest answer of all counts. Folders (home, the sidecar's own, roots) are compared folded for the same reason: on macOS
not even a resolved path has one letter case.

Deliberately not here: opening files (disk), compiling patterns (sidecar.matchers; pathspec is not in the standard library), asking the
user. Patterns come from the user's settings and from core/guarded_names.py, never from the workspace.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from sidecar.core.guarded_names import plain_names
from sidecar.core.refusal import Kind, Refusal

Access = Literal["read", "write"]

MAX_PATH_BYTES = 4096
"""Linux's PATH_MAX; longer requests are refused unread."""

SYSTEM_FOLDERS: tuple[str, ...] = ("/proc", "/sys", "/dev", "/run")

# Wherever they occur, even above the root: a root opened inside `.git` must not turn hooks into ordinary
# files.
_PROTECTED_ANYWHERE = frozenset({".git"})
_SECRET_ANYWHERE = frozenset({".ssh", ".aws", ".gnupg"})


@dataclass(frozen=True, slots=True)
class Allow:
    """Allowed without asking."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the user, in every mode. `reason` is for the dialog."""

    reason: Literal["secret", "protected", "hard link"]


@dataclass(frozen=True, slots=True)
class Deny:
    """Denied without asking."""

    reason: Literal["system"]


Decision = Allow | Ask | Deny
Matcher = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Matchers:
    """Compiled pattern lists. Each takes a folded name, relative to a root (`src/a.py`) or to the home folder (`~/.ssh/id`)."""

    secret: Matcher
    protected: Matcher
    home: str = ""
    """The user's home folder, canonical; empty if there is none."""
    own: Sequence[str] = ()
    """The sidecar's own folders, canonical. They contain the texts of all files that agents changed, and the approved commands."""


def check_request(path: object, *, windows: bool = False) -> Refusal | None:
    """Refuse (BAD_PATH) what is not a plain absolute path, before any system call. ACP paths are paths, not URIs."""
    if not isinstance(path, str) or not path:
        return Refusal(Kind.BAD_PATH, "The path must be a string that is not empty.")
    if "\0" in path:
        return _bad("The path contains a NUL character", path)
    try:
        size = len(path) if path.isascii() else len(path.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return _bad("The path is not valid Unicode", path)
    if size > MAX_PATH_BYTES:
        return _bad(f"The path is longer than {MAX_PATH_BYTES} bytes", path)
    if not (_WINDOWS_ABSOLUTE.match(path) if windows else path[0] == "/"):
        if _URI.match(path):
            return _bad("An absolute path is needed, not a URI", path)
        return _bad("The path must be absolute", path)
    return None


def decide(
    requested: str,
    resolved: str,
    access: Access,
    matchers: Matchers,
    *,
    roots: Sequence[str] = (),
    links: int = 1,
) -> Decision:
    """The decision for one file, existing or not.

    `requested`: as the agent sent it. `resolved`: the canonical path that will be opened. `roots`: every spelling of the root in which
    it was found, the canonical one first. Patterns apply below the root (a checkout in `~/.cursor/worktrees/x` is a checkout); a name
    beneath no root is matched by its last component. `links`: the number of hard links of the file; another name of it may be outside
    the root, so writing asks.
    """
    if in_system_folder(resolved, roots[0] if roots else ""):
        return Deny("system")
    names: list[str] = []
    parts: set[str] = set()
    is_set_up = False
    for path in (resolved,) if requested == resolved else (resolved, requested):
        names += _spellings(_beneath(path, roots))
        if matchers.home and (below := _beneath_folded(path, matchers.home)):
            names += ("~/" + name for name in below)
            # in a session in the home folder itself, programs obey what is hidden there, far more of it than
            # any list has
            is_set_up |= _covers(roots, matchers.home) and below[0].startswith(".")
        parts.update(fold(path).split("/"))
    is_own = any(_is_at_or_beneath(fold(resolved), fold(own)) for own in matchers.own)
    if is_own or not parts.isdisjoint(_SECRET_ANYWHERE) or any(map(matchers.secret, names)):
        return Ask("secret")
    if access == "write":
        if is_set_up or not parts.isdisjoint(_PROTECTED_ANYWHERE) or any(map(matchers.protected, names)):
            return Ask("protected")
        if links > 1:
            return Ask("hard link")
    return Allow()


def in_system_folder(path: str, root: str = "") -> bool:
    """Whether a canonical path belongs to the system: /proc, /sys, /dev, /run.

    A root that the user put beneath /dev (shm) or /run (media, user) is the user's; nothing beneath /proc or /sys ever is."""
    for folder in SYSTEM_FOLDERS:
        if path == folder or path.startswith(folder + "/"):
            return folder in ("/proc", "/sys") or not root.startswith(folder + "/")
    return False


@lru_cache(maxsize=8192)
def fold(path: str) -> str:
    """One spelling for all spellings that some file system takes for the same name. Only for matching, never for opening."""
    return "/".join(map(_fold_name, _letters(path)))


@lru_cache(maxsize=8192)
def _spellings(path: str) -> tuple[str, ...]:
    """The folded path. If NTFS would have dropped a part of it, also the path with that part: on other systems `x:y.pem` does end in
    `.pem`."""
    folded, whole = fold(path), "/".join(_letters(path))
    return (folded,) if folded == whole else (folded, whole)


def _letters(path: str) -> list[str]:
    """The components of the path, with differences between letters removed."""
    if not path.isascii():
        path = unicodedata.normalize("NFKC", path)
        path = _IGNORABLE.sub("", path)
        # Case folding can undo the normal form (U+0130), and vice versa.
        path = unicodedata.normalize("NFKC", path.casefold())
    path = path.lower().replace("\\", "/")
    return [name for name in path.split("/") if name not in ("", ".")]


def _fold_name(name: str) -> str:
    if name == "..":
        return name
    # NTFS: `.git::$INDEX_ALLOCATION` is `.git`; so is `.git. .`
    name = (name.partition(":")[0] or name).rstrip(". ") or name
    if "~" in name and (short := _SHORT.match(name)):
        return _LONG.get(short[1], name)
    return name


def _covers(roots: Sequence[str], folder: str) -> bool:
    """Whether a folder is one of the roots, or beneath it."""
    return any(_is_at_or_beneath(fold(folder), fold(root)) for root in roots)


def _is_at_or_beneath(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or beneath it. Both are folded."""
    return not folder or path == folder or path.startswith(folder + "/")


def _beneath_folded(path: str, folder: str) -> list[str]:
    """The path's spellings relative to a folder above it; empty if the folder is not above it."""
    prefixes = [name + "/" for name in _spellings(folder)]
    return [
        name[len(prefix) :] for name in _spellings(path) for prefix in prefixes if name.startswith(prefix)
    ]


def _beneath(path: str, roots: Sequence[str]) -> str:
    for root in roots:
        separator = "\\" if "\\" in root else "/"
        prefix = root if root.endswith(separator) else root + separator
        if path.startswith(prefix):
            return path[len(prefix) :]
    return path.replace("\\", "/").rpartition("/")[2]


def _bad(text: str, path: str) -> Refusal:
    return Refusal(Kind.BAD_PATH, f"{text}: {path if len(path) <= 300 else path[:300] + '…'}")


_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_WINDOWS_ABSOLUTE = re.compile(r"[A-Za-z]:[\\/]|[\\/]{2}[^\\/]")

# Default_Ignorable_Code_Point (Unicode 16, DerivedCoreProperties.txt) and every format character (Cf), which HFS+ ignores in part.
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)

# 8.3 names as NTFS makes them: leading dot dropped, six characters, ~n. The hashed forms are those git itself guards against.
_SHORT = re.compile(r"\.?([a-z0-9_-]{1,6})~[0-9]+(?:\..{0,3})?\Z")
_LONG: dict[str, str] = {name.lstrip(".").split(".")[0][:6]: name for name in plain_names()} | {
    "git-cr": ".git-credentials",
    "gi7eba": ".gitmodules",
    "gi7d29": ".gitattributes",
    "pre-co": ".pre-commit-config.yaml",
}
