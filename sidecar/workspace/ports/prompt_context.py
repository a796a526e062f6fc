"""The context of a prompt, on request: a selection and its diagnostics, as blocks after the prompt.

The text of a selection is the document's, with unsaved changes; positions are the editor's. Diagnostics come from the
client, because only the client has them all. Our own hints are left out: they mark agents' changes, and an agent would
take them for problems. The size is limited, and the user is told what was not sent.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sidecar.core.escape import escape, shorten
from sidecar.core.json_types import Json
from sidecar.core.text import Encoding, Position, Range, Text
from sidecar.core.uri import DocumentUri, to_path

OWN_SOURCE = "acp-sidecar"
"""The source of diagnostics that we publish."""
MAX_SELECTED = 256 * 1024
"""Code points of a selection."""
MAX_PROBLEMS = 100
"""Diagnostics of one document."""
_MAX_MESSAGE = 1000
_SEVERITIES = {1: "error", 2: "warning", 3: "information", 4: "hint"}


@dataclass(frozen=True, slots=True)
class Problem:
    """One diagnostic from another program."""

    where: Position
    """Where it starts."""
    message: str
    severity: int | None = None
    """LSP's: 1 (error) to 4 (hint)."""
    source: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Mention:
    """One document that a prompt refers to."""

    uri: DocumentUri
    selection: Range | None = None
    problems: tuple[Problem, ...] = ()


def selected(text: Text, selection: Range, encoding: Encoding) -> str:
    """The text of a selection. A position outside the text counts as the nearest position inside it."""
    start = text.offset_at(selection.start, encoding)
    return text.slice(start, max(start, text.offset_at(selection.end, encoding)))


def selection_block(uri: str, words: str, selection: Range, *, embedded: bool) -> Json:
    """A block for the agent. Its line numbers start from 1, as people and agents count."""
    first, last = selection.start.line + 1, selection.end.line + 1
    if selection.end.character == 0 and last > first:
        last -= 1
    lines = f"L{first}" if first == last else f"L{first}-L{last}"
    if embedded:
        return {
            "type": "resource",
            "resource": {"uri": f"{uri}#{lines}", "mimeType": "text/plain", "text": words},
        }
    where = f"line {first}" if first == last else f"lines {first} to {last}"
    return {"type": "text", "text": f"Selected in {_name(uri)}, {where}:\n```\n{words}\n```"}


def whole_block(uri: str, text: str, *, embedded: bool) -> Json:
    """A block for the agent with a document's whole text. Without `embedded`, the text is in a fence that it cannot end."""
    if embedded:
        return {"type": "resource", "resource": {"uri": uri, "mimeType": "text/plain", "text": text}}
    runs = re.findall("`+", text)
    fence = "`" * max(3, *(len(run) + 1 for run in runs), 0)
    return {
        "type": "text",
        "text": f"Unsaved text of {_name(uri)}:\n{fence}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}",
    }


def others_problems(problems: Sequence[Problem]) -> list[Problem]:
    """The diagnostics without our own hints, the most severe first; at most MAX_PROBLEMS."""
    others = [problem for problem in problems if problem.source != OWN_SOURCE]
    return sorted(others, key=lambda p: (p.severity or 1, p.where))[:MAX_PROBLEMS]


def named_severity(problem: Problem) -> str:
    return _SEVERITIES.get(problem.severity or 1, "error")


def problems_block(uri: str, problems: Sequence[Problem]) -> Json:
    """A block for the agent, with one line for each diagnostic."""
    lines = [f"Diagnostics of {_name(uri)} (line:column, from 1):"]
    for problem in problems:
        what = named_severity(problem)
        by = " ".join(word for word in (problem.source, problem.code) if word)
        message = shorten(" ".join(problem.message.split()), _MAX_MESSAGE)
        lines.append(
            f"{problem.where.line + 1}:{problem.where.character + 1} {what}{f' [{by}]' if by else ''}: {message}"
        )
    return {"type": "text", "text": "\n".join(lines)}


def _name(uri: str) -> str:
    return to_path(DocumentUri(uri)) or uri


def shown(uri: str) -> str:
    """The document's name for a message to the user."""
    return shorten(escape(os.path.basename(_name(uri))), 80)
