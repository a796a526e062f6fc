"""Comments on an agent's change go to the agent, with the file, the lines and both texts."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.e2e import scripted
from tests.support.waiting import eventually
from tests.vscode.conftest import Configure
from tests.vscode.panel import Panel
from tests.vscode.reviewing import agent_writes, expand, lenses, until_lenses, view
from tests.vscode.test_panel_around import choose as from_menu
from tests.vscode.test_panel_prompt import last_prompt
from tests.vscode.test_review import BASE, CHANGED, LENSES, WANTED
from tests.vscode.window import Window


def box(window: Window) -> Locator:
    return window.page.locator(".review-widget")


def comment(window: Window, line: int, words: str, button: str, picture: Path | None = None) -> None:
    window.place(line, 0)
    window.command("acpSidecar.review.comment")
    expect(box(window)).to_contain_text("about this change")
    box(window).locator(".monaco-editor").first.click()
    window.page.keyboard.insert_text(words)
    if picture is not None:
        window.screenshot(picture)
    box(window).get_by_role("button", name=button).click()
    expect(box(window)).to_have_count(0)


def prompts(window: Window, session: str) -> list[str]:
    """All text of each prompt of a session, from its record."""
    entries = window.command("sidecar.transcript", {"sessionId": session})["entries"]
    return [
        "\n".join(block.get("text", "") for block in entry["prompt"])
        for entry in entries
        if entry["type"] == "prompt"
    ]


def test_a_comment_on_a_change_goes_to_the_agent_with_both_texts(window: Window, tmp_path: Path) -> None:
    pictures = Path(os.environ.get("PICTURES", tmp_path))
    file = window.file("a.txt", BASE)
    window.open(file)
    session = agent_writes(window, (file, WANTED))
    until_lenses(window, file, LENSES)
    comment(
        window,
        2,
        "Write the number as a Roman one.",
        "Ask for a Change",
        pictures / "review-vscode-comment.png",
    )
    eventually(lambda: len(prompts(window, session)) == 2, "the agent was prompted")
    said = prompts(window, session)[1]
    assert "Write the number as a Roman one." in said
    assert f"{file.as_uri()}, lines 3–3:" in said
    assert "--- before your change\nline 3\n+++ after your change\nline three" in said
    assert window.text(file) == WANTED, "asking takes nothing back"

    comment(window, 7, "Those lines are still needed.", "Reject with This Reason")
    window.until_text(file, WANTED.replace("line 7\n", "line 7\nline 8\nline 9\n"))
    eventually(lambda: len(prompts(window, session)) == 3, "the agent was told why")
    said = prompts(window, session)[2]
    assert said.startswith("I rejected this change. Those lines are still needed.")
    assert "line 8\nline 9\n+++ after your change (no lines)" in said
    Panel(window).says("Those lines are still needed.")


def test_the_reason_is_the_answer_where_the_agent_waits_for_one(window: Window, configure: Configure) -> None:
    configure({"acpSidecar.writes": "confirm"})
    file = window.file("a.txt", BASE)
    window.open(file)
    turn = window.begin(scripted.steps(scripted.read(file), scripted.write(file, WANTED)))
    until_lenses(window, file, LENSES)
    assert file.read_text() == BASE, "not saved before it is decided"
    comment(window, 2, "Digits, please.", "Reject with This Reason")
    window.until_text(file, WANTED.replace("line three", "line 3"))
    window.command("sidecar.keep", {"uri": file.as_uri()})
    session = turn.result()["sessionId"]
    (error,) = [answer["error"] for answer in window.answers() if "error" in answer]
    assert error["data"]["errorKind"] == "rejected"
    assert '"Digits, please."' in error["message"]
    assert "kept" in error["message"]
    assert len(prompts(window, session)) == 1, "no prompt carries it once more"
    assert file.read_text() == WANTED.replace("line three", "line 3"), "what was kept is saved"


def test_the_message_that_an_agent_waits_opens_what_it_waits_for(
    window: Window, configure: Configure
) -> None:
    configure({"acpSidecar.writes": "confirm"})
    file, other = window.file("a.txt", BASE), window.file("b.txt", BASE)
    window.open(file)
    window.open(other)
    turn = window.begin(scripted.steps(scripted.read(file), scripted.write(file, WANTED)))
    window.answer("waits until you keep or reject", "Show the change")
    eventually(lambda: window.active() == file, "the file is shown")
    window.command("sidecar.keep", {"uri": file.as_uri()})
    turn.result()
    assert file.read_text() == WANTED


def test_what_the_user_changes_in_it_is_told_with_the_next_prompt(window: Window) -> None:
    file = window.file("a.txt", BASE)
    window.open(file)
    agent_writes(window, (file, WANTED))
    until_lenses(window, file, LENSES)
    window.type("!", at=(2, 10))
    window.place(7, 0)
    window.command("acpSidecar.review.reject")
    window.until_text(file, WANTED.replace("three", "three!").replace("line 7\n", "line 7\nline 8\nline 9\n"))
    window.prompt("[]")
    told = next(
        block["text"]
        for block in last_prompt(window)
        if "rejected or changed something in them" in block.get("text", "")
    )
    assert f"{file}:\nline 3:\n- line three\n+ line three!\nline 8:\n+ line 8\n+ line 9" in told
    window.prompt("[]")
    assert not any(
        "rejected or changed something in them" in block.get("text", "") for block in last_prompt(window)
    ), "told once"


def test_a_file_that_an_agent_removed(window: Window) -> None:
    """It has no line for a comment to stand at, and no editor."""
    file = window.file("gone.txt", "one\ntwo\n")
    call = {
        "sessionUpdate": "tool_call",
        "toolCallId": "t",
        "title": "rm",
        "kind": "delete",
        "status": "pending",
    }
    steps = (
        {"update": {**call, "locations": [{"path": str(file)}]}},
        {"remove": str(file)},
        {"update": {**call, "sessionUpdate": "tool_call_update", "status": "completed"}},
    )
    session = window.prompt(scripted.steps(*steps))["sessionId"]
    eventually(lambda: window.changes(), "the removal is under review")
    rows = view(window)
    expand(rows.nth(1))
    place = rows.nth(2)
    expect(place).to_contain_text("File deleted")
    place.click(button="right")
    from_menu(window, "Comment on Agent Change…")
    picker = window.page.locator(".quick-input-widget")
    expect(picker).to_contain_text("about its change to")
    picker.locator("input[type=text]").fill("It is still needed.")
    window.page.keyboard.press("Enter")
    picker.locator(".monaco-list-row", has_text="Reject with This Reason").click()
    eventually(lambda: file.exists() and file.read_text() == "one\ntwo\n", "it is there again")
    eventually(lambda: len(prompts(window, session)) == 2, "the agent was told why")
    said = prompts(window, session)[1]
    assert said.startswith("I rejected this change. It is still needed.")
    assert f"{file.as_uri()}:" in said
    assert "your change of the whole file: deleted\n--- before your change\none\ntwo" in said


def test_a_comment_that_cannot_be_sent_is_not_lost(window: Window) -> None:
    file = window.file("a.txt", BASE)
    window.open(file)
    session = agent_writes(window, (file, CHANGED))
    eventually(lambda: lenses(window, file), "the change is under review")
    window.command("sidecar.deleteSession", {"sessionId": session})
    window.place(2, 0)
    window.command("acpSidecar.review.comment")
    box(window).locator(".monaco-editor").first.click()
    window.page.keyboard.insert_text("Shorter, please.")
    box(window).get_by_role("button", name="Ask for a Change").click()
    window.notification("Your comment was not sent")
    expect(box(window)).to_contain_text("Shorter, please.")
    box(window).get_by_role("button", name="Discard Comment").click()
