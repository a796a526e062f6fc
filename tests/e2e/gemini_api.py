"""Gemini's API for the scripted model (model_server.py): what Gemini CLI speaks."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
_ids = itertools.count(1)


def is_meant(path: str) -> bool:
    return "enerateContent" in path


def as_messages(contents: list[Json]) -> list[Json]:
    """A request's `contents`, in the shape of the chat API."""
    return [message for content in contents for message in _messages(content)]


def _messages(content: Json) -> Iterator[Json]:
    parts: list[Json] = content.get("parts", [])
    if content.get("role") == "model":
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        yield {"role": "assistant", "content": parts, "tool_calls": calls}
    elif answers := [part for part in parts if "functionResponse" in part]:
        told = "".join(_answer(part["functionResponse"]) for part in answers)
        others = [part for part in parts if "functionResponse" not in part]
        yield {"role": "tool", "content": [{"type": "text", "text": told}, *others], "parts": answers}
    else:
        yield {"role": "user", "content": parts}


def _answer(response: Json) -> str:
    told = response.get("response", {})
    return str(told.get("output") or told.get("error") or "")


def is_aside(body: Json) -> bool:
    """It also asks its model which model to use, and who is to speak next; the answers have a schema."""
    return "application/json" in json.dumps(body.get("generationConfig", {}))


def answer(step: Json, *, streamed: bool) -> str:
    parts = [_part(part) for part in step.get("together", [step])]
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    whole = json.dumps({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m"})
    return f"data: {whole}\n\n" if streamed else whole


def _part(step: Json) -> Json:
    if "tool" not in step:
        return {"text": step.get("say", "")}
    call = {"id": f"call_{next(_ids)}", "name": step["tool"], "args": step["args"]}
    return {"functionCall": call, "thoughtSignature": "c2lnbmVk"}
