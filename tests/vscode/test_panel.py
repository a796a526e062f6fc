"""The agent panel in the real workbench."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e import scripted
from tests.panel.panel import EXTENSION
from tests.support.waiting import eventually
from tests.vscode.panel import Panel
from tests.vscode.window import Window

pytestmark = pytest.mark.timeout(400)
"""Seconds; the first test of a process also packs the extension and starts what all share."""

OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]


def ask(number: int, wait: bool = True) -> dict[str, Any]:
    call = {
        "toolCallId": f"c{number}",
        "title": f"Run {number}",
        "kind": "execute",
        "rawInput": {"command": f"echo {number}"},
    }
    return {"ask": {"toolCall": call, "options": OPTIONS}, "as": f"asked{number}", "wait": wait}


STOPPED = (ask(99), {"stop": "cancelled"})
"""A question that nobody answers, and how a good agent ends its turn when it is withdrawn."""


SIGNAL = {"wait_for": "session/new", "count": 2}
"""The agent waits for `signal`, in the first conversation with it."""


def signal(window: Window) -> None:
    """What waits for SIGNAL goes on: the agent is asked for a second session, which nobody uses."""
    window.command("sidecar.newSession", {"agent": scripted.NAME})


def fresh(turn: int, *steps: dict[str, Any]) -> str:
    """Steps of a later turn: an answer under the name of an earlier one would not be waited for."""
    return scripted.steps(*({**one, "as": f"{turn} {one['as']}"} if "as" in one else one for one in steps))


def begin(window: Window) -> Panel:
    """A new conversation with the scripted agent. Where it is the only one, nobody asks with whom."""
    panel = Panel(window)
    window.command("acpSidecar.panel.new")
    choice = panel.page.get_by_role("heading", name="New conversation with")
    expect(choice.or_(panel.page.get_by_text("scripted is ready."))).to_be_visible(timeout=60_000)
    if choice.is_visible():
        panel.button("Start with scripted").click()
    panel.ready()
    return panel


def test_a_turn_sees_unsaved_text_and_is_undone_exactly(window: Window) -> None:
    file = window.file("a.txt", "one\ntwo\n")
    window.open(file)
    window.type("zero ")
    panel = begin(window)
    steps = [
        scripted.read(file),
        scripted.write(file, "zero one\ntwo\nthree\n"),
        {"say": "I added **three**."},
    ]
    panel.prompt(scripted.steps(*steps))
    panel.says("I added three.")
    panel.says("1 file changed")
    window.until_text(file, "zero one\ntwo\nthree\n")
    panel.button("Undo this turn").click()
    panel.says("Undone", exact=True)
    window.until_text(file, "zero one\ntwo\n")
    window.until_dirty(file, True)
    assert file.read_text() == "one\ntwo\n"


def test_what_was_kept_and_rejected_stands_at_the_turns_end(window: Window) -> None:
    lines = "".join(f"{number}\n" for number in range(9))
    file = window.file("a.txt", lines)
    panel = begin(window)
    wanted = lines.replace("1\n", "one\n").replace("4\n", "four\n").replace("7\n", "seven\n")
    panel.prompt(scripted.steps(scripted.read(file), scripted.write(file, wanted), {"say": "done"}))
    panel.says("1 file changed")
    window.command("sidecar.keep", {"changeId": window.changes(file)[0]["changeId"]})
    panel.says("1 kept")
    panel.button("Reject", exact=True).click()
    panel.says("1 kept, 2 rejected")
    expect(panel.button("Reject", exact=True)).to_have_count(0)
    window.until_disk(file, lines.replace("1\n", "one\n"))


def test_only_a_turn_that_changed_something_can_be_undone(window: Window) -> None:
    file = window.file("a.txt", "one\n")
    panel = begin(window)
    panel.prompt(scripted.steps(scripted.read(file), {"say": "looked"}))
    panel.answers("looked")
    panel.ready()
    undo = panel.button("Undo this turn")
    expect(undo).to_have_count(0)
    panel.prompt(fresh(1, scripted.read(file), scripted.write(file, "one\ntwo\n"), {"say": "changed"}))
    panel.answers("changed")
    panel.ready()
    expect(undo).to_have_count(1)
    expect(panel.page.locator(".user").last.get_by_role("button", name="Undo this turn")).to_be_visible()


def test_a_running_turn_is_cancelled_before_it_is_undone(window: Window) -> None:
    file = window.file("a.txt", "one\n")
    window.open(file)
    panel = begin(window)
    panel.prompt(scripted.steps(scripted.read(file), scripted.write(file, "one\ntwo\n"), *STOPPED))
    window.until_text(file, "one\ntwo\n")
    panel.button("Undo this turn").click()
    panel.says("Undone", exact=True)
    panel.says("Stopped.")
    window.until_text(file, "one\n")


def test_stop_and_what_was_queued_comes_back(window: Window) -> None:
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "begun"}, *STOPPED))
    panel.says("begun")
    panel.prompt("and then this")
    expect(panel.page.get_by_label("Queued messages")).to_be_visible()
    panel.button("Stop").click()
    panel.says("Stopped.")
    expect(panel.box).to_have_value("and then this")


def test_keep_and_reject_from_the_conversation(window: Window) -> None:
    file = window.file("a.txt", "one\n")
    window.open(file)
    panel = begin(window)
    turns = (("one\ntwo\n", "Reject", "one\n"), ("one\n2\n", "Keep", "one\n2\n"))
    for turn, (text, verdict, expected) in enumerate(turns):
        panel.prompt(fresh(turn, scripted.read(file), scripted.write(file, text)))
        window.until_text(file, text)
        panel.button(verdict, exact=True).click()
        eventually(lambda: window.changes(file) == [], f"{verdict} leaves nothing to review", within=60)
        window.until_text(file, expected)
        expect(panel.button(verdict, exact=True)).to_have_count(0)


def test_typing_answers_no_question(window: Window) -> None:
    """200 characters, every tenth an Enter, while 20 questions arrive."""
    panel = begin(window)
    asks = [ask(number, wait=False) for number in range(19)]
    paced = [step for one in asks for step in ({"sleep": 0.05}, one)]
    panel.prompt(scripted.steps({"say": "asking"}, *paced, *STOPPED))
    panel.says("asking")
    panel.box.click()
    for _ in range(20):
        window.page.keyboard.type("yes yes y", delay=5)
        window.page.keyboard.press("Enter")
    panel.says("20 questions are waiting for your answer")
    window.settle()
    assert [one for one in window.answers() if "outcome" in json.dumps(one)] == []
    assert panel.page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    panel.button("Stop").click()
    panel.says("Stopped.")


def test_a_question_is_answered_by_a_click_and_by_the_keyboard(window: Window) -> None:
    panel = begin(window)
    panel.prompt(scripted.steps(ask(1), {"say": {"answer": "asked1"}}, ask(2), {"say": {"answer": "asked2"}}))
    expect(panel.page.get_by_label("Command", exact=True)).to_have_text("echo 1")
    armed = panel.page.locator(".question button[aria-disabled=false]")
    expect(armed.first).to_be_attached(timeout=60_000)
    panel.button("Allow", exact=True).click()
    expect(panel.page.get_by_label("Command", exact=True)).to_have_text("echo 2")
    expect(armed.first).to_be_attached(timeout=60_000)
    window.command("acpSidecar.panel.question")
    panel.page.wait_for_function("() => document.activeElement?.closest('[data-row]') !== null")
    for _ in range(6):
        window.page.keyboard.press("Tab")
        if panel.page.evaluate("document.activeElement.textContent") == "Reject":
            break
    window.page.keyboard.press("Enter")
    panel.ready()
    chosen = [
        one["result"]["outcome"]["optionId"] for one in window.answers() if "outcome" in one.get("result", {})
    ]
    assert chosen == ["yes", "no"]


def test_while_the_panel_is_hidden_a_message_leads_to_the_question(window: Window) -> None:
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "begun"}, SIGNAL, ask(1), {"say": {"answer": "asked1"}}))
    panel.says("begun")
    window.command("workbench.action.closeAuxiliaryBar")
    signal(window)
    notification = window.notification("asks for your permission")
    expect(notification).to_be_visible(timeout=60_000)
    assert notification.get_by_role("button", name="Allow").count() == 0
    notification.get_by_role("button", name="Show").click()
    expect(panel.page.get_by_label("Command", exact=True)).to_have_text("echo 1")
    expect(panel.page.locator(".question button[aria-disabled=false]").first).to_be_attached(timeout=60_000)
    panel.button("Reject", exact=True).click()
    panel.ready()


def test_diffs_and_places_open_in_the_editor(window: Window) -> None:
    file = window.file("a.txt", "one\ntwo\n")
    update = {
        "sessionUpdate": "tool_call",
        "toolCallId": "t",
        "title": "Edit",
        "kind": "edit",
        "status": "completed",
        "content": [{"type": "diff", "path": str(file), "oldText": "one\n", "newText": "1\n"}],
    }
    place = {"sessionUpdate": "tool_call", "toolCallId": "p", "title": "Look", "kind": "read"}
    panel = begin(window)
    steps = [{"update": update}, {"update": {**place, "locations": [{"path": str(file), "line": 2}]}}]
    panel.prompt(scripted.steps(*steps, {"say": "[quit](command:workbench.action.quit)"}))
    panel.ready()
    line = "return vscode.window.activeTextEditor?.selection.active.line"
    panel.button("a.txt:2").click()
    eventually(lambda: window.active() == file and window.js(line) == 1, "its second line", within=60)
    panel.page.locator(".diff-card .file").click()
    eventually(
        lambda: any("as the agent reported" in one["label"] for one in window.tabs()), "the diff", within=10
    )
    panel.page.get_by_role("link", name="quit").click()
    expect(window.notification("open only web pages and files")).to_be_visible()


def test_a_place_in_code_opens_at_its_line(window: Window) -> None:
    file = window.file("src/rain.py", "one\ntwo\nthree\n")
    assert window.root is not None
    panel = begin(window)
    panel.prompt(
        scripted.steps({"say": f"It is in `{file.relative_to(window.root)}:3`, `{file}:2` and `rain.py`."})
    )
    panel.ready()
    links = panel.page.locator(".markdown a.place")
    expect(links).to_have_count(2)
    for link, line in ((links.first, 2), (links.last, 1)):
        link.click()
        look = "return vscode.window.activeTextEditor?.selection.active.line"
        eventually(lambda: window.active() == file and window.js(look) == line, "the line", within=60)  # noqa: B023  # called at once


def test_code_goes_to_the_cursor_as_one_undo_step(window: Window) -> None:
    file = window.file("a.py", "x = 1\n")
    window.open(file)
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "```py\ny = 2\nz = 3\n```\n"}))
    panel.ready()
    panel.page.get_by_label("Insert at cursor").click()
    window.until_text(file, "y = 2\nz = 3x = 1\n")
    window.undo()
    window.until_text(file, "x = 1\n")


def test_what_is_selected_goes_along_unsaved_as_it_is(window: Window) -> None:
    file = window.file("a.py", "one\ntwo\n")
    window.open(file)
    window.type("zero ")
    panel = begin(window)
    window.focus_editor()
    window.js(
        "vscode.window.activeTextEditor.selection = new vscode.Selection(0, 0, 0, 8);"
        "await vscode.commands.executeCommand('acpSidecar.panel.add');"
    )
    expect(panel.page.locator(".box .chip")).to_contain_text("a.py:1")
    eventually(
        lambda: panel.page.evaluate("document.activeElement.tagName") == "TEXTAREA", "focus", within=60
    )
    panel.prompt(scripted.steps({"say": "got it"}))
    panel.says("got it")
    expect(panel.page.locator(".user .chip")).to_contain_text("a.py:1")


def test_mentions_find_files_and_attach_them(window: Window) -> None:
    window.file("rainfall.py", "x\n")
    panel = begin(window)
    panel.box.click()
    window.page.keyboard.type("see @rainf")
    expect(panel.page.get_by_role("option").first).to_contain_text("rainfall.py", timeout=60_000)
    window.page.keyboard.press("Enter")
    expect(panel.page.locator(".box .chip")).to_contain_text("rainfall.py")
    assert panel.box.input_value() == "see @rainfall.py "
    panel.box.fill("")


def test_a_problem_is_handed_to_the_agent(window: Window) -> None:
    file = window.file("a.py", "x = 1\n")
    window.open(file)
    panel = begin(window)
    window.js(
        "const found = vscode.languages.createDiagnosticCollection('tests');"
        "keep.disposables = [...(keep.disposables ?? []), found];"
        "const uri = vscode.Uri.file(args[0]);"
        "found.set(uri, [new vscode.Diagnostic(new vscode.Range(0, 0, 0, 1), 'x is a bad name')]);",
        str(file),
    )
    offered = window.js(
        "const range = new vscode.Range(0, 0, 0, 1);"
        "const all = await vscode.commands.executeCommand('vscode.executeCodeActionProvider', vscode.Uri.file(args[0]), range);"
        "const fix = all.find((one) => one.title === 'Fix with Agent');"
        "if (fix) await vscode.commands.executeCommand(fix.command.command, ...fix.command.arguments);"
        "return all.map((one) => one.title);",
        str(file),
    )
    assert {"Fix with Agent", "Add to Agent"} <= set(offered)
    expect(panel.box).to_have_value("Fix this problem.")
    expect(panel.page.locator(".box .chip")).to_contain_text("a.py:1")


def test_a_reload_brings_the_conversation_back(window: Window) -> None:
    file = window.file("a.txt", "one\n")
    panel = begin(window)
    panel.prompt(
        scripted.steps(
            scripted.read(file), scripted.write(file, "one\ntwo\n"), {"say": "remember the **rain**"}
        )
    )
    panel.says("remember the rain")
    panel.ready()
    panel.prompt(scripted.steps({"say": "and then"}, {"never": True}))
    panel.says("and then")
    panel.box.fill("half a thought")
    panel.box.blur()  # then it is kept at once; the page that is made anew shows what is kept
    window.command("workbench.action.closeAuxiliaryBar")
    panel = Panel(window)
    expect(panel.box).to_have_value("half a thought", timeout=30_000)
    window.reload()
    window.until_server_runs()
    panel = Panel(window)
    panel.says("remember the rain")
    # the first where the old sidecar still had time to note how the turn ended
    ended = re.compile("was stopped during the turn|the editor or the agent ended while this turn ran")
    expect(panel.page.get_by_text(ended).last).to_be_visible(timeout=60_000)
    expect(panel.page.get_by_label("Message to the agent")).to_have_count(0)
    panel.button("Continue").click()
    expect(panel.box).to_have_value("half a thought", timeout=60_000)
    panel.prompt(scripted.steps({"say": "here again"}))
    panel.says("here again")
    panel.button("Undo this turn").first.click()
    panel.says("Undone", exact=True)
    window.until_disk(file, "one\n")


def test_sessions_are_listed_renamed_and_deleted(window: Window) -> None:
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "talk of the list"}))
    panel.answers("talk of the list")
    panel.ready()
    (session,) = [one["sessionId"] for one in window.command("sidecar.listSessions", {}) if one["open"]]
    window.command("acpSidecar.panel.sessions")
    rows = panel.page.locator(".sessions li")
    talk, renamed = rows.filter(has_text="talk of the list"), rows.filter(has_text="My renamed talk")
    expect(talk).to_have_count(1)
    talk.hover()
    talk.get_by_label("Rename").click()
    panel.page.get_by_label("Title", exact=True).fill("My renamed talk")
    panel.page.get_by_label("Title", exact=True).press("Enter")
    expect(renamed).to_have_count(1)
    expect(talk).to_have_count(0)
    others = rows.count() - 1
    renamed.hover()
    renamed.get_by_label("Delete").click()
    panel.button("Delete", exact=True).click()
    expect(renamed).to_have_count(0, timeout=60_000)
    expect(rows).to_have_count(others)
    assert session not in [one["sessionId"] for one in window.command("sidecar.listSessions", {})]


def test_conversations_are_found_by_what_was_said_in_them(window: Window) -> None:
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "The gauge counts "}, {"say": "drizzle twice."}))
    panel.answers("drizzle twice")
    panel.ready()
    window.command("acpSidecar.panel.sessions")
    rows = panel.page.locator(".sessions li")
    expect(rows.first).to_be_visible()
    search = panel.page.get_by_label("Search conversations")
    search.fill("COUNTS DRIZZLE")  # no title has it, and it came in two pieces
    expect(rows).to_have_count(1)
    expect(rows.locator(".excerpt")).to_contain_text("gauge counts drizzle twice")
    rows.locator(".session").click()
    panel.answers("drizzle twice")
    expect(panel.box).to_be_visible()


def test_all_by_keyboard(window: Window) -> None:
    """Open, prompt, allow, keep, reject, stop: no pointer."""
    file = window.file("a.txt", "one\n")
    window.open(file)
    window.keys("F1")
    window.page.keyboard.type("ACP Sidecar: New Session in the Panel")
    window.keys("Enter")
    panel = Panel(window)
    panel.walk_to("Start with scripted")
    window.keys("Enter")
    panel.ready()
    turns = (("one\n2\n", "Keep", "one\n2\n"), ("one\n3\n", "Reject", "one\n2\n"))
    for turn, (text, verdict, expected) in enumerate(turns):
        panel.walk_to("Message to the agent")
        panel.type(fresh(turn, ask(1), scripted.read(file), scripted.write(file, text)))
        window.keys("Enter")
        expect(panel.page.locator(".question button[aria-disabled=false]").first).to_be_attached(
            timeout=60_000
        )
        window.keys("Control+Alt+q")
        panel.page.wait_for_function("() => document.activeElement?.closest('[data-row]') !== null")
        panel.walk_to("Allow")
        window.keys("Enter")
        window.until_text(file, text, within=60)
        panel.ready()
        panel.walk_to(verdict)
        window.keys("Enter")
        eventually(lambda: window.changes(file) == [], f"nothing is left after {verdict}", within=60)
        window.until_text(file, expected)
    panel.walk_to("Message to the agent")
    panel.type(scripted.steps(*STOPPED))
    window.keys("Enter")
    expect(panel.button("Stop")).to_be_visible(timeout=60_000)
    panel.walk_to("Stop")
    window.keys("Enter")
    panel.says("Stopped.")


def test_a_form_of_the_agents_is_answered(window: Window) -> None:
    schema = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string", "title": "Name"}},
    }
    order = {"mode": "form", "sessionId": "$session", "message": "Who are you?", "requestedSchema": schema}
    panel = begin(window)
    panel.prompt(
        scripted.steps({"request": "elicitation/create", "params": order, "as": "form", "wait": True})
    )
    panel.says("Who are you?")
    panel.page.get_by_label("Name").fill("me")
    expect(panel.page.locator(".question button[aria-disabled=false]").first).to_be_attached(timeout=60_000)
    panel.button("Submit").click()
    panel.ready()
    found = [one["result"] for one in window.answers() if one.get("result", {}).get("action")]
    assert found == [{"action": "accept", "content": {"name": "me"}}]


def command(code: str) -> list[dict[str, Any]]:
    """The agent runs this Python, shows it in a tool call, and waits for its end."""
    terminal = {"sessionId": "$session", "command": sys.executable, "args": ["-c", code]}
    call = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Serve", "kind": "execute"}
    content = [{"type": "terminal", "terminalId": "$taken"}]
    asked = {"sessionId": "$session", "terminalId": "$taken"}
    return [
        {"request": "terminal/create", "params": terminal, "as": "made", "wait": True},
        {"take": "made", "field": "terminalId"},
        {"update": {**call, "status": "in_progress", "content": content}},
        {"request": "terminal/wait_for_exit", "params": asked, "as": "exit", "wait": True},
        {"request": "terminal/output", "params": asked, "as": "said", "wait": True},
    ]


def allow(panel: Panel) -> None:
    expect(panel.page.locator(".question button[aria-disabled=false]").first).to_be_attached(timeout=60_000)
    panel.page.locator(".question button.allow").click()


def test_what_a_command_says_and_how_it_ended_is_shown(window: Window) -> None:
    panel = begin(window)
    panel.prompt(scripted.steps(*command("import sys; print('it \\x1b[31mrained\\x1b[0m'); sys.exit(3)")))
    expect(panel.page.get_by_label("Command", exact=True)).to_contain_text("rained", timeout=60_000)
    allow(panel)
    panel.ready()
    expect(panel.page.locator(".tool-head .exit")).to_have_text("exit code 3")
    output = panel.page.get_by_label("Output")
    expect(output).to_have_count(0)  # folded, as it is done
    panel.page.locator(".tool .fold").click()
    expect(output).to_have_text("it rained\n")
    plain = output.evaluate("(one) => getComputedStyle(one).color")
    expect(output.locator("span", has_text="rained")).not_to_have_css("color", plain)


def test_a_command_is_shown_in_a_terminal_and_stopped(window: Window) -> None:
    code = "import time; print('\\x1b[32mup\\x1b[0m\\x1b]0;evil\\x07', flush=True); time.sleep(600)"
    window.configure({"terminal.integrated.gpuAcceleration": "off"})  # then its words are in the page
    panel = begin(window)
    panel.prompt(scripted.steps(*command(code)))
    allow(panel)
    expect(panel.page.get_by_label("Output")).to_have_text("up\n", use_inner_text=True, timeout=30_000)
    panel.button("Show in a terminal").click()
    rows = window.page.locator(".terminal-wrapper.active .xterm-rows")
    expect(rows).to_contain_text("up", timeout=60_000)
    names = window.js("return vscode.window.terminals.map((one) => one.name)")
    assert [name for name in names if name.endswith("’s command")] == [f"{scripted.NAME}’s command"]
    panel.button("Stop this command").click()
    panel.ready()
    expect(panel.page.locator(".tool-head .exit")).to_have_text("you stopped it")
    (said,) = [one["result"] for one in window.answers() if "output" in one.get("result", {})]
    assert said["output"].endswith("[The user stopped this command.]\n")
    assert said["exitStatus"]["signal"] == "SIGTERM"
    expect(rows).to_contain_text("Press any key to close this terminal.", timeout=30_000)
    window.command("workbench.action.terminal.killAll")
    window.command("workbench.action.closePanel")


def test_axe_in_the_workbench(window: Window) -> None:
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "# Hi\n\n- a\n\n```py\nx = 1\n```\n"}, ask(1)))
    expect(panel.page.locator(".question button[aria-disabled=false]").first).to_be_attached(timeout=60_000)
    panel.page.evaluate((EXTENSION / "node_modules" / "axe-core" / "axe.min.js").read_text())
    found: dict[str, object] = {}
    for theme in ("Dark Modern", "Light Modern", "High Contrast", "High Contrast Light"):
        window.configure({"workbench.colorTheme": f"Default {theme}"})
        panel.page.wait_for_function(
            "(name) => document.body.dataset.vscodeThemeId.endsWith(name)", arg=theme
        )
        found[theme] = panel.page.evaluate(
            "async () => (await axe.run(document, { resultTypes: ['violations'] })).violations"
            ".filter((one) => ['serious', 'critical'].includes(one.impact))"
            ".map((one) => [one.id, one.nodes.map((node) => node.html)])"
        )
    assert found == {theme: [] for theme in found}
    panel.button("Reject", exact=True).click()
