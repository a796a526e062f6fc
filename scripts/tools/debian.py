"""Packages of one Debian release with everything they need, unpacked into a folder. Nobody need be root, and the machine's own
packages do not matter: apt works in folders of its own with an empty status file."""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from scripts.tools import elf
from scripts.tools.base import TOOLS, Problem, one, run

PACKAGES = {
    "bookworm": ("neovim", "emacs-nox", "elpa-eglot", "tmux", "chromium-headless-shell", "openssh-server"),
    "trixie": ("hx", "emacs-nox", "python3.13"),
}


def mirror() -> str:
    """The address of Debian's archive as this machine's apt is set up with it; none is written into this file."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise Problem("needs apt-get and dpkg-deb (Debian or a relative of it)")
    # Read from the sources and not from the lists: a container has none before `apt-get update`
    for line in run(["apt-get", "update", "--print-uris"]).splitlines():
        if found := re.match(r"'(\S+/debian/(?:\d{8}T\w+/)?)dists/", line):
            return found[1]
    raise Problem(
        "apt's sources on this machine (/etc/apt) name no archive of Debian; add one, such as debian.sources"
    )


def apt(release: str, folder: Path) -> list[str]:
    """The start of an apt-get command that knows this release and keeps all it has in `folder`."""
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    (folder / "status").touch()
    # Debian 12 names its keyring .gpg, Debian 13 .pgp as well; both hold the keys of both releases
    keyrings = [f"/usr/share/keyrings/debian-archive-keyring.{end}" for end in ("gpg", "pgp")]
    keyring = next((path for path in keyrings if os.path.exists(path)), None)
    if keyring is None:
        raise Problem("needs the package debian-archive-keyring")
    (folder / "sources.list").write_text(f"deb [signed-by={keyring}] {mirror()} {release} main\n")
    options = {
        "Dir::State": folder,
        "Dir::State::lists": folder / "lists",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "Dir::Cache::archives": folder / "cache/archives",
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Acquire::Languages": "none",
        "Acquire::Retries": "3",
        "APT::Install-Recommends": "0",
        "APT::Sandbox::User": "root",  # as root apt would fetch as a user who cannot write here
        "Debug::NoLocking": "1",
    }
    return ["apt-get", "--quiet", "--yes", *given(options)]


def given(options: Mapping[str, object]) -> list[str]:
    return [word for key, value in options.items() for word in ("-o", f"{key}={value}")]


def unpacked(release: str) -> Path:
    """The folder of a release's packages; made when it is not there or holds others."""
    packages = PACKAGES[release]
    root, scratch = TOOLS / release, TOOLS / f"{release}.apt"
    stamp = root / ".packages"
    if stamp.exists() and stamp.read_text().split() == sorted(packages):
        return root
    for leftover in (root, scratch):
        shutil.rmtree(leftover, ignore_errors=True)
    apt_get = apt(release, scratch)
    run([*apt_get, "update"])
    run([*apt_get, "--download-only", "install", *packages])
    # Merged /usr, which Debian's base-files would make; packages of both releases unpack into it
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for package in sorted((scratch / "cache/archives").glob("*.deb")):
        # not `dpkg-deb -x`: tar can be told to keep the links just made and to leave owners and set-id bits out
        fields = f"dpkg-deb --fsys-tarfile {shlex.quote(str(package))} | tar -x --keep-directory-symlink --no-same-owner"
        run(["sh", "-ec", f"{fields} --no-same-permissions -C {shlex.quote(str(root))}"])
    shutil.rmtree(scratch)
    stamp.write_text("\n".join(sorted(packages)))
    return root


@functools.cache
def libraries(root: Path) -> list[Path]:
    """Where the unpacked libraries lie: the main folder, and those that libraries and programs find by a RUNPATH on a machine
    where their package is installed. There it names a folder of the system, which is not ours."""
    main = Path(one(root, "usr/lib/*/libc.so.6")).parent
    found = {
        root / path.lstrip("/")
        for binary in elf.binaries(root)
        for path in binary.search
        if path.startswith("/")
    }
    return [main, *sorted(folder for folder in found - {main} if folder.is_dir())]


def own_loader(root: Path, program: str) -> list[str]:
    """The start of a command that runs a program with the libraries it was built with, whatever the machine has."""
    loader = one(root, "lib*/ld-linux*.so.*")
    return [loader, "--library-path", ":".join(map(str, libraries(root))), program]


def packages_with(names: Iterable[str], release: str = "bookworm") -> dict[str, list[str]]:
    """Which packages of a release bring files of these names, by the archive's own table of contents (fetched: tens of MB)."""
    scratch = TOOLS / "contents.apt"
    shutil.rmtree(scratch, ignore_errors=True)
    table = "Acquire::IndexTargets::deb::Contents-deb"
    contents = {
        f"{table}::MetaKey": "$(COMPONENT)/Contents-$(ARCHITECTURE)",
        f"{table}::ShortDescription": "Contents-$(ARCHITECTURE)",
        f"{table}::Description": "$(RELEASE)/$(COMPONENT) $(ARCHITECTURE) Contents (deb)",
    }
    try:
        run([*apt(release, scratch), *given(contents), "update"])
        wanted = set(names)
        found: dict[str, list[str]] = {name: [] for name in sorted(wanted)}
        for path in scratch.glob("lists/*_Contents-*"):
            for line in run(["/usr/lib/apt/apt-helper", "cat-file", str(path)]).splitlines():
                # usr/lib/x86_64-linux-gnu/libz.so.1    libs/zlib1g
                file, _, holders = line.rstrip().rpartition(" ")
                if (name := file.rstrip().rpartition("/")[2]) in wanted:
                    found[name] += [holder.rpartition("/")[2] for holder in holders.split(",")]
        return found
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
