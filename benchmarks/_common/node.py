"""The peers in JavaScript: is there a Node, and are the packages of benchmarks/node installed (`make bench` does that)?"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Self

from benchmarks._common.measure import Missing

FOLDER = Path(__file__).resolve().parent.parent / "node"


def command(script: str, *options: str) -> list[str] | Missing:
    """What starts a script of benchmarks/node, or why nothing does."""
    node = shutil.which("node")
    if node is None:
        return Missing("Node.js is not installed")
    if not (FOLDER / "node_modules").is_dir():
        return Missing(
            "its packages are not installed: run `make bench`, or `npm install` in benchmarks/node"
        )
    return [node, *options, str(FOLDER / script)]


class Script:
    """A script that answers each line of JSON with one; see text_store.mjs."""

    def __init__(self, start: list[str]) -> None:
        self._process = subprocess.Popen(start, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, do: str, **arguments: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the peer ended at {do!r}, exit code {self._process.wait()}")
        return json.loads(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process as process:
            process.terminate()
