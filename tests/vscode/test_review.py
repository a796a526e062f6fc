"""Review in VS Code: agents' changes are seen, kept, rejected, compared, undone by turn, and come back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e import scripted
from tests.support.repositories import commit, with_git
from tests.support.waiting import eventually
from tests.vscode.conftest import OpenWindow
from tests.vscode.reviewing import (
    ASKED,
    act,
    actions,
    agent_writes,
    expand,
    hover,
    lens,
    lenses,
    row_button,
    title_button,
    until_backed_up,
    until_lenses,
    until_reviewed,
    view,
)
from tests.vscode.window import Window

BASE = "".join(f"line {i}\n" for i in range(1, 21))
CHANGED = BASE.replace("line 3\n", "line three\n")
REMOVED = CHANGED.replace("line 8\nline 9\n", "")
WANTED = REMOVED.replace("line 15\n", "line 15\nnew 1\nnew 2\n")
LENSES = {
    2: ["Keep", "Reject", "− 1 line", "Keep all 3", "Reject all 3"],
    7: ["Keep", "Reject", "− 2 lines"],
    13: ["Keep", "Reject"],
}


def test_changes_are_seen_in_lenses_hovers_actions_title_and_view(window: Window) -> None:
    file = window.file("a.txt", BASE)
    window.open(file)
    agent_writes(window, (file, WANTED))
    window.until_text(file, WANTED)
    until_lenses(window, file, LENSES)
    assert "line 3" in hover(window, file, 2)
    assert "line 8\nline 9" in hover(window, file, 7), "removed lines, on the line below them"
    assert "It said" not in hover(window, file, 13), "nothing was there"
    assert not hover(window, file, 4)
    assert actions(window, file, 14) == [
        "Keep +2 by scripted · turn 1",
        "Reject +2 by scripted · turn 1",
        "Keep all 3 agent changes in this file",
        "Reject all 3 agent changes in this file",
    ]
    assert actions(window, file, 4) == []
    for words in ("Next Agent Change", "Previous Agent Change", "Keep All", "Reject All"):
        expect(title_button(window, words)).to_be_visible()
    rows = view(window)
    expect(rows).to_have_count(2)
    assert (
        rows.nth(0).get_attribute("aria-label")
        == f"{ASKED}, scripted · turn 1, lines: 3 added, 3 removed, 1 file"
    )
    expand(rows.nth(1))
    expect(rows).to_have_count(5)
    diagnostics = "return vscode.languages.getDiagnostics(vscode.Uri.file(args[0])).length"
    assert window.js(diagnostics, str(file)) == 0, "the server's plain hints are off here"


MARKS = ".editor-instance .view-overlays .cdr[class*='ced-']"
# The strip beside the scroll bar, as it is drawn
RULER = """
() => [...document.querySelectorAll('.editor-instance canvas.decorationsOverviewRuler')].map((one) => one.toDataURL()).join()
"""


def test_changed_lines_are_marked_as_a_whole_and_in_the_overview_ruler(window: Window) -> None:
    file = window.file("a.txt", BASE)
    window.open(file)
    marks = window.page.locator(MARKS)
    expect(marks).to_have_count(0)
    before = window.page.evaluate(RULER)
    agent_writes(window, (file, WANTED))
    until_lenses(window, file, LENSES)
    # one line changed, the line below those that were removed, and two new ones
    expect(marks).to_have_count(4)
    width = window.page.locator(".editor-instance .view-overlays").first.evaluate("each => each.clientWidth")
    assert {each.evaluate("each => each.clientWidth") > width / 2 for each in marks.all()} == {True}
    eventually(lambda: window.page.evaluate(RULER) != before, "the ruler shows them")
    during = window.page.evaluate(RULER)
    window.command("acpSidecar.review.keepAll")
    expect(marks).to_have_count(0)
    eventually(lambda: window.page.evaluate(RULER) != during, "the ruler shows them no more")


def test_the_palette_is_about_the_place_the_file_and_the_turn(window: Window) -> None:
    file, other = window.file("a.txt", BASE), window.file("b.txt", BASE)
    window.open(file)
    agent_writes(window, (file, WANTED), (other, CHANGED))
    until_lenses(window, file, LENSES)

    def run(title: str) -> None:
        window.focus_editor()
        window.keys("F1")
        box = window.page.locator(".quick-input-widget input.input")
        box.fill(f">ACP Sidecar: {title}")
        row = window.page.locator(".quick-input-list .monaco-list-row.focused")
        expect(row).to_contain_text(title)
        box.press("Enter")

    window.place(2, 0)
    run("Reject Agent Change")
    window.until_text(file, WANTED.replace("three", "3"))
    until_lenses(window, file, {7: LENSES[7], 13: LENSES[13]})
    window.place(7, 0)
    run("Keep Agent Change")
    until_lenses(window, file, {13: LENSES[13]})
    run("Reject All Agent Changes in File")
    window.until_text(file, BASE.replace("line 8\nline 9\n", ""))
    until_lenses(window, file, {})
    eventually(lambda: len(window.changes(other)) == 1, "the other file's is left")
    run("Reject All Agent Changes…")
    dialog = window.page.locator(".monaco-dialog-box")
    expect(dialog).to_contain_text("1 file")
    dialog.get_by_role("button", name="Reject All").click()
    eventually(lambda: window.changes() == [], "nothing is left")
    window.until_disk(other, BASE)


def test_one_is_kept_and_one_is_rejected_by_lens(window: Window) -> None:
    file = window.file("a.txt", BASE)
    window.open(file)
    agent_writes(window, (file, WANTED))
    until_lenses(window, file, LENSES)
    lens(window, "Keep", 0).click()
    until_lenses(window, file, {7: LENSES[7], 13: LENSES[13]})
    lens(window, "Reject", 0).click()
    window.until_text(file, WANTED.replace("line 7\n", "line 7\nline 8\nline 9\n"))
    until_lenses(window, file, {15: LENSES[13]})
    window.undo()
    window.until_text(file, WANTED)
    until_lenses(window, file, {7: LENSES[7], 13: LENSES[13]})


def test_after_each_decision_the_next_change_is_shown_if_that_is_wanted(window: Window) -> None:
    file = window.file("a.txt", BASE)
    window.open(file)
    agent_writes(window, (file, WANTED))
    until_lenses(window, file, LENSES)
    at = "return vscode.window.activeTextEditor?.selection.active.line"
    window.place(0, 0)
    lens(window, "Keep", 0).click()
    until_lenses(window, file, {line: LENSES[line] for line in (7, 13)})
    window.settle()
    assert window.js(at) == 0, "by default the cursor stays"
    window.configure({"acpSidecar.review.goOn": True})
    lens(window, "Reject", 0).click()
    until_lenses(window, file, {15: ["Keep", "Reject"]})
    window.until_js(f"{at} === 15", "the next change is shown")


def test_keys_go_from_change_to_change_over_files_and_keep_and_reject(window: Window) -> None:
    one, two = window.file("a.txt", BASE), window.file("b.txt", BASE)
    window.open(one)
    agent_writes(window, (one, WANTED), (two, CHANGED))
    until_lenses(window, one, LENSES)
    eventually(lambda: len(window.changes(two)) == 1, "the other file's change is listed")

    def place() -> tuple[str, int]:
        body = "const e = vscode.window.activeTextEditor; return [e.document.uri.fsPath, e.selection.active.line]"
        path, line = window.js(body)
        return path, line

    def go(key: str, path: object, line: int) -> None:
        window.focus_editor()
        window.keys(key)
        eventually(
            lambda: place() == (str(path), line),
            f"{key} goes to {path}:{line}",
            otherwise=lambda: str(place()),
        )

    go("Alt+F5", one, 2)
    go("Alt+F5", one, 7)
    go("Alt+F5", one, 13)
    go("Alt+F5", two, 2)
    until_lenses(window, two, {2: ["Keep", "Reject", "− 1 line"]})
    go("Shift+Alt+F5", one, 13)
    window.keys("Control+k", "n")
    window.until_text(one, REMOVED)
    go("Shift+Alt+F5", one, 7)
    window.keys("Control+k", "y")
    until_lenses(window, one, {2: ["Keep", "Reject", "− 1 line"]})
    go("Alt+F5", two, 2)
    window.keys("Control+k", "n")
    window.until_text(two, BASE)


def test_keys_are_for_the_change_that_the_cursor_is_on(window: Window) -> None:
    file = window.file("a.txt", BASE)
    window.open(file)
    agent_writes(window, (file, WANTED))
    until_lenses(window, file, LENSES)
    for line in (0, 4, 18):
        window.place(line, 0)
        window.focus_editor()
        window.keys("Control+k", "n")
        window.keys("Control+k", "y")
    window.place(2, 0)
    window.keys("Control+k", "y")
    until_lenses(window, file, {7: LENSES[7], 13: LENSES[13]})
    assert window.text(file) == WANTED


def test_by_code_action_and_by_title_without_lenses(window: Window) -> None:
    """Nothing depends on lenses alone."""
    file = window.file("a.txt", BASE)
    window.open(file)
    agent_writes(window, (file, WANTED))
    until_lenses(window, file, LENSES)
    actions(window, file, 2)
    act(window, "Reject +1 −1 by scripted · turn 1")
    window.until_text(file, WANTED.replace("three", "3"))
    eventually(lambda: 2 not in lenses(window, file), "one change less")
    actions(window, file, 7)
    act(window, "Keep −2 by scripted · turn 1")
    eventually(lambda: 7 not in lenses(window, file), "two changes less")
    title_button(window, "Reject All").click()
    window.until_text(file, BASE.replace("line 8\nline 9\n", ""))
    expect(title_button(window, "Reject All")).to_be_hidden()


def test_what_was_typed_since_stays_and_places_move_along(window: Window) -> None:
    file = window.file("a.txt", BASE)
    window.open(file)
    agent_writes(window, (file, WANTED))
    until_lenses(window, file, LENSES)
    window.type("mine\n", at=(0, 0))
    until_lenses(window, file, {line + 1: titles for line, titles in LENSES.items()})
    title_button(window, "Reject All").click()
    window.until_text(file, "mine\n" + BASE)


def test_a_turn_over_several_files_in_one_diff_and_undone_from_the_view(window: Window) -> None:
    one, two = window.file("a.txt", BASE), window.file("src/b.txt", BASE)
    new = window.folder / "src/new.txt"
    window.open(one)
    agent_writes(window, (one, CHANGED))
    agent_writes(window, (one, WANTED), (two, CHANGED), (new, "made\n"))
    eventually(
        lambda: {c["uri"] for c in window.changes()} == {f.as_uri() for f in (one, two, new)},
        "all are listed",
    )
    rows = view(window)
    expect(rows).to_have_count(6)
    said = [row.get_attribute("aria-label") or "" for row in rows.all()]
    assert said[0] == f"{ASKED}, scripted · turn 2, lines: 4 added, 3 removed, 3 files"
    assert [re.sub(".*/", "", label) for label in said[1:4]] == [
        "a.txt, lines: 2 added, 2 removed",
        "b.txt, lines: 1 added, 1 removed",
        "new.txt, lines: 1 added, 0 removed",
    ]
    row_button(rows.nth(0), "Open Multi-File Diff").click()
    diff = window.page.locator(".multiDiffEditor")
    expect(diff).to_be_visible()
    expect(diff.get_by_text("new.txt").first).to_be_visible()
    row_button(rows.nth(0), "Undo Turn").click()
    window.until_text(one, CHANGED)
    eventually(lambda: [c["turn"] for c in window.changes()] == [1], "the first turn's is left")
    eventually(lambda: (window.text(two) or two.read_text()) == BASE, "the unopened file is as it was")
    expect(rows).to_have_count(2)
    row_button(rows.nth(1), "Reject All").click()
    window.until_text(one, BASE)


def test_lines_of_two_turns_are_listed_under_both(window: Window) -> None:
    file = window.file("a.txt", BASE)
    window.open(file)
    twice = CHANGED.replace("line three", "line thrice")
    agent_writes(window, (file, CHANGED))
    agent_writes(window, (file, twice))
    window.until_text(file, twice)
    rows = view(window)
    expect(rows).to_have_count(4)
    said = [row.get_attribute("aria-label") or "" for row in rows.all()]
    assert [words.split(", lines")[0] for words in said] == [
        f"{ASKED}, scripted · turn 2",
        f"{window.folder.name}/a.txt",
        f"{ASKED}, scripted · turn 1",
        f"{window.folder.name}/a.txt",
    ]
    row_button(rows.nth(1), "Reject").click()
    window.until_text(file, CHANGED)
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_have_attribute("aria-label", re.compile("turn 1"))
    row_button(rows.nth(0), "Undo Turn").click()
    window.until_text(file, BASE)


@with_git
def test_what_the_user_commits_leaves_the_review_at_once(tmp_path: Path, open_window: OpenWindow) -> None:
    """In a window of its own: VS Code's watcher misses what happens in a folder just after it was made."""
    file = tmp_path / "ws" / "a.txt"
    commit(file.parent, {"a.txt": BASE.encode()})
    window = open_window()
    window.until_server_runs()
    window.open(file)
    agent_writes(window, (file, WANTED))
    until_lenses(window, file, LENSES)
    assert window.changes(file), "and with this answer it is known what was committed before"
    commit(file.parent)
    until_lenses(window, file, {})


