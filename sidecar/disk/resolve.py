"""resolve: finds the one file that a requested path means, beneath a root, and opens it; or says why not.

    path ──check_request──▶ root + relative path ──open_beneath, no links──▶ Resolved (open)  | Missing (would-be path)
                                  ▲         │ a link or `..` on the way
                                  └─────────┴─ follow it physically, match all roots again, open beneath again

The canonical name is the name that was opened, component by component, and contains no link. The policy decides about
exactly that name, and content is read through exactly that descriptor. Nothing outside the roots is opened, and the
answer about such a path does not depend on whether it exists.
"""

from __future__ import annotations

import errno
import os
import re
import stat as mode_bits
import sys
import unicodedata
import warnings
from types import TracebackType
from typing import NamedTuple, Self

from sidecar.core.policy import Access, check_request, in_system_folder
from sidecar.core.refusal import Kind, Refusal
from sidecar.disk import beneath, windows
from sidecar.disk.beneath import FOLDER, READ, DotsAfterMissing, LeftKnownFolders, LinkLoop, physical
from sidecar.disk.openat2 import on_special_filesystem
from sidecar.disk.refusals import from_os_error, refuse
from sidecar.disk.roots import Root, Roots

_ATTEMPTS = 8
"""How many times a path may turn out to contain a link that was not there a moment ago."""

READ_TRIES = 3
"""How many times a file is read while it keeps changing."""
_DOTS = re.compile(r"/\.{0,2}/")


class Stat(NamedTuple):
    """The state of a file; equal Stats mean that the file has not changed. Times are in nanoseconds."""

    dev: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int
    """Only the system sets it, so it reveals a write that restored the old mtime. chmod changes it too, which costs one
    needless second look.
    """

    @property
    def identity(self) -> tuple[int, int]:
        return self.dev, self.ino

    def at_no_time(self) -> Stat:
        """Return a Stat of the same file that equals none that the file ever has."""
        return self._replace(mtime_ns=-1, ctime_ns=-1)

    @classmethod
    def of(cls, stat: os.stat_result) -> Stat:
        return cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


class Missing(NamedTuple):
    """Nothing exists at the path. `path`: the canonical path it would have; `relative`: the same, relative to `root`."""

    path: str
    requested: str
    root: Root
    relative: str
    parent_exists: bool


class Resolved:
    """One regular file beneath a root, open for reading. Close it, or use it as a context manager."""

    __slots__ = ("_descriptor", "_stat", "path", "relative", "requested", "root")

    def __init__(
        self, path: str, requested: str, root: Root, relative: str, descriptor: int, stat: os.stat_result
    ) -> None:
        self.path = path
        """Canonical: without links and `..`. Ask the policy about this path."""
        self.requested = requested
        self.root = root
        self.relative = relative
        self._descriptor = descriptor
        self._stat = stat

    @property
    def stat(self) -> Stat:
        """The state at the last `look` or `read_bytes`, or when it was opened. Pass it as `expected` to a later save."""
        return Stat.of(self._stat)

    @property
    def identity(self) -> tuple[int, int]:
        return self._stat.st_dev, self._stat.st_ino

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self._stat.st_size

    @property
    def mtime_ns(self) -> int:
        return self._stat.st_mtime_ns

    @property
    def mode(self) -> int:
        """Permission bits, without set-id bits."""
        return self._stat.st_mode & 0o777

    @property
    def links(self) -> int:
        """Number of hard links."""
        return self._stat.st_nlink

    @property
    def writable(self) -> bool:
        """Whether the file may be written to now. A file without any write bit counts as read-only even for root,
        because that is what people mean by it.
        """
        if not self._stat.st_mode & 0o222:
            return False
        if sys.platform == "win32":
            return os.access(self.path, os.W_OK)
        effective = os.access in os.supports_effective_ids
        return os.access(self.relative, os.W_OK, dir_fd=self.root.descriptor, effective_ids=effective)

    def read_bytes(self, at_most: int | None = None) -> bytes | Refusal:
        """Return the exact bytes at one moment, as far as can be detected: if the file changes during the read, it is read again. TOO_LARGE if there
        are more than `at_most` bytes (the file may have grown since `size` was read). Blocks; any thread.
        """
        data = b""
        try:
            for _ in range(READ_TRIES):
                before = self.look()
                if at_most is not None and before.size > at_most:
                    return refuse(Kind.TOO_LARGE, self.requested, size=before.size, limit=at_most)
                data = read_all(self._descriptor, at_most)
                if self.look() == before:
                    break
        except OSError as error:
            return from_os_error(error, self.requested, "read")
        if at_most is not None and len(data) > at_most:
            return refuse(Kind.TOO_LARGE, self.requested, size=len(data), limit=at_most)
        return data

    def look(self) -> Stat:
        """Refresh and return `stat`, the state of the open file. Raises OSError."""
        self._stat = os.fstat(self._descriptor)
        return Stat.of(self._stat)

    def read_at(self, offset: int, size: int) -> bytes:
        """Return up to `size` bytes from the byte offset `offset` (from 0); empty at the end. Raises OSError."""
        return read_at(self._descriptor, size, offset)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_descriptor", -1) >= 0:
            warnings.warn(f"unclosed {self.path!r}", ResourceWarning, stacklevel=2, source=self)
            self.close()


