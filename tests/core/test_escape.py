"""escape: what a person is shown is what there is."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.escape import command_line, escape, plain, shorten

# text · shown
SHOWN = [
    ("", ""),
    ("plain words, 100 %", "plain words, 100 %"),
    ("grün 😀 日本語 é", "grün 😀 日本語 é"),
    ("a\nb\rc\td", r"a\nb\rc\td"),
    ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
    ("\x00\x07\x7f\x9b", r"\x00\x07\x7f\x9b"),
    ("gnp.\u202eexe", r"gnp.\u202eexe"),
    ("\u2066\u2069\u200e\u061c", r"\u2066\u2069\u200e\u061c"),
    ("a\u200bb\u200dc\ufeffd\u00ad", r"a\u200bb\u200dc\ufeffd\xad"),
    ("\u00a0\u2003\u3000", r"\xa0\u2003\u3000"),
    ("\u2028\u2029\x85", r"\u2028\u2029\x85"),
    ("\u3164\u115f\u2800\u034f", r"\u3164\u115f\u2800\u034f"),
    ("❤\ufe0f", "❤\ufe0f"),
    ("a\ufe01\U000e0101", r"a\ufe01\U000e0101"),
    ("\U000e0041\ud800\ue000", r"\U000e0041\ud800\ue000"),
]


@pytest.mark.parametrize(("text", "shown"), SHOWN)
def test_shown(text: str, shown: str) -> None:
    assert escape(text) == shown


def test_lines_can_be_kept() -> None:
    assert escape("a\nb\r\nc", keep_newlines=True) == "a\nb\\r\nc"


@given(st.text())
def test_nothing_invisible_is_left(text: str) -> None:
    assert escape(text).isprintable()


# words · the line
LINES = [
    (["pytest", "-q", "tests/a_b.py"], "pytest -q tests/a_b.py"),
    (["sh", "-c", "echo 'it is'"], """sh -c "echo 'it is'\""""),
    (["echo", """it's "5$\""""], """echo 'it'\\''s "5$"'"""),
    (["echo", "", "a b", "a|b"], "echo '' 'a b' 'a|b'"),
    (["echo", "x\ny", "gpj.\u202efdp"], r"echo 'x\ny' 'gpj.\u202efdp'"),
]


@pytest.mark.parametrize(("words", "line"), LINES)
def test_a_command(words: list[str], line: str) -> None:
    assert command_line(words) == line


@given(st.lists(st.text("ab '\"$\\`|~é", max_size=8)))
def test_a_shell_reads_the_words_of_a_command(words: list[str]) -> None:
    assert shlex.split(command_line(words)) == words


# text · limit · shortened
SHORTENED = [
    ("abc", 3, "abc"),
    ("abcdefghi", 6, "abcd …[3 more characters]… hi"),
    ("x" * 5000 + "rm", 30, "x" * 20 + " …[4972 more characters]… xxxxxxxxrm"),
    ("abc", 1, " …[2 more characters]… c"),
]


@pytest.mark.parametrize(("text", "limit", "shortened"), SHORTENED)
def test_shortened(text: str, limit: int, shortened: str) -> None:
    assert shorten(text, limit) == shortened


def test_plain_is_one_short_line() -> None:
    assert plain("a" * 10 + "\n" * 100_000 + "b", 9) == r"aaaaaa …[100002 more characters]… \n\nb"
