"""The panel for those who do not see it, do not use a mouse, or read another language."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from playwright.sync_api import expect

from tests.panel import scenes
from tests.panel.panel import (
    EXTENSION,
    THEMES,
    Panel,
    agent,
    append,
    current,
    overview,
    put,
    question,
    talk,
    user,
)

pytestmark = pytest.mark.timeout(400)
"""Seconds; axe looks at every element of every scene."""

AXE = EXTENSION / "node_modules" / "axe-core" / "axe.min.js"
RUN = """async (only) => {
  const { violations } = await axe.run(document, { resultTypes: ['violations'], ...(only ? { runOnly: only } : {}) });
  return violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.slice(0, 4).map((one) => one.html + ' ' + one.failureSummary) }));
}"""


COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
"""The rules of axe that a theme can break: themes have the same elements in other colours."""


def axe(panel: Panel, only: dict[str, Any] | None = None) -> list[Any]:
    """What axe finds in the page as it is. `only` selects rules (`runOnly` of its options)."""
    if not panel.page.evaluate("'axe' in window"):
        panel.page.add_script_tag(path=AXE)
    return panel.page.evaluate(RUN, only)


@pytest.mark.parametrize("scene", scenes.SCENES)
def test_axe_finds_nothing(open_panel: Callable[..., Panel], scene: str) -> None:
    first, *others = THEMES
    panel = open_panel(first, bypass_csp=True)  # axe is brought in as a script of its own
    scenes.SCENES[scene](panel)
    found = {first: axe(panel)}
    for theme in others:
        panel.wear(theme)
        found[theme] = axe(panel, COLOURS)
    assert found == {theme: [] for theme in THEMES}


def test_axe_would_find_it(open_panel: Callable[..., Panel]) -> None:
    """What the test above says is worth as much as its tool: a button without a name, and text that nobody can read, in one theme
    or in another."""
    panel = open_panel(bypass_csp=True)
    panel.send(*talk(user("hi")))
    assert axe(panel) == []
    about_colours = set(panel.page.evaluate("axe.getRules(['cat.color']).map((one) => one.ruleId)"))
    assert about_colours - {"color-contrast-enhanced"} == set(COLOURS["values"])  # AAA is more than is wanted
    panel.page.evaluate(
        "document.querySelector('.user').insertAdjacentHTML('beforeend', '<button></button><p style=\"color: #333\">dark on dark</p>')"
    )
    assert serious(axe(panel)) >= {"button-name", "color-contrast"}
    assert serious(axe(panel, COLOURS)) == {"color-contrast"}
    panel.wear("light")
    assert serious(axe(panel, COLOURS)) == set()
    panel.wear("hc-dark")
    assert serious(axe(panel, COLOURS)) == {"color-contrast"}


def serious(found: list[Any]) -> set[str]:
    return {one["id"] for one in found if one["impact"] in ("serious", "critical")}


RATIO = """(element) => {
  const canvas = document.createElement('canvas').getContext('2d');
  const light = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const linear = [...canvas.getImageData(0, 0, 1, 1).data].map((one) => one / 255).map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const both = [getComputedStyle(element).color, getComputedStyle(document.body).backgroundColor].map(light).sort((a, b) => b - a);
  return (both[0] + 0.05) / (both[1] + 0.05);
}"""
"""Of an icon's colour and the page's, as WCAG has it (axe looks at words only)."""


@pytest.mark.parametrize("theme", THEMES)
def test_icons_that_say_how_it_went_stand_out(open_panel: Callable[..., Panel], theme: str) -> None:
    panel = open_panel(theme)
    scenes.looks(panel)
    ratios = panel.page.locator(".tool-head .status").evaluate_all(f"(all) => all.map({RATIO})")
    assert len(ratios) == 5
    assert min(ratios) >= 3, ratios


@pytest.mark.parametrize("theme", THEMES)
def test_a_pressed_button_looks_pressed(open_panel: Callable[..., Panel], theme: str) -> None:
    panel = open_panel(theme)
    looks = "(one) => { const { backgroundColor, borderColor, color } = getComputedStyle(one); return [backgroundColor, borderColor, color].join(); }"
    found: list[str] = []
    for following in (False, True):
        panel.send(*talk(), overview(current=current(), following=following))
        button = panel.page.locator("header button[aria-pressed]")
        expect(button).to_have_attribute("aria-pressed", str(following).lower())
        found.append(button.evaluate(looks))
    assert found[0] != found[1]


@pytest.mark.parametrize("theme", THEMES)
def test_what_the_browser_draws_is_dark_in_a_dark_theme(open_panel: Callable[..., Panel], theme: str) -> None:
    panel = open_panel(theme)
    scenes.form(panel)
    scheme = panel.page.locator("input[type=checkbox]").evaluate("(one) => getComputedStyle(one).colorScheme")
    assert scheme == ("dark" if theme.endswith("dark") else "light")


def test_the_log_is_silent_and_every_message_is_said_once(panel: Panel) -> None:
    panel.send(*talk(user("hi"), state="running"))
    log = panel.page.get_by_role("log")
    expect(log).to_have_attribute("aria-live", "off")
    voice = panel.page.locator("#voice")
    expect(voice).to_have_attribute("aria-live", "polite")
    panel.page.evaluate(
        """() => {
          window.said = [];
          new MutationObserver(() => window.said.push(document.querySelector('#voice').textContent.trim()))
            .observe(document.querySelector('#voice'), { subtree: true, childList: true, characterData: true });
        }"""
    )
    panel.send(put(agent("", done=False)))
    for word in ("one ", "two ", "three"):
        panel.send(append("a", word))
    panel.send(put(agent("one two three", done=True)))
    panel.send(put(agent("one two three", done=True)))
    panel.send(put(question()))
    assert [one for one in panel.page.evaluate("window.said") if one] == [
        "Agent: one two three",
        "The agent asks: fast-agent wants to run a command in '/home/me/rain': pytest -q",
    ]


def test_history_is_not_read_out(panel: Panel) -> None:
    panel.send(*talk(user("hi"), agent("hello"), question()))
    assert (panel.page.locator("#voice").text_content() or "").strip() == ""


def test_everything_can_be_reached_with_tab(panel: Panel) -> None:
    scenes.ended(panel)
    panel.page.get_by_label("Message to the agent").focus()
    reached: set[str] = set()
    for _ in range(60):
        panel.page.keyboard.press("Shift+Tab")
        name = panel.page.evaluate(
            "() => { const it = document.activeElement; return it.ariaLabel || it.title || it.textContent.trim(); }"
        )
        reached.add(name)
    wanted = {
        "Conversation",
        "All conversations",
        "Copy code",
        "Insert at cursor",
        "Code",
        "Review",
        "Keep",
        "Reject",
    }
    lacking = {one for one in wanted if not any(name.startswith(one) for name in reached)}
    assert lacking == set()
    assert any("Undo this turn" in one or "Undo everything" in one for one in reached)


def test_motion_is_reduced(open_panel: Callable[..., Panel]) -> None:
    for reduced, expected in (("no-preference", "turn"), ("reduce", "none")):
        panel = open_panel(reduced_motion=reduced)
        panel.send(*talk(user("hi"), state="running"))
        spinner = panel.page.locator(".spin").first
        assert spinner.evaluate("(it) => getComputedStyle(it).animationName") == expected


PSEUDO = {"type": "strings", "bundle": {"[pseudo]": ""}}
WORDS = """() => {
  const found = new Set();
  const walk = document.createTreeWalker(document.querySelector('#app'), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) if (walk.currentNode.data.trim()) found.add(walk.currentNode.data.trim());
  for (const element of document.querySelectorAll('#app *')) {
    for (const name of ['title', 'aria-label', 'placeholder']) if (element.getAttribute(name)) found.add(element.getAttribute(name));
  }
  return [...found];
}"""


def strings(value: object) -> Iterator[str]:
    """Every string in JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in cast("list[object]", value):
            yield from strings(one)
    elif isinstance(value, dict):
        for one in cast("dict[str, object]", value).values():
            yield from strings(one)


