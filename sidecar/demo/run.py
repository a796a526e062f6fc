"""run: `acp-sidecar demo [PATH] [--agent CMD…]`. Makes a folder for the file, writes the settings, returns the exit code; `play.py` does the rest.

The user's PATH is read once and never written: the demo works on a copy, says so, and checks it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sidecar.approvals import Approvals
from sidecar.config import AgentCommand
from sidecar.core.escape import plain
from sidecar.demo import present, story, wiretap
from sidecar.demo.editor import ALL_CUSTOM
from sidecar.demo.play import Check, DemoEditor, play
from sidecar.demo.present import Stage
from sidecar.demo.story import Story
from sidecar.demo.wire import ErrorAnswer, Gone, Silence
from sidecar.demo.wiretap import Tap

# -P: a json.py among the user's files must not replace Python's
SERVER = (sys.executable, "-P", "-m", "sidecar", "lsp")
SAMPLE = Path(__file__).parent / "sample"
SAMPLE_FILE = story.SCRIPT.file
LARGEST = 1_000_000
"""The largest file that the demo accepts, in bytes: every keystroke compares it whole."""
PACE_WATCHED, PACE = 2.2, 0.2
"""Seconds between the demo agent's reading and writing, if somebody watches and otherwise: time to type."""


NEXT = "acp-sidecar demo PATH           use a copy of your file\nacp-sidecar demo --agent CMD…   use your own agent"


class Unsuitable(Exception):
    """The file or the agent cannot be used. The message says why."""


@dataclass(frozen=True, slots=True)
class DemoFolder:
    """The demo's folder, and the text that its file must have at the end."""

    folder: Path
    file: Path
    original: bytes
    source: Path | None
    """The user's own file, of which `file` is a copy."""
    log: Path
    state: Path

    def story(self) -> Story:
        text = self.original.decode("utf-8").removeprefix("\ufeff")
        return story.of_sample(text) if self.source is None else story.of_file(self.file.name, text)

    def untouched(self) -> Check:
        files = [self.file] if self.source is None else [self.file, self.source]
        held = all(file.read_bytes() == self.original for file in files)
        return held, "the file on disk is what it was, byte for byte: nothing was saved"


def run(path: str | None, agent: list[str] | None) -> int:
    """Run the demo. Returns 0 if all checks held, 1 if one failed, 2 if PATH or CMD cannot be used, 130 if interrupted."""
    console = present.console()
    try:
        return 0 if perform(Stage(console, animate=console.is_terminal), path, agent) else 1
    except Unsuitable as error:
        _complain(error)
        return 2
    except (Gone, Silence, ErrorAnswer) as error:
        _complain(error)
        return 1
    except KeyboardInterrupt:
        return 130


def perform(stage: Stage, path: str | None, agent: Sequence[str] | None) -> bool:
    """Return whether all checks held. Raises Unsuitable, and what the editor's wire raises (`wire.py`)."""
    if agent is not None and not agent:
        raise Unsuitable("--agent needs a command: the one that starts your agent, with its arguments")
    with _place(path) as place:
        name = "demo-agent" if agent is None else Path(agent[0]).stem
        command = _agent_settings(agent, place, stage.animate)
        # The user named the agent on this command line, so there is nothing left to ask.
        Approvals(place.state).remember(AgentCommand(command.command, command.args, command.env))
        options = {
            "agents": {
                name: {"command": command.command, "args": list(command.args), "env": dict(command.env)}
            },
            "client": {**ALL_CUSTOM, "permissions": True},
        }
        environment = {
            **os.environ,
            "XDG_STATE_HOME": str(place.state),
            "ACP_SIDECAR_STATE": str(place.state),
        }
        what = "a sample" if path is None else f"a copy of {path}, which is not touched"
        stage.title(
            "a headless editor, the sidecar, "
            + ("a scripted agent (no AI)" if agent is None else plain(" ".join([name, *agent[1:]]), 60)),
            f"{place.file.name} is {what}, in a folder that is deleted afterwards.",
        )
        editor = DemoEditor(SERVER, place.folder, options, environment)
        checks = [*asyncio.run(_play(stage, place, editor, name)), place.untouched()]
    stage.checks(checks)
    held = all(held for held, _ in checks)
    if not held:
        for kind, message in editor.messages:
            if kind <= 2:
                stage.say(f"The sidecar said: {message}")
    stage.end(
        "All checks passed." if held else "Some checks failed.", good=held, next_steps=NEXT if held else ""
    )
    return held


async def _play(stage: Stage, place: DemoFolder, editor: DemoEditor, agent: str) -> list[Check]:
    async with editor:
        return await play(stage, place.story(), editor, agent, Tap(str(place.log)))


@contextmanager
def _place(path: str | None) -> Generator[DemoFolder]:
    data = (SAMPLE / SAMPLE_FILE).read_bytes() if path is None else _suitable(path)
    with tempfile.TemporaryDirectory(prefix="acp-sidecar-demo-", ignore_cleanup_errors=True) as temporary:
        base = Path(temporary).resolve()
        folder = base / "project"
        if path is None:
            shutil.copytree(SAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
            file = folder / SAMPLE_FILE
        else:
            folder.mkdir()
            file = folder / Path(path).name
            file.write_bytes(data)
        source = None if path is None else Path(path)
        yield DemoFolder(folder, file, data, source, base / "wire.log", base / "state")


def _suitable(path: str) -> bytes:
    try:
        if not os.path.isfile(path):
            raise Unsuitable(f"{path} is not a file")
        if os.path.getsize(path) > LARGEST:
            raise Unsuitable(f"{path} is too large for the demo, which takes {LARGEST:,} bytes at most")
        data = Path(path).read_bytes()
        if b"\0" in data[:8192]:
            raise Unsuitable(f"{path} is not a text file")
        data.decode("utf-8")
    except UnicodeDecodeError:
        raise Unsuitable(f"{path} is not UTF-8, which is all that the demo's editor reads") from None
    except OSError as error:
        raise Unsuitable(f"{path} cannot be read: {error.strerror}") from None
    return data


def _agent_settings(agent: Sequence[str] | None, place: DemoFolder, watched: bool) -> AgentCommand:
    """Return the agent's entry in `agents`: the wiretap, and the agent behind it."""
    if agent is None:
        pace = PACE_WATCHED if watched else PACE
        command = [sys.executable, "-P", "-m", "sidecar.demo.agent", "--pace", str(pace)]
        # the agent finds the package where this process found it, also in a checkout
        env = {"PYTHONPATH": str(Path(__file__).parents[2])}
    else:
        found = shutil.which(agent[0])
        if found is None:
            raise Unsuitable(
                f'there is no program "{agent[0]}" on PATH; install the agent, or give its absolute path'
            )
        command = [os.path.abspath(found), *agent[1:]]
        # it was started from this shell, so it gets the shell's environment including keys, but not our state
        # folder
        state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
        env = {**{name: f"${{env:{name}}}" for name in os.environ}, "XDG_STATE_HOME": state}
    args = [os.path.abspath(wiretap.__file__), str(place.log), *command]
    return AgentCommand(sys.executable, tuple(args), env)


def _complain(error: Exception) -> None:
    sys.stderr.write(f"acp-sidecar demo: {error}\n")
