"""git as a reader: right about files and the last commit, and nothing a repository names is ever started."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sidecar.disk import git_head, git_index
from tests.support.repositories import git, with_git

pytestmark = with_git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / "sub").mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "a.txt").write_bytes(b"one\n")
    (folder / "sub" / "b é.txt").write_bytes(b"\x00\xff")
    (folder / ".gitignore").write_text("ignored\n")
    (folder / "link").symlink_to("a.txt")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "m")
    (folder / "ignored").write_text("x")
    (folder / "new").write_text("x")
    return folder


def test_names_and_the_last_commit(repository: Path) -> None:
    assert git_head.names(str(repository)) == ([".gitignore", "a.txt", "link", "new", "sub/b é.txt"], [])
    assert git_head.names(str(repository / "sub")) == (["b é.txt"], [])
    head = git_head.head(str(repository))
    assert set(head) == {".gitignore", "a.txt", "sub/b é.txt"}
    assert set(git_head.head(str(repository / "sub"))) == {"b é.txt"}
    assert head["a.txt"] == (git_head.object_id(b"one\n", head["a.txt"].object_id), 4, False)
    (repository / "a.txt").chmod(0o755)
    git(repository, "commit", "-q", "-a", "-m", "m")
    names = ["a.txt", "sub/b é.txt", "new"]
    assert git_head.blobs(str(repository), git_head.commit(str(repository)).id, names) == {
        "a.txt": head["a.txt"]._replace(executable=True),
        names[1]: head[names[1]],
    }
    ids = [head["sub/b é.txt"].object_id, "0" * 40, head["a.txt"].object_id]
    assert git_head.contents(str(repository), ids) == {ids[0]: b"\x00\xff", ids[2]: b"one\n"}


@pytest.mark.parametrize("by_name", [0, 100])
def test_what_a_commit_holds(repository: Path, monkeypatch: pytest.MonkeyPatch, by_name: int) -> None:
    """Of many files, git does not look for each name: it reads the whole list of the file's folder for that."""
    monkeypatch.setattr(git_head, "_BY_NAME", by_name)
    ask, data = git_head.ask, list[bytes]()

    def asked(folder: str, *words: str, **more: Any) -> bytes | None:
        data.extend([more["data"]] if "cat-file" in words else [])
        return ask(folder, *words, **more)

    monkeypatch.setattr(git_head, "ask", asked)
    held = {"a.txt": b"one\n", "sub/b é.txt": b"\x00\xff"}
    commit, within = git_head.commit(str(repository)), git_head.commit(str(repository / "sub"))
    assert commit is not None
    assert within is not None
    assert git_head.contents_in(commit, [*held, "new", "no such"]) == held
    assert git_head.contents_in(within, ["b é.txt", "a.txt"]) == {"b é.txt": b"\x00\xff"}
    assert [b":" in one for one in data] == [by_name > 0] * 2
    monkeypatch.setattr(git_head, "MOST_OUTPUT", git_head._HEAD + 3)
    assert by_name or git_head.contents_in(commit, held) == {"sub/b é.txt": b"\x00\xff"}


def test_what_is_ignored(repository: Path, tmp_path: Path) -> None:
    (repository / ".gitignore").write_text("ignored\n*.log\na.txt\n!kept.log\n")
    odd = [os.fsdecode(b"\xff.log"), "-q.log", ":(top).log", "a\nb.log", "no such.log", "sub/new.log"]
    for name in ("ignored", *odd):
        assert git_head.is_ignored(str(repository), name) is True, name
    for name in ("new", "a.txt", "kept.log", "no such.txt"):
        assert git_head.is_ignored(str(repository), name) is False, name
    assert git_head.is_ignored(str(repository / "sub"), "new.log") is True
    assert git_head.is_ignored(str(tmp_path), "ignored") is None


def test_what_is_no_repository(tmp_path: Path) -> None:
    assert git_head.names(str(tmp_path)) is None
    assert git_head.head(str(tmp_path)) == {}
    git(tmp_path, "init", "-q")
    assert git_head.head(str(tmp_path)) == {}, "nothing is committed"


def test_the_users_environment_is_not_used(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_TRACE", str(repository / "trace"))
    assert git_head.head(str(repository))
    assert not (repository / "trace").exists()


def test_a_git_within_the_folder_is_not_started(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    canary = _canary(repository)
    shutil.copy(canary, repository / "git")
    monkeypatch.setenv("PATH", f"{repository}{os.pathsep}{os.environ['PATH']}")
    assert git_head.names(str(repository)) is None
    assert not (repository.parent / "ran").exists()


def _canary(repository: Path) -> Path:
    program = repository / "canary.sh"
    program.write_text(f"#!/bin/sh\necho \"$0 $@\" >> '{repository.parent}/ran'\n")
    program.chmod(0o755)
    return program


def test_nothing_the_repository_names_is_started(repository: Path) -> None:
    """Every key that makes a plain git start something; a missing object that a remote's helper would fetch."""
    program = _canary(repository)
    keys = {
        "core.fsmonitor": str(program),
        "core.hooksPath": str(repository / "hooks"),
        "core.pager": str(program),
        "core.sshCommand": str(program),
        "core.gitProxy": str(program),
        "core.askPass": str(program),
        "credential.helper": f"!{program}",
        "filter.x.clean": str(program),
        "filter.x.smudge": str(program),
        "filter.x.process": str(program),
        "diff.x.textconv": str(program),
        "diff.external": str(program),
        "gpg.program": str(program),
        "alias.ls-files": f"!{program}",
        "alias.ls-tree": f"!{program}",
        "alias.cat-file": f"!{program}",
        "uploadpack.packObjectsHook": str(program),
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{program} %S",
        "remote.origin.vcs": "ext",
        "remote.origin.uploadpack": str(program),
        "protocol.ext.allow": "always",
        "submodule.recurse": "true",
    }
    hooks = repository / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman"):
        shutil.copy(program, hooks / name)
        shutil.copy(program, repository / ".git" / "hooks" / name)
    (repository / ".gitattributes").write_text("* filter=x diff=x\n")
    missing = git_head.head(str(repository))["a.txt"].object_id
    (repository / ".git" / "objects" / missing[:2] / missing[2:]).unlink()
    for key, value in keys.items():
        git(repository, "config", key, value)
    (repository / "a.txt").write_text("changed\n")
    os.utime(repository / ".gitignore", (1, 1))
    ran = repository.parent / "ran"
    ran.unlink(missing_ok=True)

    names = git_head.names(str(repository))
    head = git_head.head(str(repository))
    found = git_head.contents(str(repository), [missing])
    assert list(git_index.entries(str(repository)))
    git_index.converted(str(repository), [".gitignore", "a.txt"])
    git_index.size(str(repository))
    commit = git_head.commit(str(repository))
    assert commit is not None
    with suppress(OSError):  # an object is missing
        list(git_head.committed(str(repository), commit.id))
    git_head.changed_between(str(repository), commit.id, commit.id)
    assert git_head.contents_in(commit, ["a.txt"]) == {}, "nothing is fetched"

    assert not ran.exists(), ran.read_text()
    assert names is not None
    assert "a.txt" in names.files
    assert found == {}, "nothing is fetched"
    assert set(head) <= {".gitignore", "a.txt", "sub/b é.txt"}
    subprocess.run(["git", "status"], cwd=repository, capture_output=True, check=False)
    assert ran.exists(), "a plain git would have started something: the test can fail"
