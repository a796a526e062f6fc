"""Processes: whatever an agent does, `stop` ends it and everything below it within the ladder; so does our own death."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest

from sidecar.acp import posix, process, spawning
from sidecar.acp.limits import Ladder
from tests.support import tools
from tests.support.agents import alive, argv, until_gone, until_written

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="about POSIX processes")

HANGS = 30.0
"""Bound on hanging, generous for slow machines."""
QUICK = Ladder(close_input=0.3, terminate=0.3, kill=HANGS)

ENV = {"PATH": os.environ["PATH"]}


async def start(script: dict, tmp_path: Path, **how) -> process.AgentProcess:
    return await posix.start(argv(script), ENV, str(tmp_path), "fake", **how)


async def test_the_event_loop_goes_on_while_the_system_starts_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begins, goes_on = spawning.spawn, threading.Event()
    began: list[int] = []

    def slow(program: spawning.Program):
        began.append(len(began))
        asked = began[-1]
        loop.call_soon_threadsafe(loop.call_soon, goes_on.set)
        assert goes_on.wait(HANGS)
        goes_on.clear()
        assert began[-1] == asked, "one at a time"
        return begins(program)

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(spawning, "spawn", slow)
    async with asyncio.timeout(HANGS):
        agents = await asyncio.gather(*(start({}, tmp_path) for _ in range(5)))
    for agent in agents:
        await agent.stop(QUICK)
    assert len(began) == 5


async def test_one_that_has_ended_does_not_wait_for_the_garbage_collector(tmp_path: Path) -> None:
    """An agent that runs one command after the other would otherwise leave thousands of objects between two full collections."""
    gc.collect()
    gc.disable()
    try:
        ended = await start({}, tmp_path)
        await ended.stop(QUICK)
        gone = asyncio.Event()
        weakref.finalize(ended, gone.set)
        del ended
        async with asyncio.timeout(HANGS):
            await gone.wait()  # its tasks end a moment later
    finally:
        gc.enable()


async def test_a_start_that_is_cancelled_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begins, pids = spawning.spawn, list[int]()
    begun, goes_on = threading.Event(), threading.Event()

    def slow(program: spawning.Program):
        begun.set()
        assert goes_on.wait(HANGS)
        pid, wait = begins(program)
        pids.append(pid)
        return pid, wait

    monkeypatch.setattr(spawning, "spawn", slow)
    before = len(os.listdir("/dev/fd"))
    starting = asyncio.ensure_future(start({}, tmp_path))
    assert await asyncio.to_thread(begun.wait, HANGS)
    starting.cancel()
    await asyncio.sleep(0.05)
    assert not starting.done(), "its descriptors are in use"
    goes_on.set()
    async with asyncio.timeout(HANGS):
        with pytest.raises(asyncio.CancelledError):
            await starting
    assert not await until_gone(pids, HANGS)
    for _ in range(100):  # until its end is noticed
        if len(os.listdir("/dev/fd")) <= before:
            break
        await asyncio.sleep(0.01)
    assert len(os.listdir("/dev/fd")) <= before


@pytest.mark.parametrize("by", ["posix_spawn", "subprocess"])
async def test_programs_are_started_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    if by == "subprocess":
        monkeypatch.setattr(spawning, "_libc", lambda: None)
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    elif spawning._libc() is None:
        if not LINUX:
            pytest.skip("elsewhere, subprocess starts programs")
        tools.lacking("posix_spawn", "the C library cannot start a program in another folder")
    else:
        monkeypatch.delattr(subprocess, "Popen")
    ours = os.dup(0)
    os.set_inheritable(ours, True)
    says = (
        "import os, sys; os.write(2, b'e'); "
        "print(os.getcwd(), os.getsid(0) == os.getpid(), sorted(os.environ), *sys.argv[1:])"
    )
    fds = "import os; print([fd for fd in range(3, 256) if os.path.exists(f'/dev/fd/{fd}')])"
    agent = await posix.start(
        [sys.executable, "-S", "-c", f"{says}\n{fds}", "a b", "\udcff"],
        {"PYTHONCOERCECLOCALE": "0", "é": "ü", "PYTHONUTF8": "1"},
        str(tmp_path),
        "fake",
    )
    async with asyncio.timeout(HANGS):
        said = (await all_of(agent)).decode("utf-8", "surrogateescape")
        assert str(await agent.exited) == "exited with code 0"
        await agent.gone
    os.close(ours)
    await agent.stop(QUICK)
    names = "['PYTHONCOERCECLOCALE', 'PYTHONUTF8', 'é']"
    assert said == f"{tmp_path.resolve()} True {names} a b \udcff\n[]\n"
    assert bytes(agent.errors) == b"e"


@pytest.mark.parametrize("by", ["posix_spawn", "subprocess"])
async def test_a_folder_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    if by == "subprocess":
        monkeypatch.setattr(spawning, "_libc", lambda: None)
    with pytest.raises(FileNotFoundError) as raised:
        await posix.start(argv({}), ENV, str(tmp_path / "gone"), "fake")
    assert raised.value.filename == str(tmp_path / "gone")
    with pytest.raises(ValueError, match="null"):
        await posix.start(["/bin/echo", "a\0b"], ENV, str(tmp_path), "fake")


# what the agent does · how many processes it leaves behind itself
LADDER = {
    "ends on end of input": [],
    "ignores end of input": [{"ignore": "eof"}],
    "ignores end of input and SIGTERM": [{"ignore": "SIGTERM"}, {"ignore": "eof"}],
    "never reads": [{"ignore": "SIGTERM"}, {"ignore": "input"}],
    "floods stderr": [{"repeat": 50, "steps": [{"stderr": 100_000}]}, {"ignore": "eof"}],
    "floods stdout": [{"fill": 3_000_000}, {"ignore": "eof"}],
    "closes stdout and stays": [{"close": "stdout"}, {"ignore": "eof"}],
    "leaves a child": [{"spawn": "child", "pids": "$pids"}],
    "leaves a child in a session of its own": [{"spawn": "setsid", "pids": "$pids"}],
    "leaves a daemon that forked twice": [{"spawn": "daemon", "pids": "$pids"}, {"ignore": "eof"}],
    "leaves a child that ignores SIGTERM": [{"spawn": "stubborn", "pids": "$pids"}, {"ignore": "SIGTERM"}],
    "leaves all of them": [
        *({"spawn": kind, "pids": "$pids"} for kind in ("child", "setsid", "daemon", "stubborn")),
        {"ignore": "eof"},
    ],
    "stops itself": [{"signal": int(signal.SIGSTOP)}],
}
LINUX = sys.platform.startswith("linux")
STOPS_ITS_REAPER = [
    *({"spawn": kind, "pids": "$pids"} for kind in ("daemon", "stubborn")),
    {"stop_reaper": True},
    {"ignore": "SIGTERM"},
    {"ignore": "eof"},
]
if LINUX:
    LADDER["stops its reaper and leaves a daemon"] = STOPS_ITS_REAPER


def stat_of(pid: int) -> list[str]:
    """What /proc says of a process, from its state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def parent_of(pid: int) -> int:
    return int(stat_of(pid)[1])


