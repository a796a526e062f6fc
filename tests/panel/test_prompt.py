"""The prompt box: to whom a message goes, what is offered, what is dropped in, and how a turn is stopped."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.panel.panel import Panel, agent, current, overview, put, talk, user
from tests.support.waiting import eventually

AGENTS = [
    {"id": "claude", "name": "Claude Code", "source": "registry", "installed": False, "needs": "Not found."},
    {"id": "demo", "name": "demo", "source": "demo", "installed": True},
]
BOX = "Message to the agent"


def start_page(**more: Any) -> list[dict[str, Any]]:
    return [
        {"type": "conversation", "sessionId": None, "entries": []},
        overview(agents=AGENTS, draftKey="", **more),
    ]


def test_a_message_without_an_agent_asks_for_one_and_then_goes_to_it(panel: Panel) -> None:
    panel.send(*start_page())
    panel.page.get_by_label(BOX).fill("Mend the sum")
    panel.page.keyboard.press("Enter")
    expect(panel.page.get_by_role("heading", name="Choose or add an agent")).to_be_visible()
    expect(panel.page.get_by_text("Mend the sum")).to_be_visible()
    panel.page.get_by_role("button", name="Add agent…").click()
    assert panel.got("action")[0]["id"] == "addAgent"
    added = {"id": "opencode", "name": "opencode", "source": "configured", "installed": True}
    panel.send(overview(agents=[*AGENTS, added], draftKey=""))
    assert panel.of("send") == []
    panel.page.get_by_role("button", name="Send to opencode").click()
    assert panel.got("send") == [
        {"type": "send", "sessionId": None, "agent": "opencode", "text": "Mend the sum", "attachments": []}
    ]
    expect(panel.page.get_by_label(BOX)).to_have_value("")


def test_a_message_that_waits_for_an_agent_stays_in_the_box(panel: Panel) -> None:
    panel.send(*start_page())
    panel.page.get_by_label(BOX).fill("Mend the sum")
    panel.page.get_by_role("button", name="Send", exact=True).click()
    panel.page.get_by_role("button", name="Close").click()
    expect(panel.page.get_by_label(BOX)).to_have_value("Mend the sum")
    assert panel.of("send") == []


TYPE = """(box) => {
  box.value = "half a thought";
  box.dispatchEvent(new InputEvent("input", { bubbles: true }));
}"""


def until_kept(panel: Panel, key: str) -> None:
    """What TYPE has typed is told as the draft of this conversation."""
    kept = {"type": "draft", "key": key, "text": "half a thought", "attachments": []}

    def is_told() -> bool:
        panel.settle()
        return kept in panel.of("draft")

    eventually(is_told, "the draft is kept", within=30)


def test_what_is_typed_as_soon_as_there_is_a_box_stays(panel: Panel) -> None:
    panel.page.evaluate(
        "() => new MutationObserver((_, watch) => {\n"
        "  const box = document.querySelector('textarea');\n"
        "  if (box) { watch.disconnect(); type(box); }\n"
        "}).observe(document.body, { childList: true, subtree: true })".replace("type(box)", f"({TYPE})(box)")
    )
    panel.send(*talk(user("Mend the sum.")))
    until_kept(panel, "s")
    expect(panel.page.get_by_label(BOX)).to_have_value("half a thought")


def test_what_was_typed_last_is_kept_when_another_conversation_is_shown(panel: Panel) -> None:
    panel.send(overview(draftKey="one", current=current()))
    panel.page.get_by_label(BOX).evaluate(
        f"(box, message) => {{ ({TYPE})(box); window.postMessage(message, '*'); }}",
        overview(draftKey="two", draft="other words", current=current()),
    )
    expect(panel.page.get_by_label(BOX)).to_have_value("other words")
    until_kept(panel, "one")


def test_each_key_is_told_at_once(panel: Panel) -> None:
    """VS Code removes the page when its view is moved, and tells it nothing before."""
    panel.send(*talk(user("Mend the sum.")))
    told = panel.page.get_by_label(BOX).evaluate(
        f"""async (box) => {{
          ({TYPE})(box);
          const told = [];
          window.__post = (message) => told.push(message);
          await new Promise((next) => {{
            const {{ port1, port2 }} = new MessageChannel();
            port1.onmessage = next;
            port2.postMessage(null);
          }});
          return told;
        }}"""
    )
    assert told == [{"type": "draft", "key": "s", "text": "half a thought", "attachments": []}]


def test_what_is_sent_is_shown_wherever_the_reader_was(panel: Panel) -> None:
    said = [agent("\n\n".join(["words"] * 20), id=f"a{n}") for n in range(20)]
    panel.send(*talk(*said))
    end = panel.page.get_by_role("button", name="Go to the end")
    panel.page.get_by_role("log").evaluate("(log) => { log.scrollTop = 0; }")
    expect(end).to_be_visible()
    panel.page.get_by_label(BOX).fill("and now?")
    panel.page.keyboard.press("Enter")
    panel.send(put(user("and now?", id="last")))
    expect(end).to_have_count(0)
    expect(panel.page.locator('[data-row="last"]')).to_be_in_viewport()


@pytest.mark.parametrize(
    ("typed", "taken"),
    [("/st", "/status "), ("/test", "/test "), ("/ST", "/status "), ("/ist", "/list ")],
)
def test_enter_takes_the_command_that_begins_with_what_was_typed(
    panel: Panel, typed: str, taken: str
) -> None:
    names = ("list", "test-all", "status", "test")
    panel.send(*talk(slashes=[{"name": one, "description": ""} for one in names]))
    panel.page.get_by_label(BOX).click()
    panel.page.keyboard.type(typed)
    expect(panel.page.get_by_role("option").first).to_be_visible()
    panel.page.keyboard.press("Enter")
    expect(panel.page.get_by_label(BOX)).to_have_value(taken)
    assert panel.of("send") == []


def test_one_choice_may_bring_several_attachments(panel: Panel) -> None:
    panel.send(*talk())
    panel.page.get_by_label(BOX).click()
    panel.page.keyboard.type("@op")
    asked = panel.got("complete", 2)[-1]
    files = [{"id": n, "kind": "file", "label": n, "uri": f"file:///w/{n}"} for n in ("a.py", "b.py")]
    offer = {
        "label": "Open files",
        "detail": "2 files",
        "icon": "files",
        "insert": "@open ",
        "attachments": files,
    }
    panel.send({"type": "candidates", "request": asked["request"], "candidates": [offer]})
    panel.page.get_by_role("option", name="Open files").click()
    expect(panel.page.locator(".box .chip")).to_have_text(["a.py", "b.py"])


DROP = """({ uris, kind, files }) => {
  const box = document.querySelector('.prompt .box');
  const dataTransfer = new DataTransfer();
  if (uris) dataTransfer.setData(kind, uris);
  for (const name of files) dataTransfer.items.add(new File([new Uint8Array(3)], name, { type: name.endsWith('png') ? 'image/png' : '' }));
  const over = box.dispatchEvent(new DragEvent('dragover', { dataTransfer, cancelable: true, bubbles: true }));
  box.dispatchEvent(new DragEvent('drop', { dataTransfer, cancelable: true, bubbles: true }));
  return over;
}"""


@pytest.mark.parametrize("kind", ["application/vnd.code.uri-list", "text/uri-list"])
def test_files_are_dragged_in(panel: Panel, kind: str) -> None:
    panel.send(*talk())
    untaken = panel.page.evaluate(
        DROP, {"uris": "file:///w/a.py\r\nfile:///w/src\r\n", "kind": kind, "files": []}
    )
    assert untaken is False
    assert panel.got("drop")[0]["uris"] == ["file:///w/a.py", "file:///w/src"]


def test_a_picture_is_dragged_in_and_what_has_no_address_is_explained(panel: Panel) -> None:
    panel.send(*talk(images=True))
    panel.page.evaluate(DROP, {"uris": "", "kind": "", "files": ["sky.png"]})
    expect(panel.page.locator(".box .chip")).to_have_text(["sky.png"])
    panel.page.evaluate(DROP, {"uris": "", "kind": "", "files": ["notes.txt"]})
    expect(panel.page.get_by_role("status").filter(has_text="Drag files from the Explorer")).to_be_visible()
    assert panel.of("drop") == []


def test_escape_asks_once_and_then_stops(panel: Panel) -> None:
    panel.send(*talk(user("go"), state="running"))
    box = panel.page.get_by_label(BOX)
    again = panel.page.get_by_text("Press Escape again to stop the agent")
    box.press("Escape")
    expect(again).to_be_visible()
    box.press("a")  # the user goes on: it was not meant
    expect(again).to_have_count(0)
    assert panel.of("stop") == []
    box.press("Escape")
    expect(again).to_be_visible()
    box.press("Escape")
    assert panel.got("stop") == [{"type": "stop", "sessionId": "s"}]
    panel.send(overview(current=current(state="running", stopping=True), defaultAgent="fast-agent"))
    expect(again).to_have_count(0)


ESCAPE = "dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true, cancelable: true }))"


def test_escape_stops_as_soon_as_the_words_that_ask_for_it_are_there(panel: Panel) -> None:
    panel.send(*talk(user("go"), state="running"))
    panel.page.get_by_label(BOX).evaluate(
        f"""(box) => {{
          new MutationObserver((_, watch) => {{
            if (!document.querySelector(".stopping")) return;
            watch.disconnect();
            box.{ESCAPE};
          }}).observe(document.body, {{ childList: true, subtree: true }});
          box.{ESCAPE};
        }}"""
    )
    assert panel.got("stop") == [{"type": "stop", "sessionId": "s"}]


def test_escape_that_means_something_else_stops_nothing(panel: Panel) -> None:
    panel.send(*talk(user("go"), state="running", slashes=[{"name": "plan", "description": ""}]))
    box = panel.page.get_by_label(BOX)
    box.click()
    panel.page.keyboard.type("/pl")
    expect(panel.page.get_by_role("option")).to_have_count(1)
    panel.page.keyboard.press("Escape")  # closes the menu
    expect(panel.page.get_by_role("option")).to_have_count(0)
    expect(panel.page.get_by_text("Press Escape again to stop the agent")).to_have_count(0)
    panel.send(*talk(user("go"), state="idle"))
    box.press("Escape")
    box.press("Escape")
    assert panel.of("stop") == []
