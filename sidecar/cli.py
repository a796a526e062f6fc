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
    from sidecar.mcp.tool_process import RELAY, TO_A_PERSON, run

    streams = claim(TO_A_PERSON)
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
        return _by_programs(arguments, "the sidecar starts it, with an id")
    run(claim(""), arguments.id, os.environ)


def _reach(arguments: argparse.Namespace) -> int:
    from sidecar.bridge.calling import connected
    from sidecar.lsp.stdio import at_a_terminal, claim
    from sidecar.relayed.reach import run

    if at_a_terminal():
        return _by_programs(arguments, "the sidecar starts it")
    return run(claim(""), lambda: connected(os.getcwd(), os.environ))


def _codex_environment(arguments: argparse.Namespace) -> int:
    from sidecar.bridge.calling import connected
    from sidecar.lsp.stdio import at_a_terminal, claim
    from sidecar.mcp.caller import Caller
    from sidecar.mcp.codex_environment import run, told
    from sidecar.mcp.tool_process import TOKEN

    if at_a_terminal():  # it would start the program that has started it: a shell
        return _by_programs(arguments, "Codex starts it, after `acp-sidecar connect codex-live`")
    calls, commands = told(os.environ)
    caller = Caller(calls.get(TOKEN, ""), lambda: connected(os.getcwd(), calls))
    return run(claim(""), caller, commands)


def _by_programs(arguments: argparse.Namespace, who: str) -> int:
    sys.stderr.write(f"acp-sidecar {arguments.command}: {who}; there is nothing for you to do with it\n")
    return 2


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


def _port(word: str) -> int:
    import argparse

    if not (word.isascii() and word.isdecimal() and len(word) <= 5 and int(word) <= 65535):
        raise argparse.ArgumentTypeError("not a port: a whole number from 0 to 65535")
    return int(word)


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

    def command(name: str, words: str, more: str = "") -> argparse.ArgumentParser:
        """`words`: in the list of commands, in completions and at the top of the command's own help. `more`: at its end, line by line."""
        return commands.add_parser(
            name,
            help=words,
            description=f"{words[0].upper()}{words[1:]}.",
            epilog=more,
            formatter_class=argparse.RawDescriptionHelpFormatter if more else argparse.HelpFormatter,
        )

    # People's commands first, then those that programs start

    demo = command("demo", "play the main scenario in this terminal; needs no account")
    demo.add_argument("path", nargs="?", metavar="PATH", help="one of your files; the demo uses a copy")
    demo.add_argument(
        "--agent",
        nargs=argparse.REMAINDER,
        metavar="CMD",
        help="the command of your own agent, with its arguments, instead of the scripted agent; must come last",
    )
    demo.set_defaults(run=_demo)

    setup = command("setup", "print the set-up file for an editor, and where to put it")
    setup.add_argument("editor", nargs="?", choices=tuple(EDITORS), metavar="EDITOR", help=", ".join(EDITORS))
    setup.add_argument(
        "--write", action="store_true", help="put the file in its place, unless a different one exists there"
    )
    setup.set_defaults(run=_setup)

    doctor = command("doctor", "check this machine; say what is missing and how to get it")
    doctor.add_argument("--json", action="store_true", help="print JSON")
    doctor.set_defaults(run=_doctor)

    changes = command("changes", "list what agents changed in this folder")
    options.changes(changes)
    changes.set_defaults(run=_changes)

    revert = command("revert", "take back an agent's changes; your later work stays")
    options.revert(revert)
    revert.set_defaults(run=_revert)

    sessions = command("sessions", "list the recorded conversations of this folder")
    options.sessions(sessions)
    sessions.set_defaults(run=_sessions)

    audit = command("audit", "show what agents read, wrote, ran and asked, and where that log is")
    options.audit(audit)
    audit.set_defaults(run=_audit)

    for name, run, words in (
        ("connect", _connect, "let an agent that you start yourself use the text in your editor"),
        ("disconnect", _disconnect, "remove what connect added to an agent's settings"),
    ):
        one = command(name, words)
        names = [*GUESTS, HOOK, LIVE]
        one.add_argument("agent", choices=names, metavar="AGENT", help=", ".join(names))
        one.add_argument(
            "--workspace", action="store_true", help="vscode: in .vscode/mcp.json of the current folder"
        )
        one.add_argument("--print", action="store_true", help="only show what would be changed")
        one.add_argument("--yes", action="store_true", help="do not ask")
        one.set_defaults(run=run)

    proxy = command(
        "proxy",
        "run an agent for another ACP client, on the text in your editor",
        """\
Put `acp-sidecar proxy --` before the agent's command in your ACP client:
  acp-sidecar proxy -- claude-agent-acp
What the agent reads and writes is the text in your editor; without an editor,
it is the disk.""",
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
    proxy.add_argument(
        "agent",
        nargs=argparse.REMAINDER,
        metavar="-- AGENT",
        help="the agent's command; a conductor's chain of ACP proxies needs none",
    )
    proxy.set_defaults(run=_proxy)

    acp = command(
        "acp",
        "let another ACP client join the conversations in your editor",
        """\
Name `acp-sidecar acp` as the agent in your ACP client. It attaches the client
to the editor that has this folder open; the editor asks you first. The client
lists, loads and drives the conversations there. Editor and client show the
same, and the first answer to a question counts.""",
    )
    acp.add_argument(
        "--agent",
        metavar="NAME",
        help="the agent for new conversations, as named in your settings (default: your default agent)",
    )
    acp.add_argument(
        "--listen",
        type=_port,
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

    completion = command(
        "completion",
        "print the completions for a shell",
        """\
for this session:
  bash, zsh  eval "$(acp-sidecar completion bash)"
  fish       acp-sidecar completion fish | source
to keep them, write them to:
  bash       ~/.local/share/bash-completion/completions/acp-sidecar
  zsh        _acp-sidecar, in a folder of $fpath
  fish       ~/.config/fish/completions/acp-sidecar.fish""",
    )
    completion.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    completion.set_defaults(run=_completion)

    lsp = command("lsp", "run the language server on stdio; your editor starts it")
    lsp.add_argument("--stdio", action="store_true", help="accepted and ignored; stdio is the only transport")
    lsp.set_defaults(run=_lsp)

    mcp = command("mcp", "serve the sidecar's tools on stdio (MCP); agents start it")
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

    environment = command(
        "codex-environment",
        "carry out Codex' edits in your editor; Codex starts it after `connect codex-live`",
    )
    environment.set_defaults(run=_codex_environment)

    websocket = command(
        "websocket",
        "carry ACP messages between stdio and a WebSocket; the sidecar starts it for agents with a `url` in the settings",
    )
    websocket.add_argument("url", metavar="URL", help="ws://… or wss://…")
    websocket.set_defaults(run=_websocket)

    relay = command(
        "relay",
        "carry calls of the sidecar's tools from the machine where an agent runs; the sidecar starts it there",
    )
    relay.add_argument("--id", default="", metavar="ID", help="the name of its socket: 16 hexadecimal digits")
    relay.set_defaults(run=_relay)

    reach = command(
        "reach",
        "carry out the calls that a relay sends; the sidecar starts it",
    )
    reach.set_defaults(run=_reach)
    return parser
