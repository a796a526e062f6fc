"""The `paths_race` gate: while another process swaps a folder, a leaf or the root for a link, nothing outside is read, made or written.

SIDECAR_TEST_RACE_SECONDS sets the time for each of read, create and replace (default 1.5; the full gate is 30).
The same harness over the usual check (realpath, compare, open) must find escapes, else it proves nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from sidecar.core.refusal import Refusal
from sidecar.disk import Missing, Resolved, Roots, Stat, create, resolve, save

SECONDS = float(os.environ.get("SIDECAR_TEST_RACE_SECONDS", "1.5"))
SECRET = b"outside"
INSIDE = b"inside"

Attempt = Callable[["World", str], bool]
"""One try at a path; whether it was served. What it must not do is seen afterwards, from outside."""


@dataclass
class World:
    """`ws/folder/f`, `ws/leaf/f`, `ws/f` and their counterparts in `out`; `roots` where the checked way is tried."""

    base: Path
    roots: Roots | None = None
    read: bytes = b""

    @property
    def ws(self) -> str:
        return str(self.base / "ws")

    def escaped(self) -> bool:
        """Whether the last attempt got out; puts the outside back in order."""
        out = self.base / "out"
        escaped = self.read == SECRET
        self.read = b""
        for name in os.listdir(out):
            if name != "f":
                escaped = True
                shutil.rmtree(out / name) if (out / name).is_dir() else (out / name).unlink()
        if (out / "f").read_bytes() != SECRET:
            (out / "f").write_bytes(SECRET)
            escaped = True
        return escaped


def make_world(base: Path) -> World:
    for folder in ("ws/folder", "ws/leaf", "out"):
        (base / folder).mkdir(parents=True)
    for file in ("ws/f", "ws/folder/f", "ws/leaf/f"):
        (base / file).write_bytes(INSIDE)
    (base / "out/f").write_bytes(SECRET)
    (base / "ws/folder.other").symlink_to(base / "out")
    (base / "ws/leaf/f.other").symlink_to(base / "out/f")
    (base / "ws.other").symlink_to("out")
    return World(base)


SWAPPED = {"folder": ("ws/folder", "folder/{}"), "leaf": ("ws/leaf/f", "leaf/f"), "root": ("ws", "{}")}
"""Which name is swapped with a link (`….other`), and the path beneath ws that is then asked for."""


@contextmanager
def swapping(base: Path, name: str) -> Iterator[None]:
    command = [sys.executable, "-m", "tests.disk.swapper", str(base / name), str(base / f"{name}.other")]
    project = Path(__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=project) as swapper:
        try:
            assert swapper.stdout is not None
            assert swapper.stdout.readline() == b"swapping\n"
            yield
        finally:
            swapper.kill()


# The checked way


def read(world: World, path: str) -> bool:
    assert world.roots is not None
    target = resolve(world.roots, path, access="read")
    if not isinstance(target, Resolved):
        return False
    with target:
        data = target.read_bytes()
    world.read = data if isinstance(data, bytes) else b""
    return isinstance(data, bytes)


def make(world: World, path: str) -> bool:
    assert world.roots is not None
    target = resolve(world.roots, path, access="write")
    if isinstance(target, Resolved):
        target.close()
    return isinstance(target, Missing) and isinstance(create(target, b"made"), Stat)


def replace(world: World, path: str) -> bool:
    assert world.roots is not None
    target = resolve(world.roots, path, access="write")
    if not isinstance(target, Resolved):
        return False
    with target:
        answer = save(target, b"written", target.stat)
    assert isinstance(answer, Stat | Refusal)
    return isinstance(answer, Stat)


# The usual way


def _is_inside(world: World, path: str) -> bool:
    return os.path.commonpath([os.path.realpath(path), world.ws]) == world.ws


def naive_read(world: World, path: str) -> bool:
    if _is_inside(world, path):
        with open(path, "rb") as file:
            world.read = file.read()
    return True


def naive_make(world: World, path: str) -> bool:
    if _is_inside(world, path):
        with open(path, "xb") as file:
            file.write(b"made")
    return True


def naive_replace(world: World, path: str) -> bool:
    if _is_inside(world, path):
        with open(path, "r+b") as file:
            file.write(b"written")
    return True


def race(
    world: World, swapped: str, attempt: Attempt, seconds: float, *, until_escape: bool
) -> tuple[int, int, int]:
    """(attempts, served, escapes) in that time; with `until_escape` only until the first."""
    name, path = SWAPPED[swapped]
    new = attempt in (make, naive_make)
    if new and swapped == "leaf":
        return 0, 0, 0  # a leaf that does not exist is not swapped
    inside = os.open(world.base / ("ws" if swapped == "root" else "ws/folder"), os.O_RDONLY)
    attempts = served = escapes = 0
    try:
        with swapping(world.base, name):
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline and not (until_escape and escapes):
                leaf = "new" if new else "f"
                asked = f"{leaf}-folder/new" if new and attempts % 2 and attempt is make else leaf
                with suppress(OSError):
                    served += attempt(world, f"{world.ws}/{path.format(asked)}")
                attempts += 1
                escapes += world.escaped()
                if new:
                    for step, made in ((os.unlink, asked), (os.rmdir, "new-folder")):
                        with suppress(OSError):
                            step(made, dir_fd=inside)
    finally:
        os.close(inside)
    return attempts, served, escapes


@pytest.mark.parametrize("attempt", [read, make, replace])
@pytest.mark.timeout(120 + 10 * SECONDS)
def test_nothing_outside_is_touched_while_names_are_swapped(
    base: Path,
    attempt: Attempt,
    way_in: str,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # more attempts in the same time
    world = make_world(base)
    total = 0
    with Roots([world.ws]) as world.roots:
        for swapped in SWAPPED:
            seconds = (SECONDS if way_in == "openat2" else SECONDS / 4) / len(SWAPPED)
            attempts, served, escapes = race(world, swapped, attempt, seconds, until_escape=False)
            record_property(f"{swapped} attempts", attempts)
            figures = f"{attempts} attempts, {served} served, {escapes} escapes"
            sys.stdout.write(f"{way_in} {attempt.__name__} {swapped}: {figures}\n")
            assert escapes == 0
            total += served
    assert total > 0, "nothing was ever served: the harness proves nothing"


@pytest.mark.parametrize("attempt", [naive_read, naive_make, naive_replace])
def test_the_usual_check_does_let_something_out(base: Path, attempt: Attempt) -> None:
    world = make_world(base)
    attempts, _, escapes = race(world, "folder", attempt, 60, until_escape=True)
    sys.stdout.write(f"{attempt.__name__}: {escapes} escape after {attempts} attempts\n")
    assert escapes > 0
