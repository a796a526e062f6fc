"""The conversation as a person sees and uses it."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from tests.panel.panel import THEMES, Panel, agent, append, current, overview, put, talk, tool, user

END = {
    "id": "e",
    "kind": "end",
    "reason": "end_turn",
    "changes": [],
    "reviewed": False,
    "kept": 0,
    "rejected": 0,
}


def test_a_prompt_is_sent_by_enter_and_the_box_is_empty_again(panel: Panel) -> None:
    panel.send(*talk())
    box = panel.page.get_by_label("Message to the agent")
    box.click()
    panel.page.keyboard.type("fix it")
    panel.page.keyboard.press("Shift+Enter")
    panel.page.keyboard.type("please")
    panel.page.keyboard.press("Enter")
    assert panel.got("send")[0] == {
        "type": "send",
        "sessionId": "s",
        "text": "fix it\nplease",
        "attachments": [],
    }
    expect(box).to_have_value("")


def test_an_answer_that_comes_at_once_is_shown(panel: Panel) -> None:
    """Before the browser has drawn the page for the first time, and nothing else is told afterwards."""
    panel.page.add_init_script(
        "const host = window.acquireVsCodeApi();\n"
        f"const answer = {json.dumps(overview())};\n"
        "const tell = () => window.dispatchEvent(new MessageEvent('message', { data: answer }));\n"
        "window.acquireVsCodeApi = () => ({ ...host, postMessage: (one) => { host.postMessage(one); if (one.type === 'ready') tell(); } });"
    )
    panel.page.reload()
    expect(panel.page.locator("#app .app")).to_be_visible()


def test_streaming_draws_blocks_and_keeps_what_is_complete(panel: Panel) -> None:
    panel.send(*talk(user("hi"), agent("# One\n\n", done=False), state="running"))
    heading = panel.page.locator("h1", has_text="One")
    heading.evaluate("(element) => { element.dataset.mark = 'kept'; }")
    for text in ("some *text*\n\n", "```py\nprint(1)\n", "print(2)\n```\n", "end"):
        panel.send(append("a", text))
    expect(panel.page.locator("h1[data-mark=kept]")).to_have_count(1)
    expect(panel.page.locator("em")).to_have_text("text")
    expect(panel.page.locator("pre code")).to_have_text("print(1)\nprint(2)")
    expect(panel.page.get_by_text("end", exact=True)).to_be_visible()


def test_code_is_copied_and_inserted_whole(panel: Panel) -> None:
    lines = "\n".join(f"line {number}" for number in range(350))
    panel.send(*talk(agent(f"```py\n{lines}\n```\n")))
    panel.page.locator(".log").evaluate("(log) => log.scrollTo(0, 0)")
    panel.page.get_by_label("Copy code").click()
    panel.page.get_by_label("Insert at cursor").click()
    assert panel.got("copy")[0]["text"] == lines
    assert panel.got("insert")[0]["text"] == lines


def test_undo_this_turn_is_on_every_message_that_has_something_to_undo(panel: Panel) -> None:
    nothing = user("nothing", id="u0", turn=3, undo="no")
    panel.send(*talk(nothing, user("first", id="u1", turn=1), user("second", id="u2", turn=2)))
    buttons = panel.page.get_by_role("button", name="Undo this turn")
    expect(buttons).to_have_count(2)
    expect(panel.page.locator(".user", has_text="nothing").get_by_role("button")).to_have_count(
        2
    )  # copy, edit
    buttons.nth(0).click()
    assert panel.got("undoTurn")[0]["turn"] == 1
    panel.send(put(user("first", id="u1", turn=1, undo="done")))
    expect(buttons).to_have_count(1)
    expect(panel.page.get_by_text("Undone")).to_be_visible()


def test_what_arrives_while_a_button_is_pressed_takes_no_click_away(panel: Panel) -> None:
    """The end stays in sight, so what the agent says moves everything above it: away from under the pointer."""
    panel.send(*talk(agent("word\n\n" * 60), user("fix it", id="u1", turn=1), running=True))
    button = panel.page.get_by_role("button", name="Undo this turn")
    button.hover()
    panel.page.mouse.down()
    panel.send(put(agent("word\n\n" * 60, id="a2")))
    panel.page.mouse.up()
    assert panel.got("undoTurn")[0]["turn"] == 1
    expect(button).not_to_be_in_viewport()


def test_a_button_that_stays_pressed_holds_nothing_up_for_long(panel: Panel) -> None:
    panel.send(*talk(user("fix it", id="u1", turn=1)))
    panel.page.get_by_role("button", name="Undo this turn").hover()
    panel.page.mouse.down()
    panel.send(put(agent("it goes on", id="a2")))
    expect(panel.page.get_by_text("it goes on", exact=True)).to_be_visible()
    panel.page.mouse.up()


def test_edit_and_send_again(panel: Panel) -> None:
    panel.send(*talk(user("fix it")))
    panel.page.get_by_label("Edit and send again").click()
    panel.page.get_by_label("Edit message").fill("fix it well")
    panel.page.get_by_role("button", name="Undo this turn and send").click()
    assert panel.got("resend")[0] == {
        "type": "resend",
        "sessionId": "s",
        "turn": 1,
        "text": "fix it well",
        "undo": True,
    }


def test_while_a_turn_runs_there_is_stop_and_what_is_sent_is_queued(panel: Panel) -> None:
    panel.send(*talk(user("hi"), state="running", queue=[{"id": "q1", "text": "and then this"}]))
    panel.page.get_by_role("button", name="Stop").click()
    assert panel.got("stop")[0]["sessionId"] == "s"
    expect(panel.page.get_by_text("and then this")).to_be_visible()
    panel.page.get_by_label("Remove from the queue").click()
    assert panel.got("unqueue")[0]["id"] == "q1"


def test_a_tool_call_opens_files_and_diffs(panel: Panel) -> None:
    diff = {
        "index": 0,
        "path": "/w/src/rain.py",
        "added": 1,
        "removed": 1,
        "created": False,
        "lines": [{"mark": "-", "text": "a"}, {"mark": "+", "text": "b"}],
        "more": 3,
    }
    panel.send(
        *talk(
            tool(id="t1", title="Look", locations=[{"path": "/w/a.py", "line": 7}]),
            agent("and"),
            tool(id="t3", title="Look at b.py", locations=[{"path": "/w/b.py"}]),
            tool(id="t2", title="Edit", toolKind="edit", diffs=[diff]),
        )
    )
    panel.page.get_by_role("button", name="a.py:7").click()
    panel.page.get_by_role("button", name="rain.py").click()
    panel.page.get_by_role("button", name="Open b.py").click()
    assert panel.got("openLocation", 2)[1]["path"] == "/w/b.py"
    assert panel.got("openLocation")[0] == {"type": "openLocation", "path": "/w/a.py", "line": 7}
    assert panel.got("openDiff")[0] == {"type": "openDiff", "sessionId": "s", "entry": "t2", "index": 0}
    expect(panel.page.get_by_text("3 more lines")).to_be_visible()


def test_history_comes_back_with_the_arrow(panel: Panel) -> None:
    panel.send(*talk())
    panel.send(overview(current=current(), history=["one", "two"]))
    box = panel.page.get_by_label("Message to the agent")
    box.click()
    for key, expected in (("ArrowUp", "two"), ("Home", "two"), ("ArrowUp", "one")):
        panel.page.keyboard.press(key)
        expect(box).to_have_value(expected)
    for expected in ("two", ""):
        panel.page.keyboard.press("End")
        panel.page.keyboard.press("ArrowDown")
        expect(box).to_have_value(expected)


def test_mentions_are_asked_for_and_become_attachments(panel: Panel) -> None:
    panel.send(*talk())
    panel.page.get_by_label("Message to the agent").click()
    panel.page.keyboard.type("look at @ra")
    asked = panel.got("complete", 3)[-1]
    assert asked["query"] == "ra"
    file = {"id": "f", "kind": "file", "label": "src/rain.py", "uri": "file:///w/src/rain.py"}
    candidate = {
        "label": "rain.py",
        "detail": "src/rain.py",
        "icon": "file",
        "insert": "@rain.py ",
        "attachments": [file],
    }
    panel.send({"type": "candidates", "request": asked["request"], "candidates": [candidate]})
    expect(panel.page.get_by_role("option")).to_have_count(1)
    panel.page.keyboard.press("Enter")
    panel.page.keyboard.press("Enter")
    sent = panel.got("send")[0]
    assert sent["text"] == "look at @rain.py "
    assert sent["attachments"] == [file]


def test_what_is_typed_right_after_a_choice_stands_behind_it(panel: Panel) -> None:
    panel.send(*talk())
    box = panel.page.get_by_label("Message to the agent")
    box.click()
    panel.page.keyboard.type("look at @ra now")
    for _ in " now":
        panel.page.keyboard.press("ArrowLeft")
    panel.page.keyboard.type("i")
    asked = panel.got("complete", 4)[-1]
    assert asked["query"] == "rai"
    candidate = {"label": "rain.py", "icon": "file", "insert": "@rain.py"}
    panel.send({"type": "candidates", "request": asked["request"], "candidates": [candidate]})
    expect(panel.page.get_by_role("option")).to_have_count(1)
    box.evaluate(  # in one go, before anything is drawn
        "(box) => { box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));"
        " for (const one of ' xyz') document.execCommand('insertText', false, one); }"
    )
    expect(box).to_have_value("look at @rain.py xyz now")


def test_an_answer_to_fewer_letters_that_comes_late_replaces_nothing(panel: Panel) -> None:
    panel.send(*talk())
    panel.page.get_by_label("Message to the agent").click()
    panel.page.keyboard.type("@ra")
    first, last = (one["request"] for one in (panel.got("complete", 3)[0], panel.got("complete", 3)[-1]))
    for request, label in ((last, "rain.py"), (first, "any.py")):
        one = {"label": label, "icon": "file", "insert": f"@{label} "}
        panel.send({"type": "candidates", "request": request, "candidates": [one]})
    expect(panel.page.get_by_role("option")).to_have_text(["rain.py"])


PASTE = """({ sizes, words }) => {
  const box = document.querySelector('[aria-label="Message to the agent"]');
  const clipboardData = new DataTransfer();
  for (const size of sizes) clipboardData.items.add(new File([new Uint8Array(size)], `${size}.png`, { type: 'image/png' }));
  if (words) clipboardData.setData('text/plain', words);
  return box.dispatchEvent(new ClipboardEvent('paste', { clipboardData, cancelable: true, bubbles: true }));
}"""


@pytest.mark.parametrize(
    ("images", "sizes", "words", "chips", "said"),
    [
        (True, [3], "", ["3.png"], ""),
        (True, [3, 4], "", ["3.png", "4.png"], ""),
        (True, [3, (5 << 20) + 1], "", ["3.png"], "A message can have at most 8 pictures of 5 MB each."),
        (True, list(range(1, 10)), "", [f"{n}.png" for n in range(1, 9)], "At most 8 pictures"),
        (True, [3], "words of a document", [], ""),
        (False, [3], "", [], "fast-agent does not accept pictures."),
    ],
)
def test_pictures_are_pasted_where_the_agent_takes_them(
    panel: Panel, images: bool, sizes: list[int], words: str, chips: list[str], said: str
) -> None:
    panel.send(*talk(images=images))
    untouched = panel.page.evaluate(PASTE, {"sizes": sizes, "words": words})
    assert untouched is bool(words)
    expect(panel.page.locator(".box .chip")).to_have_text(chips)
    if said:
        expect(panel.page.get_by_role("status").filter(has_text=said)).to_be_visible()
    else:
        expect(panel.page.locator(".refused")).to_have_count(0)
    panel.page.get_by_label("Message to the agent").fill("look")
    panel.page.keyboard.press("Enter")
    sent = panel.got("send")[0]["attachments"]
    assert [one["mimeType"] for one in sent] == ["image/png"] * len(chips)
    if sizes == [3] and chips:
        assert sent[0]["text"] == "AAAA"
    expect(panel.page.locator(".refused")).to_have_count(0)


def test_a_prompt_that_was_sent_elsewhere_stands_above_its_answer(panel: Panel) -> None:
    panel.send(*talk(agent("hello")))
    late = {"op": "put", "entry": user("from a command"), "before": "a"}
    panel.send({"type": "ops", "sessionId": "s", "ops": [late]})
    words = panel.page.locator(".log").inner_text()
    assert words.index("from a command") < words.index("hello")


def test_slash_commands_are_completed(panel: Panel) -> None:
    panel.send(
        *talk(slashes=[{"name": "review", "description": "Looks"}, {"name": "plan", "description": ""}])
    )
    panel.page.get_by_label("Message to the agent").click()
    panel.page.keyboard.type("/re")
    expect(panel.page.get_by_role("option")).to_have_count(1)
    panel.page.keyboard.press("Tab")
    expect(panel.page.get_by_label("Message to the agent")).to_have_value("/review ")


def test_a_draft_is_kept_and_another_conversation_has_its_own(panel: Panel) -> None:
    panel.send(*talk())
    panel.page.get_by_label("Message to the agent").click()
    panel.page.keyboard.type("half a thought")
    drafts = panel.got("draft")
    assert (drafts[-1]["key"], drafts[-1]["text"]) == ("s", "half a thought") or panel.got("draft", 2)
    panel.send(overview(current=current(), draftKey="other", draft="its own"))
    expect(panel.page.get_by_label("Message to the agent")).to_have_value("its own")
    assert panel.of("send") == []


def test_pickers_say_what_was_picked(panel: Panel) -> None:
    choices = [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}]
    mode = {"id": "$mode", "label": "Mode", "category": "mode", "current": "ask", "choices": choices}
    panel.send(*talk(pickers=[mode]))
    panel.page.get_by_label("Mode").select_option("code")
    assert panel.got("pick")[0] == {"type": "pick", "sessionId": "s", "picker": "$mode", "value": "code"}


def test_a_recorded_conversation_is_read_only_with_a_way_on(panel: Panel) -> None:
    panel.send(*talk(user("hi"), agent("hello"), recorded=True))
    expect(panel.page.get_by_label("Message to the agent")).to_have_count(0)
    panel.page.get_by_role("button", name="Continue in new session").click()
    assert panel.got("continueSession")[0]["sessionId"] == "s"


def test_the_start_page_says_what_is_known_of_agents(panel: Panel) -> None:
    def says(words: str) -> None:
        expect(panel.page.get_by_role("heading", level=2)).to_have_text(words)

    demo = {"id": "demo", "name": "Demo", "source": "demo", "installed": True}
    panel.send(overview(connected=False))
    says("acp-sidecar is starting…")
    panel.send(overview(connected=False, trouble={"text": "acp-sidecar is not running."}))
    says("Agents")
    panel.send(overview(agents=[demo]))
    says("No agent found on this machine")
    panel.send(overview(agents=[demo, {"id": "x", "name": "X", "source": "found", "installed": True}]))
    says("Agents")


def test_a_conversation_that_comes_by_itself_does_not_pull_a_list_away(panel: Panel) -> None:
    panel.send(*talk(user("hi")), {"type": "show", "what": "agents"})
    choice = panel.page.get_by_role("heading", name="New conversation with")
    expect(choice).to_be_visible()
    other = {"id": "other", "name": "Other", "source": "configured", "installed": True}
    panel.send(*talk(user("hi"), agent("done meanwhile")), overview(agents=[other], current=current()))
    expect(panel.page.get_by_role("button", name="Start with Other")).to_be_visible()  # it was drawn again
    expect(choice).to_be_visible()
    panel.send({"type": "show", "what": "conversation"})
    expect(panel.page.get_by_text("done meanwhile")).to_be_visible()


def test_the_reader_who_scrolled_up_is_left_in_peace(panel: Panel) -> None:
    long = "\n\n".join(f"paragraph {number}" for number in range(200))
    panel.send(*talk(agent(long, done=False), state="running"))
    log = panel.page.locator(".log")
    assert log.evaluate("(it) => it.scrollHeight - it.scrollTop - it.clientHeight") < 4
    panel.page.mouse.move(200, 300)
    panel.page.mouse.wheel(0, -1500)
    panel.page.wait_for_function(
        "() => { const it = document.querySelector('.log'); return it.scrollHeight - it.scrollTop - it.clientHeight > 500; }"
    )
    panel.settle()
    before = log.evaluate("(it) => it.scrollTop")
    panel.send(append("a", "\n\nmore\n\nand more\n\nand yet more"))
    assert abs(log.evaluate("(it) => it.scrollTop") - before) < 2
    panel.page.get_by_label("Go to the end").click()
    expect(panel.page.get_by_text("and yet more")).to_be_visible()


def test_thoughts_are_folded(panel: Panel) -> None:
    panel.send(*talk(user("hi"), {"id": "th", "kind": "thought", "text": "hidden *idea*", "done": False}))
    expect(panel.page.get_by_text("hidden")).to_have_count(0)
    fold = panel.page.get_by_role("button", name="Thinking…")
    expect(fold).to_have_attribute("aria-expanded", "false")
    fold.click()
    expect(panel.page.locator(".thought em")).to_have_text("idea")
    panel.send(put({"id": "th", "kind": "thought", "text": "hidden *idea*", "done": True}))
    expect(panel.page.get_by_role("button", name="Thought", exact=True)).to_have_attribute(
        "aria-expanded", "true"
    )


def test_a_plan_says_how_far_it_is(panel: Panel) -> None:
    states = ("completed", "in_progress", "pending")
    items = [{"text": f"Step {number}", "state": state} for number, state in enumerate(states)]
    panel.send(*talk(user("hi"), {"id": "p", "kind": "plan", "items": items}))
    expect(panel.page.get_by_role("button", name="Plan: 1 of 3 done")).to_be_visible()
    done = [{**one, "state": "completed"} for one in items]
    panel.send(put({"id": "p", "kind": "plan", "items": done}))
    expect(panel.page.get_by_role("button", name="Plan: 3 of 3 done")).to_be_visible()


def test_usage_is_told_in_words(panel: Panel) -> None:
    panel.send(*talk(usage={"used": 31_000, "size": 128_000, "cost": "0.12 USD"}))
    usage = panel.page.locator(".usage")
    expect(usage).to_contain_text("24%")
    expect(usage).to_have_attribute("title", re.compile(r"31.000 of 128.000 tokens.*0\.12 USD"))


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ({"reason": "failed", "error": "The agent has ended."}, "The agent has ended."),
        ({"reason": "cancelled"}, "Stopped."),
        ({"reason": "max_tokens"}, "token limit"),
        ({"reason": "max_turn_requests"}, "step limit"),
        ({"reason": "refusal"}, "refused to continue"),
        ({"reason": "interrupted"}, "Interrupted: the editor or the agent ended"),
    ],
    ids=lambda one: one.get("reason") if isinstance(one, dict) else "",
)
def test_how_a_turn_ended_is_said(panel: Panel, end: dict[str, str], words: str) -> None:
    panel.send(*talk(user("hi"), {**END, **end}))
    expect(panel.page.locator(".end")).to_contain_text(re.compile(words))


@pytest.mark.parametrize(
    ("decided", "words"),
    [
        ({"kept": 2, "rejected": 1}, "2 kept, 1 rejected"),
        ({"kept": 3}, "3 kept"),
        ({"rejected": 1}, "1 rejected"),
    ],
    ids=str,
)
@pytest.mark.parametrize("reviewed", [True, False])
def test_what_was_kept_and_rejected_is_said(
    panel: Panel, decided: dict[str, int], words: str, reviewed: bool
) -> None:
    changes = [{"uri": "file:///a", "label": "a", "added": 3, "removed": 0}]
    panel.send(*talk(user("hi"), {**END, "turn": 1, "changes": changes, "reviewed": reviewed, **decided}))
    expect(panel.page.locator(".end").get_by_text(words, exact=True)).to_be_visible()
    expect(panel.page.get_by_role("button", name="Review")).to_have_count(0 if reviewed else 1)


def test_the_list_says_how_each_conversation_is(panel: Panel) -> None:
    states = {
        "waiting for you": {"state": "waiting"},
        "running": {"state": "running"},
        "failed": {"state": "failed"},
        "finished": {"state": "idle", "unseen": True},
        "open": {"state": "idle"},
        "recorded": {"state": "idle", "recorded": True},
    }
    sessions = [
        {**current(title=f"Talk {n}", **more), "sessionId": f"s{n}"} for n, more in enumerate(states.values())
    ]
    panel.send(overview(sessions=sessions, draftKey=""), {"type": "show", "what": "sessions"})
    for number, words in enumerate(states):
        row = panel.page.locator(".sessions li").filter(has_text=f"Talk {number}")
        expect(row.locator(".sr").first).to_have_text(words)
    panel.page.get_by_label("Search conversations").fill("talk 3")
    expect(panel.page.locator(".sessions li")).to_have_count(1)


def test_reads_and_searches_in_a_row_are_one_row(panel: Panel) -> None:
    looks = [
        tool(id="t1", title="Read a.py"),
        tool(id="t2", title="Find rain", toolKind="search"),
        tool(id="t3", title="Read b.py", status="in_progress"),
    ]
    edit = tool(id="t4", title="Mend it", toolKind="edit")
    alone = tool(id="t5", title="Read c.py")
    panel.send(*talk(user("hi"), *looks, edit, alone, state="running"))
    expect(panel.page.locator(".row .tool-head .title")).to_have_text(
        ["2 reads · 1 search", "Mend it", "Read c.py"]
    )
    run = panel.page.locator(".run")
    expect(run.locator(".now")).to_have_text("Read b.py")
    expect(run.locator(".status .sr")).to_have_text("running")
    run.get_by_role("button").click()
    expect(run.locator(".run-body .title")).to_have_text(["Read a.py", "Find rain", "Read b.py"])
    panel.send(put(tool(id="t3", title="Read b.py", status="failed")))
    expect(run.locator(".fold").first).to_have_attribute("aria-expanded", "true")
    expect(run.locator(".tool-head .title").first).to_have_text("2 reads · 1 search · 1 failed")
    failed = run.locator(".run-body .tool.failed .status").evaluate("(one) => getComputedStyle(one).color")
    expect(run.locator(".status").first).to_have_css("color", failed)
    done = run.locator(".run-body .tool.completed .status").first
    expect(done).not_to_have_css("color", failed)


def test_conversations_are_found_by_words_in_them(panel: Panel) -> None:
    sessions = [{**current(title=f"Talk {n}"), "sessionId": f"s{n}"} for n in range(3)]
    panel.send(overview(sessions=sessions, draftKey=""), {"type": "show", "what": "sessions"})
    rows = panel.page.locator(".sessions li")
    panel.page.get_by_label("Search conversations").fill("rainfall")
    assert panel.got("search")[-1]["query"] == "rainfall"
    expect(rows).to_have_count(0)
    found = [{"sessionId": "s1", "excerpt": "…the sum in rainfall() is wrong…"}]
    panel.send(
        {"type": "found", "query": "rain", "found": []},
        {"type": "found", "query": "rainfall", "found": found},
    )
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("the sum in rainfall() is wrong")
    panel.page.get_by_label("Search conversations").fill(
        "rainfall x"
    )  # what was found is not for these words
    expect(rows).to_have_count(0)
    panel.page.get_by_label("Search conversations").fill("")
    expect(rows).to_have_count(3)


def test_the_agent_is_followed(panel: Panel) -> None:
    button = panel.page.get_by_role("button", name="Follow the agent")
    for clicks, following in enumerate((False, True), 1):
        panel.send(*talk(), overview(current=current(), following=following))
        expect(button).to_have_attribute("aria-pressed", str(following).lower())
        button.click()
        assert panel.got("follow", clicks)[-1]["on"] is not following
    panel.send(overview(current=current(recorded=True)))
    expect(button).to_have_count(0)


def test_the_extension_knows_where_the_keys_go(panel: Panel) -> None:
    panel.send(*talk())
    panel.page.evaluate("window.dispatchEvent(new Event('blur')); window.dispatchEvent(new Event('focus'));")
    assert [one["on"] for one in panel.got("focused", 3)][-2:] == [False, True]


def test_a_sub_agents_work_is_folded_below_its_call(panel: Panel) -> None:
    task = tool(id="task", title="Look for the rain", toolKind="think", status="in_progress")
    steps = [
        tool(id="t1", title="Read a.py", parent="task"),
        tool(id="t2", title="Find rain", toolKind="search", parent="task"),
        tool(id="t3", title="Run it", toolKind="execute", parent="task", status="in_progress"),
        tool(id="t4", title="Read deep.py", parent="t3"),
    ]
    words = agent("It rains in **a.py**.", id="w", parent="task")
    panel.send(*talk(user("hi"), task, *steps, words, agent("I wait."), state="running"))
    expect(panel.page.locator(".row > .tool")).to_have_count(1)
    expect(panel.page.locator(".row .markdown")).to_have_text(["I wait."])
    fold = panel.page.locator(".below > .fold").first
    expect(fold).to_have_attribute("aria-expanded", "false")
    expect(fold.locator(".title")).to_have_text("Sub-agent: 4 steps")
    expect(fold.locator(".now")).to_have_text("Run it")
    # live while it runs, folded or not
    panel.send(put(tool(id="t5", title="Read b.py", parent="task", status="in_progress")))
    expect(fold.locator(".title")).to_have_text("Sub-agent: 5 steps")
    expect(fold.locator(".now")).to_have_text("Read b.py")
    fold.click()
    body = panel.page.locator(".below-body").first
    expect(body.locator("> .tool > .tool-head .title")).to_have_text(
        ["1 read · 1 search", "Run it", "Read b.py"]
    )
    expect(body.locator("> .markdown")).to_have_text("It rains in a.py.")
    expect(body.locator(".below > .fold .title")).to_have_text("Sub-agent: 1 step")
    panel.send(put(tool(id="t5", title="Read b.py", parent="task", status="failed")))
    expect(fold.locator(".title")).to_have_text("Sub-agent: 5 steps · 1 failed")
    expect(fold).to_have_attribute("aria-expanded", "true")
    assert (panel.page.locator("#voice").text_content() or "").strip() == "", "it does not speak to the user"


def test_a_compaction_is_a_line_that_unfolds(panel: Panel) -> None:
    compaction = {"id": "c", "kind": "compaction", "status": "in_progress", "summary": ""}
    panel.send(*talk(user("hi"), state="running"))
    panel.send(put(compaction))
    line = panel.page.locator(".compaction")
    expect(line).to_have_text("Compacting the conversation…")
    expect(panel.page.locator("#voice")).to_have_text("The agent compacts the conversation")
    expect(line.get_by_role("button")).to_have_count(0)
    panel.send(put({**compaction, "status": "completed", "summary": "You want **rain**."}))
    button = line.get_by_role("button", name="Conversation compacted")
    expect(button).to_have_attribute("aria-expanded", "false")
    button.click()
    expect(line.locator(".markdown strong")).to_have_text("rain")
    panel.send(put({**compaction, "status": "failed", "error": "no room"}))
    expect(line).to_contain_text("could not be compacted")
    expect(line.locator(".error")).to_have_text("no room")


def test_an_agents_notice_and_a_tools_name(panel: Panel) -> None:
    notice = {
        "id": "n",
        "kind": "notice",
        "level": "warning",
        "text": "No server",
        "detail": "Going on without it.",
    }
    named = [
        tool(id="t1", title="Reading the settings", name="read_file", toolKind="other"),
        tool(id="t2", title="Read File a.py", name="read_file", toolKind="other"),
        tool(id="t3", title="", name="grep", toolKind="other"),
    ]
    panel.send(*talk(user("hi"), notice, *named))
    expect(panel.page.locator(".notice.warning .detail")).to_have_text("Going on without it.")
    expect(panel.page.locator(".tool-name")).to_have_text(["read_file"])
    expect(panel.page.locator(".tool .title")).to_have_text(
        ["Reading the settings", "Read File a.py", "grep"]
    )


def test_a_conversation_is_forked_from_its_head_and_from_the_list(panel: Panel) -> None:
    panel.send(*talk(user("hi")))
    fork = panel.page.get_by_role("button", name="Fork: start a new conversation from this one")
    expect(fork).to_have_count(0)
    panel.send(overview(current=current(forks=True)))
    fork.click()
    assert panel.got("forkSession")[-1]["sessionId"] == "s"
    sessions = [{**current(title=f"Talk {n}", forks=n == 1), "sessionId": f"s{n}"} for n in range(2)]
    panel.send(overview(sessions=sessions, draftKey=""), {"type": "show", "what": "sessions"})
    rows = panel.page.locator(".sessions li")
    rows.filter(has_text="Talk 0").hover()
    expect(panel.page.get_by_role("button", name="Rename Talk 0")).to_be_visible()
    expect(panel.page.get_by_role("button", name="Fork Talk 0")).to_have_count(0)
    rows.filter(has_text="Talk 1").hover()
    panel.page.get_by_role("button", name="Fork Talk 1").click()
    assert panel.got("forkSession", 2)[-1]["sessionId"] == "s1"


def test_a_conversation_is_moved_into_an_editor_tab_and_back(panel: Panel) -> None:
    panel.send(*talk(user("hi")))
    assert panel.page.evaluate("window.__state") == {"sessionId": "s"}, "with it, a tab comes back"
    panel.page.get_by_role("button", name="Open in an editor tab").click()
    assert panel.got("openInEditor")[-1]["sessionId"] == "s"
    sessions = [{**current(title="Talk"), "sessionId": "s7"}]
    panel.send(overview(sessions=sessions, draftKey=""), {"type": "show", "what": "sessions"})
    panel.page.locator(".sessions li").hover()
    panel.page.get_by_role("button", name="Open Talk in an editor tab").click()
    assert panel.got("openInEditor", 2)[-1]["sessionId"] == "s7"


def test_a_tab_has_its_conversation_alone(panel: Panel) -> None:
    tab = {"place": "tab", "current": current(forks=True), "defaultAgent": "fast-agent"}
    panel.send(overview(place="tab", vacant="opening", draftKey=""))
    expect(panel.page.get_by_role("status").first).to_have_text("The conversation is being opened…")
    expect(panel.page.locator(".prompt")).to_have_count(0)
    panel.send(overview(place="tab", vacant="gone", draftKey=""))
    expect(panel.page.get_by_role("status").first).to_have_text("This conversation is no longer there.")
    panel.send(talk(user("hi"))[0], overview(**tab))
    expect(panel.page.get_by_role("heading", name="Rain")).to_be_visible()
    colours = [THEMES["dark"]["variables"][f"--vscode-{of}-background"] for of in ("editor", "sideBar")]
    assert colours[0] != colours[1]
    told = panel.page.evaluate("getComputedStyle(document.querySelector('.app')).backgroundColor")
    assert "#" + "".join(f"{int(one):02x}" for one in re.findall(r"\d+", told)) == colours[0], (
        "as other editors"
    )
    expect(panel.page.locator(".prompt textarea")).to_be_visible()
    for name in ("All conversations", "Open in an editor tab"):
        expect(panel.page.get_by_role("button", name=name)).to_have_count(0)
    panel.page.get_by_role("button", name="Open in the side bar").click()
    panel.got("openInSideBar")


def test_a_tab_for_a_new_conversation_asks_for_its_agent(panel: Panel) -> None:
    agents = [{"id": one, "name": one, "source": "found", "installed": True} for one in ("rain", "sun")]
    nothing = {"type": "conversation", "sessionId": None, "entries": []}
    panel.send(nothing, overview(place="tab", vacant="choosing", agents=agents, draftKey=""))
    expect(panel.page.get_by_role("heading", name="New conversation with")).to_be_visible()
    expect(panel.page.get_by_role("button", name="Close")).to_have_count(0)
    expect(panel.page.locator(".prompt")).to_have_count(0)
    panel.page.get_by_role("button", name="Start with sun").click()
    assert panel.got("newSession") == [{"type": "newSession", "agent": "sun"}]
    panel.send(*talk(agent("hello")), overview(place="tab", current=current()))
    expect(panel.page.locator(".markdown")).to_have_text("hello")
    expect(panel.page.locator(".prompt")).to_be_visible()
