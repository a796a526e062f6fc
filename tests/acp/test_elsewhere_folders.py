"""Folders there that stand for folders here: which path is which, and that nothing gets out of them."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.acp.elsewhere.folders import Folders, folders_of, unmapped

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the paths of the table are POSIX paths")

PAIRS = [
    ("/workspace", "/home/me/p"),
    ("/workspace/lib", "/opt/lib"),
    ("/w", "/home/me/p/sub"),
    ("/tmp/", "/t"),
]

# there · here, or None
INWARD = [
    ("/workspace", "/home/me/p"),
    ("/workspace/", "/home/me/p"),
    ("//workspace//a/./b", "/home/me/p/a/b"),
    ("/workspace/a b/ü\n.txt", "/home/me/p/a b/ü\n.txt"),
    ("/workspace/lib/x", "/opt/lib/x"),
    ("/workspace/library/x", "/home/me/p/library/x"),
    ("/workspace2/a", None),
    ("/works", None),
    ("/Workspace/a", None),
    ("/workspace/../etc/passwd", None),
    ("/workspace/lib/../../../etc/passwd", None),
    ("/workspace/a/../b", "/home/me/p/b"),
    ("/workspace/lib/../x", "/home/me/p/x"),
    ("/workspace/../workspace/a", "/home/me/p/a"),
    ("/etc/../workspace/a", "/home/me/p/a"),
    ("/home/me/p/a", None),
    ("/tmp/a", "/t/a"),
    ("/", None),
    ("", None),
    ("workspace/a", None),
    ("file:///workspace/a", None),
    ("/workspace/a\0b", None),
    ("/workspace/" + "a" * 5000, None),
]

# here · there, or None
OUTWARD = [
    ("/home/me/p", "/workspace"),
    ("/home/me/p/a/b", "/workspace/a/b"),
    ("/home/me/p/sub/x", "/w/x"),
    ("/home/me/p/subway", "/workspace/subway"),
    ("/opt/lib/x", "/workspace/lib/x"),
    ("/home/me/p/lib/x", None),  # /workspace/lib there is another folder
    ("/home/me/p/../q", None),
    ("/home/me", None),
    ("/", None),
]


@pytest.mark.parametrize(("there", "here"), INWARD, ids=lambda value: repr(value)[:50])
def test_inward(there: str, here: str | None) -> None:
    assert Folders(PAIRS).here(there) == here


@pytest.mark.parametrize(("here", "there"), OUTWARD, ids=repr)
def test_outward(here: str, there: str | None) -> None:
    assert Folders(PAIRS).there(here) == there


def test_a_whole_machine() -> None:
    folders = Folders([("/", "/mnt/box")])
    assert (folders.here("/etc/hosts"), folders.here("/../..")) == ("/mnt/box/etc/hosts", "/mnt/box")
    assert folders.there("/mnt/box/a") == "/a"


NAMES = st.sampled_from(["a", "b", "ab", "..", ".", ""])
PATHS = st.lists(NAMES, max_size=6).map(lambda names: "/" + "/".join(names))
FOLDERS = st.lists(st.sampled_from("abc"), max_size=3).map(lambda names: "/" + "/".join(names))


@given(st.lists(st.tuples(FOLDERS, FOLDERS), max_size=4), PATHS)
def test_laws(pairs: list[tuple[str, str]], path: str) -> None:
    """What comes in lies beneath a folder that the user named; what goes out comes back as the same."""
    folders = Folders(pairs)
    here = folders.here(path)
    if here is not None:
        assert ".." not in PurePath(here).parts
        assert any(PurePath(here).is_relative_to(local) for _, local in pairs)
    there = folders.there(path)
    if there is not None:
        assert folders.here(there) == os.path.normpath(path).replace("//", "/")


def test_a_folder_that_the_editor_names_by_a_link(tmp_path: Path) -> None:
    real, link = tmp_path.resolve() / "real", tmp_path.resolve() / "link"
    real.mkdir()
    link.symlink_to(real)
    folders = Folders([("/w", str(link))])
    assert folders.here("/w/a") == f"{link}/a"
    assert (folders.there(f"{link}/a"), folders.there(f"{real}/a")) == ("/w/a", "/w/a")


def test_the_open_folder() -> None:
    mapped = {"/w": "${workspaceFolder}", "/s": "${workspaceFolder}/sub/", "${workspaceFolder}/x": "/x"}
    assert folders_of(mapped, ["/p", "/q"]).pairs == (("/w", "/p"), ("/s", "/p/sub"), ("/p/x", "/x"))
    assert folders_of({**mapped, "/y": "/y"}, []).pairs == (("/y", "/y"),)


def test_words() -> None:
    folders = Folders([("/w", "/p")])
    assert unmapped("claude", "/etc/x\u202e", folders) == (
        "/etc/x\\u202e is in no mapped folder (mapped: /w)."
        " The user can add its folder in the settings: agents, claude, transport, folders."
    )
    assert unmapped("claude", "/p/a", folders).endswith("The user's file of that name is /w/a there.")
    assert "(mapped: none)" in unmapped("claude", "/a", Folders([]))
