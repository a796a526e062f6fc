"""Files that change on disk while the user has unsaved text in them: neither text loses a character, and both can be saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e import scripted
from tests.support.waiting import eventually
from tests.vscode.window import Window

DISK = "one\ntwo\nthree\n"
TYPED = "mine one\ntwo\nthree\n"
NEWER = "one\ntwo\nthree\nfour\n"
BOTH = "mine one\ntwo\nthree\nfour\n"


def looks(window: Window, file: Path) -> None:
    """An agent reads it: the disk is looked at, and what changed there is brought into the document."""
    window.prompt(scripted.steps(scripted.read(file)))


def at_the_first_change(window: Window, body: str, *args: str) -> None:
    """Runs it in the extension host in the moment in which a document changes next: while the disk's text is taken."""
    window.js(
        f"""
        const told = vscode.workspace.onDidChangeTextDocument(({{ contentChanges }}) => {{
          if (contentChanges.length > 0) {{
            told.dispose();
            {body}
          }}
        }});
        """,
        *args,
    )


@pytest.fixture
def dirty(window: Window) -> Path:
    window.configure({"acpSidecar.notify": False})  # that the agent has finished
    file = window.file("a.txt", DISK)
    window.open(file)
    window.type("mine ")
    assert window.text(file) == TYPED
    return file


def test_the_active_document_takes_the_disks_text_and_keeps_the_users(window: Window, dirty: Path) -> None:
    dirty.write_text(NEWER)
    looks(window, dirty)
    window.until_text(dirty, BOTH)
    window.save()
    window.until_disk(dirty, BOTH)
    window.until_dirty(dirty, False)
    assert window.notifications() == []


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["", "byte order mark"])
def test_the_same_with_other_line_ends(window: Window, mark: bytes) -> None:
    window.configure({"acpSidecar.notify": False})
    file = window.file("a.txt", mark + DISK.replace("\n", "\r\n").encode())
    window.open(file)
    window.type("mine ")
    file.write_bytes(mark + NEWER.replace("\n", "\r\n").encode())
    looks(window, file)
    window.until_text(file, BOTH.replace("\n", "\r\n"))
    window.save()
    window.until_dirty(file, False)
    assert file.read_bytes() == mark + BOTH.replace("\n", "\r\n").encode()
    assert window.notifications() == []


def test_what_came_from_the_disk_is_one_undo_step(window: Window, dirty: Path) -> None:
    """In which the user's own lines never go; what is saved afterwards says what the document does."""
    dirty.write_text(NEWER)
    looks(window, dirty)
    window.until_text(dirty, BOTH)
    window.undo()
    window.until_text(dirty, TYPED)
    window.redo()
    window.until_text(dirty, BOTH)
    window.save()
    window.until_disk(dirty, BOTH)
    assert window.notifications() == []


def test_two_dirty_files_and_the_inactive_one_changes(window: Window, dirty: Path) -> None:
    other = window.file("b.txt", "other\n")
    window.open(other)
    window.type("active ")
    dirty.write_text(NEWER)
    looks(window, dirty)
    window.until_text(dirty, BOTH)
    assert window.text(other) == "active other\n"
    assert other.read_text() == "other\n"
    assert window.active() == other
    window.save()
    window.until_disk(other, "active other\n")
    window.open(dirty)
    window.until_marked(dirty, False)
    assert window.text(dirty) == BOTH
    window.save()
    window.until_disk(dirty, BOTH)
    assert window.notifications() == []


def test_undoing_in_a_file_that_was_not_active_hides_nothing_either(window: Window, dirty: Path) -> None:
    """That it is based on the disk's text once the user comes to it is a step, too, but none that changes anything."""
    window.open(window.file("b.txt", "other\n"))
    dirty.write_text(NEWER)
    looks(window, dirty)
    window.until_text(dirty, BOTH)
    window.open(dirty)
    window.until_marked(dirty, False)
    window.undo()
    window.settle()
    assert window.text(dirty) == BOTH
    window.undo()
    window.until_text(dirty, TYPED)


def test_the_inactive_one_changes_twice(window: Window, dirty: Path) -> None:
    window.open(window.file("b.txt", "other\n"))
    dirty.write_text(NEWER)
    looks(window, dirty)
    window.until_text(dirty, BOTH)
    window.until_marked(dirty, True)
    dirty.write_text(NEWER + "five\n")
    window.open(dirty)
    looks(window, dirty)
    window.until_text(dirty, BOTH + "five\n")
    window.save()
    window.until_disk(dirty, BOTH + "five\n")


