"""Boot: runs the server that is bundled with the VS Code extension.

    python -I -X pycache_prefix=FOLDER boot.py lsp        acp-sidecar lsp
    python -I boot.py --probe                             one line of JSON: whether this Python can run it

Old syntax throughout: a Python that is too old should say so in JSON instead of failing on this file.
"""

import os
import sys

OLDEST = (3, 11)
NEWEST = (3, 14)


def libraries():
    """The bundled folders, those of this very Python first."""
    here = os.path.dirname(os.path.abspath(__file__))
    return [os.path.join(here, "cp%d%d" % sys.version_info[:2]), os.path.join(here, "lib")]


def problem():
    """Why this Python cannot run the server, as (one word, detail); None when it can."""
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        return "version", ""
    if sys.implementation.name != "cpython":
        return "implementation", sys.implementation.name
    import sysconfig

    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "free-threaded", ""
    sys.path[:0] = libraries()
    try:
        # What has machine code in it: of another processor or C library it cannot be loaded
        import sqlite3  # noqa: F401 - whether it can be

        import msgspec._core  # noqa: F401 - as above
        import pydantic_core._pydantic_core  # noqa: F401 - as above
    except ImportError as error:
        return "library", str(error)
    return None


def beneath():
    path = getattr(sys, "_base_executable", None)
    return path if path and os.path.isfile(path) else None


def probe():
    import json

    found = problem()
    answer = {
        "version": "%d.%d.%d" % sys.version_info[:3],
        # Of a virtual environment the Python beneath it: what is installed there has no say
        "executable": beneath() or sys.executable,
        "problem": found and found[0],
        "detail": found and found[1],
    }
    sys.stdout.write(json.dumps(answer) + "\n")


def main():
    if sys.argv[1:] == ["--probe"]:
        probe()
        return 0
    sys.path[:0] = libraries()
    sys.argv[0] = "acp-sidecar"
    from sidecar.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
