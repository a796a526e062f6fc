"""A scripted agent that speaks raw ACP bytes: a real process, no SDK, no model.

    python fake_agent.py SCRIPT [TRACE]

SCRIPT is JSON (or `@file`): an object whose keys are methods and whose values are lists of steps, run when a message with that
method arrives, each in a thread of its own. `start` runs before anything is read. Without an entry, `initialize`, `session/new` and
`session/close` are answered as a good agent would; for `session/prompt` the key `turns` holds one list of steps per prompt (the last
one serves all later prompts), and the turn ends with `end_turn` unless a step ended it; with `"prompted": true` the steps are the
prompt itself, as JSON, behind any words. `sessions` does the same for `session/new`. With `"speaks": 2` it knows only version 2 of ACP. TRACE is a file that gets every line received.

Steps are objects with one verb; further keys are its arguments. In all strings `$session` and `$id` stand for those of the message.

    {"reply": RESULT}                 answers the message            {"fail": {"code", "message", "data"}}   answers with an error
    {"stop": REASON}                  answers a prompt               {"update": UPDATE}                      session/update
    {"say": TEXT}                     an agent_message_chunk         {"say": {"answer": NAME}}               …with the JSON of an answer
    {"request": METHOD, "params": {}, "as": NAME, "wait": true}      asks the client; its whole answer is kept under NAME
                                      (the answer to a request that was sent by `send` or `raw`: under its id)
    {"read": PATH, "line", "limit", "as", "wait"}  {"write": PATH, "content", "as", "wait"}
    {"ask": {"toolCall", "options"}, "as", "wait"}                   session/request_permission
    {"await": NAME}                   waits for an answer            {"notify": METHOD, "params": {}}
    {"send": MESSAGE}                 any JSON                       {"raw": TEXT}  {"hex": HEX}  {"fill": N, "with": "x"}   any bytes
    {"lines": FILE, "times": 1}       what a file holds
    {"wait_for": METHOD, "count": 1}  until that many have arrived   {"sleep": SECONDS}
    {"before": METHOD, "steps": [..]}   {"after": METHOD, "steps": [..]}    only while none, or once one, of these has arrived
    {"stderr": TEXT | N}              text, or N bytes               {"repeat": N, "steps": [..]}            `$n` is the round
    {"exit": CODE}  {"signal": NUMBER}  {"close": "stdout" | "stdin"}  {"never": true}      blocks this message for ever
    {"deaf": true}                    no line is read after the next one
    {"ignore": "SIGTERM"}             (start only)                   {"ignore": "eof"}  {"ignore": "input"}  stays, never reads
    {"spawn": "child" | "setsid" | "daemon" | "stubborn", "pids": FILE}   leaves a process behind; its pid is appended to FILE
    {"shell": LINE, "pids": FILE}     a shell of its own session that runs a line; likewise   {"kill": FILE}  ends those
    {"stop_reaper": true}             stops the process that looks after it (Linux)
    {"pid": FILE}                     appends the agent's own pid    {"cwd": true, "env": [NAMES]}  says them
    {"put": PATH, "text": TEXT}       writes the disk itself         {"file": PATH}  says the JSON of what the disk says there
    {"remove": PATH}                  removes a file there
    {"take": NAME, "field": FIELD}    from here on `$taken` is that field of an answer's result

Imports little, so that starting it costs little; also on interpreters without site-packages (`-S`).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time

_SLEEPER = """
import os, signal, sys, time
kind, pids = sys.argv[1:]
if kind in ("setsid", "daemon"): os.setsid()
if kind == "daemon" and os.fork(): os._exit(0)
if kind == "stubborn":
    for name in ("SIGTERM", "SIGHUP", "SIGINT"): signal.signal(getattr(signal, name), signal.SIG_IGN)
