"""The check that no tool counts on what a machine happens to have: each program and library in .cache/tools finds all it needs
there, but for the names in `Part.machine`, each with its reason. It reads every file that could be started or loaded, so
what a tool loads only now and then is looked at, too.

`make tools` runs it after unpacking and records a tool that lacks something as missing; `make test` runs it again
(tests/test_tools.py), also where the library lies somewhere on the machine.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scripts.tools import debian, elf
from scripts.tools.base import TOOLS, Problem

LIBC = (
    *(
        "ld-linux*",
        "libBrokenLocale",
        "libanl",
        "libc",
        "libc_malloc_debug",
        "libdl",
        "libm",
        "libmemusage",
        "libmvec",
    ),
    *("libnsl", "libnss_*", "libpcprofile", "libpthread", "libresolv", "librt", "libthread_db", "libutil"),
)
"""What belongs to libc6: it must be of one piece with the loader, so the machine's goes with the machine's loader."""

COMPILER = ("libgcc_s", "libstdc++")
"""GCC's own libraries. Wheels and npm's packages count on the machine's, as PEP 600 allows. apt itself is linked with them, so
every machine that can install the tools has them, and minimal ones of Debian do."""


def is_libc(name: str) -> bool:
    """Whether a file's name (libm.so.6, libm-2.36.so) is one of libc6."""
    return matches(name, LIBC)


def matches(name: str, libraries: Iterable[str]) -> bool:
    return any(fnmatch.fnmatch(name, f"{library}.so*") for library in libraries)


@dataclass(frozen=True, slots=True)
class Part:
    """What is installed and run together."""

    tools: tuple[str, ...]
    """The names in tools.json that do not work without it."""
    programs: tuple[Path, ...]
    """Folders: everything in them may be started or loaded."""
    libraries: Callable[[], list[Path]] = list
    """The folders of the library path it is run with."""
    machine: tuple[str, ...] = ()
    """Libraries (without .so) that it takes from the machine."""
    never_loaded: Mapping[str, str] = field(default_factory=dict[str, str])
    """Files in `programs`, as patterns of their path there, with the reason why no test comes to load them."""


def parts() -> dict[str, Part]:
    bookworm, trixie = TOOLS / "bookworm", TOOLS / "trixie"
    chromium = TOOLS / "chromium.lib"
    server = TOOLS / "code-server"
    return {
        "Debian 12's packages": Part(
            ("nvim-0.7", "emacs-28", "tmux", "sshd", "ssh", "ssh-keygen"),
            (bookworm,),
            lambda: debian.libraries(bookworm),
        ),
        "Debian 13's packages": Part(
            ("hx", "emacs-30", "fast-agent"), (trixie,), lambda: debian.libraries(trixie)
        ),
        "chromium": Part(
            ("chromium",), (bookworm / "usr/lib/chromium", chromium), lambda: [chromium], machine=LIBC
        ),
        "fast-agent": Part(("fast-agent",), (TOOLS / "fast-agent",), lambda: debian.libraries(trixie)),
        "nvim-0.11": Part(("nvim-0.11",), (TOOLS / "nvim-0.11",), machine=LIBC + COMPILER),
        "node-24": Part(("node-24", "npm-24", "code-server"), (TOOLS / "node-24",), machine=LIBC + COMPILER),
        "code-server": Part(
            ("code-server",),
            (server,),
            machine=LIBC + COMPILER,
            never_loaded={
                "*/extensions/microsoft-authentication/dist/*": "logs in with a Microsoft account through GTK's WebKit"
            },
        ),
    }


@dataclass(frozen=True, slots=True)
class Gap:
    """A library that a file needs and its tool does not bring."""

    library: str
    file: Path

    def __str__(self) -> str:
        return f"{self.library}, which {self.file} needs"


def files(part: Part) -> Iterator[elf.Binary]:
    """Every program and library of a part. Links count in a folder of nothing but links (`chromium.lib`)."""
    seen: set[Path] = set()
    for folder in part.programs:
        linked = (elf.read(path.resolve()) for path in folder.iterdir() if path.is_symlink())
        for binary in (*elf.binaries(folder), *filter(None, linked)):
            below = os.path.join("/", os.path.relpath(binary.path, folder))
            if binary.path in seen or any(fnmatch.fnmatch(below, pattern) for pattern in part.never_loaded):
                continue
            seen.add(binary.path)
            yield binary


def gaps(part: Part) -> list[Gap]:
    folders = part.libraries()
    return [
        Gap(name, binary.path)
        for binary in files(part)
        for name in binary.unresolved(folders)
        if not matches(name, part.machine)
    ]


def glibc_floor(part: Part) -> tuple[int, ...]:
    """The oldest glibc that runs it, when the machine's does: (2, 36) for example."""
    return max((elf.glibc(binary.path) for binary in files(part)), default=())


def machines_glibc() -> tuple[int, ...]:
    words = (os.confstr("CS_GNU_LIBC_VERSION") or "glibc 0").split()  # "glibc 2.36"
    return tuple(int(word) for word in words[-1].split(".") if word.isdigit())


def require(part: Part) -> None:
    """Raises a Problem that names what is missing, and the package that would bring it."""
    if missing := gaps(part):
        first = {gap.library: gap for gap in reversed(missing)}
        try:
            holders = debian.packages_with(first)
        except Problem:
            holders = {}
        said = [
            f"{gap} (Debian's package: {' or '.join(holders.get(name, [])) or 'unknown'})"
            for name, gap in sorted(first.items())
        ]
        raise Problem(f"is not self-contained: it lacks {'; '.join(said)}")
    if part.machine and (floor := glibc_floor(part)) > machines_glibc():
        raise Problem(
            f"needs glibc {'.'.join(map(str, floor))} or newer; this machine has {'.'.join(map(str, machines_glibc()))}"
        )
