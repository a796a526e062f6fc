"""The panel and the rest of the workbench: menus, clipboard, files, pages, commands, notifications."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import expect

from tests.e2e import scripted
from tests.support.waiting import eventually
from tests.vscode.panel import Panel
from tests.vscode.test_panel import SIGNAL, ask, begin, signal
from tests.vscode.window import Window

pytestmark = pytest.mark.timeout(400)


def choose(window: Window, name: str) -> None:
    """From the menu that is open. Its items act on the release of a button that was pressed on them, and not in the first tenth of a
    second of the menu."""
    item = window.page.get_by_role("menuitem", name=name)
    expect(item).to_be_visible(timeout=30_000)

    def taken() -> bool:
        try:
            item.hover(timeout=5000)
            window.page.mouse.down()
            window.page.mouse.up()
            item.wait_for(state="hidden", timeout=1000)
        except PlaywrightError:
            return item.count() == 0
        return True

    eventually(taken, f"{name} is chosen", within=30)


def test_files_are_added_from_the_explorer(window: Window) -> None:
    window.file("rain.py", "x = 1\n")
    begin(window)
    window.command("workbench.view.explorer")
    window.command("workbench.files.action.refreshFilesExplorer")
    # the folders of other tests stand there too, and only those in view are drawn
    window.js(
        "await vscode.commands.executeCommand('revealInExplorer', vscode.Uri.file(args[0]))",
        str(window.folder),
    )
    folder = window.page.locator(".explorer-folders-view .monaco-list-row").filter(
        has_text=window.folder.name
    )
    expect(folder).to_be_visible(timeout=30_000)
    folder.click(button="right")
    choose(window, "Add to Agent")
    panel = Panel(window)
    chip = panel.page.locator(".box .chip")
    expect(chip).to_have_text([window.folder.name])
    expect(chip.locator(".codicon-folder")).to_have_count(1)


def test_the_selection_is_added_from_the_editors_menu(window: Window) -> None:
    file = window.file("rain.py", "one\ntwo\n")
    window.open(file)
    panel = begin(window)
    window.focus_editor()
    window.js("vscode.window.activeTextEditor.selection = new vscode.Selection(1, 0, 1, 3);")
    window.page.locator(".editor-instance .view-line").nth(1).locator("span span").first.click(button="right")
    choose(window, "Add to Agent")
    expect(panel.page.locator(".box .chip")).to_contain_text("rain.py:2")


def test_mentions_of_symbols_and_of_the_selection(window: Window) -> None:
    file = window.file("rain.py", "def rainfall(): ...\n")
    window.open(file)
    panel = begin(window)
    window.js(
        "const uri = vscode.Uri.file(args[0]);"
        "const where = new vscode.Location(uri, new vscode.Range(0, 4, 0, 12));"
        "const symbol = new vscode.SymbolInformation('rainfall', vscode.SymbolKind.Function, '', where);"
        "const provider = { provideWorkspaceSymbols: (query) => ('rainfall'.startsWith(query) ? [symbol] : []) };"
        "keep.disposables = [...(keep.disposables ?? []), vscode.languages.registerWorkspaceSymbolProvider(provider)];"
        "vscode.window.activeTextEditor.selection = new vscode.Selection(0, 0, 0, 19);",
        str(file),
    )
    panel.box.click()
    for typed, option, chip in (
        ("@rainf", "rain.py:1", "rainfall (rain.py:1)"),
        ("@sel", "Selection", "rain.py:1"),
    ):
        window.page.keyboard.type(typed)
        found = panel.page.get_by_role("option").filter(has_text=option).filter(has_not_text="/rain.py:0")
        expect(found.first).to_be_visible(timeout=30_000)
        found.first.click()
        expect(panel.page.locator(".box .chip").last).to_contain_text(chip.split(" (")[0])
    expect(panel.page.locator(".box .chip")).to_have_count(2)


def test_symbols_that_are_found_late_come_to_the_files(window: Window) -> None:
    """A language server may take longer than anybody waits for the files; nobody types another letter for it."""
    file = window.file("hail.py", "def hailstorm(): ...\n")
    window.open(file)
    panel = begin(window)
    window.js(
        "const where = new vscode.Location(vscode.Uri.file(args[0]), new vscode.Range(0, 4, 0, 13));"
        "const symbol = new vscode.SymbolInformation('hailstorm', vscode.SymbolKind.Function, '', where);"
        "const found = (query) => ('hailstorm'.startsWith(query) ? [symbol] : []);"
        "const answers = new Promise((done) => { keep.answers = done; });"
        "const provider = { provideWorkspaceSymbols: (query) => answers.then(() => found(query)) };"
        "keep.late = vscode.languages.registerWorkspaceSymbolProvider(provider);",
        str(file),
    )
    try:
        panel.box.click()
        window.page.keyboard.type("@hail")
        options = panel.page.get_by_role("option")
        expect(options.filter(has_text="hail.py").first).to_be_visible(timeout=30_000)
        expect(options.filter(has_text="hail.py:1")).to_have_count(0)
        window.js("keep.answers();")
        expect(options.filter(has_text="hail.py:1").first).to_be_visible(timeout=30_000)
        expect(options.filter(has_text="hail.py").first).to_be_visible()
    finally:
        window.js("keep.late.dispose();")


def test_the_badge_counts_what_waits(window: Window) -> None:
    panel = begin(window)
    badge = window.page.locator(".part.auxiliarybar .badge-content, .part.auxiliarybar .badge")
    expect(badge.filter(has_text="1")).to_have_count(0)
    panel.prompt(scripted.steps(ask(1)))
    expect(badge.filter(has_text="1").first).to_be_visible(timeout=30_000)
    expect(panel.page.locator(".question button[aria-disabled=false]").first).to_be_attached(timeout=30_000)
    panel.button("Reject", exact=True).click()
    panel.ready()
    expect(badge.filter(has_text="1")).to_have_count(0)


@pytest.fixture
def clipboard(window: Window) -> Generator[Window]:
    """The shared window, which may use the clipboard meanwhile."""
    window.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield window
    window.page.context.clear_permissions()


def test_code_is_copied(clipboard: Window) -> None:
    window = clipboard
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "```py\ny = 2\nz = 3\n```\n\n```py\nother\n```\n"}))
    panel.ready()
    panel.page.get_by_label("Copy code").first.click()
    eventually(
        lambda: window.js("return await vscode.env.clipboard.readText()") == "y = 2\nz = 3",
        "the first block is in the clipboard",
        within=30,
    )


def test_a_conversation_is_exported(window: Window) -> None:
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "it **rained**"}))
    panel.says("it rained")
    panel.ready()
    assert window.root is not None
    target = window.root / "say it rained.md"  # what is offered, of the title
    window.js("keep.export = vscode.commands.executeCommand('acpSidecar.panel.export'); return null;")
    box = window.page.locator(".quick-input-widget input.input")
    expect(box).to_be_visible(timeout=30_000)
    expect(box).to_have_value(str(target), timeout=30_000)
    window.save_there(target)
    eventually(lambda: window.active() == target, "it is shown", within=30)
    text = target.read_text()
    assert "## You" in text
    assert "it **rained**" in text
    target.unlink()


def test_the_words_of_a_prompt_that_a_command_sent(window: Window) -> None:
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "first"}))
    panel.says("first")
    panel.ready()
    (session,) = [one for one in window.command("sidecar.listSessions", {}) if one["open"]]
    asked = scripted.steps({"say": "second"})
    window.prompt(asked, session["sessionId"])
    panel.says("second")
    expect(panel.page.locator(".user .words")).to_have_count(2)
    words = panel.page.locator(".log").inner_text()
    assert words.index("first") < words.index(asked) < words.rindex("second")
    panel.ready()


def test_a_page_is_opened_after_consent_and_its_end_is_told(window: Window) -> None:
    order = {
        "mode": "url",
        "sessionId": "$session",
        "message": "Sign in at the shop",
        "url": "https://shop.example/sign-in?next=bank.example",
        "elicitationId": "e1",
    }
    go = window.file("go", "")
    go.unlink()
    panel = begin(window)
    panel.prompt(
        scripted.steps(
            {"request": "elicitation/create", "params": order, "as": "page", "wait": True},
            {"request": "fs/read_text_file", "params": {"sessionId": "$session", "path": str(go)}, "as": "r"},
            {"notify": "elicitation/complete", "params": {"elicitationId": "e1"}},
        )
    )
    card = panel.page.locator(".question.form")
    expect(card.locator(".address b")).to_have_text("shop.example", timeout=30_000)
    expect(card.locator("button[aria-disabled=false]").first).to_be_attached(timeout=30_000)
    answers = len(window.answers())
    card.get_by_role("button", name="Open page").click()
    dialog = window.page.get_by_role("dialog")
    expect(dialog).to_contain_text("https://shop.example/sign-in", timeout=30_000)
    dialog.get_by_role("button", name="Cancel").click()
    expect(card).to_be_visible()  # asked is asked: it was not opened, so nothing is answered
    assert len(window.answers()) == answers
    expect(window.page.get_by_role("dialog")).to_have_count(0)
    card.locator(".address").hover()  # a person's pointer moves; one that stays where it was clicks nothing
    card.get_by_role("button", name="Open page").click()
    with window.page.context.expect_page(timeout=60_000) as opened:
        window.page.get_by_role("dialog").get_by_role("button", name="Open", exact=True).click()
    opened.value.close()
    panel.says("Finished.")
    panel.ready()
    found = [one["result"] for one in window.answers() if one.get("result", {}).get("action")]
    assert found == [{"action": "accept"}]


def test_the_end_of_a_turn_is_told_to_who_looks_elsewhere(window: Window) -> None:
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "begun"}, SIGNAL, {"say": "done"}))
    panel.says("begun")
    window.command("workbench.action.closeAuxiliaryBar")
    signal(window)
    notification = window.notification("has finished")
    expect(notification).to_be_visible(timeout=30_000)
    notification.get_by_role("button", name="Show").click()
    Panel(window).says("done")
