"""Run by tests in a process of its own: does disk work with fewer rights or less room and prints what came of it, a line each.

    python -m tests.disk.saver '{"root": …, "steps": [["save", path, size], …], "file_limit": bytes or null}'

Started by root it works as nobody, unless `as_root`. Steps: read, check, save, create; `forever` saves one file with two texts in turn.
"""

from __future__ import annotations

import encodings.idna  # noqa: F401  (nothing may be imported once the rights are gone)
import json
import os
import resource
import sys

from sidecar.core.refusal import Refusal
from sidecar.disk import Missing, Resolved, Roots, check_writable, create, resolve, save

NOBODY = 65534


def main() -> None:
    task = json.loads(sys.argv[1])
    if task.get("file_limit"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (task["file_limit"],) * 2)  # Python ignores SIGXFSZ
    if task.get("no_reserve"):
        del os.posix_fallocate
    if os.geteuid() == 0 and not task.get("as_root"):
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    with Roots([task["root"]]) as roots:
        for step in task["steps"]:
            say(run(roots, *step))


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def run(roots: Roots, action: str, path: str, size: int = 0) -> str:
    if action == "forever":
        return forever(roots, path, size)
    target = resolve(roots, path, access="read" if action == "read" else "write")
    if isinstance(target, Refusal):
        return target.kind.value
    content = b"n" * size
    match target, action:
        case Resolved(), "read":
            with target:
                data = target.read_bytes()
            return data.kind.value if isinstance(data, Refusal) else data.decode()[:20]
        case Resolved(), "save":
            with target:
                before = target.read_bytes()
                assert isinstance(before, bytes)
                return outcome(save(target, content, target.stat, before=before))
        case ((Resolved() | Missing()), "check"):
            answer = outcome(check_writable(target, size))
            if isinstance(target, Resolved):
                target.close()
            return answer
        case Missing(), "create":
            return outcome(create(target, content))
        case Missing(), _:
            return "missing"
        case Resolved(), _:
            target.close()
            return "there"
        case _:
            return "?"


def outcome(answer: object) -> str:
    return answer.kind.value if isinstance(answer, Refusal) else "fine"


def forever(roots: Roots, path: str, size: int) -> str:
    turn = 0
    while True:
        target = resolve(roots, path, access="write")
        assert isinstance(target, Resolved)
        with target:
            answer = save(target, (b"A", b"B")[turn % 2] * size, target.stat)
        assert not isinstance(answer, Refusal), answer
        turn += 1
        say(str(turn))


if __name__ == "__main__":
    main()
