"""`python -m sidecar`: the same as the command `acp-sidecar`."""

from sidecar.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
