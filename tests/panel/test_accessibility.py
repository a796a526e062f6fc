"""The panel for those who do not see it, do not use a mouse, or read another language."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from playwright.sync_api import expect

from tests.panel import gallery
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
    tool,
    user,
)

pytestmark = pytest.mark.timeout(400)
"""Seconds; axe looks at every element of every scene."""

AXE = EXTENSION / "node_modules" / "axe-core" / "axe.min.js"
RUN = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ['violations'] });
  return violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.slice(0, 4).map((one) => one.html + ' ' + one.failureSummary) }));
}"""


def sessions(panel: Panel) -> None:
    gallery.start(panel)
    panel.send({"type": "show", "what": "sessions"})


def recorded(panel: Panel) -> None:
    panel.send(*talk(user("hi"), agent("| a | b |\n|-|-|\n| 1 | 2 |"), recorded=True))


def rich(panel: Panel) -> None:
    written = "- [x] done\n- [ ] to do\n\n| a | b |\n|--:|:-:|\n| 1 | 2 |\n\n$$\nx_1\n$$\n\nat `a.py:1`, $x_1$\n\nשלום"
    looks = [tool(id="t1"), tool(id="t2", toolKind="search"), tool(id="t3", status="in_progress")]
    panel.send(*talk(user("hi"), agent(written), *looks, state="running"))
    panel.page.locator(".run .fold").click()
    expect(panel.page.locator(".run-body")).to_be_visible()


def form(panel: Panel) -> None:
    field = {"name": "n", "label": "Name", "type": "text", "required": True, "hint": "As in the passport"}
    panel.send(
        *talk(
            {
                "id": "f",
                "kind": "form",
                "requestId": "r",
                "message": "Who?",
                "fields": [field],
                "state": "open",
            },
            state="waiting",
        )
    )
    expect(panel.page.locator(".question button[aria-disabled=false]").first).to_be_attached(timeout=30_000)


def menu(panel: Panel) -> None:
    panel.send(*talk(slashes=[{"name": "plan", "description": "Makes a plan"}]))
    panel.page.get_by_label("Message to the agent").click()
    panel.page.keyboard.type("/")
    expect(panel.page.get_by_role("option")).to_have_count(1)


def trouble(panel: Panel) -> None:
    panel.send(
        overview(
            trouble={
                "text": "acp-sidecar is not running.",
                "action": {"id": "restart", "label": "Start again"},
            },
            tour={"step": 1, "steps": ["One", "Two", "Three"]},
            connected=False,
            draftKey="",
        )
    )


def choosing(panel: Panel) -> None:
    panel.send(
        {"type": "conversation", "sessionId": None, "entries": []},
        overview(agents=gallery.AGENTS, draftKey=""),
    )
    panel.page.locator(".prompt textarea").fill("Mend the sum in weather.py")
    panel.page.keyboard.press("Enter")


def stopping(panel: Panel) -> None:
    panel.send(*talk(user("hi"), agent("hello"), state="running"))
    panel.page.locator(".prompt textarea").press("Escape")


def terminal(panel: Panel) -> None:
    """Every colour: as text, bright, as a background and reversed."""
    codes = [
        *range(30, 38),
        *range(90, 98),
        *range(40, 48),
        *(f"7;{one}" for one in range(30, 38)),
        "38;5;208",
    ]
    output = "".join(f"\x1b[{code}mtext {code}\x1b[0m\n" for code in codes)
    panel.send(
        *talk(user("go"), tool(toolKind="execute", status="in_progress", output=output), state="running")
    )
    expect(panel.page.locator(".output")).to_contain_text("text 30")


def nested(panel: Panel) -> None:
    """A sub-agent at work, a compaction, notices, and tools by their names."""
    task = tool(id="task", title="Look for the rain", name="Task", toolKind="think", status="in_progress")
    steps = [
        tool(id="t1", title="Read the readings", name="read_file", parent="task"),
        tool(id="t2", title="Find rain", toolKind="search", parent="task", status="failed"),
        tool(id="t3", title="Run it", toolKind="execute", parent="task", status="in_progress"),
        agent("It rains in **a.py**, see [there](https://x.example).", id="w", parent="task"),
    ]
    kept = {"id": "c", "kind": "compaction", "status": "completed", "summary": "You want **rain**."}
    failed = {"id": "d", "kind": "compaction", "status": "failed", "summary": "", "error": "no room"}
    notices = [
        {"id": level, "kind": "notice", "level": level, "text": "No server", "detail": "Going on without it."}
        for level in ("info", "warning", "error")
    ]
    panel.send(*talk(user("hi"), kept, failed, *notices, task, *steps, state="running", forks=True))
    panel.page.locator(".below > .fold").click()
    panel.page.locator(".compaction button").click()
    expect(panel.page.locator(".below-body")).to_be_visible()


def tab(panel: Panel) -> None:
    """A conversation in an editor."""
    gallery.ended(panel)
    panel.send(overview(place="tab", current=current(forks=True, **gallery.AROUND)))
    expect(panel.page.get_by_role("heading", name="The sum is wrong")).to_be_visible()


SCENES: dict[str, Callable[[Panel], None]] = {
    **gallery.SCENES,
    "sessions": sessions,
    "recorded": recorded,
    "rich": rich,
    "form": form,
    "menu": menu,
    "choosing": choosing,
    "stopping": stopping,
    "trouble": trouble,
    "terminal": terminal,
    "nested": nested,
    "tab": tab,
}


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_serious(open_panel: Callable[..., Panel], theme: str) -> None:
    found: dict[str, list[Any]] = {}
    for name, play in SCENES.items():
        panel = open_panel(theme, bypass_csp=True)  # axe is brought in as a script of its own
        play(panel)
        panel.page.add_script_tag(path=AXE)
        bad = [one for one in panel.page.evaluate(RUN) if one["impact"] in ("serious", "critical")]
        if bad:
            found[name] = bad
        panel.close()
    assert found == {}


def test_axe_would_find_it(open_panel: Callable[..., Panel]) -> None:
    """What the test above says is worth as much as its tool: a button without a name, and text that nobody can read."""
    panel = open_panel(bypass_csp=True)
    panel.send(*talk(user("hi")))
    panel.page.evaluate(
        "document.querySelector('.user').insertAdjacentHTML('beforeend',"
        " '<button></button><p style=\"color: #333; background: #222\">dark on dark</p>')"
    )
    panel.page.add_script_tag(path=AXE)
    found = {one["id"] for one in panel.page.evaluate(RUN) if one["impact"] in ("serious", "critical")}
    assert {"button-name", "color-contrast"} <= found


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
    gallery.ended(panel)
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
    for play in SCENES.values():
        panel = open_panel()
        panel.send(PSEUDO)
        if play is menu:
            continue
        if play in (gallery.asking, form):
            panel.send(*talk(user("hi"), agent("hello"), {**question()}, state="waiting"))
        else:
            play(panel)
        panel.settle()
        data = "\n".join(strings(panel.told))  # what agents, files and the user said stays as it is
        shown = panel.page.evaluate(WORDS)
        assert any(one.startswith("⟦") for one in shown)
        plain = [
            one
            for one in shown
            if re.search(r"[A-Za-z]{2}", one) and "⟦" not in one and one.strip("()") not in data
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
    gallery.ended(panel)
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
