"""What a program or library asks the loader for, read from its file (ELF) with pyelftools, and where that is found.

The rules are the loader's (ld.so(8), "ld.so searches for"): folders in the file itself, then those of the library path. A
folder in the file counts when it is told relative to the file (`$ORIGIN`). An absolute one names a folder of the system, in
which a test must not find anything.
"""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}
"""By what `uname -m` says."""

TEXTS = {"DT_NEEDED": "needed", "DT_RPATH": "rpath", "DT_RUNPATH": "runpath"}
"""Entries of the dynamic section with a text, and pyelftools' name for that."""


@dataclass(frozen=True, slots=True)
class Binary:
    path: Path
    needs: tuple[str, ...]
    """Names of libraries."""
    search: tuple[str, ...]
    """Folders named in the file itself, as they stand there."""

    def unresolved(self, folders: Sequence[Path]) -> list[str]:
        """What it needs and neither its own folders nor these have."""
        own = [
            Path(
                os.path.normpath(
                    place.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", str(self.path.parent))
                )
            )
            for place in self.search
            if place.startswith(("$ORIGIN", "${ORIGIN}"))
        ]
        return [
            name for name in self.needs if not any((folder / name).exists() for folder in (*own, *folders))
        ]


@functools.cache  # several parts are made of the same files
def read(path: Path) -> Binary | None:
    """None for what is no program or library of this kind of machine with glibc: a script, another system's, an object file."""
    try:
        with path.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                return None
            binary = ELFFile(file)
            if binary.header["e_machine"] != MACHINES.get(platform.machine()):
                return None
            if binary.header["e_ident"]["EI_OSABI"] not in ("ELFOSABI_SYSV", "ELFOSABI_LINUX"):
                return None
            dynamic = next(
                (part for part in binary.iter_segments() if isinstance(part, DynamicSegment)), None
            )
            if dynamic is None:
                return None
            needs: list[str] = []
            search: list[str] = []
            for tag in dynamic.iter_tags():
                if (name := TEXTS.get(tag.entry.d_tag)) is None:
                    continue
                text: str = getattr(tag, name)
                if name == "needed":
                    needs.append(text)
                else:
                    search += [place for place in text.split(":") if place]
            if any(name.startswith("libc.musl-") for name in needs):
                return None
            return Binary(path, tuple(needs), tuple(search))
    except (OSError, ELFError):
        return None


def glibc(path: Path) -> tuple[int, ...]:
    """The newest version of glibc that a program or library needs something of, (2, 36) for example; () when of none."""
    newest: tuple[int, ...] = ()
    with path.open("rb") as file:
        for section in ELFFile(file).iter_sections("SHT_GNU_verneed"):
            assert isinstance(section, GNUVerNeedSection)
            for _, versions in section.iter_versions():
                for version in versions:
                    words = version.name.removeprefix("GLIBC_").split(".")
                    if version.name.startswith("GLIBC_") and all(word.isdigit() for word in words):
                        newest = max(newest, tuple(map(int, words)))
    return newest


def binaries(folder: Path) -> Iterator[Binary]:
    """Every one in a folder and beneath it, each file once, by what makes a file one that can be started or loaded: that it is
    executable, or its name (.eln is Emacs Lisp, compiled)."""
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            if path.is_symlink() or not (
                ".so" in name or name.endswith((".node", ".eln")) or os.access(path, os.X_OK)
            ):
                continue
            if (binary := read(path)) is not None:
                yield binary
