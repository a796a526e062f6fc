"""Python, the libraries, and what the kernel offers for opening files safely and for ending processes reliably."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
import tempfile
from collections.abc import Iterator

from sidecar import __version__
from sidecar.disk import openat2, watching
from sidecar.doctor.finding import Finding

LIBRARIES = (
    "pygls",
    "lsprotocol",
    "agent-client-protocol",
    "anyio",
    "msgspec",
    "pathspec",
    "platformdirs",
    "rich",
    "shtab",
    "watchfiles",
)


def look() -> Iterator[Finding]:
    area = "machine"
    python = f"Python {platform.python_version()} on {platform.system()} {platform.release()}"
    yield Finding(area, "ok", f"acp-sidecar {__version__}, {python}")
    missing: list[str] = []
    for name in LIBRARIES:
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        yield Finding(
            area,
            "fail",
            f"not installed: {', '.join(missing)}",
            "install acp-sidecar again, with its dependencies",
        )
    if openat2.available():
        yield Finding(
            area, "ok", "files are opened with openat2: no path can be replaced between check and use"
        )
    elif sys.platform == "linux":
        yield Finding(
            area,
            "note",
            "this kernel has no openat2 (Linux 5.6), or a sandbox forbids it; folders are opened one by one instead: equally safe, slower",
        )
    else:
        yield Finding(area, "ok", "files are opened by opening folders one by one; every link is checked")
    why_not = watching.probe(tempfile.gettempdir())
    if why_not:
        todo = (
            "raise fs.inotify.max_user_watches and max_user_instances by sysctl"
            if sys.platform == "linux"
            else ""
        )
        words = f"files cannot be watched: {why_not}; while an agent works, they are checked twice a second instead"
        yield Finding(area, "warn", words, todo)
    else:
        yield Finding(
            area, "ok", "while an agent works, the system reports changed files where the editor does not"
        )
    match sys.platform:
        case "linux":
            words = (
                "agents run under a reaper: nothing that they start outlives the sidecar, even after kill -9"
            )
            yield Finding(area, "ok", words)
        case "darwin":
            words = "agents run in their own process group; an agent that becomes a daemon may outlive the sidecar"
            yield Finding(area, "note", words)
        case "win32":
            yield Finding(area, "ok", "agents run in a job object that ends with the sidecar")
        case _:
            yield Finding(area, "note", f"not tested on {sys.platform}")
