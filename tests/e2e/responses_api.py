"""OpenAI's Responses API for the scripted model (model_server.py): what Codex speaks.

A step's `text` in place of `args`: the tool takes free text and no JSON. `namespace`: of a tool that is in one.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
_CALLS = ("function_call", "custom_tool_call")
_ids = itertools.count(1)


def as_messages(items: list[Json]) -> list[Json]:
    """A request's `input`, in the shape of the chat API."""
    return [_as_message(item) for item in items]


def _as_message(item: Json) -> Json:
    kind = item.get("type", "message")
    if kind in _CALLS:
        return {"role": "assistant", "content": None, "tool_calls": [item]}
    if kind.endswith("_output"):
        return {"role": "tool", "content": item.get("output")}
    if kind == "agent_message":  # what one of its agents tells another, encrypted for the model only
        parts = [part.get("encrypted_content") or part.get("text", "") for part in item["content"]]
        return {"role": "user", "content": [{"type": "text", "text": text} for text in parts]}
    return {"role": item.get("role"), "content": item.get("content")}


def is_review(body: Json) -> bool:
    """Codex shows its model what the agent is about to do, and does it if the model agrees."""
    wanted = body.get("text", {}).get("format", {}).get("schema", {}).get("properties", {})
    return "outcome" in wanted


def events(step: Json) -> Iterator[str]:
    items = [_item(call) for call in step.get("together", [step])]
    response = {"id": f"resp_{next(_ids)}", "object": "response", "model": "m", "output": items}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    told: list[Json] = [{"type": "response.created", "response": {**response, "output": []}}]
    for number, item in enumerate(items):
        told += [
            {"type": f"response.output_item.{what}", "output_index": number, "item": item}
            for what in ("added", "done")
        ]
    told.append({"type": "response.completed", "response": {**response, "usage": usage}})
    for event in told:
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def _item(step: Json) -> Json:
    number = next(_ids)
    if "tool" not in step:
        content = [{"type": "output_text", "text": step.get("say", ""), "annotations": []}]
        return {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
    call = {"id": f"item_{number}", "call_id": f"call_{number}", "name": step["tool"]}
    if "namespace" in step:
        call["namespace"] = step["namespace"]
    if "text" in step:
        return {**call, "type": "custom_tool_call", "input": step["text"]}
    return {**call, "type": "function_call", "arguments": json.dumps(step["args"])}
