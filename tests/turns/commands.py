"""Commands: what an agent's commands do to many files, or to one in several steps: they check out a branch, format what they wrote, and generate
thousands of files. As everywhere here, they change no line that is the user's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random
from subprocess import CalledProcessError

from tests.support.file_time import tick
from tests.support.repositories import git

FILES, OFTEN = (50, 1000, 5000), (1000, 20, 2)
"""How many files a command may generate, and how often each: 5,000 take half a minute."""


class Commands:
    def __init__(
        self,
        folder: Path,
        random: Random,
        there: Callable[[], list[str]],
        changed: Callable[[bytes], bytes],
        say: Callable[[str], None],
    ) -> None:
        """`there`: names of the text files that are there now. `changed`: with others in place of some of the agents' lines."""
        self._folder = folder
        self._random = random
        self._there = there
        self._changed = changed
        self._say = say
        self._generated = 0

    def branches(self) -> None:
        """The repository in the folder has a second branch: a file less, one more, and agents' lines that differ."""
        first = git(self._folder, "symbolic-ref", "--short", "HEAD")
        git(self._folder, "checkout", "-q", "-b", "other")
        (self._folder / "f1.txt").write_bytes(self._changed((self._folder / "f1.txt").read_bytes()))
        (self._folder / "sub/deep/h.txt").unlink()
        (self._folder / "on_other.txt").write_text("other\n")
        git(self._folder, "add", "-A", "f1.txt", "sub", "on_other.txt")
        git(self._folder, "commit", "-q", "-m", "other")
        git(self._folder, "checkout", "-q", first)

    async def checks_out(self) -> None:
        """The other branch. Git refuses where somebody has changed one of its files."""
        try:
            git(self._folder, "checkout", "-q", self._random.choice(["other", "-"]))
        except CalledProcessError as refused:
            self._say(f"git checks nothing out: {refused.stderr}")
        else:
            self._say("agent checks out the other branch")

    async def formats(self) -> None:
        """A file is written, and formatted after a moment."""
        for name in self._random.sample(self._there(), min(1, len(self._there()))):
            path = self._folder / name
            self._say(f"agent writes {name} and formats it")
            path.write_bytes(self._changed(path.read_bytes()))
            await asyncio.sleep(self._random.choice([0, 0.05, 0.3]))
            tick()
            if path.is_file():
                path.write_bytes(self._changed(path.read_bytes()))

    async def generates(self) -> None:
        self._generated += 1
        count = self._random.randrange(1, self._random.choices(FILES, OFTEN)[0] + 1)
        self._say(f"agent generates {count} files")
        folder = self._folder / f"generated{self._generated}"
        for number in range(count):
            path = folder / f"{number % 7}" / f"{number}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{number}\n")