def test_a_clean_document_is_the_editors_to_reload(window: Window) -> None:
    file = window.file("a.txt", DISK)
    window.open(file)
    file.write_text(NEWER)
    looks(window, file)
    window.until_text(file, NEWER)
    window.until_dirty(file, False)


OTHER = "1\n2\n3\n4\n5\n6\n7\n8\n"
AGENTS = OTHER.replace("4", "agent 4")
OTHER_NEWER = f"{OTHER}9\n"


@pytest.fixture
def another(window: Window, dirty: Path) -> Path:
    """Has unsaved text of the user's and an agent's. It is in the first tab and not active; its file is newer, as that of `dirty` is."""
    other = window.file("b.txt", OTHER)
    window.open(other)
    window.type("other ")
    window.prompt(scripted.steps(scripted.read(other), scripted.write(other, f"other {AGENTS}")))
    window.until_text(other, f"other {AGENTS}")
    window.command("workbench.action.moveEditorLeftInGroup")
    window.open(dirty)
    other.write_text(OTHER_NEWER)
    dirty.write_text(NEWER)
    return other


TURNS_TO_ANOTHER = """
const key = { text: args[1] };
const mine = vscode.commands.registerCommand(args[0], async () => {
  mine.dispose();
  await vscode.commands.executeCommand("workbench.action.openEditorAtIndex", 0);
  const at = new vscode.Position(7, 1);
  vscode.window.activeTextEditor.selection = new vscode.Selection(at, at);
  if (args[2] === "before" || args[2] === "saved") {
    await vscode.commands.executeCommand("type", key);
  }
  if (args[2] === "saved") {
    await vscode.window.activeTextEditor.document.save();
    await vscode.commands.executeCommand("type", key);
  }
  const asked = vscode.commands.executeCommand(args[0]);
  if (args[2] === "while") {
    await vscode.commands.executeCommand("type", key);
  }
  if (args[2] === "after") {
    const told = vscode.workspace.onDidChangeTextDocument(({ contentChanges }) => {
      if (contentChanges.length > 0) {
        told.dispose();
        void vscode.commands.executeCommand("type", key);
      }
    });
  }
  await asked;
});
"""
"""The user comes to the first tab, and presses a key there, after our extension has asked to reload the active file and before that is done."""


@pytest.mark.parametrize("key", ["", "before", "while", "after"])
def test_a_reload_that_hits_another_document_takes_nothing_from_it(
    window: Window, dirty: Path, another: Path, key: str
) -> None:
    """Neither the user's text, nor the agent's, nor what is new on the disk; and the agent's change stays under review."""
    window.js(TURNS_TO_ANOTHER, "workbench.action.files.revert", "k", key)
    looks(window, dirty)
    window.until_text(dirty, BOTH)
    assert window.active() == another
    looks(window, another)
    text = f"other {AGENTS}9\n".replace("8", "8k" if key else "8")
    window.until_text(another, text)
    assert [c["newText"] for c in window.changes(another)] == ["agent "]
    for file, said in ((another, text), (dirty, BOTH)):
        window.open(file)
        window.until_marked(file, False)
        window.save()
        window.until_disk(file, said)
    assert window.notifications() == []


@pytest.mark.parametrize(("key", "typed"), [("before", "k"), ("saved", "kk")])
def test_nor_the_first_key_in_a_file_without_unsaved_text(
    window: Window, dirty: Path, key: str, typed: str
) -> None:
    """`saved`: and what was typed until then was saved in that moment, too."""
    other = window.file("b.txt", OTHER)
    window.open(other)
    window.command("workbench.action.moveEditorLeftInGroup")
    window.open(dirty)
    dirty.write_text(NEWER)
    window.js(TURNS_TO_ANOTHER, "workbench.action.files.revert", "k", key)
    looks(window, dirty)
    window.until_text(dirty, BOTH)
    assert window.active() == other
    text = OTHER.replace("8", f"8{typed}")
    window.until_text(other, text)
    window.save()
    window.until_disk(other, text)
    window.open(dirty)
    window.until_marked(dirty, False)
    assert window.text(dirty) == BOTH
    assert window.notifications() == []


KEYS = "abcdefghijklmnopqrstuvwxyz0123456789"
LINES = "ab\ncd\nef\ngh\nij\nkl\nmn\nop\nqr\nst\nuv\nwx"