def resolve(roots: Roots, path: str, *, access: Access) -> Resolved | Missing | Refusal:
    """Find the file that `path` means. Returns it open, or Missing, or a refusal. Reads no content.

    Refusals: BAD_PATH, before any system call; OUTSIDE or SYMLINK_ESCAPE, whether or not the file exists; NOT_A_FILE for folders, FIFOs, sockets,
    devices and the system's folders, without waiting; READ_ONLY (write) or IO_ERROR (read) if permission is missing.
    """
    bad = check_request(path)
    if bad is not None:
        return bad
    if path.endswith(("/", "/.", "/..")):
        return refuse(Kind.NOT_A_FILE, path)  # a trailing slash names a folder, whatever exists there
    asked = roots.respelled(path)
    found = roots.match(asked)
    if found is None and roots.is_root(asked):
        return refuse(Kind.NOT_A_FILE, path)  # one of the session's own folders; its existence is no secret
    if found is None:
        # refused without a look: even a stat may mount something or wait for another host
        return refuse(Kind.OUTSIDE, path)
    try:
        return _resolve(roots, path, asked, access, found)
    except LeftKnownFolders:
        return _outside(roots, path, asked)
    except LinkLoop:
        return refuse(Kind.BAD_PATH, path)
    except DotsAfterMissing:
        return refuse(Kind.NOT_FOUND, path)
    except UnicodeEncodeError:  # the file system's encoding is not UTF-8 and cannot represent this name
        return refuse(Kind.BAD_PATH, path)


def _resolve(
    roots: Roots, path: str, asked: str, access: Access, found: tuple[Root, str, str] | None
) -> Resolved | Missing | Refusal:
    """`asked`: `path` in our spelling of the root."""
    name, is_physical = asked, False
    if _DOTS.search(asked):  # resolved physically, never as text
        name, is_physical = physical(asked, roots.is_known), True
        found = roots.match(name)
    for _ in range(_ATTEMPTS):
        if found is None:
            return refuse(Kind.NOT_A_FILE, path) if roots.is_root(name) else _outside(roots, path, asked)
        root, spelling, relative = found
        canonical = root.prefix + relative
        if in_system_folder(canonical, root.path):
            return refuse(Kind.NOT_A_FILE, path)
        if not root.still_there(spelling):
            return refuse(Kind.OUTSIDE, path)
        try:
            descriptor = beneath.open_beneath(root.descriptor, relative, READ)
        except OSError as error:
            code = error.errno
            if code == errno.ENOENT and is_physical:
                return _missing(root, relative, canonical, path, access)
            if code not in (errno.ENOENT, errno.ELOOP, errno.EXDEV):
                return from_os_error(error, path, access)
        else:
            stat = os.fstat(descriptor)
            special = stat.st_dev != root.identity[0] and on_special_filesystem(descriptor)
            if special or not mode_bits.S_ISREG(stat.st_mode):
                os.close(descriptor)
                return refuse(Kind.NOT_A_FILE, path)
            return Resolved(canonical, path, root, relative, descriptor, stat)
        name, is_physical = physical(asked, roots.is_known), True
        found = roots.match(name)
    return refuse(Kind.IO_ERROR, path)  # another process keeps swapping links