async def until_stopped(pid: int) -> None:
    deadline = asyncio.get_running_loop().time() + HANGS
    while stat_of(pid)[0] != "T":
        assert asyncio.get_running_loop().time() < deadline, "it is never stopped"
        await asyncio.sleep(0.01)


def filled(steps: list[dict], pids: Path) -> list[dict]:
    return [{**step, "pids": str(pids)} if "pids" in step else step for step in steps]


async def test_ladder(tmp_path: Path) -> None:
    assert await left_of_ladder(tmp_path) == []


async def left_of_ladder(tmp_path: Path, within: float = HANGS) -> list[str]:
    """Of which rows something is left, so many seconds after the stop. All at once, because each waits most of the time."""

    async def one(what: str, steps: list[dict], folder: Path) -> str | None:
        folder.mkdir()
        pids = folder / "pids"
        steps = filled(steps, pids)
        agent = await start({"start": steps}, folder)
        left = await until_written(pids, sum("pids" in step for step in steps)) if "leaves" in what else []
        if "reaper" in what:
            await until_stopped(parent_of(agent.pid))
        if what == "never reads":
            agent.stdin.write(b"x" * 3_000_000)  # more than any pipe holds: the end must not wait for it
        async with asyncio.timeout(2 * HANGS):
            await agent.stop(QUICK)
        survivors = await until_gone([agent.pid, *left], within)
        return what if survivors or not agent.gone.done() or not agent.exited.done() else None

    rows = enumerate(LADDER.items())
    results = await asyncio.gather(*(one(what, steps, tmp_path / str(n)) for n, (what, steps) in rows))
    return [what for what in results if what]


async def test_the_whole_ladder_is_within_five_seconds() -> None:
    ladder = Ladder()
    assert ladder.close_input + ladder.terminate + ladder.kill <= 5.0


