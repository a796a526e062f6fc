"""`python -m sidecar`: the same as the command `acp-sidecar`."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # `-m` puts the current folder first in Python's search path for modules. For an editor's server that
        # is the folder being edited, and a `json.py` in it would run as ours. (`sys` is built in, so it is
        # never searched for.)
        del sys.path[0]
    from sidecar.cli import main

    raise SystemExit(main())
