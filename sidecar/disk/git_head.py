"""Reads git repositories: which files a folder has, and their contents in the last commit. Nothing from the repository is ever executed.

A repository is hostile input: its config names programs (fsmonitor, hooks, filters, text conversion, remote helpers). So this module uses only
commands that read objects, the index and names, and none that compares or converts contents. Whatever those commands could start is disabled on the
command line, which the repository's config cannot override. Nothing is fetched. Neither the user's environment nor the user's git config is passed
on. Callers compare contents themselves, by object id.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

_SETTINGS = (
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "submodule.recurse=false",
    "protocol.allow=never",  # a missing object is not fetched: a partial clone would do so with programs that it names
    "safe.bareRepository=explicit",
)
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "",
}
_OPTIONS = ("--no-pager", "--no-optional-locks")
_LITERAL = "--literal-pathspecs"
SECONDS = 10.0
"""The time limit for one command, in seconds."""
MOST_OUTPUT = 64 * 1024 * 1024
"""The limit for a command's output, in bytes. A folder with more file names is too large to look at."""
PART = 1024 * 1024
"""Bytes of a long answer that are read at a time."""
LONG_SECONDS = 60.0
"""The time limit, in seconds, for a command whose answer is read in parts: the reader may be slow."""


_COMMIT_FILES = ("HEAD", "logs/HEAD", "index", "packed-refs", "reftable/tables.list")
"""Files that git may write for a commit, besides the branch's own file. They are written before that, so a change in them does not prove that the
commit is there."""
_AT_ONCE = 200
"""The number of file names on one command line."""
_BY_NAME = 100
"""The number of file names up to which git looks for each in the commit. It reads the whole list of the file's folder each time, so for more names the
commit's files are read once."""
_HEAD = 128
"""At most so many bytes before and after an object's bytes in the output of `cat-file --batch`."""

_GITLINK = b"160000 "
"""A submodule in the output of `ls-files -t --stage`."""
_OTHER = b"? "
"""In the same output: a file that is not in the index."""


class Names(NamedTuple):
    """The contents of a repository in a folder. Names are relative to the folder."""

    files: list[str]
    repositories: list[str]
    """Folders that are repositories of their own: nested ones, and submodules that are checked out."""


class Commit(NamedTuple):
    id: str
    git_dir: str
    """The folder in which the repository keeps its objects (absolute). It may outlive the folder of its files."""
    prefix: str
    """The folder's name in the repository, ending with `/`; "" for the top."""


class Blob(NamedTuple):
    """A file in the last commit."""

    object_id: str
    size: int
    """In bytes."""
    executable: bool = False