def read_at(descriptor: int, size: int, offset: int) -> bytes:
    """Like pread(2): up to `size` bytes from the byte offset `offset` (from 0). Raises OSError."""
    if sys.platform == "win32":
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, size)
    return os.pread(descriptor, size, offset)


def read_all(descriptor: int, at_most: int | None = None) -> bytes:
    """Read an open file from its start. If there are more than `at_most` bytes, returns slightly more than that. Raises OSError."""
    parts: list[bytes] = []
    offset = 0
    ask = os.fstat(descriptor).st_size + 1
    while part := read_at(descriptor, ask, offset):
        parts.append(part)
        offset += len(part)
        if at_most is not None and offset > at_most:
            break
        ask = max(1 << 16, ask - len(part))
    return parts[0] if len(parts) == 1 else b"".join(parts)


def identity(path: str) -> tuple[int, int] | None:
    """Return (device, inode) from a fresh stat that follows links. None if nothing exists. Never store it: saving changes it."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return stat.st_dev, stat.st_ino


def fresh_stat(path: str) -> Stat | None:
    """Return a fresh state of a file by name, following links, for documents that the editor has open. Opens nothing."""
    try:
        return Stat.of(os.stat(path))
    except (OSError, ValueError):
        return None


def order_key(path: str) -> str:
    """Return a canonical name used only to queue requests for one file in order. Follows links, and ignores letter case where the system does.

    Advisory and cheap. It works for missing files, opens nothing and decides nothing. Different files may share a key on some systems: their requests
    then only wait for each other.
    """
    try:
        if sys.platform == "win32":
            name = windows.plain(path)
            return os.path.normcase(name if windows.is_unc(name) else os.path.realpath(name))
        name = physical(path)
    except (LinkLoop, DotsAfterMissing, OSError, ValueError):
        name = os.path.normpath(path)
    return unicodedata.normalize("NFC", name).casefold() if sys.platform == "darwin" else name


def name_key(path: str) -> str:
    """Like `order_key`, for requests about what stands under the name itself: if that is a link, not about what it leads to. The key stays the same
    while one link is put in place of another. The two keys of a name that is no link are the same."""
    folder, name = os.path.split(path)
    name = os.path.join(order_key(folder), name)
    if sys.platform == "win32":
        return os.path.normcase(name)
    return unicodedata.normalize("NFC", name).casefold() if sys.platform == "darwin" else name


def _outside(roots: Roots, path: str, asked: str) -> Refusal:
    """Return OUTSIDE or SYMLINK_ESCAPE. The choice depends only on the requested text, never on what exists."""
    lexically_inside = roots.match(os.path.normpath(asked)) is not None
    return refuse(Kind.SYMLINK_ESCAPE if lexically_inside else Kind.OUTSIDE, path)


def _missing(root: Root, relative: str, canonical: str, requested: str, access: Access) -> Missing | Refusal:
    parent = relative.rpartition("/")[0]
    try:
        os.close(beneath.open_beneath(root.descriptor, parent or ".", FOLDER))
    except FileNotFoundError:
        return Missing(canonical, requested, root, relative, False)
    except OSError as error:
        return from_os_error(error, requested, access)
    return Missing(canonical, requested, root, relative, True)