def test_the_diff_editors_own_arrow_counts_as_reject(window: Window) -> None:
    file = window.file("a.txt", BASE)
    window.open(file)
    agent_writes(window, (file, WANTED))
    until_lenses(window, file, LENSES)
    lens(window, "− 2 lines").click()
    eventually(lambda: any(t["kind"] == "textdiff" and t["active"] for t in window.tabs()), "a diff is shown")
    for words in ("Keep All", "Reject All"):
        expect(title_button(window, words)).to_be_visible()
    arrow = window.page.locator(".monaco-diff-editor .codicon-arrow-right").first
    arrow.click()
    eventually(lambda: window.text(file) not in (None, WANTED), "the arrow changes the text")
    eventually(
        lambda: len(window.changes(file)) == 2, "one change less", otherwise=lambda: str(window.changes(file))
    )
    window.undo()
    window.until_text(file, WANTED)
    eventually(lambda: len(window.changes(file)) == 3, "undone, it is under review again")


def test_after_a_reload_everything_is_under_review_again(window: Window) -> None:
    file, other = window.file("a.txt", BASE), window.file("b.txt", BASE)
    window.open(file)
    agent_writes(window, (file, WANTED), (other, CHANGED))
    until_lenses(window, file, LENSES)
    window.type("mine\n", at=(0, 0))
    moved = {line + 1: titles for line, titles in LENSES.items()}
    until_lenses(window, file, moved)
    until_backed_up(window, "mine\n" + WANTED)
    window.reload()
    window.until_server_runs()
    window.until_text(file, "mine\n" + WANTED)
    window.open(file)  # which tab is in front after a reload depends on when VS Code last took note of that
    until_lenses(window, file, moved)
    assert window.text(file) == "mine\n" + WANTED
    eventually(lambda: len(window.changes(other)) == 1, "the file that is not open is under review too")
    said = f"{ASKED}, scripted · turn 1, lines: 4 added, 4 removed, 2 files"
    expect(view(window).first).to_have_attribute("aria-label", said)
    lens(window, "Reject", 0).click()
    window.until_text(file, "mine\n" + WANTED.replace("three", "3"))
    window.command("acpSidecar.review.keepAll")
    until_reviewed(window)
    assert window.text(file) == "mine\n" + WANTED.replace("three", "3")