async def test_several_stops_are_one(tmp_path: Path) -> None:
    agent = await start({"start": [{"ignore": "eof"}]}, tmp_path)
    async with asyncio.timeout(HANGS):
        await asyncio.gather(agent.stop(QUICK), agent.stop(QUICK), agent.stop(QUICK))
    assert agent.gone.done()


async def test_hurrying_what_is_gone_writes_to_nobody(tmp_path: Path) -> None:
    """The numbers of its pipes are given out again at once."""
    agent = await start({}, tmp_path)
    await agent.stop(QUICK)
    pipes = [os.pipe() for _ in range(20)]
    try:
        agent.hurry("t")
        agent.hurry("k")
        for reading, _ in pipes:
            os.set_blocking(reading, False)
            with pytest.raises(BlockingIOError):
                os.read(reading, 1)
    finally:
        for fd in (end for pipe in pipes for end in pipe):
            os.close(fd)


async def test_what_an_agent_leaves_goes_with_it_unasked(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    steps = [{"spawn": kind, "pids": str(pids)} for kind in ("child", "setsid", "daemon", "stubborn")]
    agent = await start({"start": [*steps, {"exit": 3}]}, tmp_path)
    async with asyncio.timeout(HANGS):
        assert str(await agent.exited) == "exited with code 3"
        await agent.gone
    assert await until_gone(await until_written(pids, 4), HANGS) == set()
    await agent.stop(QUICK)


# how the agent ends by itself · in words
ENDS = [
    ([{"exit": 0}], "exited with code 0"),
    ([{"exit": 3}], "exited with code 3"),
    ([{"signal": int(signal.SIGKILL)}], "was ended by SIGKILL"),
    ([{"signal": int(signal.SIGSEGV)}], "was ended by SIGSEGV"),
    ([{"signal": 40}], "was ended by signal 40"),
]


@pytest.mark.parametrize(("steps", "words"), ENDS)
async def test_ends(steps: list[dict], words: str, tmp_path: Path) -> None:
    agent = await start({"start": steps}, tmp_path)
    async with asyncio.timeout(HANGS):
        assert str(await agent.exited) == words
    await agent.stop(QUICK)


async def test_stderr_is_drained_and_its_end_kept(tmp_path: Path) -> None:
    steps = [
        {"repeat": 30, "steps": [{"stderr": 100_000}]},
        {"stderr": "\nlast \x1b[31mwords\n"},
        {"exit": 1},
    ]
    agent = await start({"start": steps}, tmp_path)
    async with asyncio.timeout(HANGS):
        await agent.exited
    assert (await agent.last_lines())[-1] == "last \\x1b[31mwords"
    assert len(bytes(agent.errors)) == process.TAIL
    await agent.stop(QUICK)


@pytest.mark.parametrize(
    ("program", "error"),
    [
        ("#!/no/such/interpreter\n", FileNotFoundError),
        ("neither a script nor a program\n", OSError),
    ],
)
async def test_cannot_be_executed(program: str, error: type[OSError], tmp_path: Path) -> None:
    path = tmp_path / "agent"
    path.write_text(program)
    path.chmod(0o755)
    async with asyncio.timeout(HANGS):
        with pytest.raises(error):
            await posix.start([str(path)], ENV, str(tmp_path), "fake")


async def test_a_reaper_that_fails_is_told_in_words(tmp_path: Path) -> None:
    reaper = (sys.executable, "-S", "-c", "raise SystemExit('no reaping today')")
    async with asyncio.timeout(HANGS):
        with pytest.raises(OSError, match="no reaping today"):
            await start({}, tmp_path, reaper=reaper)


async def all_of(agent: process.AgentProcess) -> bytes:
    parts: list[bytes] = []
    while part := await agent.stdout.read(65536):
        parts.append(part)
    return b"".join(parts)


async def test_the_environment_is_exactly_what_was_given(tmp_path: Path) -> None:
    script = "import os, sys; sys.stdout.write(repr(sorted(os.environ)))"
    env = {"PATH": os.environ["PATH"], "PYTHONCOERCECLOCALE": "0", "ONLY": "this"}
    agent = await posix.start([sys.executable, "-S", "-c", script], env, str(tmp_path), "fake")
    async with asyncio.timeout(HANGS):
        assert eval(await all_of(agent)) == sorted(env)
    await agent.stop(QUICK)


async def test_the_agent_has_no_descriptors_of_ours(tmp_path: Path) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc")
    script = "import os, sys; sys.stdout.write(repr([int(n) for n in os.listdir('/proc/self/fd')]))"
    agent = await posix.start([sys.executable, "-S", "-c", script], ENV, str(tmp_path), "fake")
    async with asyncio.timeout(HANGS):
        # 3 is the listing's own
        assert set(eval(await all_of(agent))) <= {0, 1, 2, 3}
    await agent.stop(QUICK)


WITHOUT_SUBREAPER = """
import sys
from sidecar.acp import reaper
reaper._prctl = lambda option, value: False
if sys.argv.pop(1) == "ps":
    reaper._processes = reaper._processes_by_ps
sys.exit(reaper.main(sys.argv))
"""


@pytest.mark.parametrize("table", ["proc", "ps"])
@pytest.mark.parametrize("kind", ["child", "setsid", "stubborn"])
async def test_without_a_subreaper(kind: str, table: str, tmp_path: Path) -> None:
    """As on macOS, which has no /proc but always ps: descendants are found while the agent lives, its process group also after."""
    if table == "ps" and shutil.which("ps") is None:
        pytest.skip("NOT TESTED HERE: there is no program ps")
    if table == "proc" and not Path("/proc/self").exists():
        pytest.skip("there is no /proc here")
    pids = tmp_path / "pids"
    script = {"start": [{"spawn": kind, "pids": str(pids)}, {"ignore": "eof"}]}
    reaper = (sys.executable, "-c", WITHOUT_SUBREAPER, table)
    environment = {**ENV, "PYTHONPATH": str(Path(process.__file__).parents[2])}
    agent = await posix.start(argv(script), environment, str(tmp_path), "fake", reaper=reaper)
    left = await until_written(pids, 1)
    async with asyncio.timeout(HANGS):
        await agent.stop(QUICK)
    assert await until_gone([agent.pid, *left], HANGS) == set()


# our own death

SIDECAR = """
import asyncio, json, os, sys
from sidecar.acp import starting

async def main():
    argv, env, cwd = json.loads(sys.argv[1])
    agent = await starting.start(argv, env, cwd, "fake")
    sys.stdout.write(f"{agent.pid}\\n"); sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)

asyncio.run(main())
"""

TREES = {
    "one that ignores everything": [{"ignore": "SIGTERM"}, {"ignore": "eof"}],
    "child, session, daemon": [{"spawn": kind, "pids": "$pids"} for kind in ("child", "setsid", "daemon")],
    "stubborn": [{"spawn": "stubborn", "pids": "$pids"}, {"ignore": "SIGTERM"}, {"ignore": "eof"}],
}
if LINUX:
    TREES["one that stops its reaper"] = STOPS_ITS_REAPER
DEATHS = {"SIGKILL": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "exit without a word": None}


async def test_no_orphans(tmp_path: Path) -> None:
    async def one(death: signal.Signals | None, tree: list[dict], folder: Path) -> set[int]:
        folder.mkdir()
        steps = filled(tree, folder / "pids")
        arguments = json.dumps([argv({"start": steps}), ENV, str(folder)])
        sidecar = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", SIDECAR, arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=Path(process.__file__).parents[2],
        )
        assert sidecar.stdin is not None
        assert sidecar.stdout is not None
        left = [int(await sidecar.stdout.readline())]
        if leaves := sum("pids" in step for step in steps):
            left += await until_written(folder / "pids", leaves)
        assert all(alive(pid) for pid in left)
        if tree is STOPS_ITS_REAPER:
            await until_stopped(parent_of(left[0]))
        if death is None:
            sidecar.stdin.close()
        else:
            sidecar.send_signal(death)
        async with asyncio.timeout(HANGS):
            await sidecar.wait()
        return await until_gone(left, HANGS)

    cases = [(death, tree) for death in DEATHS for tree in TREES]
    left = await asyncio.gather(
        *(one(DEATHS[death], TREES[tree], tmp_path / str(n)) for n, (death, tree) in enumerate(cases))
    )
    assert {case: pids for case, pids in zip(cases, left, strict=True) if pids} == {}


async def test_the_death_of_the_reaper_ends_the_agent(tmp_path: Path) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("PR_SET_PDEATHSIG is Linux's")
    agent = await start({"start": [{"ignore": "eof"}, {"ignore": "SIGTERM"}]}, tmp_path)
    os.kill(parent_of(agent.pid), signal.SIGKILL)
    async with asyncio.timeout(HANGS):
        await agent.exited
    assert await until_gone([agent.pid], HANGS) == set()
    await agent.stop(QUICK)
