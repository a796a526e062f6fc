"""What tests of saving and creating share."""

from __future__ import annotations

import os
from pathlib import Path

from sidecar.core.refusal import Refusal
from sidecar.disk import (
    Missing,
    Resolved,
    Roots,
    check_writable,
    fresh_stat,
    resolve,
    save,
)


def resolved(roots: Roots, path: Path) -> Resolved:
    target = resolve(roots, str(path), access="write")
    assert isinstance(target, Resolved)
    return target


def missing(roots: Roots, path: Path) -> Missing:
    target = resolve(roots, str(path), access="write")
    assert isinstance(target, Missing)
    return target


def write(roots: Roots, path: Path, content: bytes) -> str:
    """Saves and says what came of it."""
    with resolved(roots, path) as target:
        assert check_writable(target, len(content)) is None
        answer = save(target, content, target.stat)
    if isinstance(answer, Refusal):
        return answer.kind.value
    assert answer == fresh_stat(str(path))
    return "saved"


def listing(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def tree(folder: Path) -> dict[str, object]:
    return {
        str(path): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else path.stat().st_mode
        for path in sorted(folder.rglob("*"))
    }


SIZES = [b"", b"x", b"longer than it was before\n" * 1000, b"\xff\xfe\0\0"]
