"""Installs what is missing, the sources in parallel, checks it, and writes tools.json."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from scripts.tools import browser, debian, editors, fast_agent, node, self_contained, ssh
from scripts.tools.base import TOOLS, Entry, Problem, say

MANIFEST = TOOLS / "tools.json"
Installers = Mapping[str, Callable[[], Entry]]


@dataclass(frozen=True, slots=True)
class Source:
    """Tools that come out of one unpacking."""

    tools: tuple[str, ...]
    installers: Callable[[], Installers]
    """Unpacks, and returns how each of `tools` is made from that."""


def debian_12() -> Installers:
    root = debian.unpacked("bookworm")
    return {
        **editors.of_debian_12(root),
        **ssh.of_debian_12(root),
        "chromium": lambda: browser.chromium(root),
    }


def debian_13() -> Installers:
    root = debian.unpacked("trixie")
    return {**editors.of_debian_13(root), "fast-agent": lambda: fast_agent.fast_agent(root)}


SOURCES = (
    Source(("nvim-0.7", "emacs-28", "tmux", "sshd", "ssh", "ssh-keygen", "chromium"), debian_12),
    Source(("hx", "emacs-30", "fast-agent"), debian_13),
    Source(("node-24", "npm-24", "code-server"), lambda: node.on_node(node.node())),
    Source(("nvim-0.11",), lambda: {"nvim-0.11": editors.neovim_11}),
)
ALL = tuple(name for source in SOURCES for name in source.tools)


def key() -> str:
    """A digest of all that the result depends on."""
    seen = hashlib.sha256(str(TOOLS).encode())
    for part in sorted(Path(__file__).parent.iterdir()):
        if part.is_file():
            seen.update(part.name.encode() + part.read_bytes())
    return seen.hexdigest()


def known() -> dict[str, Entry]:
    """What an earlier run of this very installer left and is still there."""
    try:
        manifest = json.loads(MANIFEST.read_text())
    except (OSError, ValueError):
        return {}
    if manifest.get("key") != key():
        return {}
    tools: dict[str, Entry] = manifest["tools"]
    return {name: entry for name, entry in tools.items() if os.path.exists(entry.get("command", ""))}


def install(missing: set[str]) -> dict[str, Entry]:
    """Everything missing; a failure of one is its entry and stops no other."""
    entries: dict[str, Entry] = {}

    def failed(name: str, problem: Exception) -> None:
        entries[name] = {"problem": str(problem)}
        say(f"{name}: NOT INSTALLED: {problem}")

    def install_from(source: Source) -> None:
        wanted = [name for name in source.tools if name in missing]
        if not wanted:
            return
        try:
            installers = source.installers()
        except (Problem, OSError) as problem:
            for name in wanted:
                failed(name, problem)
            return
        for name in wanted:
            started = time.monotonic()
            try:
                entries[name] = installers[name]()
                say(f"{name}: {entries[name]['version']} ({time.monotonic() - started:.0f} s)")
            except (Problem, OSError) as problem:
                failed(name, problem)

    with ThreadPoolExecutor(max_workers=len(SOURCES)) as pool:
        list(pool.map(install_from, SOURCES))
    for part in self_contained.parts().values():
        there = [name for name in part.tools if name in missing and "command" in entries[name]]
        try:
            if there:
                self_contained.require(part)
        except (Problem, OSError) as problem:
            for name in there:
                failed(name, problem)
    return entries


@contextlib.contextmanager
def alone() -> Generator[None]:
    """One installer at a time: two `make test` of one checkout share the folder."""
    import fcntl

    with (TOOLS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def write(entries: Mapping[str, Entry]) -> None:
    MANIFEST.write_text(json.dumps({"key": key(), "tools": entries}, indent=1, sort_keys=True))


def main() -> int:
    TOOLS.mkdir(parents=True, exist_ok=True)
    if platform.system() != "Linux":
        words = f"is installed by this project on Linux only, not on {platform.system()}"
        write({name: {"problem": words} for name in ALL})
        return 0
    with alone():
        entries = known()
        if missing := set(ALL).difference(entries):
            started = time.monotonic()
            say(f"installing {', '.join(sorted(missing))} into .cache/tools")
            write(entries | install(missing))
            say(f"done in {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
