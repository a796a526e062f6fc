"""`uvx acp-sidecar demo`: a stranger's first command, with nothing but the wheel, an empty folder and an index."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import tools

# What uv says when no index can be reached; whatever else it says is a failure
NO_INDEX = re.compile(
    r"(error sending request|dns error|Failed to fetch|Could not connect|network|timed out)", re.IGNORECASE
)


@pytest.mark.e2e
@pytest.mark.timeout(300)
def test_uvx_plays_the_demo(wheel: Path, tmp_path: Path) -> None:
    """The libraries come from the index in the pinned versions. Without an index the test is left out, as a missing tool is."""
    home = tmp_path / "home"
    home.mkdir()
    kept = (
        "PATH",
        "LANG",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "HTTPS_PROXY",
        "https_proxy",
        "NO_PROXY",
        "SYSTEMROOT",
    )
    environment = {name: os.environ[name] for name in kept if name in os.environ} | {
        "HOME": str(home),
        "UV_CACHE_DIR": str(tools.ROOT / ".cache" / "uv"),
        "UV_PYTHON_DOWNLOADS": "never",
    }
    uvx = Path(sys.executable).with_name("uvx.exe" if sys.platform == "win32" else "uvx")
    pinned = ["--constraints", str(tools.ROOT / "constraints.txt"), "--python", sys.executable]
    done = subprocess.run(
        [
            uvx,
            "--no-config",
            "--refresh-package",
            "acp-sidecar",
            *pinned,
            "--from",
            str(wheel),
            "acp-sidecar",
            "demo",
        ],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=280,
        check=False,
    )
    if done.returncode != 0 and NO_INDEX.search(done.stderr):
        tools.lacking("index", f"uvx reached none: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All checks passed." in done.stdout
    assert done.stdout.count("✓") == 5