@pytest.mark.parametrize("keys", [KEYS, LINES], ids=["one line", "lines"])
def test_the_cursor_stays_where_is_typed_while_the_disks_text_is_taken(window: Window, keys: str) -> None:
    """The reload throws it to the next line; the keys pressed meanwhile belong to where it was."""
    text = typed_over_a_reload(window, DISK, keys)
    assert text == f"0\n{DISK}".replace("two", f"twomine {keys}")


def test_a_cursor_that_is_moved_while_the_disks_text_is_taken_stays_there(
    window: Window, dirty: Path
) -> None:
    """The disk has what the user typed, too, so that nothing is left to do after the reload but to put the cursor back."""
    at_the_first_change(
        window,
        "const at = new vscode.Position(1, 3); vscode.window.activeTextEditor.selection = new vscode.Selection(at, at);",
    )
    dirty.write_text(BOTH)
    looks(window, dirty)
    window.until_text(dirty, BOTH)
    window.until_dirty(dirty, False)
    window.type("!")
    window.until_text(dirty, "mine one\ntwo!\nthree\nfour\n")


def test_a_document_that_is_closed_without_a_save_while_the_disks_text_is_taken(
    window: Window, dirty: Path
) -> None:
    """What the user throws away in that moment does not come back."""
    close = "workbench.action.revertAndCloseActiveEditor"
    at_the_first_change(window, "void vscode.commands.executeCommand(args[0]);", close)
    dirty.write_text(NEWER)
    looks(window, dirty)
    window.settle()
    eventually(lambda: not window.tabs(), "it is closed", otherwise=lambda: str(window.tabs()))
    window.open(dirty)
    assert window.text(dirty) == NEWER
    window.until_dirty(dirty, False)


def test_a_document_that_is_closed_right_after_the_reload_is_opened_again(
    window: Window, dirty: Path
) -> None:
    """Nothing in it is unsaved in that moment, so that the workbench asks nobody what is to become of what the user had typed. It comes back with our
    edit, and the workbench shows every file that has unsaved text."""
    window.js(
        """
        const mine = vscode.commands.registerCommand(args[0], async () => {
          mine.dispose();
          await vscode.commands.executeCommand(args[0]);
          globalThis.closedTabs = 0;
          vscode.window.tabGroups.onDidChangeTabs(({ closed }) => (globalThis.closedTabs += closed.length));
          void vscode.commands.executeCommand("workbench.action.closeActiveEditor");
        });
        """,
        "workbench.action.files.revert",
    )
    dirty.write_text(NEWER)
    looks(window, dirty)
    window.until_text(dirty, BOTH)
    window.until_dirty(dirty, True)
    eventually(lambda: window.js("return globalThis.closedTabs;"), "it was closed")
    window.open(dirty)
    window.save()
    window.until_disk(dirty, BOTH)


@pytest.mark.parametrize("key", ["", "k"])
def test_a_file_that_changes_again_while_its_text_is_taken(window: Window, dirty: Path, key: str) -> None:
    """What the user has typed is not made of the older text: it is on top of the newer one in the end."""
    at_the_first_change(
        window,
        """
        require("node:fs").writeFileSync(args[0], args[1]);
        if (args[2]) {
          void vscode.commands.executeCommand("type", { text: args[2] });
        }
        """,
        str(dirty),
        f"0\n{DISK}",
        key,
    )
    dirty.write_text(NEWER)
    looks(window, dirty)
    window.until_text(dirty, f"0\n{TYPED}".replace("mine ", f"mine {key}"))
    assert window.notifications() == []


def test_the_cursor_stays_where_is_typed_though_it_is_thrown_to_the_end_of_the_file(window: Window) -> None:
    """Unsaved text at the end: the reload replaces all."""
    unsaved = f"{DISK}more\n"
    text = typed_over_a_reload(window, unsaved, KEYS)
    assert text == f"0\n{unsaved}".replace("two", f"twomine {KEYS}")


def typed_over_a_reload(window: Window, unsaved: str, keys: str) -> str:
    """What the file says in the end."""
    file = window.file("a.txt", DISK)
    window.open(file)
    if unsaved != DISK:
        window.type("more\n", at=(3, 0))
    window.place(1, 3)
    window.page.keyboard.type("mine ", delay=20)
    file.write_text(f"0\n{DISK}")
    turn = window.begin(scripted.steps(scripted.read(file)))
    window.page.keyboard.type(keys, delay=20)
    turn.result()
    looks(window, file)
    expected = len(f"0\n{unsaved}mine {keys}")
    eventually(
        lambda: len(window.text(file) or "") == expected,
        "all is there",
        otherwise=lambda: str(window.text(file)),
    )
    return window.text(file) or ""
