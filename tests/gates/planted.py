"""Planted defects: `python planted.py DEFECT` is `acp-sidecar lsp`, made bad on purpose. Each gate must notice those of its own.

A careless change could make any of these. (`impatient` is no defect: it shortens the time limits, so that they can be waited for. Nor is `stopwatch`.)
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Mapping
from typing import Any


def impatient() -> None:
    from sidecar import connection
    from sidecar.acp.limits import Limits, WireLimits

    # the first two are for a program to start in, on a machine with other work
    quick = Limits(initialize=8.0, silence=8.0, cancel=0.5, wire=WireLimits(stalled=1.5))
    connection.HostedAgents = functools.partial(connection.HostedAgents, limits=quick)


def nobody_is_given_up() -> None:
    """As where requests have no time limits."""
    from sidecar.acp.client import AgentConnection

    request = AgentConnection._request

    async def endless(self: AgentConnection, method: str, params: Any, limit: Any, **how: Any) -> Any:
        return await request(self, method, params, None, **how)

    AgentConnection._request = endless


def meta_shadows() -> None:
    """What the SDK's routers do: members of `_meta` override the arguments."""
    from sidecar.acp import files

    parse = files.parse

    def shadowed(method: str, params: Any) -> Any:
        return parse(method, {**params, **(params.get("_meta") or {})})

    files.parse = shadowed


def noise_is_fatal() -> None:
    """What the SDK's transport does: a line that is JSON and no object ends the connection."""
    from sidecar.acp.line_parser import LineParser

    split = LineParser._split

    def strict(self: LineParser, data: bytes) -> None:
        split(self, data)
        if any(line.strip() in (b"42", b"null", b"[]") for line in self._lines):
            self._lines.clear()
            self._too_long = True  # which ends the connection

    LineParser._split = strict


def wrong_params_go_unanswered() -> None:
    """As pygls does."""
    from sidecar.lsp.errors import InvalidParams
    from sidecar.lsp.protocol import SidecarProtocol

    answer = SidecarProtocol._answer_exception

    def silent(self: SidecarProtocol, msg_id: Any, method: str, error: BaseException) -> None:
        if not isinstance(error, InvalidParams):
            answer(self, msg_id, method, error)

    SidecarProtocol._answer_exception = silent


def bad_input_pops_up() -> None:
    """As pygls does."""
    from sidecar.lsp.protocol import SidecarProtocol

    broken = SidecarProtocol._on_broken

    def loud(self: SidecarProtocol, message: Any) -> None:
        self.notify("window/showMessage", {"type": 1, "message": message.reason})
        broken(self, message)

    SidecarProtocol._on_broken = loud


def nobody_waits() -> None:
    """Requests are served as they come to be scheduled, as where every one has a task and nothing else."""
    from sidecar.workspace.state.queues import Queues

    Queues.blocked = lambda self, ticket: False


def everything_is_kept() -> None:
    """A history that nobody bounds."""
    from sidecar.lsp.updates import Updates

    add, kept = Updates.add, []

    def remembering(self: Updates, session_id: str, update: Any) -> None:
        kept.append((update, bytearray(16 * 1024)))
        add(self, session_id, update)

    Updates.add = remembering


def one_update_takes_long() -> None:
    """Something that waits where nothing may."""
    import time

    from sidecar.lsp.updates import Updates

    add, count = Updates.add, itertools.count()

    def slow(self: Updates, session_id: str, update: Any) -> None:
        if next(count) == 1000:
            time.sleep(2)
        add(self, session_id, update)

    Updates.add = slow


def the_writer_blocks() -> None:
    """Messages to the editor are written where they come about."""
    from sidecar.lsp.writer import OutputWriter

    def send(self: OutputWriter, body: Any, key: object = None) -> None:
        if not isinstance(body, bytes):
            pieces = ([one] if isinstance(one, bytes) else one.escaped() for one in body)
            body = b"".join(itertools.chain.from_iterable(pieces))
        self._write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    OutputWriter.send = send