with open(pids, "a") as file: file.write(f"{os.getpid()}\\n")
time.sleep(600)
"""


class FakeAgent:
    def __init__(self, script: dict, trace: str | None) -> None:
        self.script = script
        self.trace = open(trace, "ab", buffering=0) if trace else None  # noqa: SIM115 - open as long as the process lives
        self.stdin = sys.stdin.buffer
        self.lock = threading.Lock()
        self.arrived = threading.Condition()
        self.counts: dict[str, int] = {}
        self.answers: dict[str, dict] = {}
        self.open: dict[str, str] = {}
        self.ids = 0
        self.sessions = 0
        self.turns = 0
        self.ignores_eof = False
        self.deaf = False

    # bytes

    def write(self, data: bytes) -> None:
        with self.lock:
            while data:
                data = data[os.write(1, data) :]

    def send(self, message: dict) -> None:
        self.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def main(self) -> None:
        self.run(self.script.get("start", []), {})
        while line := self.stdin.readline():
            if self.deaf:
                time.sleep(600)
            if self.trace:
                self.trace.write(line)
            message = json.loads(line)
            if "method" in message:
                steps = self.steps_for(message)
                with self.arrived:
                    self.counts[message["method"]] = self.counts.get(message["method"], 0) + 1
                    self.arrived.notify_all()
                threading.Thread(target=self.run, args=(steps, message), daemon=True).start()
            else:
                with self.arrived:
                    number = str(message.get("id"))
                    self.answers[self.open.pop(number, number)] = message
                    self.arrived.notify_all()
        if self.ignores_eof:
            time.sleep(600)
        os._exit(0)

    # steps

    def steps_for(self, message: dict) -> list[dict]:
        method = message["method"]
        if method in self.script:
            return self.script[method]
        if method == "session/new" and "sessions" in self.script:
            opened = self.script["sessions"]
            self.sessions += 1
            return opened[min(self.sessions, len(opened)) - 1]
        if method == "initialize" and self.script.get("speaks") == 2:
            if message["params"]["protocolVersion"] != 2:
                return [
                    {
                        "fail": {
                            "code": -32022,
                            "message": "Unsupported protocol version",
                            "data": {"supported": [2]},
                        }
                    }
                ]
            session = {"prompt": {"embeddedContext": {}}, "mcp": {"stdio": {}}}
            told = {
                "protocolVersion": 2,
                "info": {"name": "fake", "version": "1"},
                "capabilities": {"session": session},
            }
            return [{"reply": told}]
        if method == "initialize":
            return [{"reply": {"protocolVersion": 1, "agentInfo": {"name": "fake", "version": "1"}}}]
        if method == "session/new":
            self.sessions += 1
            return [{"reply": {"sessionId": f"s{self.sessions}"}}]
        if method == "session/prompt" and self.script.get("prompted"):
            try:
                text = message["params"]["prompt"][0]["text"]
                steps = json.loads(text[text.index("[") :])
            except ValueError:
                steps = []  # a person's words
            return [*steps, {"stop": "end_turn"}]
        if method == "session/prompt":
            turns = self.script.get("turns", [[]])
            self.turns += 1
            return [*turns[min(self.turns, len(turns)) - 1], {"stop": "end_turn"}]
        return [{"reply": {}}] if "id" in message else []

    def run(self, steps: list[dict], message: dict, round: int = 0) -> None:
        session = (message.get("params") or {}).get("sessionId", "")
        here = {"$session": session, "$id": message.get("id"), "$n": round}
        for raw in steps:
            step = _filled(raw, here)
            verb = next(iter(step))
            value = step[verb]
            if verb in ("reply", "fail", "stop"):
                if "answered" in message:
                    continue
                message["answered"] = True
                answer = {"error": value} if verb == "fail" else {"result": value}
                if verb == "stop":
                    answer = {"result": {"stopReason": value}}
                self.send({"jsonrpc": "2.0", "id": message.get("id"), **answer})
                if (
                    verb == "stop" and self.script.get("speaks") == 2
                ):  # there the answer does not end the turn
                    self.update(
                        session, {"sessionUpdate": "state_update", "state": "idle", "stopReason": value}
                    )
            elif verb in ("before", "after"):
                if (self.counts.get(value, 0) > 0) is (verb == "after"):
                    self.run(step["steps"], message, round)
            elif verb == "take":
                here["$taken"] = self.answers[value]["result"][step["field"]]
            elif verb == "repeat":
                for number in range(value):
                    self.run(step["steps"], message, number)
            else:
                self.step(verb, value, step, session)

    def step(self, verb: str, value, step: dict, session: str) -> None:
        if verb == "update":
            self.update(session, value)
        elif verb == "say":
            text = value if isinstance(value, str) else json.dumps(self.answers[value["answer"]])
            self.update(session, _chunk(text))
        elif verb == "request":
            self.request(value, step.get("params", {}), step)
        elif verb in ("read", "write"):
            params = {"sessionId": session, "path": value}
            params |= {key: step[key] for key in ("line", "limit", "content", "_meta") if key in step}
            self.request(f"fs/{verb}_text_file", params, step)
        elif verb == "ask":
            self.request("session/request_permission", {"sessionId": session, **value}, step)
        elif verb == "await":
            self.wait(lambda: value in self.answers)
        elif verb == "wait_for":
            self.wait(lambda: self.counts.get(value, 0) >= step.get("count", 1))
        elif verb == "notify":
            self.send({"jsonrpc": "2.0", "method": value, "params": step.get("params", {})})
        elif verb == "send":
            self.send(value)
        elif verb == "raw":
            self.write(value.encode("utf-8", "surrogatepass"))
        elif verb == "lines":
            with open(value, "rb") as file:
                data = file.read()
            for _ in range(step.get("times", 1)):
                self.write(data)
        elif verb == "hex":
            self.write(bytes.fromhex(value))
        elif verb == "fill":
            self.write(step.get("with", "x").encode() * value)
        elif verb == "stderr":
            data = value.encode() if isinstance(value, str) else b"e" * value
            while data:
                data = data[os.write(2, data) :]
        elif verb == "sleep":
            time.sleep(value)
        elif verb == "never":
            time.sleep(600)
        elif verb == "exit":
            os._exit(value)
        elif verb == "signal":
            os.kill(os.getpid(), value)
        elif verb == "close":
            os.close({"stdin": 0, "stdout": 1}[value])
        elif verb == "ignore":
            self.ignore(value)
        elif verb == "deaf":
            self.deaf = True
        elif verb == "spawn":
            self.spawn(value, step["pids"])
        elif verb == "shell":
            pid = os.posix_spawn("/bin/sh", ["/bin/sh", "-c", value], os.environ, setsid=True)
            with open(step["pids"], "a") as file:
                file.write(f"{pid}\n")
        elif verb == "kill":
            with open(value) as file:
                for pid in map(int, file.read().split()):
                    os.killpg(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
        elif verb == "stop_reaper":
            self.stop_reaper()
        elif verb == "pid":
            with open(value, "a") as file:
                file.write(f"{os.getpid()}\n")
        elif verb == "put":
            with open(value + ".tmp", "w", newline="", encoding=step.get("encoding")) as file:
                file.write(step["text"])
            os.replace(value + ".tmp", value)
        elif verb == "remove":
            os.remove(value)
        elif verb == "file":
            with open(value, newline="") as file:
                self.update(session, _chunk(json.dumps(file.read())))
        elif verb == "cwd":
            env = {name: os.environ.get(name) for name in step.get("env", [])}
            self.update(
                session,
                _chunk(
                    json.dumps({"cwd": os.getcwd(), "env": env, "argv": sys.argv[:1], "more": sys.argv[3:]})
                ),
            )
        else:
            raise SystemExit(f"unknown step {verb}")

    def update(self, session: str, update: dict) -> None:
        self.send(
            {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": update}}
        )

    def request(self, method: str, params: dict, step: dict) -> None:
        with self.arrived:
            self.ids += 1
            number = self.ids
            name = step.get("as", f"_{number}")
            self.open[str(number)] = name
            self.answers.pop(name, None)  # an earlier request's: this one is waited for
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        if step.get("wait", True):
            self.wait(lambda: name in self.answers)

    def wait(self, done) -> None:
        with self.arrived:
            self.arrived.wait_for(done, timeout=60)

    def ignore(self, what: str) -> None:
        if what == "eof":
            self.ignores_eof = True
        elif what == "input":
            time.sleep(600)
        else:
            signal.signal(getattr(signal, what), signal.SIG_IGN)

    def spawn(self, kind: str, pids: str) -> None:
        size = os.path.getsize(pids) if os.path.exists(pids) else 0
        argv = [sys.executable, "-S", "-c", _SLEEPER, kind, pids]
        os.posix_spawn(sys.executable, argv, os.environ)
        while not os.path.exists(pids) or os.path.getsize(pids) <= size:
            time.sleep(0.005)

    def stop_reaper(self) -> None:
        """Only what is certainly one: whatever else the parent is, it is none of ours."""
        parent = os.getppid()
        with open(f"/proc/{parent}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
        if any(word.endswith(b"/sidecar/acp/reaper.py") for word in words):
            os.kill(parent, signal.SIGSTOP)


def _chunk(text: str) -> dict:
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


def _filled(value, here: dict):
    if isinstance(value, str):
        if value in here:
            return here[value]
        for name, text in here.items():
            if name in value:
                value = value.replace(name, str(text))
        return value
    if isinstance(value, list):
        return [_filled(item, here) for item in value]
    if isinstance(value, dict):
        keep = ("steps",)  # filled when they run
        return {key: item if key in keep else _filled(item, here) for key, item in value.items()}
    return value


if __name__ == "__main__":
    text = sys.argv[1]
    if text.startswith("@"):
        with open(text[1:], encoding="utf-8") as file:
            text = file.read()
    FakeAgent(json.loads(text), sys.argv[2] if len(sys.argv) > 2 else None).main()
