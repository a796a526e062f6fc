"""Another sidecar that writes into a journal: `python -m tests.journal.writer FOLDER NAME COUNT`."""

from __future__ import annotations

import sys
from pathlib import Path

from sidecar.journal import Store
from tests.support.journals import entry


def main(folder: str, name: str, count: str) -> None:
    sys.stdin.readline()  # all of them open it at one moment
    with Store(Path(folder)) as store:
        for i in range(int(count)):
            write = store.begin(entry(f"{name} {i}", f"{name} {i + 1}", "/w/shared", session=name))
            store.save_ledger("file:///shared", f"{name} {i}", b"")
            store.finish(write, "done")
            if i % 5 == 0:
                store.tidy()


if __name__ == "__main__":
    main(*sys.argv[1:])