def no_reaper() -> None:
    """Agents are children like any other."""
    from sidecar.acp import posix

    script = """
import os, signal, sys
control, status, agent = int(sys.argv[1]), int(sys.argv[2]), sys.argv[6:]
pid = os.posix_spawn(agent[0], agent, os.environ, setsid=True)
os.write(status, f"started {pid}\\n".encode())
"""
    posix.start.__kwdefaults__["reaper"] = (sys.executable, "-c", script)


def words_of_others_are_shown_as_they_are() -> None:
    from sidecar.acp import permission
    from sidecar.workspace.consent import consent

    permission.plain = lambda text, limit=200: text
    consent.escape = lambda text, **_: text


def whoever_is_configured_is_started() -> None:
    from sidecar.approvals import Approvals

    Approvals.knows = lambda self, command: True


def stop_is_a_request() -> None:
    """As where only the agent is asked to stop: what it asks for afterwards is done."""
    from sidecar.workspace.state.sessions import Session

    def nothing(self: Session) -> None: ...

    Session.answered = Session.stop = nothing


def labels_are_believed() -> None:
    """A label that begins like a yes is taken for one."""
    from sidecar.acp import permission

    permission._honest = lambda label, kind: label


def what_is_long_is_cut() -> None:
    """A command is shown by its head and tail, and may be allowed for good."""
    from sidecar.acp import permission
    from sidecar.workspace.consent import shown

    shorten, plain = shown.shorten, permission.plain
    permission.SHOWN_WHOLE = 10**9
    shown.Shown.part = lambda self, text, limit=600: shorten(text, limit)
    permission.plain = lambda text, limit=200: plain(text, min(limit, 400))


def commands_are_escaped_at_once() -> None:
    """As where no thread does it."""
    from sidecar.acp import incoming
    from sidecar.workspace.consent import consent

    incoming.ESCAPING = consent.ESCAPING = 0


def agents_are_who_they_say() -> None:
    """Quirks by the name that an agent gives itself."""
    from sidecar.acp.client import AgentConnection
    from sidecar.acp.facts import at
    from sidecar.acp.quirks import NONE, TABLE

    request = AgentConnection._request

    async def asked(self: AgentConnection, method: str, *args: Any, **how: Any) -> Any:
        answer = await request(self, method, *args, **how)
        if method == "initialize":
            name = at(answer, "agentInfo", "name")
            self._incoming.quirks = next((quirks for quirks in TABLE if name in quirks.names), NONE)
        return answer

    AgentConnection._request = asked


def lists_know_one_agent() -> None:
    """Lists that nobody added to since the first agent."""
    from sidecar import matchers

    matchers.SECRET_PATTERNS = (".env*", "*.pem", "id_rsa*")
    matchers.PROTECTED_PATTERNS = (".git", ".claude", "**/.vscode/*.json")


def agents_name_folders() -> None:
    """A conversation is taken up in the folders that its agent says it has."""
    from sidecar.workspace.consent.offered_folders import Granted
    from sidecar.workspace.sessions.opening import Opening

    async def granted(self: Opening, about: Any) -> Granted:
        return Granted(about, frozenset({"/"}))

    Opening.granted = granted


def sign_in_is_handed_out() -> None:
    """What an agent names to log in with is taken for its own program."""
    from sidecar.workspace.sessions.opening import Opening

    async def nobody(self: Opening, *args: Any) -> None: ...

    Opening.may_sign_in = nobody


def folders_are_walked_by_calls() -> None:
    """One call for each folder within another; and who looks at the files takes the turn along when it fails."""
    import os

    from sidecar.disk import folder_files
    from sidecar.workspace.behind.found_files import FoundFiles
    from sidecar.workspace.behind.tree_notes import Touched

    def walk(folder: str, repositories: list[str], below: str = "") -> Any:
        for entry in sorted(os.scandir(os.path.join(folder, below)), key=lambda entry: entry.name):
            name = os.path.join(below, entry.name)
            if entry.is_file():
                yield name
            else:
                yield from walk(folder, repositories, name)

    async def note(self: FoundFiles, session: Any) -> None:
        self._starts.begin(session)
        await self._starts.take(session, Touched())

    folder_files._walk, FoundFiles.note = walk, note


