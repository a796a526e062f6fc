"""The command. stdout gets only the file, so that `acp-sidecar setup nvim > FILE` works. The instructions go to stderr."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from sidecar.setup.editors import EDITORS, SetUp, place
from sidecar.setup.file import read


def run(arguments: argparse.Namespace) -> int:
    """Runs the command. Returns 0 on success, 1 if the file cannot be read or written, 2 for wrong usage."""
    name: str | None = arguments.editor
    if name is None:
        if arguments.write:
            return _fail("--write needs the name of an editor", 2)
        sys.stdout.write("".join(f"{name:<8}{one.title}\n" for name, one in EDITORS.items()))
        sys.stderr.write("\nacp-sidecar setup EDITOR prints the set-up file and says where to put it.\n")
        return 0
    try:
        data = read(EDITORS[name].file)
    except OSError:
        return _fail(
            f"this installation lacks the file for {name}; install acp-sidecar again, with pipx or uv"
        )
    where = place(name, os.environ)
    if arguments.write:
        return _write(name, data, where)
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    sys.stderr.write(_instructions(name, EDITORS[name], where))
    return 0


def _instructions(name: str, editor: SetUp, where: Path | None) -> str:
    if where is None:
        return f"\n{editor.then}\n"
    if editor.merged and where.exists():
        words = f"You have {where} already: merge the file above into it."
    else:
        words = (
            f"The file above belongs at {where}\n"
            f"  acp-sidecar setup {name} --write\n"
            f"puts it there, as does\n"
            f"  mkdir -p {shlex.quote(str(where.parent))} && acp-sidecar setup {name} > {shlex.quote(str(where))}"
        )
    return f"\n{words}\n\n{_then(editor, where)}\n"


def _then(editor: SetUp, where: Path) -> str:
    return editor.then.replace("{folder}", str(where.parent))


def _write(name: str, data: bytes, where: Path | None) -> int:
    """Creates the file; never changes an existing one."""
    editor = EDITORS[name]
    if where is None:
        return _fail(f"for {name} there is no file to write; run `acp-sidecar setup {name}`", 2)
    try:
        where.parent.mkdir(parents=True, exist_ok=True)
        try:
            with where.open("xb") as file:
                file.write(data)
        except FileExistsError:
            if where.read_bytes() != data:
                todo = "merge the two by hand" if editor.merged else "move it away and run this again"
                return _fail(
                    f"{where} exists and is different, so it was left as it is; {todo} "
                    f"(acp-sidecar setup {name} | diff {shlex.quote(str(where))} - shows the difference)"
                )
    except OSError as error:
        return _fail(f"{where} cannot be written ({error.strerror})")
    sys.stderr.write(f"{where} is in place.\n\n{_then(editor, where)}\n")
    return 0


def _fail(words: str, code: int = 1) -> int:
    sys.stderr.write(f"acp-sidecar setup: {words}\n")
    return code
