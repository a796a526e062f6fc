"""What waits for the person: questions that are not answered by accident, the list of conversations, messages when nobody looks."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e import scripted
from tests.support.waiting import eventually
from tests.vscode.panel import Panel
from tests.vscode.test_panel import SIGNAL, ask, begin, fresh, signal
from tests.vscode.window import Window

pytestmark = pytest.mark.timeout(400)

CLICK_AT_ONCE = """() => {
  window.clicked = 0;
  new MutationObserver(() => {
    const button = document.querySelector('.question button.allow');
    if (!button || button.dataset.seen) return;
    button.dataset.seen = 'yes';
    button.click();
    window.clicked += 1;
  }).observe(document.body, { subtree: true, childList: true });
}"""


def test_a_click_in_the_first_half_second_answers_nothing(window: Window) -> None:
    """Nor is anybody told who looks at the panel already."""
    panel = begin(window)
    panel.page.evaluate(CLICK_AT_ONCE)
    panel.prompt(scripted.steps(ask(1), {"say": {"answer": "asked1"}}))
    expect(panel.page.locator(".question button[aria-disabled=false]").first).to_be_attached()
    assert panel.page.evaluate("window.clicked") == 1
    window.settle()
    assert [one for one in window.answers() if "outcome" in one.get("result", {})] == []
    expect(window.notification("asks for your permission")).to_have_count(0)
    panel.button("Reject", exact=True).click()
    panel.answers('"optionId": "no"')


def test_the_list_says_which_conversation_runs_waits_or_has_finished(window: Window) -> None:
    panel = begin(window)

    def until(**expected: str) -> None:
        def look() -> dict[str, str]:
            rows = {
                name: panel.page.locator(".sessions li").filter(has_text=f"talk {name}") for name in expected
            }
            seen.update({name: row.first.locator(".sr").first.inner_text() for name, row in rows.items()})
            return seen

        seen: dict[str, str] = {}
        window.command("acpSidecar.panel.sessions")
        eventually(lambda: look() == expected, f"the list says {expected}", otherwise=lambda: str(seen))

    def turn_to(name: str) -> None:
        panel.page.locator(".sessions li .session").filter(has_text=f"talk {name}").first.click()
        panel.answers(f"talk {name}")

    panel.prompt(scripted.steps({"say": "talk A"}, ask(1)))
    expect(panel.page.locator(".question").first).to_be_visible()
    for name, sessions in (("B", 9), ("C", 4)):  # C goes on when there is one more
        begin(window).prompt(
            scripted.steps({"say": f"talk {name}"}, {"wait_for": "session/new", "count": sessions})
        )
        panel.answers(f"talk {name}")
    until(A="waiting for you", B="running", C="running")
    turn_to("A")
    signal(window)
    until(A="waiting for you", B="running", C="finished")
    turn_to("C")
    until(A="waiting for you", B="running", C="open")  # it was seen, and is no news any more


def test_ends_are_not_told_where_that_is_not_wanted_but_questions_are(window: Window) -> None:
    window.configure({"acpSidecar.notify": False})
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "begun"}, SIGNAL))
    panel.answers("begun")
    window.command("workbench.action.closeAuxiliaryBar")
    signal(window)
    eventually(
        lambda: not any(one["running"] for one in window.command("sidecar.listSessions", {})),
        "the turn is over",
    )
    (session,) = [
        one for one in window.command("sidecar.listSessions", {}) if one["turn"] == 1 and one["open"]
    ]
    turn = window.begin(fresh(1, ask(1)), session["sessionId"])
    notification = window.notification("asks for your permission")
    expect(notification).to_be_visible()
    expect(window.notification("has finished")).to_have_count(0)
    notification.get_by_role("button", name="Show").click()
    panel = Panel(window)
    expect(panel.page.locator(".question button[aria-disabled=false]").first).to_be_attached()
    panel.button("Reject", exact=True).click()
    turn.result()
