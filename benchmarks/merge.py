"""Three-way merge: three texts in, the edits to make on ours out; peers give the merged text.

libgit2 is called through its C interface with all three texts in memory; git reads them from files and is a process.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path

from benchmarks._common import Case, Missing, have
from benchmarks._common.measure import Run
from benchmarks._common.texts import MB, code, edited
from sidecar.core.merge import Conflict, Merged, merge


def cases() -> Iterator[Case]:
    yield _case("100 KB, 20 + 20 edits", code(MB // 10), 20, "")
    yield _case("1 MB, 20 + 20 edits", code(MB), 20, "≈ 1.1 ms", merge3=True)
    yield _case("10 MB, 20 + 20 edits", code(10 * MB), 20, "≈ 6 ms; ≥ 20 × libgit2")
    yield _case("10 MB, 500 + 500 edits", code(10 * MB), 500, "")
    yield _case("10 MB, 20 + 20 edits, half of them in conflict", code(10 * MB), 20, "", conflict=True)


def _case(
    name: str, base: str, count: int, target: str, *, conflict: bool = False, merge3: bool = False
) -> Case:
    ours = edited(base, count, seed=5, part=(0, 2))
    theirs = edited(base, count, seed=6, part=(1, 2))
    if conflict:
        theirs = ours.replace("  # changed\n", "  # otherwise\n")
    result = merge(base, ours, theirs)
    facts: dict[str, float | str] = {}
    match result:
        case Merged(changes):
            facts["edits"] = len(changes.edits)
        case Conflict(hunks):
            facts["conflicts"] = len(hunks)
    texts = [text.encode() for text in (base, ours, theirs)]
    expected = result.apply(ours).encode() if isinstance(result, Merged) else None
    peers: dict[str, Run | Missing] = {
        "libgit2 git_merge_file": _libgit2(texts, expected),
        "git merge-file": _git(texts, expected),
    }
    if merge3:
        module = have("merge3")
        lines = [text.splitlines(keepends=True) for text in texts]
        peers["merge3"] = (
            module
            if isinstance(module, Missing)
            else lambda: b"".join(module.Merge3(*lines, is_cherrypick=False).merge_lines())
        )
    return Case(name, lambda: merge(base, ours, theirs), peers, target, facts)


class _Input(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint),
        ("ptr", ctypes.c_char_p),
        ("size", ctypes.c_size_t),
        ("path", ctypes.c_char_p),
        ("mode", ctypes.c_uint),
    )


class _Result(ctypes.Structure):
    _fields_ = (
        ("automergeable", ctypes.c_uint),
        ("path", ctypes.c_char_p),
        ("mode", ctypes.c_uint),
        ("ptr", ctypes.c_void_p),
        ("len", ctypes.c_size_t),
    )


def _libgit2(texts: list[bytes], expected: bytes | None) -> Run | Missing:
    """pygit2 merges files of a repository only; the library that it brings merges buffers."""
    pygit2 = have("pygit2")
    if isinstance(pygit2, Missing):
        return pygit2
    beside = Path(pygit2.__file__ or "").parent.parent / "pygit2.libs"
    found = sorted(beside.glob("libgit2*"))
    if not found:
        return Missing("this pygit2 does not bring its own libgit2")
    library = ctypes.CDLL(str(found[0]))
    library.git_libgit2_init()
    inputs = [_Input(1, text, len(text), b"text", 0o100644) for text in texts]

    def run() -> _Result:
        result = _Result()
        failed = library.git_merge_file(
            ctypes.byref(result), *(ctypes.byref(each) for each in inputs), ctypes.c_void_p()
        )
        assert failed == 0
        return result

    result = run()
    merged = ctypes.string_at(result.ptr, result.len)
    assert not result.automergeable or expected in (None, merged)
    library.git_merge_file_result_free(ctypes.byref(result))

    def freed() -> None:
        result = run()
        library.git_merge_file_result_free(ctypes.byref(result))

    return freed


def _git(texts: list[bytes], expected: bytes | None) -> Run | Missing:
    git = shutil.which("git")
    if git is None:
        return Missing("git is not installed")
    folder = Path(tempfile.mkdtemp())
    base, ours, theirs = (folder / name for name in ("base", "ours", "theirs"))
    for path, text in zip((base, ours, theirs), texts, strict=True):
        path.write_bytes(text)
    command = [git, "merge-file", "-p", "-q", str(ours), str(base), str(theirs)]

    def run() -> bytes:
        return subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout

    weakref.finalize(run, shutil.rmtree, folder)
    merged = run()
    assert expected in (None, merged) or b"<<<<<<<" in merged
    return run