def test_every_word_of_ours_is_translated(open_panel: Callable[..., Panel]) -> None:
    """A language that nobody speaks, long and accented: what is left in English was forgotten. Nothing overflows."""
    for play in scenes.SCENES.values():
        panel = open_panel()
        panel.send(PSEUDO)
        play(panel)
        panel.settle()
        data = "\n".join(strings(panel.told))  # what agents, files and the user said stays as it is
        shown = panel.page.evaluate(WORDS)
        assert any(one.startswith("⟦") for one in shown)
        plain = [
            one
            for one in shown
            if re.search(r"[A-Za-z]{2}", one) and "⟦" not in one and one.strip("()/") not in data
        ]
        assert plain == []
        wide = panel.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert wide <= 0
        panel.close()


def test_a_page_that_is_shown_takes_another_language(panel: Panel) -> None:
    """The page takes its words from a table, of which it is given one."""
    panel.send(*talk(user("hi"), agent("0"), question(), state="waiting"))
    expect(panel.page.locator(".question button[aria-disabled=false]").first).to_be_attached()
    panel.send(PSEUDO)
    expect(panel.page.locator("header .sr")).to_contain_text("⟦")
    panel.send({"type": "show", "what": "sessions"})
    expect(panel.page.get_by_role("heading", level=1)).to_contain_text("⟦")
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert panel.page.evaluate(wide) <= 0
    named = panel.page.locator("#app button[aria-label]").evaluate_all(
        "(all) => all.map((one) => one.ariaLabel)"
    )
    assert named
    assert [one for one in named if "⟦" not in one] == []


def test_the_narrowest_side_bar(open_panel: Callable[..., Panel]) -> None:
    panel = open_panel(width=240)
    scenes.ended(panel)
    assert (
        panel.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        <= 0
    )
    send = panel.page.get_by_role("button", name="Send", exact=True).bounding_box()
    assert send is not None
    assert send["x"] + send["width"] <= 240


def test_the_overview_of_another_session_does_not_change_what_is_shown(panel: Panel) -> None:
    panel.send(*talk(user("hi")))
    panel.send(
        {"type": "ops", "sessionId": "other", "ops": [{"op": "put", "entry": user("not here", id="x")}]}
    )
    panel.send(overview(current=current()))
    expect(panel.page.get_by_text("not here")).to_have_count(0)
