"""Permission cards: nothing but an answer of the user's is one."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from sidecar.core.escape import command_line
from tests.panel.panel import Panel, put, question, talk, user

ARMED = 500
"""Milliseconds in sight before an answer counts (question.tsx)."""


def until_armed(panel: Panel) -> None:
    expect(panel.page.locator(".question button[aria-disabled=false]").first).to_be_attached(timeout=30_000)


def test_the_card_shows_what_will_be_run_and_a_click_answers(panel: Panel) -> None:
    panel.send(*talk(user("test it"), question(), state="waiting"))
    card = panel.page.get_by_role("group", name="May it run this command?")
    expect(card.get_by_label("Command", exact=True)).to_have_text("pytest -q")
    expect(card.get_by_text("/home/me/rain", exact=True)).to_be_visible()
    until_armed(panel)
    card.get_by_role("button", name="Allow", exact=True).click()
    assert panel.got("answer")[0] == {
        "type": "answer",
        "sessionId": "s",
        "requestId": "q",
        "optionId": "yes",
    }


def test_typing_answers_nothing(panel: Panel) -> None:
    """200 characters, every tenth an Enter, while 20 questions arrive."""
    panel.send(*talk(user("go"), state="running"))
    panel.page.get_by_label("Message to the agent").click()
    for number in range(200):
        if number % 10 == 5:
            panel.send(put(question(id=f"e{number}", requestId=f"q{number}")))
        panel.page.keyboard.press("Enter" if number % 10 == 9 else "x")
    assert panel.page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    expect(panel.page.get_by_text("20 questions are waiting for your answer")).to_be_visible()
    panel.got("send", 20)
    assert panel.of("answer") == []
    assert [one["text"] for one in panel.of("send")] == ["x" * 9] * 20


def test_a_click_in_the_first_half_second_is_ignored(panel: Panel) -> None:
    panel.send(*talk(user("go"), state="waiting"))
    panel.page.evaluate(
        """() => {
          window.tries = [];
          new MutationObserver(() => {
            const button = [...document.querySelectorAll('.question button')].find((one) => one.textContent === 'Allow');
            if (button && window.tries.length === 0) {
              window.tries.push(button.getAttribute('aria-disabled'));
              button.click();
            }
          }).observe(document.body, { subtree: true, childList: true });
        }"""
    )
    panel.send(put(question()))
    panel.page.wait_for_function("() => window.tries.length === 1")
    assert panel.page.evaluate("window.tries") == ["true"]
    until_armed(panel)
    assert panel.of("answer") == []
    panel.page.get_by_role("button", name="Allow", exact=True).click()
    assert len(panel.got("answer")) == 1


def test_a_button_that_slides_under_the_pointer_is_not_clicked(panel: Panel) -> None:
    panel.send(*talk(user("go"), question(), state="waiting"))
    until_armed(panel)
    place = panel.page.get_by_role("button", name="Allow", exact=True).bounding_box()
    assert place is not None
    panel.send(*talk(user("go"), state="running"))
    panel.page.mouse.move(place["x"] + 5, place["y"] + 5)
    panel.send(put(question()))
    until_armed(panel)
    panel.page.mouse.down()
    panel.page.mouse.up()
    panel.settle()
    assert panel.of("answer") == []
    panel.page.mouse.move(place["x"] + 9, place["y"] + 7)
    panel.page.mouse.down()
    panel.page.mouse.up()
    assert panel.got("answer")[0]["optionId"] == "yes"


def test_the_keyboard_answers_once_the_user_went_there(panel: Panel) -> None:
    panel.send(*talk(user("go"), question(), question(id="q2", requestId="q2"), state="waiting"))
    until_armed(panel)
    panel.page.get_by_role("button", name="2 questions are waiting for your answer").press("Enter")
    panel.page.wait_for_function("() => document.activeElement?.dataset.row === 'q'")
    for _ in range(3):  # the row, the command's text, the first button
        panel.page.keyboard.press("Tab")
        if panel.page.evaluate("document.activeElement.textContent") == "Allow":
            break
    panel.page.keyboard.press("Enter")
    assert panel.got("answer")[0] == {
        "type": "answer",
        "sessionId": "s",
        "requestId": "q",
        "optionId": "yes",
    }
    panel.page.keyboard.press("Enter")  # the next card's button is not where the focus is now
    panel.settle()
    assert len(panel.of("answer")) == 1


def test_a_question_that_is_withdrawn_says_so(panel: Panel) -> None:
    panel.send(*talk(user("go"), question(), state="waiting"))
    panel.send(put({**question(), "state": "withdrawn"}))
    expect(panel.page.get_by_text("No longer asked.")).to_be_visible()
    expect(panel.page.get_by_role("button", name="Allow")).to_have_count(0)


@pytest.mark.parametrize(
    "argv", [["pytest", "-q"], ["a|b", "é", "a b"], ["sh", "-c", "echo 'it is'"], ["echo", """it's "5$\""""]]
)
def test_the_server_writes_a_command_as_it_stands_in_the_card(panel: Panel, argv: list[str]) -> None:
    """Otherwise the card would say it twice."""
    panel.send(*talk(question(argv=argv, text=f"rain wants to run a command in /w: {command_line(argv)}")))
    expect(panel.page.get_by_label("Command", exact=True)).to_have_text(command_line(argv))
    expect(panel.page.locator(".question-text")).to_have_text("rain wants to run a command in /w")


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["rm", "-rf", "a b"], "rm -rf 'a b'"),
        (["cat", "gpj.\u202efdp"], "cat 'gpj.\\u{202e}fdp'"),
        (["echo", "x\ny"], "echo 'x\\u{a}y'"),
        (["zero\u200bwidth"], "zero\\u{200b}width"),
        (["a line | of a shell"], "a line | of a shell"),
        (["sh", "-c", "echo 'it is'"], """sh -c "echo 'it is'\""""),
        (["echo", "it's", '"'], """echo "it's" '"'"""),
        (["echo", """it's "5$\""""], """echo 'it'\\''s "5$"'"""),
        (["echo", "", "a\\b"], "echo '' 'a\\b'"),
    ],
)
def test_a_command_cannot_look_like_another(panel: Panel, argv: list[str], shown: str) -> None:
    panel.send(*talk(question(argv=argv), state="waiting"))
    expect(panel.page.get_by_label("Command", exact=True)).to_have_text(shown)


