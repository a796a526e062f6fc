"""The command line, and the only place that chooses the object graphs.

Each command imports its own heavy modules; `_parser` imports what only the parser needs.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sidecar import __version__
from sidecar.stderr_log import log_to_stderr

if TYPE_CHECKING:
    import argparse

_BY_EDITORS = (["lsp"], ["lsp", "--stdio"])
"""How editors start the server. They wait until it answers, so the arguments are compared and not parsed: parsing takes much of that time."""


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code: 0 done, 1 failed, 2 wrong usage. Errors are one line on stderr: what happened, and what to do."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words in _BY_EDITORS:
        return _run(_lsp, None, logging.WARNING)
    arguments = _parser().parse_args(words)
    if arguments.command is None:
        _parser().print_help(sys.stderr)
        return 2
    return _run(arguments.run, arguments, logging.DEBUG if arguments.verbose else logging.WARNING)


def _run(command: Callable[[Any], int], arguments: argparse.Namespace | None, level: int) -> int:
    log_to_stderr(level)
    try:
        return command(arguments)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 1


def _lsp(arguments: argparse.Namespace | None) -> int:
    from sidecar.lasting import lasting
    from sidecar.lsp.announcement import announce
    from sidecar.lsp.main import run

    def graph():  # imported late, see below
        # This runs after the editor has its answer to `initialize`: it imports pygls and what agents need.
        with lasting():
            from sidecar.connection import build

        return build()

    return run(graph, announce)


def _demo(arguments: argparse.Namespace) -> int:
    from sidecar.demo.run import run

    return run(arguments.path, arguments.agent)


def _changes(arguments: argparse.Namespace) -> int:
    from sidecar.recovery.changes_command import run

    return run(arguments)


def _revert(arguments: argparse.Namespace) -> int:
    from sidecar.bridge.live import LiveSidecars
    from sidecar.journal import Store
    from sidecar.recovery.revert_command import run

    store = Store()
    with LiveSidecars(os.getcwd(), os.environ) as live:
        return run(arguments, store, live)


def _sessions(arguments: argparse.Namespace) -> int:
    from sidecar.recovery.sessions_command import run

    return run(arguments)


def _audit(arguments: argparse.Namespace) -> int:
    from sidecar.recovery.audit_command import run

    return run(arguments)


def _setup(arguments: argparse.Namespace) -> int:
    from sidecar.setup.command import run

    return run(arguments)


def _connect(arguments: argparse.Namespace) -> int:
    from sidecar.connect.command import connect

    return connect(arguments)


def _disconnect(arguments: argparse.Namespace) -> int:
    from sidecar.connect.command import disconnect

    return disconnect(arguments)


def _mcp(arguments: argparse.Namespace) -> int:
    from sidecar.lsp.stdio import claim
    from sidecar.mcp.tool_process import RELAY, run

    streams = claim()
    if arguments.guest or arguments.joined:
        return _guest(streams, arguments)

    relay = os.environ.get(RELAY, "")

    async def connect():  # imported late: the agent waits for the list of tools
        if relay:
            from sidecar.relayed.through_relay import connected as through_relay

            return await through_relay(relay)
        from sidecar.bridge.calling import connected

        return await connected(os.getcwd(), os.environ)

    return run(streams, os.environ, connect, numbered=arguments.numbered, whole=bool(relay))


def _relay(arguments: argparse.Namespace) -> int:
    from sidecar.bridge.entry import is_id
    from sidecar.lsp.stdio import claim
    from sidecar.relayed.relay_there import run

    if not is_id(arguments.id):
        sys.stderr.write("acp-sidecar relay: the sidecar starts it itself, with an id\n")
        return 2
    run(claim(), arguments.id, os.environ)


def _reach(arguments: argparse.Namespace) -> int:
    from sidecar.bridge.calling import connected
    from sidecar.lsp.stdio import claim
    from sidecar.relayed.reach import run

    return run(claim(), lambda: connected(os.getcwd(), os.environ))


def _codex_environment(arguments: argparse.Namespace) -> int:
    from sidecar.bridge.calling import connected
    from sidecar.lsp.stdio import claim
    from sidecar.mcp.caller import Caller
    from sidecar.mcp.codex_environment import run, told
    from sidecar.mcp.tool_process import TOKEN

    calls, commands = told(os.environ)
    caller = Caller(calls.get(TOKEN, ""), lambda: connected(os.getcwd(), calls))
    return run(claim(), caller, commands)


def _guest(streams: tuple[int, int], arguments: argparse.Namespace) -> int:
    from sidecar.bridge import VARIABLE
    from sidecar.mcp.guest_names import BEHIND
    from sidecar.mcp.tool_process import JOINED, Guest, run_guest

    def sidecars():  # imported late, as above
        from sidecar.bridge.several import Several

        return Several(os.environ)

    def on_disk():
        from sidecar.alone import alone

        return alone(os.getcwd())

    hosted = VARIABLE in os.environ and not arguments.joined
    secret = os.environ.get(JOINED, "") if arguments.joined else ""
    guest = Guest(arguments.guest or BEHIND, os.getcwd(), sidecars, on_disk, hosted, secret)
    return run_guest(streams, guest, numbered=arguments.numbered)


def _proxy(arguments: argparse.Namespace) -> int:
    from sidecar.proxy.run import run

    agent = arguments.agent[1:] if arguments.agent[:1] == ["--"] else arguments.agent
    return run(agent, os.environ, arguments.name, own_tools=arguments.own_tools == "live")


def _acp(arguments: argparse.Namespace) -> int:
    if arguments.listen is not None:
        from sidecar.attach import listen

        return listen.run(os.environ, arguments.agent, arguments.listen, arguments.origin)
    from sidecar.attach.run import run

    return run(os.environ, arguments.agent)


def _websocket(arguments: argparse.Namespace) -> int:
    from sidecar.acp.elsewhere.websocket import run

    return run(arguments.url, os.environ)


def _completion(arguments: argparse.Namespace) -> int:
    from sidecar.completion import completions

    sys.stdout.write(completions(_parser(), arguments.shell))
    return 0


def _doctor(arguments: argparse.Namespace) -> int:
    from sidecar.doctor.show import run

    return run(as_json=arguments.json)


def _parser() -> argparse.ArgumentParser:
    import argparse

    from sidecar.completion import SHELLS
    from sidecar.mcp.guest_names import GUESTS, HOOK, LIVE
    from sidecar.recovery import options
    from sidecar.setup.editors import EDITORS

    parser = argparse.ArgumentParser(
        prog="acp-sidecar",
        description="Agents see your unsaved buffers, and you can undo and review their edits.",
    )
    parser.add_argument("--version", action="version", version=f"acp-sidecar {__version__}")
    parser.add_argument("-v", "--verbose", action="store_true", help="log more on stderr")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")

    lsp = commands.add_parser("lsp", help="run the language server on stdio; your editor starts it")
    lsp.add_argument("--stdio", action="store_true", help="accepted and ignored; stdio is the only transport")
    lsp.set_defaults(run=_lsp)

    demo = commands.add_parser("demo", help="play the main scenario in this terminal; needs no account")
    demo.add_argument("path", nargs="?", metavar="PATH", help="one of your files; the demo uses a copy")
    demo.add_argument(
        "--agent",
        nargs=argparse.REMAINDER,
        metavar="CMD",
        help="use your own agent instead of the scripted one",
    )
    demo.set_defaults(run=_demo)

    setup = commands.add_parser("setup", help="print the set-up file for an editor, and where to put it")
    setup.add_argument("editor", nargs="?", choices=tuple(EDITORS), metavar="EDITOR", help=", ".join(EDITORS))
    setup.add_argument(
        "--write", action="store_true", help="put the file there, unless a different one exists"
    )
    setup.set_defaults(run=_setup)

    changes = commands.add_parser("changes", help="list what agents changed in this folder")
    options.changes(changes)
    changes.set_defaults(run=_changes)

    revert = commands.add_parser("revert", help="take back an agent's changes; your later work stays")
    options.revert(revert)
    revert.set_defaults(run=_revert)

    sessions = commands.add_parser("sessions", help="list the recorded conversations of this folder")
    options.sessions(sessions)
    sessions.set_defaults(run=_sessions)

    audit = commands.add_parser("audit", help="what agents read, wrote, ran and asked, from the audit log")
    options.audit(audit)
    audit.set_defaults(run=_audit)

    doctor = commands.add_parser("doctor", help="check this machine; say what is missing and how to get it")
    doctor.add_argument("--json", action="store_true", help="print JSON")
    doctor.set_defaults(run=_doctor)

    mcp = commands.add_parser(
        "mcp", help="serve an agent's tools on stdio (MCP); agents that the editor starts run it themselves"
    )
    mcp.add_argument("--numbered", action="store_true", help="number the lines of what Read returns")
    mcp.add_argument(
        "--guest",
        choices=tuple(GUESTS),
        metavar="AGENT",
        help="for an agent that somebody else starts; `acp-sidecar connect` puts this into its settings",
    )
    mcp.add_argument(
        "--joined", action="store_true", help="for an agent that `acp-sidecar proxy` has started"
    )
    mcp.set_defaults(run=_mcp)

    environment = commands.add_parser(
        "codex-environment",
        help="carry out Codex' file operations and commands; Codex runs it itself after `acp-sidecar connect codex-live`",
    )
    environment.set_defaults(run=_codex_environment)

    for name, run, words in (
        ("connect", _connect, "let an agent that you start yourself use the text in your editor"),
        ("disconnect", _disconnect, "remove what connect added to an agent's settings"),
    ):
        one = commands.add_parser(name, help=words)
        names = [*GUESTS, HOOK, LIVE]
        one.add_argument("agent", choices=names, metavar="AGENT", help=", ".join(names))
        one.add_argument(
            "--workspace", action="store_true", help="vscode: in .vscode/mcp.json of the current folder"
        )
        one.add_argument("--print", action="store_true", help="only show what would be changed")
        one.add_argument("--yes", action="store_true", help="do not ask")
        one.set_defaults(run=run)

    proxy = commands.add_parser(
        "proxy",
        help="an ACP agent for any client: AGENT, working on the text in your editor",
        description="Run AGENT behind a proxy for any ACP client. What AGENT reads and writes is the text in your editor; without an editor, "
        "it is the disk. Example: acp-sidecar proxy -- claude-agent-acp",
    )
    proxy.add_argument(
        "--name", default="", metavar="NAME", help="the agent's name in your editor (default: its program's)"
    )
    proxy.add_argument(
        "--own-tools",
        choices=("live", "off"),
        default="live",
        help="live (default): the agent's own tools work on the text in your editor, if the agent allows it",
    )
    proxy.add_argument("agent", nargs=argparse.REMAINDER, metavar="-- AGENT", help="the agent's command")
    proxy.set_defaults(run=_proxy)

    websocket = commands.add_parser(
        "websocket",
        help="carry ACP messages between stdio and an agent at a WebSocket; agents with a `url` in the settings are run by it",
    )
    websocket.add_argument("url", metavar="URL", help="ws://… or wss://…")
    websocket.set_defaults(run=_websocket)

    relay = commands.add_parser(
        "relay",
        help="where an agent runs elsewhere, carry its tools' calls to the sidecar; the sidecar starts it itself",
    )
    relay.add_argument("--id", default="", metavar="ID", help="the name of its socket: 16 hexadecimal digits")
    relay.set_defaults(run=_relay)

    reach = commands.add_parser(
        "reach",
        help="carry out the calls of tools of an agent that runs elsewhere; the sidecar starts it itself",
    )
    reach.set_defaults(run=_reach)

    acp = commands.add_parser(
        "acp",
        help="an ACP agent for any client: the conversations in your editor",
        description="Attach an ACP client to the editor that has this folder open. The client lists, loads and drives the conversations there; "
        "editor and client see the same, and the first answer to a question counts. The editor asks you first.",
    )
    acp.add_argument(
        "--agent",
        metavar="NAME",
        help="the agent for new conversations, as named in your settings (default: your default agent)",
    )
    acp.add_argument(
        "--listen",
        type=int,
        metavar="PORT",
        help="on 127.0.0.1, for clients that connect by WebSocket or HTTP with a code that your editor shows (0: any port)",
    )
    acp.add_argument(
        "--origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="with --listen: allow pages of this origin to connect",
    )
    acp.set_defaults(run=_acp)

    completion = commands.add_parser(
        "completion",
        help="print the completions for a shell",
        description="Print the completions for a shell. For this session: "
        'eval "$(acp-sidecar completion bash)" (zsh: likewise; fish: acp-sidecar completion fish | source). To keep them, write them '
        "to ~/.local/share/bash-completion/completions/acp-sidecar, to _acp-sidecar in a folder of zsh's $fpath, or to "
        "~/.config/fish/completions/acp-sidecar.fish.",
    )
    completion.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    completion.set_defaults(run=_completion)
    return parser
