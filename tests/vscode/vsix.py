"""The extensions as .vsix files: ours by scripts/build_vsix.py, the support extension by hand. Built once for what they are made of."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Generator, Iterable
from pathlib import Path

from tests.support import tools

EXTENSION = tools.ROOT / "editor-extension"
CACHE = tools.ROOT / ".cache" / "vsix"
KEPT = 3600
"""Seconds."""
_LEFT_OUT = {"node_modules", "dist", "__pycache__", "nvim", "emacs", "helix"}


def ours() -> Path:
    """The .vsix for this machine, of the working tree as it is; or what ACP_SIDECAR_TOOL_VSIX names."""
    if ready := os.environ.get("ACP_SIDECAR_TOOL_VSIX"):
        return Path(ready)
    with _alone():
        digest = _digest()
        path = CACHE / f"acp-sidecar-{digest}.vsix"
        if not path.exists():
            for older in CACHE.glob("acp-sidecar-*.vsix"):
                # tests that run beside may be about to install it
                if time.time() - older.stat().st_mtime > KEPT:
                    older.unlink()
            _package(path)
        return path


def _package(path: Path) -> None:
    npm = tools.require("npm-24").command
    if not (EXTENSION / "node_modules" / ".package-lock.json").exists():
        _run(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    build = [sys.executable, str(tools.ROOT / "scripts" / "build_vsix.py"), "--unsearched"]
    said = _run(npm, "exec", "--offline", "--", *build)
    built = re.search(r"(dist/\S+\.vsix):", said)
    assert built, said[-2000:]
    shutil.copyfile(tools.ROOT / built[1], path.with_suffix(".part"))
    path.with_suffix(".part").replace(path)


def _run(*command: str) -> str:
    done = subprocess.run(
        command,
        cwd=EXTENSION,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command[1:])}: {done.stdout[-2000:]}"
    return done.stdout


def _digest() -> str:
    seen = hashlib.sha256()
    for path in sorted(_sources()):
        seen.update(str(path).encode())
        seen.update(path.read_bytes())
    return seen.hexdigest()[:16]


def _sources() -> Iterable[Path]:
    for name in ("editor-extension", "sidecar"):
        for folder, folders, files in os.walk(tools.ROOT / name):
            folders[:] = [part for part in folders if part not in _LEFT_OUT]
            yield from (Path(folder, file) for file in files if not file.endswith((".vsix", ".md")))
    yield from (tools.ROOT / name for name in ("pyproject.toml", "constraints.txt", "scripts/build_vsix.py"))


@contextlib.contextmanager
def _alone() -> Generator[None]:
    """Test processes share the folder."""
    import fcntl  # not on Windows, where these tests skip

    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


_TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension=".json"
ContentType="application/json"/><Default Extension=".js" ContentType="application/javascript"/><Default
Extension=".vsixmanifest" ContentType="text/xml"/></Types>"""
_MANIFEST = """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011"><Metadata><Identity
Language="en-US" Id="{name}" Version="{version}" Publisher="{publisher}"/><DisplayName>{name}</DisplayName></Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation><Dependencies/><Assets><Asset
Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/></Assets></PackageManifest>"""


def support(path: Path) -> Path:
    """The support extension, written to `path`."""
    source = Path(__file__).with_name("support_extension")
    manifest = json.loads((source / "package.json").read_text())
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("[Content_Types].xml", _TYPES)
        file.writestr("extension.vsixmanifest", _MANIFEST.format_map(manifest))
        for part in source.iterdir():
            file.write(part, f"extension/{part.name}")
    return path
