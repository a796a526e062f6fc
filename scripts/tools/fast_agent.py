"""fast-agent. It wants Python >= 3.13, which Debian 13 has: so it runs the same on every machine, whatever Pythons are there."""

from __future__ import annotations

import json
import re
from pathlib import Path

from scripts.tools import debian
from scripts.tools.base import TOOLS, Entry, Problem, launcher, one, pip_install, run

PINNED = Path(__file__).with_name("fast-agent.txt")


def fast_agent(root: Path) -> Entry:
    target = TOOLS / "fast-agent"
    python = debian.own_loader(root, one(root, "usr/bin/python3.13"))
    # The pip of .venv runs under another Python; told the version, and with the whole list given, it need not be the same
    version = ["--ignore-requires-python", "--python-version", "3.13", "--implementation", "cp"]
    pip_install(target, *version, "-r", str(PINNED))
    main = "from fast_agent.cli.commands.acp import main; main()"
    # Byte code is written by the first start (pip could only write that of its own Python): seconds less at every other
    environment = {"PYTHONPATH": str(target), "PYTHONDONTWRITEBYTECODE": ""}
    path = launcher("fast-agent-acp", [*python, "-c", main], environment)
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    home = TOOLS / "fast-agent.home"
    said = run(
        [str(path), "--model", "passthrough", "--home", str(home)],
        seconds=120,
        words=json.dumps(hello) + "\n",
    )
    if '"protocolVersion"' not in said:
        raise Problem(f"fast-agent does not answer initialize: {said[:200]!r}")
    pinned = re.search(r"^fast-agent-mcp==(\S+)", PINNED.read_text(), re.MULTILINE)
    return {"command": str(path), "version": f"fast-agent {pinned[1] if pinned else '?'}"}
