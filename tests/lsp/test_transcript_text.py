"""The transcript's text: tables of texts. `|` stands for a line end where a table needs one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.lineends import fold
from sidecar.lsp.narration import Piece
from sidecar.lsp.transcript_edit import apply
from sidecar.lsp.transcript_text import (
    NEW,
    Stream,
    appended,
    history,
    prompt_section,
    question_block,
    question_line,
    sent,
)


def lines(text: str) -> str:
    return text.replace("|", "\n")


PROMPTS = {
    "new": (NEW, ""),
    "one line": ("## Prompt|fix it", "fix it"),
    "blank lines around": ("## Prompt||  |fix it|| now||", "fix it|| now"),
    "indentation stays": ("## Prompt||    code|", "    code"),
    "blanks behind the heading": ("## Prompt  |fix", "fix"),
    "the last one counts": ("## Prompt|old||## Prompt|new", "new"),
    "CRLF": ("## Prompt\r\n\r\nfix\r\nit\r\n", "fix|it"),
    "CR": ("# Chat\r## Prompt\rfix", "fix"),
    "not at a line's start": ("a ## Prompt|x", None),
    "more on the line": ("## Prompts|x", None),
    "none": ("# Chat", None),
    "empty": ("", None),
}


@pytest.mark.parametrize(("text", "body"), PROMPTS.values(), ids=PROMPTS)
def test_prompt_section(text: str, body: str | None) -> None:
    section = prompt_section(lines(text))
    assert (None if section is None else section.body) == (None if body is None else lines(body))


SENT = {
    "a prompt": ("# Chat||## Prompt||fix it|", "# Chat||## You||fix it||## Agent||## Prompt|||"),
    "directly below": ("## Prompt|fix|", "## You||fix||## Agent||## Prompt||"),
    "no line end": ("## Prompt|fix", "## You||fix||## Agent||## Prompt|"),
    "room below stays": ("## Prompt|fix|||", "## You||fix||## Agent||## Prompt||||"),
    "several lines": ("## Prompt|| a||b |", "## You|| a||b||## Agent||## Prompt|| |"),
    "CRLF": ("## Prompt\r\nfix\r\n", "## You\r\n\r\nfix\r\n\r\n## Agent\r\n\r\n## Prompt\r\n\r\n"),
    "nothing": ("## Prompt|||", None),
    "no heading": ("fix it", None),
}


@pytest.mark.parametrize(("before", "after"), SENT.values(), ids=SENT)
def test_sent(before: str, after: str | None) -> None:
    taken = sent(lines(before))
    assert (None if taken is None else apply(lines(before), taken[1])) == (
        None if after is None else lines(after)
    )


APPENDED = {
    "above the prompt": ("## Agent||## Prompt|typing", "||hello", "## Agent||hello||## Prompt|typing"),
    "a running line": ("## Agent||hel||## Prompt|", "lo", "## Agent||hello||## Prompt|"),
    "blanks at its end stay": ("a ||## Prompt", "b", "a b||## Prompt"),
    "nothing above": ("## Prompt|x", "||a", "a||## Prompt|x"),
    "lost heading": ("some text|", "||a", "some text||a||## Prompt||"),
    "lost heading, nothing to add": ("some text", "", "some text||## Prompt|"),
    "everything lost": ("", "||a", "||a||## Prompt|"),
    "nothing": ("a||## Prompt|", "", "a||## Prompt|"),
    "CRLF": ("a\r\n\r\n## Prompt\r\n", "|b", "a\r\nb\r\n\r\n## Prompt\r\n"),
}


@pytest.mark.parametrize(("before", "addition", "after"), APPENDED.values(), ids=APPENDED)
def test_appended(before: str, addition: str, after: str) -> None:
    text = lines(before)
    assert apply(text, appended(text, lines(addition))) == lines(after)


@given(st.text("ab#\n\r ", max_size=30), st.text("ab\n ", max_size=20))
def test_appending_touches_nothing_the_user_wrote(around: str, addition: str) -> None:
    text = f"{around}\n## Prompt\n{around}"
    after = apply(text, appended(text, addition))
    old, new = prompt_section(text), prompt_section(after)
    assert old is not None
    assert new is not None
    assert new.body == old.body
    assert history(after) == (fold(around.rstrip("\r\n")) + addition).rstrip("\n")


STREAMS = {
    "chunks run on": ("agent:Hel agent:lo", "||Hello"),
    "line ends at the end wait": ("agent:a|| agent:b", "||a||b"),
    "and are not said": ("agent:a||", "||a"),
    "events are a list": ("event:one event:two agent:x event:three", "||- one|- two||x||- three"),
    "thoughts are quoted": ("thought:a|b agent:c", "||> a|> b||c"),
    "blank chunks say nothing": ("agent:| agent:| agent:x", "||x"),
    "a false prompt": ("agent:x|##_Prompt|y", "||x|\\##_Prompt|y"),
    "in pieces": ("agent:x|#  agent:#_Pro agent:mpt|evil", "||x|\\##_Prompt|evil"),
    "at the start": ("agent:##_Prompt", "||\\##_Prompt"),
    "in pieces at the start": ("agent:## agent:#_Question_1", "||\\###_Question_1"),
    "other headings": ("agent:#_Title|##_Part", "||#_Title|##_Part"),
    "an unfinished marker is said at last": ("agent:x|##_P event:e", "||x|##_P||- e"),
    "mid-line it is only text": ("agent:a_##_Prompt", "||a_##_Prompt"),
}


@pytest.mark.parametrize(("pieces", "expected"), STREAMS.values(), ids=STREAMS)
def test_stream(pieces: str, expected: str) -> None:
    stream = Stream()
    text = ""
    for piece in pieces.split():
        kind, _, said = piece.partition(":")
        assert kind in ("agent", "thought", "event")
        text += stream.add(Piece(kind, lines(said).replace("_", " ")))
    text += stream.flush()
    assert text == lines(expected).replace("_", " ")


CHUNK = st.text("#Promt \nYQuesi1", max_size=9)


@given(st.lists(CHUNK, max_size=12))
def test_no_agent_can_make_a_heading_of_ours(chunks: list[str]) -> None:
    stream = Stream()
    text = "".join(
        stream.add(Piece("agent", chunk)) for chunk in [*chunks, "\n## Prompt\n### Question 1", ""]
    )
    text += stream.flush()
    assert prompt_section(text) is None
    assert question_line(text, 1) is None
    assert "".join(chunks).replace("\n", "") in text.replace("\\", "").replace("\n", "")


HEADING = st.sampled_from(["### Question 1", "## Prompt"])
BETWEEN = st.lists(
    st.sampled_from(["end", "thought:\n", "agent:", "thought:", "agent:\n", "event:x"]), max_size=3
)


@given(st.lists(st.tuples(HEADING, st.integers(0, 14), BETWEEN), min_size=1, max_size=3))
def test_no_late_or_interrupted_chunk_completes_one(scenes: list[tuple[str, int, list[str]]]) -> None:
    """A heading in two parts, and what comes between them. `end`: a turn's end, after which agents may go on talking."""
    stream = Stream()
    text = ""
    for heading, cut, between in scenes:
        for said in [f"agent:\n{heading[:cut]}", *between, f"agent:{heading[cut:]}"]:
            kind, _, chunk = said.partition(":")
            text += stream.flush() if kind == "end" else stream.add(Piece(kind, chunk))
    text += stream.flush()
    assert prompt_section(text) is None
    assert question_line(text, 1) is None


def test_a_question_is_found_again() -> None:
    block = question_block(3, "change /w/a\nand more", "it is\nprotected", ["Reject", "Allow once"])
    assert block == lines(
        "### Question 3||> change /w/a|> and more|>|> it is protected||"
        "Answer by code lens or code action: Reject · Allow once"
    )
    text = f"# Chat\r\n{block}\n\n## Prompt\n"
    assert question_line(text, 3) == 1
    assert question_line(text, 30) is None
