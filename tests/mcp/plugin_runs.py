"""A program that an agent loads, run by Node as the agent runs it, and what the real sidecar tells such an agent."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from sidecar.acp.own_tools import plugins
from tests.extension.node import require_node


class PluginRun:
    """`harness` is a JavaScript module; its arguments are the program, the workspace, and steps as JSON. It prints JSON."""

    def __init__(
        self, folder: Path, program: str, harness: str, workspace: Path, env: dict[str, str]
    ) -> None:
        self._node = require_node()
        self._harness = folder / "harness.mjs"
        self._harness.write_text(harness)
        self._program = folder / f"{Path(program).stem}.mjs"
        shutil.copyfile(Path(plugins.__file__).with_name(program), self._program)
        shutil.copyfile(Path(plugins.__file__).with_name(plugins.DOOR), folder / plugins.DOOR)
        self._workspace = workspace
        self._env = env

    async def __call__(self, *steps: Any) -> Any:
        argv = [self._node, self._harness, self._program, self._workspace, json.dumps(steps)]
        done = await asyncio.to_thread(
            subprocess.run, argv, env=self._env, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def environment_of(pid: int) -> dict[str, str]:
    """Of a running agent."""
    pairs = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def told_by_sidecar(pid: int) -> dict[str, str]:
    """The environment for a run that reaches the sidecar as that agent would."""
    return os.environ | {plugins.SERVER: environment_of(pid)[plugins.SERVER]}