def characters_are_counted() -> None:
    """A budget of characters, as if each took one byte; and a string with an emoji waits as one."""
    from sidecar import long_json
    from sidecar.acp import incoming
    from sidecar.core import held
    from sidecar.core.text_parts import TextParts

    class Characters:
        getsizeof = staticmethod(len)

    class Strings(TextParts):
        def in_one_piece(self, part: str) -> int:
            return 0

    held.sys = Characters
    long_json.NarrowParts = Strings
    incoming.narrowed = lambda text: text


def only_writes_are_counted() -> None:
    """What other requests contain is held as long as they wait."""
    from sidecar.acp import incoming

    incoming.Incoming._room = lambda self, params: None


def everybody_may_wait() -> None:
    """For the end of one terminal, as often as somebody asks."""
    from sidecar.acp import terminal_requests

    terminal_requests.WAITS_AT_MOST = 1 << 40


def every_text_is_kept_apart() -> None:
    """Each as a string of its own, and the last ones for ever."""
    from collections import deque

    from sidecar.core.kept import Kept
    from sidecar.core.text import Text

    last: deque[Kept] = deque(maxlen=8)

    def apart(text: object, like: object = None) -> Kept:
        last.append(Kept(Text(str(text))))
        return last[-1]

    Kept.of = Kept.of_raw = staticmethod(apart)


def texts_are_copied() -> None:
    """Each is made anew, as a whole and in ASCII, by whoever needs it in another form."""
    import json

    from sidecar.core.kept_hunks import AsJson
    from sidecar.journal import texts

    def whole(self: AsJson) -> Any:
        rows = [[h.old, *((v.author.write, v.text) for v in h.versions)] for h in self._hunks]
        yield json.dumps(rows).encode()

    AsJson.__iter__ = whole
    texts.encoded = lambda text: (str(text).encode("utf-8", "surrogatepass"),)


def outputs_are_small() -> None:
    """Answers with the output of a terminal are made as fast as they are asked for."""
    from sidecar.acp import command_line
    from sidecar.acp.terminal_requests import SessionTerminals

    impatient()
    command_line.MOST_OUTPUT = 16 * 1024 * 1024
    SessionTerminals.has_much = lambda self, terminal_id: False


def refusals_are_always_written() -> None:
    """Those of malformed requests, also where nobody reads them; and they repeat ids of any length."""
    from sidecar.acp import json_rpc
    from sidecar.acp.transport import LineTransport

    impatient()
    json_rpc.LONGEST_NAME = 1 << 40

    def reject(self: LineTransport, fault: json_rpc.MessageFault, message: Any) -> None:
        error = {"code": fault.code, "message": fault.words}
        self.post({"jsonrpc": "2.0", "id": fault.request_id, "error": error})

    LineTransport._reject = reject


def what_is_named_is_read() -> None:
    """Each time, by each spelling."""
    from sidecar.workspace.behind.evidence import Evidence
    from sidecar.workspace.state.looking import Looking

    reads = Evidence._reads

    def forgetful(self: Evidence, session: Any, path: str) -> None:
        self._seen.clear()
        reads(self, session, path)

    Evidence._reads = forgetful
    Looking.look = lambda self, file: self._read(file)


def stopwatch() -> None:
    """No defect: notes the longest step of the event loop, in ms of processor time, in the file that the environment names. Begins anew
    when that file is gone."""
    import os
    import time
    from asyncio.events import Handle
    from pathlib import Path

    file, run, longest = Path(os.environ["LONGEST_STEP"]), Handle._run, [0.0]

    def timed(self: Handle) -> None:
        began = time.thread_time()
        run(self)
        took = (time.thread_time() - began) * 1e3
        if took > 1.0:
            longest[0] = max(took, longest[0] if file.exists() else 0.0)
            whole = file.with_suffix(".new")
            whole.write_text(str(longest[0]))
            os.replace(whole, file)  # who reads it never sees half of it

    Handle._run = timed


