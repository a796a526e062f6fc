"""A scripted model on loopback: OpenAI chat and responses, Anthropic messages, and Gemini, streamed. The script rides in the prompt.

    with ModelServer() as model:
        …base_url=model.url…
        prompt(script({"tool": "edit", "args": {…}}, {"say": "done"}))

Every request is answered with the step that is due: as many as the conversation has had tool calls since the prompt with the
script. Messages and calls have ids of their own: with one id for all claude-agent-acp takes them for one message and asks for ever. A request without a script (titles, summaries) is answered with a word, a review with `outcome`.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.e2e import gemini_api, responses_api

Json = dict[str, Any]
_ids = itertools.count(1)
_TITLE = "You are a title generator"
"""Kilo asks for a title again while the turn goes on."""
_MARK = re.compile(r"<<script (.*?) script>>", re.DOTALL)


def script(*steps: Json) -> str:
    """A prompt. A step is {"tool": name, "args": {…}}, {"say": text} or {"wait": true}: no answer until the end. Further keys of a
    tool's: {"hold": true}: no answer before `go`; {"fill": name, "old", "new"}: the argument of that name is what the last
    tool answered, with `old` replaced: what a model does that edits what it has read. {"together": [step, …]}: several tools' in one answer."""
    return f"<<script {json.dumps(steps)} script>>"


class ModelServer:
    def __init__(self) -> None:
        self.requests: list[Json] = []
        """Bodies of what was asked, with a script."""
        self.asked = threading.Event()
        """A request with a script has come."""
        self.held = threading.Event()
        """A step that is held is due."""
        self.go = threading.Event()
        self.ended = threading.Event()
        self.outcome = "allow"
        """What it says as the reviewer of an action; the other is "deny"."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
                outer.answer(self, body)

            def do_GET(self) -> None:
                _send(self, b'{"data": []}', "application/json")

            def do_HEAD(self) -> None:
                _send(self, b"", "application/json")

            def log_message(self, format: str, *args: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        self.go.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=10)

    def answer(self, handler: BaseHTTPRequestHandler, body: Json) -> None:
        if "count_tokens" in handler.path or "countTokens" in handler.path:
            _send(handler, b'{"input_tokens": 1, "totalTokens": 1}', "application/json")
            return
        responses = "input" in body
        gemini = gemini_api.is_meant(handler.path)
        if responses:
            body["messages"] = responses_api.as_messages(body["input"])
        if gemini:
            body["messages"] = gemini_api.as_messages(body["contents"])
        messages = body.get("messages", [])
        aside = bool(messages) and _text(messages[-1].get("content")).startswith("[SUGGESTION MODE")
        aside = aside or (bool(messages) and _text(messages[0].get("content")).startswith(_TITLE))
        aside = aside or (gemini and gemini_api.is_aside(body))
        step = None if aside else due(messages)  # claude-agent-acp also asks what its user may want next
        if responses_api.is_review(body):
            step = {"say": json.dumps({"outcome": self.outcome})}
        elif step is None:
            step = {"say": "ok"}
        else:
            self.requests.append(body)
            self.asked.set()
        if step.get("wait"):
            self.ended.wait(120)
        if step.get("hold"):
            self.held.set()
            self.go.wait(120)
        if "fill" in step:
            answer = _last_answer(body.get("messages", []))
            step["args"][step["fill"]] = answer.replace(step["old"], step["new"])
        if gemini:
            kind = "text/event-stream" if "streamGenerateContent" in handler.path else "application/json"
            _send(handler, gemini_api.answer(step, streamed=kind == "text/event-stream").encode(), kind)
            return
        anthropic = handler.path.split("?")[0].endswith("/messages")
        events = _anthropic(step) if anthropic else responses_api.events(step) if responses else _openai(step)
        if body.get("stream"):
            _send(handler, "".join(events).encode(), "text/event-stream")
        else:
            whole = _anthropic_whole(step) if anthropic else _openai_whole(step)
            _send(handler, json.dumps(whole).encode(), "application/json")


def due(messages: list[Json]) -> Json | None:
    """The step for this conversation; None without a script."""
    steps: list[Json] | None = None
    done = 0
    for message in messages:
        scripts = _scripts(_text(message.get("content")))
        if message.get("role") == "user" and scripts:
            # what was cancelled may be in one message with what came next
            steps, done = scripts[-1], 0
        elif message.get("role") == "assistant":
            done += _tool_calls(message)
    if steps is None:
        return None
    for step in steps:
        if done <= 0:
            return step
        done -= max(1, len(calls_of(step)))
    return {"say": "done"}


def _scripts(text: str) -> list[list[Json]]:
    """Those in a text. One that is quoted there is none (claude-agent-acp 0.101.0 asks a model about what it had a sub-agent do)."""
    found: list[list[Json]] = []
    for script in _MARK.findall(text):
        with contextlib.suppress(ValueError):
            found.append(json.loads(script))
    return found


def calls_of(step: Json) -> list[Json]:
    """Those that are made in one answer."""
    together: list[Json] | None = step.get("together")
    return together or ([step] if "tool" in step else [])


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts: list[Any] = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def _last_answer(messages: list[Json]) -> str:
    """What the tool that was called last answered (OpenAI's shape)."""
    return next((_text(m.get("content")) for m in reversed(messages) if m.get("role") == "tool"), "")


def _tool_calls(message: Json) -> int:
    content = message.get("content")
    parts: list[Any] = content if isinstance(content, list) else []
    uses = [part for part in parts if isinstance(part, dict) and part.get("type") == "tool_use"]
    return len(message.get("tool_calls") or uses)


def _send(handler: BaseHTTPRequestHandler, data: bytes, kind: str) -> None:
    try:
        handler.send_response(200)
        handler.send_header("content-type", kind)
        handler.send_header("content-length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)
    except OSError:
        pass  # it was cancelled


def _openai_message(step: Json) -> Json:
    if not (calls := calls_of(step)):
        return {"role": "assistant", "content": step.get("say", "")}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "index": number,
                "id": f"call_{next(_ids)}",
                "type": "function",
                "function": {"name": call["tool"], "arguments": json.dumps(call["args"])},
            }
            for number, call in enumerate(calls)
        ],
    }


