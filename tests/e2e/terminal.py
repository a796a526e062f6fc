"""A terminal with a program in it (tmux): real keys in, the screen out."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.tools import Tool
from tests.support.waiting import eventually


class Terminal:
    def __init__(
        self, tmux: Tool, folder: Path, command: Sequence[str], env: Mapping[str, str], cwd: Path
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        # a socket of its own: nothing of the person's tmux is touched; short, a socket's path is limited to 107 bytes
        self._tmux = [tmux.command, "-u", "-f", "/dev/null", "-S", str(folder / "tmux")]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("TMUX")} | dict(
            env
        )
        environment |= {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "SHELL": "/bin/sh"}
        started = subprocess.run(
            [*self._tmux, "new-session", "-d", "-s", "main", "-x", "100", "-y", "30", *command],
            env=environment,
            cwd=cwd,
            check=False,
            timeout=30,
            capture_output=True,
            text=True,
        )
        assert started.returncode == 0, f"tmux: {started.stderr.strip()}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the program as a closed terminal does (SIGHUP), and waits for that."""
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, timeout=30, check=False)

    @property
    def running(self) -> bool:
        return (
            subprocess.run(
                [*self._tmux, "has-session"], capture_output=True, timeout=30, check=False
            ).returncode
            == 0
        )

    def type(self, text: str) -> None:
        self._do("send-keys", "-t", "main", "-l", "--", text)

    def paste(self, text: str) -> None:
        """All of it at once, marked as a paste for programs that ask for that."""
        self._do("set-buffer", "--", text)
        self._do("paste-buffer", "-p", "-d", "-t", "main")

    def colours(self) -> str:
        """What is seen, with the escape sequences of colours."""
        return self._do("capture-pane", "-p", "-e", "-t", "main")

    def keys(self, *names: str) -> None:
        """Keys in tmux's notation: Enter, Escape, C-x, M-x."""
        self._do("send-keys", "-t", "main", *names)

    def screen(self) -> str:
        return self._do("capture-pane", "-p", "-t", "main")

    def wait_for(self, text: str, *, within: float = 60) -> str:
        def there() -> str:
            screen = self.screen()
            return screen if text in screen else ""

        return eventually(there, f"{text!r} on the screen", within=within, otherwise=self.screen)

    def _do(self, *arguments: str) -> str:
        done = subprocess.run(
            [*self._tmux, *arguments], capture_output=True, text=True, timeout=30, check=False
        )
        assert done.returncode == 0, f"tmux {arguments[0]}: {done.stderr.strip()}"
        return done.stdout