def test_after_the_server_is_started_anew_too(window: Window) -> None:
    file = window.file("a.txt", BASE)
    window.open(file)
    agent_writes(window, (file, WANTED))
    until_lenses(window, file, LENSES)
    window.command("acpSidecar.restart", seconds=60)
    until_lenses(window, file, LENSES)
    title_button(window, "Reject All").click()
    window.until_text(file, BASE)


def conflict(window: Window) -> tuple[Path, str]:
    """A line that both changed; the text as the user has it."""
    file = window.file("a.txt", BASE)
    window.open(file)
    window.prompt(scripted.steps(scripted.read(file)))
    window.type("my ", at=(2, 0))
    mine = BASE.replace("line 3", "my line 3")
    window.prompt(scripted.steps(scripted.write(file, CHANGED)))
    eventually(lambda: "Keep mine" in lenses(window, file).get(2, []), "the conflict is shown")
    assert window.text(file) == mine
    return file, mine


def test_a_conflict_is_compared_and_the_agents_side_taken(window: Window) -> None:
    file, _ = conflict(window)
    assert lenses(window, file)[2] == [
        "Conflict with scripted",
        "Keep mine",
        "Take agent's",
        "Ask agent again",
    ]
    assert "line three" in hover(window, file, 2)
    expect(view(window).nth(1)).to_have_attribute(
        "aria-label", re.compile("a.txt: you and scripted changed the same")
    )
    window.answer("scripted wanted to change the same lines", "Compare")
    eventually(
        lambda: any("scripted ↔ mine" in t["label"] and t["active"] for t in window.tabs()), "a diff is shown"
    )
    left = "return vscode.workspace.textDocuments.find((d) => d.uri.scheme === 'acp-sidecar-conflict')?.getText()"
    eventually(lambda: window.js(left) == CHANGED, "the agent's text is on the left")
    window.command(
        "acpSidecar.conflict.compareBase",
        {"conflictId": window.command("sidecar.listConflicts", {})[0]["conflictId"]},
    )
    eventually(
        lambda: any("before ↔ mine" in t["label"] and t["active"] for t in window.tabs()), "the base is shown"
    )
    title_button(window, "Take Agent's").click()
    window.until_text(file, CHANGED)
    eventually(lambda: not window.command("sidecar.listConflicts", {}), "the conflict is over")
    assert [c["newText"] for c in window.changes(file)], "what was taken is under review"