def _openai(step: Json) -> Iterator[str]:
    reason = "tool_calls" if calls_of(step) else "stop"
    for delta, finish in ((_openai_message(step), None), ({}, reason)):
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk = {
            "id": "x",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [choice],
        }
        yield f"data: {json.dumps(chunk)}\n\n"
    yield "data: [DONE]\n\n"


def _openai_whole(step: Json) -> Json:
    reason = "tool_calls" if calls_of(step) else "stop"
    choice = {"index": 0, "message": _openai_message(step), "finish_reason": reason}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }


def _anthropic_whole(step: Json) -> Json:
    blocks: list[Json] = [
        {"type": "tool_use", "id": f"toolu_{next(_ids)}", "name": call["tool"], "input": call["args"]}
        for call in calls_of(step)
    ]
    return {
        "id": f"msg_{next(_ids)}",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": blocks or [{"type": "text", "text": step.get("say", "")}],
        "stop_reason": "tool_use" if blocks else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _anthropic(step: Json) -> Iterator[str]:
    whole = _anthropic_whole(step)
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events: list[Json] = [
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        *(
            event
            for number, block in enumerate(whole["content"])
            for event in _anthropic_block(number, block)
        ),
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    for event in events:
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def _anthropic_block(number: int, block: Json) -> Iterator[Json]:
    if block["type"] == "tool_use":
        start = {**block, "input": {}}
        delta: Json = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        start = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    yield {"type": "content_block_start", "index": number, "content_block": start}
    yield {"type": "content_block_delta", "index": number, "delta": delta}
    yield {"type": "content_block_stop", "index": number}
