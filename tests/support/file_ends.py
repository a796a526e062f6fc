"""Edits at a file's end, for real and fake editors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

FILE_ENDS = {
    "last-line": ("one\ntwo\nthree\n", "one\ntwo\n"),
    "last-two": ("one\ntwo\nthree\n", "one\n"),
    "last-many": ("".join(f"{n}\n" for n in range(9)), "0\n1\n"),
    "all-but-a-blank": ("one\n\n\n", "one\n"),
    "all": ("one\ntwo\nthree\n", ""),
    "append": ("one\ntwo\n", "one\ntwo\nthree\n"),
    "append-many": ("one\ntwo\n", "one\ntwo\n\n\nthree\nfour\n"),
    "last-and-first": ("one\ntwo\nthree\n", "ONE\ntwo\n"),
    "last-changed": ("one\ntwo\nthree\n", "one\ntwo\nTHREE\n"),
    "twins": ("x\nx\nx\n", "x\nx\n"),
    "blank-lines": ("one\n\n\n\n", "one\n\n\n"),
    "crlf-last-line": ("one\r\ntwo\r\nthree\r\n", "one\r\ntwo\r\n"),
    "crlf-append": ("one\r\ntwo\r\n", "one\r\ntwo\r\nthree\r\n"),
    "no-end-last-line": ("one\ntwo\nthree", "one\ntwo"),
    "no-end-last-two": ("one\ntwo\nthree", "one"),
    "no-end-append": ("one\ntwo", "one\ntwo\nthree"),
    "no-end-append-ended": ("one\ntwo", "one\ntwo\nthree\n"),
    "no-end-all": ("one\ntwo", ""),
    "end-taken": ("one\ntwo\n", "one\ntwo"),
    "end-added": ("one\ntwo", "one\ntwo\n"),
}
"""name → (the file, the agent's text)"""


def failures(
    written: Callable[[str], tuple[str, str]],
    rejected: Callable[[str], str],
    compared: Callable[[str], str],
) -> dict[str, Any]:
    """What went otherwise than it should. `written`: what the agent was told, and the text after; `rejected`: the text once that is taken back."""
    wrong: dict[str, Any] = {}
    for name, (before, after) in FILE_ENDS.items():
        told, now = written(name)
        if told != "ok" or compared(now) != compared(after):
            wrong[name] = {"told": told, "text": now, "not": after}
            continue
        back = rejected(name)
        if compared(back) != compared(before):
            wrong[f"{name}, rejected"] = {"text": back, "not": before}
    return wrong


def files_of(folder: Path) -> dict[str, Path]:
    files = {name: folder / f"{name}.txt" for name in FILE_ENDS}
    for name, path in files.items():
        path.write_bytes(FILE_ENDS[name][0].encode())
    return files
