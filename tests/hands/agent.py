"""The agent of these runs: reads files, changes what it read, repeats changes that were taken back, writes to the
disk itself, and runs commands.

    python agent.py LOG
    python agent.py LOG PATH STEP      the command that it runs: "put", as a separate process

Its prompt is a JSON list of steps. For every step that changes or shows a text, it writes a line of JSON to LOG:
the text that it believed the file to have (`before`), its new text (`after`), and the answer.

    {"see": PATH}                                       reads it through the client
    {"look": PATH}                                      reads the disk, as a tool of its own
    {"change": PATH, "token", "how", "line"}            changes what it believes to be the text, through the client
    {"again": PATH}                                     reads it and repeats its last change of it
    {"put": PATH, "token", "how", "line"}               like "change" but on the disk, as a tool of its own
    {"run": PATH, "token", "how", "line"}               the same by a command in a terminal of the client's
    {"create": PATH, "token"}  {"delete": PATH}  {"rename": PATH}     on the disk, as tools of its own
    {"sleep": SECONDS}
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from fake_agent import FakeAgent


class Hand(FakeAgent):
    def __init__(self, log: str) -> None:
        super().__init__({"prompted": True}, None)
        self.log = open(log, "a", encoding="utf-8", buffering=1)  # noqa: SIM115 - open as long as the process lives
        self.views: dict[str, str] = {}
        self.made: dict[str, dict] = {}
        self.calls = 0

    def step(self, verb: str, value, step: dict, session: str) -> None:
        if verb in ("see", "look", "change", "again", "put", "run", "create", "delete", "rename"):
            getattr(self, "do_" + verb)(value, step, session)
        else:
            super().step(verb, value, step, session)

    # through the client

    def do_see(self, path: str, step: dict, session: str) -> bool:
        answer = self.ask("fs/read_text_file", {"sessionId": session, "path": path})
        text = (answer.get("result") or {}).get("content")
        self.note("see", path, None, text, answer)
        if text is None:
            self.views.pop(path, None)
            return False
        self.views[path] = text
        return True

    def do_change(self, path: str, step: dict, session: str) -> None:
        if path not in self.views and not self.do_see(path, step, session):
            return
        before = self.views[path]
        after = changed(before, step)
        self.made[path] = step
        self.begins("change", path, before, after)
        answer = self.ask("fs/write_text_file", {"sessionId": session, "path": path, "content": after})
        self.note("change", path, before, after, answer)
        if "result" in answer:
            self.views[path] = after
        else:
            self.views.pop(path)  # it reads again before it writes again

    def do_again(self, path: str, step: dict, session: str) -> None:
        if (
            path in self.made
            and self.do_see(path, step, session)
            and self.made[path]["token"] not in self.views[path]
        ):
            self.do_change(path, self.made[path], session)

    # by itself

    def do_look(self, path: str, step: dict, session: str) -> None:
        self.tool("read", path, session)
        text = on_disk(path)
        if text is not None:
            self.views[path] = text
        self.note("look", path, None, text, {"result": None})
        self.tool_ends(session)

    def do_put(self, path: str, step: dict, session: str) -> None:
        """Tells what it changed, as most agents do: before it does so or, with every second token, after it."""
        before = on_disk(path)
        after = None if before is None else changed(before, step)
        diff = [] if after is None else [{"type": "diff", "path": path, "oldText": before, "newText": after}]
        late = int(step["token"][1:-1]) % 2 == 1
        self.tool("edit", path, session, [] if late else diff)
        if before is not None and after is not None:
            write_down(
                self.log, {"verb": "put", "path": path, "before": before, "after": after, "answer": "done"}
            )
            put(path, after)
            self.views[path] = after
        self.tool_ends(session, diff)

    def do_run(self, path: str, step: dict, session: str) -> None:
        command = ["-S", os.path.abspath(__file__), self.log.name, path, json.dumps(step)]
        params = {"sessionId": session, "command": sys.executable, "args": command}
        answer = self.ask("terminal/create", params)
        terminal = (answer.get("result") or {}).get("terminalId")
        if terminal is not None:
            self.ask("terminal/wait_for_exit", {"sessionId": session, "terminalId": terminal})
            self.ask("terminal/release", {"sessionId": session, "terminalId": terminal})
        self.do_look(path, step, session)

    def do_create(self, path: str, step: dict, session: str) -> None:
        self.tool("edit", path, session)
        put(path, f"{step['token']} MADE\n")
        self.note("create", path, "", f"{step['token']} MADE\n", {"result": None})
        self.tool_ends(session)

    def do_delete(self, path: str, step: dict, session: str) -> None:
        self.tool("delete", path, session)
        before = on_disk(path)
        if before is not None:
            os.remove(path)
            self.note("delete", path, before, "", {"result": None})
        self.tool_ends(session)

    def do_rename(self, path: str, step: dict, session: str) -> None:
        self.tool("move", path, session)
        before = on_disk(path)
        if before is not None:
            os.rename(path, path + ".MOVED")
            self.note("rename", path, before, "", {"result": None})
        self.tool_ends(session)

    # inside

    def ask(self, method: str, params: dict) -> dict:
        self.calls += 1
        name = f"answer {self.calls}"
        self.request(method, params, {"as": name})
        return self.answers.get(name, {"error": {"message": "no answer within a minute"}})

    def tool(self, kind: str, path: str, session: str, content: Sequence[dict] = ()) -> None:
        self.calls += 1
        self.call = f"call {self.calls}"
        told = {"toolCallId": self.call, "title": f"{kind} {path}", "kind": kind, "status": "in_progress"}
        told |= {"content": list(content)} if content else {}
        self.update(session, {"sessionUpdate": "tool_call", **told, "locations": [{"path": path}]})

    def tool_ends(self, session: str, content: Sequence[dict] = ()) -> None:
        told = {"toolCallId": self.call, "status": "completed"}
        told |= {"content": list(content)} if content else {}
        self.update(session, {"sessionUpdate": "tool_call_update", **told})

    def begins(self, verb: str, path: str, before: str, after: str) -> None:
        """Logged first, because it may be carried out and never answered."""
        self.write_down({"verb": verb, "path": path, "before": before, "after": after, "answer": None})

    def note(self, verb: str, path: str, before: str | None, after: str | None, answer: dict) -> None:
        said = "done" if "result" in answer else json.dumps(answer.get("error"))
        self.write_down({"verb": verb, "path": path, "before": before, "after": after, "answer": said})

    def write_down(self, what: dict) -> None:
        write_down(self.log, what)


def changed(text: str, step: dict) -> str:
    """`text` with one change that inserts the step's token."""
    lines = text.splitlines(keepends=True)
    word, at = step["token"] + " MADE", step["line"] % (len(lines) + 1)
    if not lines or step["how"] == "insert" or at == len(lines):
        if lines and at == len(lines) and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        return "".join([*lines[:at], word + "\n", *lines[at:]])
    body = lines[at].rstrip("\r\n")
    end = lines[at][len(body) :]
    if step["how"] == "append":
        lines[at] = f"{body} {word}{end}"
    elif step["how"] == "inside":
        lines[at] = f"{word} {body}{end}"
    elif step["how"] == "replace":
        lines[at] = word + end
    else:
        lines[at : at + 2] = [word + (end or "\n")]
    return "".join(lines)


def on_disk(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except OSError:
        return None


def put(path: str, text: str) -> None:
    with open(path + ".part", "w", encoding="utf-8", newline="") as file:
        file.write(text)
    os.replace(path + ".part", path)


def run(path: str, step: dict, log) -> None:
    """What its command does."""
    before = on_disk(path)
    if before is not None:
        after = changed(before, step)
        write_down(log, {"verb": "run", "path": path, "before": before, "after": after, "answer": "done"})
        put(path, after)


def write_down(log, what: dict) -> None:
    log.write(json.dumps(what) + "\n")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        Hand(sys.argv[1]).main()
    else:
        with open(sys.argv[1], "a", encoding="utf-8", buffering=1) as log:
            run(sys.argv[2], json.loads(sys.argv[3]), log)