def test_a_conflict_is_decided_for_mine(window: Window) -> None:
    file, mine = conflict(window)
    lens(window, "Keep mine").click()
    eventually(lambda: not window.command("sidecar.listConflicts", {}), "the conflict is over")
    assert window.text(file) == mine
    until_lenses(window, file, {})


def conflict_with_the_disk(window: Window) -> tuple[Path, str]:
    """The agent writes the file itself, in a line of which the user has other, unsaved text; and another line besides."""
    file = window.file("a.txt", BASE)
    window.open(file)
    window.prompt(scripted.steps(scripted.read(file)))
    window.type("my ", at=(2, 0))
    edit = {
        "sessionUpdate": "tool_call",
        "toolCallId": "by itself",
        "title": "edit",
        "kind": "edit",
        "status": "in_progress",
        "locations": [{"path": str(file)}],
    }
    window.prompt(
        scripted.steps(
            {"update": edit},
            {"put": str(file), "text": CHANGED},
            {"update": {**edit, "sessionUpdate": "tool_call_update", "status": "completed"}},
            scripted.read(file),
        )
    )
    eventually(lambda: "Keep mine" in lenses(window, file).get(2, []), "the conflict is shown")
    (found,) = window.command("sidecar.listConflicts", {})
    assert (found["origin"], found["agent"]) == ("disk", "scripted")
    mine = BASE.replace("line 3", "my line 3")
    assert window.text(file) == mine
    assert window.answers()[-1]["result"]["content"] == mine, "an agent reads the user's lines"
    return file, mine


