"""Finding: chooses which running sidecar to talk to.

1. The one that started this process (its id is in the environment). 2. Otherwise the one with the deepest root that
contains the current folder; the newest among equals. 3. Otherwise none.

A candidate counts only if it completes the handshake. Leftovers of dead sidecars are removed along the way.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath

from sidecar.bridge import UNSUPPORTED, VARIABLE, folder, registry
from sidecar.bridge.client import Client, Unreachable
from sidecar.bridge.entry import SidecarEntry, is_id, read


def find(cwd: str, env: Mapping[str, str]) -> Client | None:
    """A connection to the sidecar for the folder `cwd`. None if there is none."""
    ranked, _ = _entries(cwd, env)
    return next(_connected(ranked), None)


def find_all(cwd: str, env: Mapping[str, str]) -> Iterator[Client]:
    """Connections to all of the user's running sidecars, the one for `cwd` first. The caller closes each."""
    ranked, others = _entries(cwd, env)
    yield from _connected([*ranked, *others])


def serving(cwd: str, env: Mapping[str, str]) -> Client | None:
    """A connection to the sidecar that has this folder open. None if no sidecar has. Raises ConnectionError if one has it open and does
    not answer: it knows what the user sees, which is not on the disk."""
    busy: Unreachable | None = None
    entries = containing(os.path.realpath(cwd), env)
    # the one that started us comes first
    for entry in sorted(entries, key=lambda entry: entry.id != env.get(VARIABLE)):
        try:
            return Client.connect(entry)
        except Unreachable as error:
            if not registry.sweep_one(Path(entry.socket).parent, entry.id):
                busy = error
    if busy is not None:
        raise ConnectionError(f"the acp-sidecar that has {cwd} open is busy: {busy}; try again")
    return None


def containing(path: str, env: Mapping[str, str]) -> list[SidecarEntry]:
    """The sidecars with a root that contains this real path or is equal to it: the deepest first, the newest among equals. Does not check
    whether they still run."""
    here = PurePath(path)
    near = [(depth, entry.started, entry) for entry in _listed(env) if (depth := _depth(entry, here))]
    return [entry for _, _, entry in sorted(near, key=lambda row: row[:2], reverse=True)]


def within(path: str, env: Mapping[str, str]) -> list[SidecarEntry]:
    """The sidecars with a root in this folder (a real path), the newest first."""
    found = [e for e in _listed(env) if any(PurePath(root).is_relative_to(path) for root in e.roots)]
    return sorted(found, key=lambda entry: entry.started, reverse=True)


def _listed(env: Mapping[str, str]) -> list[SidecarEntry]:
    place = None if UNSUPPORTED else folder.existing(env)
    return [] if place is None else list(registry.listed(place))


def _entries(cwd: str, env: Mapping[str, str]) -> tuple[list[SidecarEntry], list[SidecarEntry]]:
    """The candidates, best first, and all other entries, newest first."""
    place = None if UNSUPPORTED else folder.existing(env)
    if place is None:
        return [], []
    meant: list[SidecarEntry] = []
    given = env.get(VARIABLE, "")
    if is_id(given) and (named := read(place, given)) is not None:
        meant.append(named)
    here = PurePath(os.path.realpath(cwd))
    near: list[tuple[int, float, SidecarEntry]] = []
    others: list[SidecarEntry] = []
    for entry in registry.listed(place):
        depth = _depth(entry, here)
        if entry in meant:
            continue
        if depth:
            near.append((depth, entry.started, entry))
        else:
            others.append(entry)
    near.sort(key=lambda row: row[:2], reverse=True)
    others.sort(key=lambda entry: entry.started, reverse=True)
    return [*meant, *(entry for _, _, entry in near)], others


def _depth(entry: SidecarEntry, here: PurePath) -> int:
    """The number of components of the deepest root that contains `here`. 0 if none does."""
    roots = (PurePath(root) for root in entry.roots)
    return max((len(root.parts) for root in roots if here.is_relative_to(root)), default=0)


def _connected(entries: list[SidecarEntry]) -> Iterator[Client]:
    for entry in entries:
        try:
            yield Client.connect(entry)
        except Unreachable:
            registry.sweep_one(Path(entry.socket).parent, entry.id)