def lines_are_read_at_once() -> None:
    """Where a line is one thing, however long it is."""
    from sidecar.acp import line_parser

    stopwatch()
    line_parser._LONG = 1 << 40


def any_number_of_values() -> None:
    """As where only bytes are counted."""
    import sidecar.acp.messages
    import sidecar.long_json

    sidecar.long_json.VALUES = sidecar.long_json.SKELETON = 1 << 40
    sidecar.acp.messages.has_too_many_values = lambda line: False


def the_editor_is_read_at_once() -> None:
    """However large its message is; and texts for it are escaped where they come about."""
    from sidecar.lsp import server
    from sidecar.lsp.long_texts import Marks

    stopwatch()
    server.LARGE = 1 << 40
    in_pieces = Marks.in_pieces

    def whole(self: Marks, encoded: str) -> Any:
        pieces = in_pieces(self, encoded)
        return [
            data for piece in pieces for data in ([piece] if isinstance(piece, bytes) else piece.escaped())
        ]

    Marks.in_pieces = whole


def what_agents_say_is_encoded_at_once() -> None:
    """Where it comes about, however long it is."""
    from sidecar.lsp import protocol

    stopwatch()
    protocol.LongValue.of = staticmethod(lambda value: None)


def large_texts_are_worked_on_at_once() -> None:
    """As where no thread does it."""
    from sidecar.workspace.ports import aside

    stopwatch()
    aside.LARGE = 1 << 40


def the_bridge_reads_lines_at_once() -> None:
    from sidecar.bridge import server

    stopwatch()
    server.LARGE = 1 << 40


def turns_leave_something() -> None:
    """Sixteen megabytes and a descriptor each."""
    import os

    from sidecar.acp.client import AgentConnection

    prompt, left = AgentConnection.prompt, []

    async def leaving(self: AgentConnection, *args: Any, **how: Any) -> Any:
        left.append((os.urandom(16 * 1024 * 1024), os.open(os.devnull, os.O_RDONLY)))
        return await prompt(self, *args, **how)

    AgentConnection.prompt = leaving


DEFECTS: Mapping[str, Callable[[], None]] = {
    defect.__name__: defect
    for defect in (
        impatient,
        nobody_is_given_up,
        meta_shadows,
        noise_is_fatal,
        wrong_params_go_unanswered,
        bad_input_pops_up,
        nobody_waits,
        everything_is_kept,
        one_update_takes_long,
        the_writer_blocks,
        no_reaper,
        words_of_others_are_shown_as_they_are,
        whoever_is_configured_is_started,
        stop_is_a_request,
        labels_are_believed,
        what_is_long_is_cut,
        commands_are_escaped_at_once,
        agents_are_who_they_say,
        lists_know_one_agent,
        agents_name_folders,
        sign_in_is_handed_out,
        folders_are_walked_by_calls,
        characters_are_counted,
        only_writes_are_counted,
        everybody_may_wait,
        every_text_is_kept_apart,
        texts_are_copied,
        outputs_are_small,
        refusals_are_always_written,
        what_is_named_is_read,
        stopwatch,
        lines_are_read_at_once,
        any_number_of_values,
        the_editor_is_read_at_once,
        what_agents_say_is_encoded_at_once,
        large_texts_are_worked_on_at_once,
        the_bridge_reads_lines_at_once,
        turns_leave_something,
    )
}


def names() -> set[tuple[str, str]]:
    """What can be replaced in the modules and classes of the product that are imported, with where it is."""
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "sidecar"]
    kinds = {kind for module in modules for kind in vars(module).values() if isinstance(kind, type)}
    ours = [kind for kind in kinds if kind.__module__.partition(".")[0] == "sidecar"]
    return {(where.__name__, name) for where in (*modules, *ours) for name in dir(where)}


if __name__ == "__main__":
    del sys.path[0]  # this folder
    DEFECTS[sys.argv[1]]()
    from sidecar.cli import main

    raise SystemExit(main(["lsp"]))