@pytest.mark.parametrize(("title", "stands"), [("Keep mine", "mine"), ("Take agent's", "agent")])
def test_a_conflict_with_the_disk_is_decided_and_can_be_saved(
    window: Window, title: str, stands: str
) -> None:
    file, mine = conflict_with_the_disk(window)
    window.notification("differs in lines that you changed").first.wait_for()
    window.command("notifications.clearAll")
    lens(window, title).click()
    eventually(lambda: not window.command("sidecar.listConflicts", {}), "the conflict is over")
    wanted = mine if stands == "mine" else CHANGED
    window.until_text(file, wanted)
    if stands == "agent":
        eventually(lambda: [c["oldText"] for c in window.changes(file)], "what was taken is under review")
    else:
        until_lenses(window, file, {})
        window.save()
    window.until_disk(file, wanted)
    window.until_dirty(file, False)
    assert window.notifications() == [], "it is saved as any file"


@pytest.mark.parametrize("how", ["revert", "close"])
def test_the_agents_text_is_taken_without_us(window: Window, how: str) -> None:
    """By *Revert File*, or by closing the file without saving: it is under review all the same."""
    file, _ = conflict_with_the_disk(window)
    window.command("notifications.clearAll")
    if how == "revert":
        window.command("workbench.action.files.revert")
        window.until_text(file, CHANGED)
    else:
        window.command("workbench.action.revertAndCloseActiveEditor")
    eventually(lambda: not window.command("sidecar.listConflicts", {}), "the conflict is over")
    rows = eventually(lambda: window.changes(file), "what was taken is under review")
    window.command("sidecar.reject", {"changeIds": [row["changeId"] for row in rows]})
    window.until_disk(file, BASE)


def test_the_agent_is_asked_about_a_conflict_with_the_disk(window: Window) -> None:
    file, mine = conflict_with_the_disk(window)
    window.answer("differs in lines that you changed", "Ask Agent Again")
    (session,) = window.command("sidecar.status")["sessions"]

    def asked() -> str:
        return str(window.command("sidecar.transcript", {"sessionId": session["sessionId"]})["entries"])

    eventually(lambda: "the user changed the same lines" in asked(), "it is asked", otherwise=asked)
    assert "my line 3" in asked()
    assert "line three" in asked()
    expect(view(window).nth(1)).to_have_attribute("aria-label", re.compile("you and scripted changed"))
    (found,) = window.command("sidecar.listConflicts", {})
    assert found["asked"]
    assert window.text(file) == mine
    assert file.read_text() == CHANGED