def object_id(data: bytes, like: str) -> str:
    """Return git's object id for these bytes. `like` is another id from that repository; its length selects the hash (40 hex digits: SHA-1, 64: SHA-256)."""
    algorithm = hashlib.sha256 if len(like) == 64 else hashlib.sha1
    return algorithm(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def names(folder: str, *, alone: bool = False) -> Names | None:
    """Return the files that are in the index or not ignored, and the repositories among them. `folder`: an absolute path. `alone`: ignore a
    repository around the folder. None if there is no repository or no git.
    """
    output = ask(folder, "ls-files", "-tz", "--stage", "--others", "--exclude-standard", alone=alone)
    if output is None:
        return None
    files: dict[str, None] = {}  # keeps git's order: sorting many again would block all other threads
    nested: set[str] = set()
    for entry in output.split(b"\0"):
        is_other = entry[:2] == _OTHER
        stage, _, name = (b"", b"", entry[2:]) if is_other else entry[2:].partition(b"\t")
        if stage.startswith(_GITLINK):
            if os.path.lexists(os.path.join(folder, os.fsdecode(name), ".git")):
                nested.add(os.fsdecode(name))
        elif name.endswith(b"/"):
            nested.add(os.fsdecode(name.rstrip(b"/")))
        elif name:
            files[os.fsdecode(name)] = None
    return Names(sorted(files), sorted(nested - {""}))


def is_ignored(folder: str, name: str) -> bool | None:
    """Whether a file of that name, relative to `folder`, is ignored and not in the index. None: no repository, or no git."""
    named = os.fsencode(os.path.join(os.curdir, name)) + b"\0"  # no pattern begins with this
    found = ask(folder, "check-ignore", "-z", "--stdin", data=named, literal=False, no=1)
    if found is None:  # there is no repository, or git gives no answer for this name
        return None if ask(folder, "rev-parse", "--git-dir") is None else False
    return bool(found)


def commit(folder: str) -> Commit | None:
    """Return the last commit. None if there is none, or no git."""
    output = ask(folder, "rev-parse", "--show-prefix", "--absolute-git-dir", "HEAD^{commit}")
    prefix, _, rest = (output or b"").rstrip(b"\n").partition(b"\n")
    git_dir, _, found = rest.rpartition(b"\n")
    found = found.decode("ascii", "replace")
    return Commit(found, os.fsdecode(git_dir), os.fsdecode(prefix)) if git_dir and _is_id(found) else None


def commit_files(folder: str) -> list[str]:
    """Return the files of which one changes last with every commit, whether the commit is made on this branch or another branch is checked out. Not
    all of them exist. Empty: there is no repository, or no git.
    """
    branch = (ask(folder, "rev-parse", "--symbolic-full-name", "HEAD") or b"").rstrip(b"\n")
    names = [*_COMMIT_FILES, *([os.fsdecode(branch)] if branch else [])]
    found = ask(folder, "rev-parse", *(word for name in names for word in ("--git-path", name)))
    return [os.path.join(folder, os.fsdecode(path)) for path in (found or b"").split(b"\n") if path]


def head(folder: str, of: str = "HEAD") -> dict[str, Blob]:
    """Return the files of the last commit (or of the commit `of`) beneath `folder`, by name relative to it. Empty if there is no commit."""
    if of != "HEAD" and not _is_id(of):
        return {}
    return _blobs(ask(folder, "ls-tree", "-r", "-l", "-z", of))


def committed(folder: str, of: str) -> Iterator[tuple[bytes, Blob]]:
    """Like `head` for the commit with the id `of`, but yields one file at a time, in the order of the names' bytes. Raises OSError if git fails midway."""
    return _listed(folder, "ls-tree", "-r", "-l", "-z", of) if _is_id(of) else iter(())


def _listed(folder: str, *words: str) -> Iterator[tuple[bytes, Blob]]:
    """Run `ls-tree -l -z` and yield the files one at a time. Raises OSError if git fails midway."""
    rest = b""
    for part in ask_in_parts(folder, *words):
        *rows, rest = (rest + part).split(b"\0")
        yield from filter(None, map(_blob, rows))


def changed_between(folder: str, old: str, new: str) -> list[str] | None:
    """Return the names beneath `folder`, relative to it, that differ between these two commits (ids). None: unknown, perhaps because a commit is gone."""
    if not (_is_id(old) and _is_id(new)):
        return None
    output = ask(
        folder,
        "diff-tree",
        "-r",
        "-z",
        "--name-only",
        "--no-renames",
        "--no-ext-diff",
        "--relative",
        old,
        new,
    )
    return None if output is None else [os.fsdecode(name) for name in output.split(b"\0") if name]


def blobs(folder: str, of: str, names: Sequence[str]) -> dict[str, Blob]:
    """Like `head`, for some names relative to `folder`, the top of a repository, in the commit with the id `of`."""
    found: dict[str, Blob] = {}
    for at in range(0, len(names) if _is_id(of) else 0, _AT_ONCE):
        found |= _blobs(ask(folder, "ls-tree", "-l", "-z", of, "--", *names[at : at + _AT_ONCE]))
    return found


def _blobs(output: bytes | None) -> dict[str, Blob]:
    """Parse the output of `ls-tree -l -z`."""
    rows = filter(None, map(_blob, (output or b"").split(b"\0")))
    return {os.fsdecode(name): blob for name, blob in rows}


def _blob(row: bytes) -> tuple[bytes, Blob] | None:
    fields, _, name = row.partition(b"\t")
    parts = fields.split()
    if len(parts) == 4 and parts[1] == b"blob" and parts[0] != b"120000" and parts[3].isdigit():
        return name, Blob(parts[2].decode(), int(parts[3]), parts[0] == b"100755")
    return None


def contents(folder: str, ids: Iterable[str], git_dir: str = "") -> dict[str, bytes]:
    """Return the bytes of these objects, by id. Missing objects are left out. `git_dir`: the repository's, in case `folder` is gone."""
    wanted = list(dict.fromkeys(ids))
    found = _batch(folder, wanted, git_dir)
    return {one: data for one, data in zip(wanted, found, strict=False) if data is not None}


def contents_in(commit: Commit, names: Iterable[str]) -> dict[str, bytes]:
    """Return the bytes of these files in the commit, by name relative to the folder from which the commit was read. Missing files are left out, and of
    many so are those with which all would be longer than MOST_OUTPUT."""
    paths = {name: commit.prefix + name.replace(os.sep, "/") for name in names if "\n" not in name}
    if len(paths) > _BY_NAME:
        ids = _ids_in(commit, paths.values())
        asked = {name: ids[path] for name, path in paths.items() if path in ids}
    else:
        asked = {name: f"{commit.id}:{path}" for name, path in paths.items()}
    found = _batch(commit.git_dir, list(asked.values()), commit.git_dir)
    return {name: data for name, data in zip(asked, found, strict=False) if data is not None}


def _ids_in(commit: Commit, paths: Iterable[str]) -> dict[str, str]:
    """Return the ids of these files in the commit, by path in the repository, as many as MOST_OUTPUT has room for."""
    wanted, room = set(map(os.fsencode, paths)), MOST_OUTPUT
    found: dict[str, str] = {}
    words = "--git-dir=.", "--work-tree=.", "ls-tree", "-r", "-l", "-z", "--full-tree", commit.id
    with suppress(OSError):
        for path, blob in _listed(commit.git_dir, *words):
            if path in wanted and blob.size + _HEAD <= room:
                room -= blob.size + _HEAD
                found[os.fsdecode(path)] = blob.object_id
    return found


def _batch(folder: str, wanted: Sequence[str], git_dir: str) -> list[bytes | None]:
    """Return the bytes of each of these blobs, or None for what is not a blob."""
    if not wanted:
        return []
    asked = b"".join(os.fsencode(one) + b"\n" for one in wanted)
    if git_dir:  # a submodule's git dir says where its files should be, and git would go there
        output = ask(git_dir, "--git-dir=.", "--work-tree=.", "cat-file", "--batch", data=asked)
    else:
        output = ask(folder, "cat-file", "--batch", data=asked)
    output = output or b""
    found: list[bytes | None] = []
    at = 0
    while (end := output.find(b"\n", at)) >= 0:
        parts = output[at:end].split(b" ")
        at = end + 1
        if len(parts) == 3 and parts[2].isdigit() and _is_id(parts[0].decode("ascii", "replace")):
            size = int(parts[2])
            found.append(output[at : at + size] if parts[1] == b"blob" else None)
            at += size + 1
        else:
            found.append(None)  # "… missing"
    return found


def _is_id(words: str) -> bool:
    return len(words) in (40, 64) and all(c in "0123456789abcdef" for c in words)


def ask(
    folder: str, *words: str, data: bytes = b"", alone: bool = False, literal: bool = True, no: int = 0
) -> bytes | None:
    """Run git in the repository that contains `folder` (an absolute path) and return its output. `words`: one of the safe commands, see above;
    `data`: its input. `alone` as in `names`; `literal`: names are not patterns (one command does not support this); `no`: the exit code with which
    a command says that it found nothing. None: git failed, wrote too much, or is missing."""
    program = _program(folder)
    if program is None:
        return None
    try:
        done = subprocess.run(
            command(program, folder, words, literal=literal),
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=os.path.abspath(os.sep),
            env=environment() | ({"GIT_CEILING_DIRECTORIES": os.path.dirname(folder)} if alone else {}),
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode in (0, no) and len(done.stdout) <= MOST_OUTPUT else None


def ask_in_parts(folder: str, *words: str) -> Iterator[bytes]:
    """Like `ask`, for an answer too long to keep. Raises OSError if git fails or is missing."""
    program = _program(folder)
    if program is None:
        raise OSError("there is no git")
    with subprocess.Popen(
        command(program, folder, words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=os.path.abspath(os.sep),
        env=environment(),
    ) as git:
        limit = threading.Timer(LONG_SECONDS, git.kill)
        limit.start()
        try:
            while git.stdout is not None and (part := git.stdout.read(PART)):
                yield part
            if git.wait() != 0:
                raise OSError("git failed")
        finally:
            limit.cancel()
            git.kill()


def command(program: str, folder: str, words: Sequence[str], *, literal: bool = True) -> list[str]:
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    return [program, *_OPTIONS, *([_LITERAL] if literal else ()), *settings, "-C", folder, *words]


def environment() -> dict[str, str]:
    kept = {name: value for name in ("PATH", "SystemRoot", "TMPDIR") if (value := os.environ.get(name))}
    return kept | _ENVIRONMENT


def _program(folder: str) -> str | None:
    """Find git on PATH. A git inside `folder` is never used."""
    found = shutil.which("git")
    if found is None or not os.path.isabs(found):
        return None
    real, root = os.path.realpath(found), os.path.realpath(folder)
    return None if os.path.commonpath([real, root]) == root else found
