"""The reaper: a process between the sidecar and one agent. Nothing that the agent starts outlives either of them.

Run as a script, once per agent: `python -I -S reaper.py CONTROL STATUS PARENT UNSET -- PROGRAM ARGS…`. It starts PROGRAM
in a session of its own with the given standard streams. It ends PROGRAM and all its descendants when PROGRAM ends, when it
is told to, or when the sidecar is gone for any reason (kill -9 included).

CONTROL is a pipe whose other end only the sidecar holds: the byte `t` asks everything to end, `k` ends it, and end of file
means that the sidecar is gone. STATUS receives one line for each event: `started PID`, `failed ERRNO`, `exited CODE`,
`killed SIGNAL`. PARENT is the sidecar's pid; UNSET names environment variables to drop (Python adds LC_CTYPE by itself in
the C locale).

On Linux it is a sub-reaper: orphaned descendants become its children, including daemons that forked twice and called
setsid. Elsewhere it finds orphans by their process group and by the processes seen below PROGRAM before.

It imports only small parts of the standard library, because it starts with every agent and should take milliseconds.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

TERMINATE_GRACE = 0.5
"""The seconds between asking the remaining processes to end and killing them, when PROGRAM or the sidecar is gone."""
_GIVE_UP = 10.0
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LINUX = sys.platform.startswith("linux")


def main(argv: list[str]) -> int:
    control, status, parent = (int(word) for word in argv[1:4])
    for name in filter(None, argv[4].split(",")):
        os.environ.pop(name, None)
    for fd in (control, status):
        os.set_inheritable(fd, False)
    wake = _signals_as_bytes()
    subreaper = _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    # the only signal that also reaches a reaper which the agent has stopped
    _prctl(_PR_SET_PDEATHSIG, signal.SIGCONT)
    if os.getppid() != parent:  # gone before the line above could notice
        return 1
    agent, error = _spawn(argv[6:])
    _report(status, f"failed {error}" if error else f"started {agent}")
    if error:
        return 1
    _let_go_of_streams()
    return Reaper(agent, parent, control, status, wake, subreaper).run()


class Reaper:
    """Waits for the end of `agent` and of all its descendants, and ends them when told to."""

    def __init__(
        self, agent: int, parent: int, control: int, status: int, wake: int, subreaper: bool
    ) -> None:
        self._agent = agent
        self._parent = parent
        self._control = control
        self._status = status
        self._wake = wake
        self._subreaper = subreaper
        self._agent_runs = True
        self._seen: set[int] = set()
        self._kill_at: float | None = None
        self._give_up_at: float | None = None

    def run(self) -> int:
        """Run until the end. Returns 0 once nothing is left, 1 if something cannot be ended."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        while True:
            if self._reap():
                return 0
            now = time.monotonic()
            if self._give_up_at is not None and now >= self._give_up_at:
                return 1
            if self._kill_at is not None and now >= self._kill_at:
                self._signal(signal.SIGKILL)
                self._kill_at = now + 0.02  # again and again: something may have forked in between
                if not self._subreaper and not self._survivors():
                    return 0
            wait = None if self._kill_at is None else max(self._kill_at - now, 0.0) * 1000 + 1
            for fd, _ in poll.poll(wait):
                self._hear(fd, poll)

    def _hear(self, fd: int, poll: select.poll) -> None:
        try:
            data = os.read(fd, 64)
        except BlockingIOError:
            return
        if fd == self._wake:
            # somebody who wants us to end, or PR_SET_PDEATHSIG: the agent may keep the other end of CONTROL
            # open
            if signal.SIGTERM in data or os.getppid() != self._parent:
                self._end(TERMINATE_GRACE)
        elif not data:
            poll.unregister(fd)
            self._end(TERMINATE_GRACE)
        elif b"k" in data:
            self._end(0.0)
        elif b"t" in data:
            self._end(None)

    def _end(self, grace: float | None) -> None:
        """Ask everything to end, and kill it after `grace` seconds. None: the sidecar will say when to kill."""
        if grace != 0.0:
            self._signal(signal.SIGTERM)
            self._signal(signal.SIGCONT)  # a stopped process cannot act on a signal
        if grace is None:
            return
        now = time.monotonic()
        self._kill_at = min(self._kill_at or now + grace, now + grace)
        self._give_up_at = self._give_up_at or now + _GIVE_UP

    def _reap(self) -> bool:
        """Collect the processes that have ended. Returns whether nothing is left at all."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return self._subreaper or not self._survivors()
            if pid == 0:
                return False
            if pid == self._agent:
                self._agent_runs = False
                code = os.waitstatus_to_exitcode(status)
                _report(self._status, f"exited {code}" if code >= 0 else f"killed {-code}")
                self._end(TERMINATE_GRACE)  # what the agent leaves behind has no master any more

    def _signal(self, number: int) -> None:
        for pid in self._survivors():
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):  # already gone, or runs as another user
                pass
        try:
            os.killpg(self._agent, number)
        except (ProcessLookupError, PermissionError):
            pass

    def _survivors(self) -> set[int]:
        """The agent and everything that descends from it, as far as can be known."""
        table = _processes()
        below = descendants(os.getpid(), table)
        if not self._subreaper:
            below |= {pid for pid, (_, group) in table.items() if group == self._agent}
            below |= self._seen & table.keys()
            self._seen |= below
        return below


def descendants(of: int, table: dict[int, tuple[int, int]] | None = None) -> set[int]:
    """Everything that is below a process now, in the table of `_processes`."""
    table = _processes() if table is None else table
    below, grew = {of}, True
    while grew:
        found = {pid for pid, (parent, _) in table.items() if parent in below} - below
        below |= found
        grew = bool(found)
    return below - {of}


def _processes() -> dict[int, tuple[int, int]]:
    """pid → (parent, process group) of every process that has not ended."""
    if not os.path.isdir("/proc/self"):
        return _processes_by_ps()
    table: dict[int, tuple[int, int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # pid (name) state ppid pgrp …; the name may contain blanks and brackets
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[0] not in (b"Z", b"X"):
            table[int(name)] = (int(fields[1]), int(fields[2]))
    return table


def _processes_by_ps() -> dict[int, tuple[int, int]]:
    read_end, write_end = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, write_end, 1)]
    try:
        pid = os.posix_spawnp(
            "ps", ["ps", "-A", "-o", "pid=,ppid=,pgid=,stat="], os.environ, file_actions=actions
        )
    except OSError:
        os.close(write_end)
        os.close(read_end)
        return {}
    os.close(write_end)
    with open(read_end, "rb") as output:
        rows = [line.split() for line in output]
    os.waitpid(pid, 0)
    return {
        int(row[0]): (int(row[1]), int(row[2]))
        for row in rows
        if len(row) >= 4 and int(row[0]) != pid and not row[3].startswith(b"Z")
    }


def _spawn(argv: list[str]) -> tuple[int, int]:
    """Start a program. Returns (pid, 0), or (0, errno) if it cannot be executed."""
    read_end, write_end = os.pipe()  # closed by an exec that succeeds
    pid = os.fork()
    if pid == 0:
        error = 0
        try:
            os.setsid()
            if _LINUX:
                _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # somebody may kill the reaper
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGTERM, signal.SIGCONT):
                signal.signal(number, signal.SIG_DFL)
            os.execv(argv[0], argv)
        except OSError as failed:
            error = failed.errno or 1
        finally:
            os.write(write_end, str(error).encode())
            os._exit(127)
    os.close(write_end)
    with open(read_end, "rb") as errors:
        error = errors.read()
    if not error:
        return pid, 0
    os.waitpid(pid, 0)
    return 0, int(error) or 1


def _signals_as_bytes() -> int:
    """A pipe that gets one byte for each SIGCHLD, SIGTERM and SIGCONT."""
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGCONT):
        signal.signal(number, _noted)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return read_end


def _noted(number: int, frame: object) -> None:
    """Do nothing: the byte in the pipe counts, and without a handler there would be none."""


def _let_go_of_streams() -> None:
    """Give up the agent's streams. They are the agent's alone: its end must be their end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    os.close(nothing)
    os.chdir("/")


def _report(status: int, line: str) -> None:
    try:
        os.write(status, line.encode() + b"\n")
    except OSError:  # the sidecar is gone; there is nobody to tell
        pass


def _prctl(option: int, value: int) -> bool:
    if not _LINUX:
        return False
    try:
        import ctypes

        return ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0
    except (ImportError, OSError, AttributeError):  # a Python without ctypes, or a libc without prctl
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv))
