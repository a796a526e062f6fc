"""The text of a transcript: where its prompt is, what sending changes, and how text is appended. Pure: texts in, edits out.

    # Chat                       a heading that is never parsed
    ## You                       a prompt that was sent
    ## Agent                     answers, one line for each tool call, questions
    ### Question 3               an open or answered question
    ## Prompt                    the last one of these: everything below it is what Send sends

Only the last `## Prompt` has a meaning. What agents say goes above it, with such lines escaped, so no agent can put words into the user's prompt or
fake a question. Edits never start after the last line's end (Neovim would add a blank line) and never touch what the user wrote.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sidecar.core.change import Edit
from sidecar.core.lineends import dominant, expand, fold
from sidecar.lsp.narration import Piece

PROMPT = "## Prompt"
YOU = "## You"
AGENT = "## Agent"
QUESTION = "### Question"
_MARKERS = (PROMPT, YOU, AGENT, QUESTION)

NEW = f"""# Chat

Write below the last heading, then choose *Send* (code lens or code action).

{PROMPT}


"""
_HEADING = re.compile(rf"(?:^|(?<=\r)){PROMPT}[ \t]*(?=[\r\n]|\Z)", re.MULTILINE)
_BLANK_LINES = re.compile(r"(?:[ \t]*(?:\r\n|\n|\r))+")


@dataclass(frozen=True, slots=True)
class PromptSection:
    """Offsets in code points. The body is the prompt without the blank lines around it."""

    heading_start: int
    body_start: int
    body_end: int
    body: str


def prompt_section(text: str) -> PromptSection | None:
    """Return the last `## Prompt` section, or None if there is no such heading any more."""
    headings = list(_HEADING.finditer(text))
    if not headings:
        return None
    heading = headings[-1]
    blank = _BLANK_LINES.match(text, heading.end())
    start = blank.end() if blank is not None else heading.end()
    body = text[start:].rstrip()
    return PromptSection(heading.start(), start, start + len(body), fold(body))


def sent(text: str) -> tuple[str, list[Edit]] | None:
    """Return the prompt and the edits that move it above its heading, or None if there is nothing to send. The prompt is moved instead of the
    heading, so that the cursor stays where the next prompt is written."""
    section = prompt_section(text)
    if section is None or not section.body:
        return None
    moved = expand(f"{YOU}\n\n{section.body}\n\n{AGENT}\n\n", dominant(text))
    return section.body, [
        Edit(section.heading_start, section.heading_start, moved),
        Edit(section.body_start, section.body_end, ""),
    ]


def appended(text: str, addition: str) -> list[Edit]:
    """Return the edits that put `addition` at the end of the history. A lost prompt heading is restored below it."""
    section = prompt_section(text)
    head = text if section is None else text[: section.heading_start]
    at = len(head.rstrip("\r\n"))
    new = addition
    if section is None:
        new = f"{addition}\n\n{PROMPT}\n"
    elif addition and not head:
        new = f"{addition.lstrip()}\n\n"
    return [Edit(at, at, expand(new, dominant(text)))] if new else []


def history(text: str) -> str:
    """Return the text above the prompt in comparable form: line ends folded, none at the end."""
    section = prompt_section(text)
    return fold(text if section is None else text[: section.heading_start]).rstrip("\n")


def question_line(text: str, number: int) -> int | None:
    """Return the line (from 0) of a question's heading, the last one if there are several."""
    wanted = f"{QUESTION} {number}"
    found = [index for index, line in enumerate(fold(text).split("\n")) if line.rstrip() == wanted]
    return found[-1] if found else None


def question_block(number: int, text: str, reason: str, labels: list[str], whole: str = "") -> str:
    """`whole`: the whole command or path, if `text` shows only part of it."""
    text = f"{text}\nIn full: {whole}" if whole else text
    quoted = "\n".join(f"> {line}".rstrip() for line in fold(text).split("\n"))
    why = f"\n>\n> {' '.join(reason.split())}" if reason else ""
    return f"{QUESTION} {number}\n\n{quoted}{why}\n\nAnswer by code lens or code action: {' · '.join(labels)}"


class Stream:
    """Turns pieces of narration into the text to append next. Blank lines at the end wait until more text follows."""

    def __init__(self) -> None:
        self._kind = ""
        self._held = ""
        self._line_start = True

    def add(self, piece: Piece) -> str:
        if piece.kind == "event":
            lead = "\n" if self._kind == "event" else "\n\n"
            return self._block("event", f"{lead}- {piece.text}")
        text = self._held + piece.text
        rest = ""
        if piece.kind != self._kind:
            rest = self.flush()
            text = piece.text.lstrip("\n")
            if not text.strip("\n"):
                return rest
            rest += "\n\n> " if piece.kind == "thought" else "\n\n"
            self._kind, self._line_start = piece.kind, True
        body, self._held = _split(text, self._line_start)
        self._line_start = self._line_start and not body
        return rest + (body.replace("\n", "\n> ") if piece.kind == "thought" else body)

    def block(self, text: str) -> str:
        """Return a paragraph of our own."""
        return self._block("block", f"\n\n{text}")

    def flush(self) -> str:
        """Return the held rest of an unfinished line. This ends the paragraph: later text must not continue that line, which could turn it into one
        of our headings."""
        held, self._held, self._kind = self._held.rstrip("\n"), "", ""
        return held

    def _block(self, kind: str, text: str) -> str:
        rest = self.flush()
        self._kind, self._line_start = kind, False
        return rest + text


def _split(text: str, line_start: bool) -> tuple[str, str]:
    """Return (the text to append now, the text that waits). Lines that look like our headings get a backslash. A last line that may still become one
    waits, as do line ends at the end."""
    lines = text.split("\n")
    for index, line in enumerate(lines):
        if (index > 0 or line_start) and line.startswith(_MARKERS):
            lines[index] = "\\" + line
    last = lines[-1]
    at_start = len(lines) > 1 or line_start
    waits = last if at_start and last and any(marker.startswith(last) for marker in _MARKERS) else ""
    shown = "\n".join(lines)
    shown = shown[: len(shown) - len(waits)]
    body = shown.rstrip("\n")
    return body, shown[len(body) :] + waits
