"""A real Emacs with the project's snippet, in a terminal: keys are typed, buffers are looked at through its own server.

Looking goes around the keyboard (Emacs' server protocol, as emacsclient speaks it), so that it disturbs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.e2e.terminal import Terminal
from tests.support.tools import ROOT, Tool
from tests.support.waiting import connect, eventually

SNIPPET = ROOT / "editor-extension" / "emacs" / "acp-sidecar.el"

INIT = """
(setq inhibit-startup-screen t make-backup-files nil auto-save-default nil create-lockfiles nil
      native-comp-deferred-compilation nil native-comp-jit-compilation nil ring-bell-function 'ignore
      use-short-answers t vc-handled-backends nil)
(require 'server)
(require 'json)
;; Emacs ends an undo step by itself 10 s after an edit that no command made: on a busy machine that would be in the middle of a test
(setq undo-auto-current-boundary-timer t)
(setq server-socket-dir {folder} server-name "emacs")
(server-start)
"""


def quoted(text: str) -> str:
    """A Lisp string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def lisp(value: object) -> str:
    """Settings as the property lists that eglot turns into JSON."""
    match value:
        case True:
            return "t"
        case False:
            return ":json-false"
        case str():
            return quoted(value)
        case int():
            return str(value)
        case Mapping():
            return "(" + " ".join(f":{key} {lisp(each)}" for key, each in value.items()) + ")"
        case Sequence():
            return "[" + " ".join(lisp(each) for each in value) + "]"
        case _:
            raise TypeError(value)


class Emacs:
    def __init__(self, tool: Tool, tmux: Tool, folder: Path, cwd: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)  # server-start insists
        init = folder / "init.el"
        init.write_text(INIT.format(folder=quoted(str(folder))))
        home = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config")}
        self._socket = folder / "emacs"
        self.terminal = Terminal(tmux, folder, [tool.command, "-nw", "-Q", "-l", str(init)], home, cwd)
        connect(self._socket, "Emacs listens", within=60, otherwise=self.terminal.screen).close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.terminal.close()

    # --- the sidecar in it

    def setup(self, command: Sequence[str], settings: Mapping[str, object] | None = None) -> None:
        """What a person's init file does."""
        self.eval(f"(load {quoted(str(SNIPPET))} nil t)")
        self.eval(f"(setq acp-sidecar-command '({' '.join(map(quoted, command))}))")
        self.eval(f"(setq acp-sidecar-settings '{lisp(settings or {})})")

    def start(self) -> None:
        """M-x acp-sidecar in the current buffer; returns when the server has answered initialize."""
        self.command("acp-sidecar")
        self.wait_for("(and eglot--managed-mode t)", "the server manages the buffer")

    def request(self, name: str, argument: Mapping[str, object], *, within: float = 100) -> Any:
        """A sidecar.* command through the snippet, its result; NeverHappened also when it fails (see *Messages*)."""
        self.eval("(setq acp-test-answer nil)")
        done = "(lambda (result) (setq acp-test-answer (list result)))"
        self.look(f"(progn (acp-sidecar--command {quoted(name)} '{lisp(argument)} {done}) t)")
        eventually(
            lambda: self.eval("acp-test-answer") != "nil",
            f"{name} answers",
            within=within,
            otherwise=self.messages,
        )
        return self.look("(car acp-test-answer)")

    def messages(self) -> str:
        return self.eval('(with-current-buffer "*Messages*" (buffer-string))')

    # --- a person's hands and eyes

    def open(self, path: Path) -> None:
        self.terminal.keys("C-x", "C-f")
        self.terminal.wait_for("Find file:")
        self.terminal.keys("C-a", "C-k")
        self.terminal.type(str(path))
        self.terminal.keys("Enter")
        self.wait_for(f"(equal buffer-file-name {quoted(str(path))})", f"{path} is shown")

    def command(self, name: str) -> None:
        """M-x NAME."""
        self.terminal.keys("M-x")
        self.terminal.wait_for("M-x")
        self.terminal.type(name)
        self.terminal.keys("Enter")

    def type(self, text: str) -> None:
        self.terminal.type(text)

    def undo(self) -> None:
        self.terminal.keys("C-x", "u")

    def text(self, path: Path | None = None) -> str:
        """A buffer's text (the shown one's without a path)."""
        return str(self.look("(buffer-substring-no-properties (point-min) (point-max))", path))

    def modified(self, path: Path | None = None) -> bool:
        return bool(self.look("(if (buffer-modified-p) t :json-false)", path))

    def wait_for_text(self, text: str, path: Path | None = None, *, within: float = 60) -> None:
        def same() -> bool:
            return self.text(path) == text

        eventually(same, f"the buffer is {text!r}", within=within, otherwise=lambda: repr(self.text(path)))

    def wait_for(self, form: str, what: str, *, within: float = 60) -> None:
        """Until a form is non-nil in the buffer that is shown."""
        looked = f"(if {form} t :json-false)"
        eventually(lambda: self.look(looked), what, within=within, otherwise=self.terminal.screen)

    def look(self, form: str, path: Path | None = None) -> Any:
        """A form's value in a file's buffer, or in the buffer that is shown, as JSON."""
        buffer = (
            f"(find-buffer-visiting {quoted(str(path))})" if path else "(window-buffer (selected-window))"
        )
        return json.loads(json.loads(self.eval(f"(with-current-buffer {buffer} (json-encode {form}))")))

    def eval(self, form: str) -> str:
        """The printed value; AssertionError with Emacs' words for an error."""
        escaped = form.replace("&", "&&").replace(" ", "&_").replace("\n", "&n")
        with connect(self._socket, "Emacs answers", otherwise=self.terminal.screen) as connection:
            connection.settimeout(30)
            connection.sendall(f"-eval {'&' if escaped.startswith('-') else ''}{escaped} \n".encode())
            received = b""
            while chunk := connection.recv(65536):
                received += chunk
        printed = ""
        for line in received.decode().splitlines():
            kind, _, value = line.partition(" ")
            value = value.replace("&&", "\0").replace("&_", " ").replace("&n", "\n").replace("&-", "-")
            value = value.replace("\0", "&")
            assert kind != "-error", value
            if kind in {"-print", "-print-nonl"}:
                printed += value
        return printed.strip()