def test_a_long_command_is_there_as_a_whole(panel: Panel) -> None:
    panel.send(
        *talk(question(argv=["true", "x" * 5_000, "rm -rf", "x" * 5_000, "&&", "evil"]), state="waiting")
    )
    shown = panel.page.get_by_label("Command", exact=True).text_content() or ""
    assert (shown[:6], shown[-4:], shown.count("x"), "rm -rf" in shown) == ("true x", "evil", 10_000, True)


FIELDS = [
    {"name": "name", "label": "Name", "type": "text", "required": True},
    {
        "name": "kind",
        "label": "Kind",
        "type": "choice",
        "required": False,
        "choices": [{"value": "a", "label": "A"}],
    },
    {"name": "sure", "label": "Sure", "type": "boolean", "required": False},
    {"name": "count", "label": "Count", "type": "integer", "required": False, "minimum": 1},
]


def form(**more: object) -> dict[str, object]:
    return {
        "id": "f",
        "kind": "form",
        "requestId": "r",
        "message": "Who are you?",
        "fields": [],
        "state": "open",
        **more,
    }


def test_a_form_is_filled_in(panel: Panel) -> None:
    panel.send(*talk(user("go"), form(fields=FIELDS), state="waiting"))
    until_armed(panel)
    submit = panel.page.get_by_role("button", name="Submit")
    submit.click()
    expect(panel.page.get_by_text("Needed")).to_be_visible()
    panel.page.get_by_label("Name").fill("me")
    panel.page.get_by_label("Kind").select_option("a")
    panel.page.get_by_label("Sure").check()
    panel.page.get_by_label("Count").fill("3")
    submit.click()
    assert panel.got("submit")[0] == {
        "type": "submit",
        "sessionId": "s",
        "requestId": "r",
        "action": "accept",
        "values": {"name": "me", "kind": "a", "sure": True, "count": 3},
    }


def test_an_address_is_shown_with_its_host_before_it_is_opened(panel: Panel) -> None:
    panel.send(*talk(form(url="https://evil.example/login?next=bank.example"), state="waiting"))
    until_armed(panel)
    expect(panel.page.locator(".address b")).to_have_text("evil.example")
    panel.page.get_by_role("button", name="Open page").click()
    assert panel.got("submit")[0]["action"] == "accept"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("rain wants to run a command in '/w': pytest -q", "rain wants to run a command in '/w'"),
        ("rain wants to run a command in '/w': pytest -q — it sets A", "rain wants to run a command in '/w'"),
        (
            "rain wants to run a command in '/w': pytest -q; more",
            "rain wants to run a command in '/w': pytest -q; more",
        ),
        ("Start rain with this command: pytest -q.", "Start rain with this command."),
        ("Start rain with: pytest -q. It sets A.", "Start rain with. It sets A."),
        ("Start rain with: pytest -q.py", "Start rain with: pytest -q.py"),
        ("rain wants to run a command: something else", "rain wants to run a command: something else"),
    ],
)
def test_a_card_says_its_command_once(panel: Panel, words: str, shown: str) -> None:
    panel.send(*talk(question(text=words)))
    expect(panel.page.get_by_label("Command", exact=True)).to_have_text("pytest -q")
    expect(panel.page.locator(".question-text")).to_have_text(shown)
