"""DocumentUri: a document's name as the editor gives it, in the one spelling in which names are compared.

Clients spell one file in many ways (`file:///C:/x`, `file:///c%3A/x`, `file://localhost/c:/x`). `normalise` is called once, where
a URI enters; after that, plain strings are compared. It only unifies spellings that RFC 3986 and RFC 8089 call the same, so two
documents of a client never become one. Letter case, symbolic links and Unicode forms are compared by device and inode instead.

Only `file:` URIs without a host name a place on this disk. `git:`, `untitled:`, `vscode-remote:` and others are names of buffers
and stay unchanged, apart from the scheme's case.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import NewType
from urllib.parse import quote_from_bytes

DocumentUri = NewType("DocumentUri", str)
"""A URI that went through `normalise` or `from_path`."""
UNTITLED = "untitled:"
"""The beginning of the URI of a document without a file. It has no path, so agents name it by this URI."""

_WINDOWS = sys.platform == "win32"
_FILE = re.compile(r"file:(?://(?P<host>[^/\\?#]*))?(?P<path>/.*)", re.IGNORECASE | re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=:)")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_HALF_ESCAPE = re.compile(r"%[0-9A-Fa-f]?\Z")
_DRIVE = re.compile(r"/(?P<letter>[A-Za-z])(?::|%3[Aa])(?=/|$)")
_DELIMITERS = "!$&'()*+,;=:@/"
"""RFC 3986 `pchar` beyond the unreserved characters, and the slash."""


def normalise(raw: str, *, windows: bool = _WINDOWS) -> DocumentUri:
    """The one spelling of a URI. Never fails: other URIs than `file:` come back unchanged, apart from the scheme's case.

    A malformed escape (`%b`), a raw `?` or `#` and an escaped slash stay as they are and stay different from `%25b`,
    `%3F` and `/`.
    """
    match = _FILE.fullmatch(raw)
    if match is None:
        scheme = _SCHEME.match(raw)  # at the beginning: a search would try again at every character
        end = scheme.end() if scheme is not None else 0
        return DocumentUri(raw[:end].lower() + raw[end:])
    host = (match["host"] or "").lower()
    path = _respell(match["path"])
    if windows:
        path = _DRIVE.sub(lambda drive: f"/{drive['letter'].lower()}:", path, count=1) if not host else path
    return DocumentUri(f"file://{'' if host == 'localhost' else host}{path}")


@lru_cache(maxsize=256)  # called for the same few files at every read
def from_path(path: str, *, windows: bool = _WINDOWS) -> DocumentUri:
    """The URI of an absolute path. Bytes that are not UTF-8 (surrogate escapes) are kept. ValueError for a relative path."""
    host = ""
    if windows:
        path = path.replace("\\", "/")
        if path.startswith("//"):
            host, _, path = path[2:].partition("/")
        path = "/" + path if host or path[1:2] == ":" else path
        path = _DRIVE.sub(lambda drive: f"/{drive['letter'].lower()}:", path, count=1)
    if not path.startswith("/") or (windows and not host and not _DRIVE.match(path)):
        raise ValueError(f"not an absolute path: {path!r}")
    return DocumentUri(f"file://{host.lower()}{quote_from_bytes(_bytes(path), safe=_DELIMITERS)}")


@lru_cache(maxsize=256)
def to_path(uri: str, *, windows: bool = _WINDOWS) -> str | None:
    """The path on this machine that a URI names; None if it names none.

    None for other schemes, for a host other than `localhost`, and for escaped slashes and NUL, which no path can contain. Lenient
    otherwise: a client that escapes nothing means the file `c#` when it sends `c#`. Reading it as a fragment would bypass an open
    buffer and read the disk.
    """
    match = _FILE.fullmatch(uri)
    if match is None or (match["host"] or "").lower() not in ("", "localhost"):
        return None
    raw = _bytes(match["path"])
    escaped = {bytes([int(digits, 16)]) for digits in _ESCAPE.findall(raw)}
    if b"\0" in raw or not escaped.isdisjoint((b"/", b"\0", b"\\") if windows else (b"/", b"\0")):
        return None
    decoded = _ESCAPE.sub(lambda escape: bytes([int(escape[1], 16)]), raw)
    if not windows:
        return decoded.decode("utf-8", "surrogateescape")
    try:
        path = decoded.decode(
            "utf-8", "surrogatepass"
        )  # Windows file names are UTF-16, lone surrogates included
    except UnicodeDecodeError:
        return None
    drive = _DRIVE.match(path)
    if drive is None:  # also //host/share: another machine is not asked for names
        return None
    return f"{drive['letter'].lower()}:{path[drive.end() :] or '/'}".replace("/", "\\")


def is_untitled(name: str) -> bool:
    """Whether a URI, or a name that an agent uses, names a document without a file."""
    return name[: len(UNTITLED)].lower() == UNTITLED


def from_name(name: str) -> DocumentUri:
    """The URI of what an agent names: an absolute path, or the URI of a document without a file. ValueError for anything else."""
    return normalise(name) if is_untitled(name) else from_path(name)


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _respell(path: str) -> str:
    """Escape exactly what must be escaped, in capitals. Never turns a malformed escape into a valid one."""
    out = ""
    for index, part in enumerate(re.split(r"(%[0-9A-Fa-f]{2})", path)):
        if index % 2 == 0:
            out += quote_from_bytes(_bytes(part), safe=_DELIMITERS + "%?#")
        elif part.upper() in ("%2F", "%00") or _HALF_ESCAPE.search(out[-2:]):
            out += part.upper()
        else:
            out += quote_from_bytes(bytes([int(part[1:], 16)]), safe=_DELIMITERS.replace("/", ""))
    return out
