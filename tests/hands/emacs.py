"""A real Emacs for these runs: keys through a terminal, the buffers as Emacs' own server tells them."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e import sidecar
from tests.e2e.emacs import Emacs, lisp, quoted
from tests.hands.approved import agent_settings, unasked
from tests.hands.steps import WEIGHTS, Kind
from tests.support import tools
from tests.support.waiting import eventually

SETTINGS: dict[str, tuple[Any, ...]] = {"auto-revert": (False, True)}
PREPARED = """
(progn
  ;; a key that nobody has: once it was counted, what was typed before it was taken in
  (setq hands-taken 0)
  (global-set-key [f12] (lambda () (interactive) (setq this-command last-command hands-taken (1+ hands-taken))))
  ;; Emacs forgets what was typed behind a command that fails (nothing more to undo)
  (setq command-error-function (lambda (data &rest _) (message "%s" (error-message-string data))))
  ;; a person who types on in a file that changed on the disk; Emacs would ask for each
  (load "userlock" nil t)
  (advice-add 'ask-user-about-supersession-threat :override #'ignore)
  ;; a folder of files without version control
  (setq project-find-functions (list (lambda (folder) (and (string-prefix-p {root} folder) '(transient . {root})))))
  (setq auto-revert-verbose nil)
  (defun hands-command (name arguments)
    (setq hands-answer nil)
    (let ((server (acp-sidecar--server)))
      (acp-sidecar--flush server)
      (jsonrpc-async-request
        server :workspace/executeCommand (list :command name :arguments arguments)
        :success-fn (lambda (result) (setq hands-answer (list :result result)))
        :error-fn (lambda (problem) (setq hands-answer (list :problem (format "%S" problem))))
        :timeout 100))
    t))
"""


class EmacsHands:
    def __init__(self, name: str, emacs: Emacs, first: Path) -> None:
        self.name = name
        self.kinds: frozenset[Kind] = frozenset(WEIGHTS)
        self.settings: Mapping[str, tuple[Any, ...]] = SETTINGS
        self._emacs = emacs
        self._first = first
        self._session: str | None = None

    def begin(self, folder: Path) -> None:
        if self._session is not None:
            eventually(lambda: not self.is_working(), "the last run's turn has ended")
            self.command("sidecar.keep", {"all": True})
            self.command("sidecar.closeSession", {"sessionId": self._session})
        self._emacs.eval(
            "(progn (delete-other-windows) (dolist (buffer (buffer-list)) (with-current-buffer buffer"
            f" (when (and buffer-file-name (not (equal buffer-file-name {quoted(str(self._first))})))"
            " (set-buffer-modified-p nil) (kill-buffer)))))"
        )
        self.open(self._first)
        self._session = self.command("sidecar.newSession", {"cwd": str(folder)})["sessionId"]

    def open(self, path: Path) -> None:
        name = quoted(str(path))
        self._emacs.eval(
            f"(switch-to-buffer (or (find-buffer-visiting {name}) (find-file-noselect {name} t)))"
        )

    def close(self, path: Path) -> None:
        self._look(path, "(progn (set-buffer-modified-p nil) (kill-buffer))")

    def type(self, text: str, pace: float) -> None:
        for key in text if pace else [text]:
            self._emacs.terminal.type(key.replace("\n", "\r"))
            time.sleep(pace)
        self._keys()

    def place(self, line: int, at_end: bool) -> None:
        there = "end-of-line" if at_end else "beginning-of-line"
        self._emacs.eval(
            "(with-selected-window (selected-window)"
            f" (goto-char (point-min)) (forward-line {line}) ({there}))"
        )

    def save(self) -> None:
        """Where Emacs asks whether to write over a file that changed behind it, the person says no."""
        self._keys("C-x", "C-s")

    def undo(self) -> None:
        self._keys("C-x", "u")

    def redo(self) -> None:
        self._keys("C-M-_")

    def split(self) -> None:
        self._keys("C-x", "2")

    def set(self, name: str, value: Any) -> None:
        self._emacs.eval(f"(global-auto-revert-mode {1 if value else -1})")

    def text(self, path: Path) -> str | None:
        return self._look(
            path, "(save-restriction (widen) (buffer-substring-no-properties (point-min) (point-max)))"
        )

    def prompt(self, steps: list[dict[str, Any]]) -> None:
        self.command("sidecar.prompt", {"prompt": json.dumps(unasked(steps)), "sessionId": self._session})

    def is_working(self) -> bool:
        rows = self.command("sidecar.status", None)["sessions"]
        return any(row["sessionId"] == self._session and row["running"] is True for row in rows)

    def command(self, name: str, argument: Any) -> Any:
        given = "[]" if argument is None else f"[{lisp(argument)}]"
        self._emacs.look(f"(hands-command {quoted(name)} '{given})")
        answer = eventually(
            lambda: self._json("hands-answer"), f"{name} answers", within=100, otherwise=self.said
        )
        assert "result" in answer, answer
        return answer["result"]

    def said(self) -> str:
        return f"{self._emacs.messages()[-2000:]}\n{self._emacs.terminal.screen()}"

    def _keys(self, *names: str) -> None:
        """As typed; returns when they were taken in. Whatever Emacs asks then, the person says no."""
        before = self._json("hands-taken")
        self._emacs.terminal.keys(*names, "F12")

        def taken() -> bool:
            if self._json("(minibuffer-depth)"):
                self._emacs.terminal.keys("n", "F12")
                return False
            return self._json("hands-taken") > before

        eventually(taken, f"Emacs takes {names} in", otherwise=self.said)

    def _look(self, path: Path, form: str) -> Any:
        """A form's value in the buffer of a file; None where there is none."""
        buffer = f"(find-buffer-visiting {quoted(str(path))})"
        return self._json(f"(let ((buffer {buffer})) (and buffer (with-current-buffer buffer {form})))")

    def _json(self, form: str) -> Any:
        return json.loads(json.loads(self._emacs.eval(f"(json-encode {form})")))


class Version:
    """One of the Emacses that `make tools` installs, by its name there."""

    def __init__(self, name: str) -> None:
        self._name = name

    @contextmanager
    def started(self, folder: Path, log: Path) -> Generator[EmacsHands]:
        workspace = folder / "ws"
        workspace.mkdir(parents=True, exist_ok=True)
        settings = agent_settings(log)  # before the editor starts: it sets where the sidecar keeps its state
        tmux = tools.require("tmux")
        with Emacs(tools.require(self._name), tmux, folder / "emacs", workspace) as emacs:
            emacs.setup(sidecar.COMMAND, settings)
            emacs.eval(PREPARED.replace("{root}", quoted(f"{workspace}/")))
            first = workspace / "first.txt"
            first.write_text("FIRST\n")
            emacs.open(first)
            emacs.start()
            yield EmacsHands(self._name, emacs, first)
