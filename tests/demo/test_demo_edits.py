"""What the demo agent changes: each row is a file, its text, and the text afterwards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.demo.edits import suggest

SUM = "def total(xs):\n    total = 0\n    for i in range(len(xs) - 1):\n        total += xs[i]\n    return total\n"


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.py", SUM, SUM.replace(" - 1", "")),
        ("a.py", SUM.replace("\n", "\r\n"), SUM.replace("\n", "\r\n").replace(" - 1", "")),
        ("a.py", "x = 1\n#todo remove it\n", "x = 1\n#TODO: Remove it\n"),
        ("a.go", "x // FIXME  -  later", "x // FIXME: Later"),
        (
            "a.py",
            "# TODO: Stay\ndef f_x(a):\n    pass\n",
            '# TODO: Stay\ndef f_x(a):\n    """F x."""\n    pass\n',
        ),
        ("a.py", "def f(a) -> int:\r    return 1", 'def f(a) -> int:\r    """F."""\r    return 1'),
        (
            "a.py",
            'def f():\n    """Has one."""\n',
            'def f():\n    """Has one."""\n# The demo agent was here.\n',
        ),
        ("a.py", "def f(): pass\nx = 1", "def f(): pass\nx = 1\n# The demo agent was here.\n"),
        ("a.py", "def f():\n    return 1\n# The demo agent was here.\n", None),
        ("a.rs", "", "// The demo agent was here.\n"),
        ("a.rs", "fn x() {}\r\n// The demo agent was here.\r\n", "fn x() {}\r\n"),
        ("notes.md", "# Notes\n", "# Notes\nThe demo agent was here.\n"),
        ("Makefile", "all:\r\n", "all:\r\nThe demo agent was here.\r\n"),
        ("a.json", "{}", "{}\n\n"),
        ("a.py", "x = '\u2028 # todo'\n", "x = '\u2028 # todo'\n# The demo agent was here.\n"),
        ("a.css", "a {}\n", "a {}\n/* The demo agent was here. */\n"),
    ],
)
def test_rules(name: str, before: str, after: str | None) -> None:
    suggestion = suggest("/folder/" + name, before)
    assert suggestion.text != before
    if after is not None:
        assert suggestion.text == after


@pytest.mark.parametrize(
    "body",
    [
        "total += xs[i] * xs[i + 1]",
        "total += xs[i + 1]",
        "print(xs[i])",
        "total += xs[i]\n        print(total)",
    ],
)
def test_loops_that_may_mean_it_are_left_alone(body: str) -> None:
    text = SUM.replace("total += xs[i]", body)
    assert "len(xs) - 1" in suggest("a.py", text).text


@given(
    name=st.sampled_from(["a.py", "a.rs", "a.md", "a.json", "a.html"]),
    text=st.text(alphabet="ab \n\r\u2028#/:do\t", max_size=30),
)
def test_any_text_is_changed_in_one_place(name: str, text: str) -> None:
    suggestion = suggest(name, text)
    assert suggestion.text != text
    assert suggestion.line >= 1
    before, after = text.splitlines(), suggestion.text.splitlines()
    same = sum(1 for line in before if line in after)
    assert same >= len(before) - 1
