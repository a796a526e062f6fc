"""Turns a configured agent into a program to run: finds the program without a shell, and builds its environment."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from sidecar.acp.elsewhere.headers import given
from sidecar.config import Transport
from sidecar.core.escape import plain
from sidecar.own_program import own_program
from sidecar.workspace.ports.ports import AgentFailed

INHERITED = (
    *(
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "PATH",
        "PWD",
        "TERM",
        "TZ",
        "LANG",
        "LANGUAGE",
        "TMPDIR",
        "TEMP",
        "TMP",
    ),
    # to reach the network, and to trust what the user trusts
    *(
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "no_proxy",
    ),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    # to open a browser for a login, to reach the keyring and the ssh agent
    *("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "BROWSER"),
    # Windows
    *(
        "APPDATA",
        "LOCALAPPDATA",
        "PROGRAMDATA",
        "PROGRAMFILES",
        "COMSPEC",
        "PATHEXT",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
    ),
    *("HOMEDRIVE", "HOMEPATH", "USERNAME", "USERPROFILE", "PROCESSOR_ARCHITECTURE", "WINDIR"),
)
"""The environment variables that every agent gets, if they are set. No keys or tokens: one agent must not get another agent's keys."""

INHERITED_PREFIXES = ("LC_", "XDG_")

_REFERENCE = "${env:"
"""The value `${env:NAME}` in an agent's `env` stands for our own variable NAME, so that no key has to be in the settings."""

_MANAGED = (
    ".nvm/versions/node/*/bin",
    ".local/share/fnm/node-versions/*/installation/bin",
    "Library/Application Support/fnm/node-versions/*/installation/bin",
    ".fnm/node-versions/*/installation/bin",
    ".nodenv/shims",
    ".volta/bin",
    ".asdf/shims",
    ".pyenv/shims",
    ".local/bin",
    ".bun/bin",
    ".npm-global/bin",
    ".cargo/bin",
)
"""The folders below HOME in which nvm, fnm, volta, asdf, pyenv, pip, bun, npm and cargo put programs; the newest version first."""

_RUNNERS = frozenset({"npx", "pnpx", "bunx", "uvx", "pipx"})
_MANAGERS = frozenset({"npm", "pnpm", "yarn", "bun"})
_RUN_WORDS = frozenset({"exec", "x", "dlx"})

_CMD_SPECIAL = frozenset('"%!^&|<>\r\n')


class Command(Protocol):
    """The part of `config.AgentCommand` that is needed here."""

    @property
    def command(self) -> str: ...
    @property
    def args(self) -> Sequence[str]: ...
    @property
    def env(self) -> Mapping[str, str]: ...
    @property
    def fs(self) -> bool: ...
    @property
    def protocol(self) -> int: ...
    @property
    def transport(self) -> Transport | None: ...
    @property
    def address(self) -> str: ...


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """An agent's environment: the variables named above and the configured ones."""
    env = {
        name: _absolute(value) if name.upper() == "PATH" else value
        for name, value in os.environ.items()
        if name in INHERITED or name.upper() in INHERITED or name.startswith(INHERITED_PREFIXES)
    }
    for name, value in extra.items():
        configured = _configured(value)
        if configured is not None:
            env[name] = configured
    return env


def path_of(extra: Mapping[str, str]) -> str | None:
    """The PATH of that environment."""
    configured = _configured(extra["PATH"]) if "PATH" in extra else None
    inherited = os.environ.get("PATH")
    return _absolute(inherited) if configured is None and inherited is not None else configured


def _configured(value: str) -> str | None:
    """A configured value. None if it refers to a variable that is not set."""
    if value.startswith(_REFERENCE) and value.endswith("}"):
        return os.environ.get(value[len(_REFERENCE) : -1])
    return value


def _absolute(path: str) -> str:
    """A PATH without its relative folders, which would refer to the open folder."""
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if os.path.isabs(folder))


def find(command: str, path: str | None) -> str | None:
    """The absolute path of a program: an absolute path that is executable, or a bare name found in `path`.

    Relative directories in `path`, and the current one (where Windows looks first), are left out: the program must not depend on the
    open folder. On Windows, `npx` finds `npx.cmd`.
    """
    command = os.path.expanduser(command)
    if os.path.isabs(command):
        return shutil.which(command)
    if os.path.dirname(command):
        return None
    for folder in (path or os.defpath).split(os.pathsep):
        if os.path.isabs(folder) and (found := shutil.which(os.path.join(folder, command))):
            return found
    return None


