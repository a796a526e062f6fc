"""What agents write as markdown, as a person sees it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.panel.panel import Panel, agent, talk

TABLE = """| File | Lines | State |
|:-----|------:|:-----:|
| tests/measurements/test_precipitation_by_the_hour.py | 7 | an extraordinarily-long-compound-word |
| a.py | 1200 | ok |
"""


def test_a_table_keeps_words_whole_and_its_columns_aligned(panel: Panel) -> None:
    panel.send(*talk(agent(TABLE)))
    cells = panel.page.locator("td")
    sides = cells.evaluate_all("(all) => all.map((one) => getComputedStyle(one).textAlign)")
    assert sides == ["left", "right", "center"] * 2
    file = panel.page.locator("td", has_text="test_precipitation")
    lines = file.evaluate(
        "(cell) => { const all = document.createRange(); all.selectNodeContents(cell); return all.getClientRects().length; }"
    )
    assert lines == 1
    # what does not fit scrolls inside the table, not the page
    assert panel.page.locator(".table").evaluate("(one) => one.scrollWidth > one.clientWidth")
    assert panel.page.locator(".log").evaluate("(one) => one.scrollWidth <= one.clientWidth")


def test_task_lists_are_boxes(panel: Panel) -> None:
    panel.send(*talk(agent("- [x] find it\n- [ ] mend it\n- [link](a.py)\n")))
    expect(panel.page.locator("li.task")).to_have_count(2)
    expect(panel.page.locator("li.task .sr")).to_have_text(["done", "to do"])
    expect(panel.page.locator("li.task .box.done")).to_have_count(1)
    expect(panel.page.locator(".log")).not_to_contain_text("[x]")


@pytest.mark.parametrize(
    ("source", "direction"),
    [
        ("שלום world", "rtl"),
        ("hello עולם", "ltr"),
        ("# مرحبا", "rtl"),
        ("- שלום\n", "rtl"),
        ("> שלום", "rtl"),
    ],
)
def test_each_block_has_the_direction_of_its_words(panel: Panel, source: str, direction: str) -> None:
    panel.send(*talk(agent(source)))
    found = panel.page.locator(".markdown > *").evaluate("(one) => getComputedStyle(one).direction")
    assert found == direction


@pytest.mark.parametrize(
    ("source", "href"),
    [
        ("`src/rain.py:12`", "src/rain.py:12"),
        ("`rain.py:12:3`", "./rain.py:12:3"),
        ("`src/Makefile:3-9`", "src/Makefile:3-9"),
        ("`C:\\w\\a.py:4`", "C:\\w\\a.py:4"),
        ("`100%.py:4`", "./100%25.py:4"),
        ("`localhost:8080`", None),
        ("`127.0.0.1:80`", None),
        ("`12:30`", None),
        ("`//share/a.py:1`", None),
        ("`command:a.py:1`", None),
        ("weather.py", None),
    ],
)
def test_a_place_in_code_is_a_link(panel: Panel, source: str, href: str | None) -> None:
    panel.send(*talk(agent(source)))
    links = panel.page.get_by_role("link")
    if href is None:
        expect(panel.page.locator(".markdown")).to_be_visible()
        expect(links).to_have_count(0)
        return
    expect(panel.page.locator(".markdown")).to_have_text(source.strip("`"))
    links.click()
    assert panel.got("openLink")[0]["href"] == href


@pytest.mark.parametrize(
    ("source", "code", "language"),
    [
        ("```mermaid\ngraph TD; A-->B\n```", "graph TD; A-->B", "mermaid"),
        ("```math\na_1 * b_2\n```", "a_1 * b_2", "math"),
        ("$$\na_1 * b * c_2\n\n- d\n$$\n", "a_1 * b * c_2\n\n- d", "math"),
        ("\\[ a_1 * b * c \\]\n", "a_1 * b * c", "math"),
        ("so $a_1 * b * c_2$ holds", "a_1 * b * c_2", None),
        ("so \\(a_1 \\le b_2\\) holds", "a_1 \\le b_2", None),
    ],
)
def test_diagrams_and_math_are_code_with_their_language(
    panel: Panel, source: str, code: str, language: str | None
) -> None:
    panel.send(*talk(agent(source)))
    expect(panel.page.locator("code")).to_have_text(code)
    expect(panel.page.locator(".language")).to_have_text([language] if language else [])


def test_prices_are_no_math(panel: Panel) -> None:
    panel.send(*talk(agent("It costs $5 to $6, or $PATH/$HOME.")))
    expect(panel.page.locator(".markdown")).to_have_text("It costs $5 to $6, or $PATH/$HOME.")
    expect(panel.page.locator("code")).to_have_count(0)
