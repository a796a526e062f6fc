"""The process that dies. Started once, it has everything imported and forks a copy of itself for each death.

A line of JSON in ({kind, folder, journal, log, die_at, defect}), a line out ({status: how the copy ended}).
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from tests.crash.defects import DEFECTS
from tests.crash.kinds import KINDS
from tests.crash.steps import Steps


def live(job: dict[str, Any]) -> None:
    kind = KINDS[job["kind"]]
    if job["defect"]:
        DEFECTS[job["defect"]]()
    steps = Steps(Path(job["log"]), job["die_at"])
    steps.hook()
    asyncio.run(kind.run(Path(job["folder"]), Path(job["journal"]), steps))


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                live(json.loads(line))
                code = 0
            except BaseException:  # noqa: BLE001 - a copy must never come out of here
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(json.dumps({"status": status}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