def managed_folders(env: Mapping[str, str]) -> list[Path]:
    """The folders in which version managers put programs. A shell's start-up file adds them to PATH, but an editor that is started
    from a desktop never reads that file."""
    home = Path(env.get("HOME") or os.path.expanduser("~"))
    return [
        folder for pattern in _MANAGED for folder in sorted(home.glob(pattern), key=_numbers, reverse=True)
    ]


def elsewhere(command: str, managed: Sequence[Path]) -> str | None:
    """The path of a program that is in one of these folders but not on PATH."""
    return next(filter(None, (shutil.which(str(folder / command)) for folder in managed)), None)


def _numbers(path: Path) -> list[int]:
    """A sort key: v22 is newer than v9."""
    return [int(number) for number in re.findall(r"[0-9]+", str(path))]


def by_transport(transport: Transport, words: Sequence[str]) -> list[str]:
    """The command to run here so that the transport runs these words at its other end."""
    return [*transport.command, *(map(shlex.quote, words) if transport.shell else words)]


def program_of(command: Command) -> str:
    """The program that has to be on this machine: the agent's own, the one of its transport, or ours for an agent at an address."""
    if command.address:
        return sys.executable
    return command.command if command.transport is None else command.transport.command[0]


def headers_for(agent: str, command: Command) -> dict[str, str]:
    """The environment in which the program for an agent's address gets its headers. Raises AgentFailed("start_failed")."""
    headers: Mapping[str, str] = command.transport.headers if command.transport else {}
    values = {name: _configured(value) for name, value in headers.items()}
    if lacking := [name for name, value in values.items() if value is None]:
        raise AgentFailed(
            "start_failed",
            f'Agent "{agent}" cannot be reached: its header {plain(lacking[0], 60)} is {plain(headers[lacking[0]], 80)}, and the editor'
            " was started without that variable.",
        )
    return given({name: value for name, value in values.items() if value is not None})


def resolve(agent: str, command: Command, env: Mapping[str, str], more: Sequence[str] = ()) -> list[str]:
    """The argv to run here. `more`: further arguments. Raises AgentFailed("not_installed"), which says what to do, and
    AgentFailed("start_failed")."""
    argv = [command.command, *command.args, *more]
    if command.address:
        argv = [*own_program(sys.orig_argv), "websocket", command.address]
    elif command.transport is not None:
        argv = by_transport(command.transport, argv)
    program = find(argv[0], env.get("PATH"))
    if program is None:
        raise AgentFailed(
            "not_installed", f'Agent "{agent}" cannot be started: {missing(command, managed_folders(env))}.'
        )
    argv[0] = program
    if any("\0" in word for word in argv):
        raise AgentFailed(
            "start_failed", f'Agent "{agent}" cannot be started: its command has a NUL character in it.'
        )
    odd = _odd_for_batch(argv) if sys.platform == "win32" else None
    if odd is not None:
        raise AgentFailed(
            "start_failed",
            f'Agent "{agent}" cannot be started: {os.path.basename(program)} is a batch file, and the argument'
            f' "{odd}" cannot be passed to it safely. Configure the program that it starts instead.',
        )
    return argv


def _odd_for_batch(argv: Sequence[str]) -> str | None:
    """The argument that cannot be passed to a batch file. CreateProcess runs batch files with cmd.exe, whose quoting cannot be made
    safe (CVE-2024-24576 and similar)."""
    if not argv[0].lower().endswith((".cmd", ".bat")):
        return None
    return next((word for word in argv if _CMD_SPECIAL & set(word)), None)


def runs_packages(argv: Sequence[str]) -> bool:
    """Whether the command runs packages (`npx …`, `npm exec …`). Such programs look in their working directory first: in its
    `node_modules`, and for settings that name registries, shells and code to load."""
    name = os.path.basename(argv[0].replace("\\", "/")).lower()
    name = name.removesuffix(".cmd").removesuffix(".exe")
    return name in _RUNNERS or (name in _MANAGERS and bool(_RUN_WORDS.intersection(argv[1:3])))


def missing(command: Command, managed: Sequence[Path]) -> str:
    """A message: why `find` found nothing, and what to do. `managed`: see managed_folders."""
    name = program_of(command)
    if os.path.isabs(os.path.expanduser(name)):
        return f"{name} does not exist or is not executable. Check the path in the settings"
    if os.path.dirname(name):
        return f"{name} is a relative path. Give an absolute path, or a command name that is on PATH"
    hidden = elsewhere(name, managed)
    if hidden is not None:
        return (
            f'there is no command "{name}" on the PATH that the editor was started with; it is at {hidden}. '
            f"Give that path in the settings, or start the editor from a shell"
        )
    return f'there is no command "{name}" on PATH. Install it, or give its absolute path in the settings'
