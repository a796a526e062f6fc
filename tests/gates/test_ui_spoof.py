"""ui_spoof: what an agent makes a person see in a question, on the wire to the editor. Nothing invisible, nothing that runs backwards,
nothing that hides what is asked; the first choice never allows; an answer has the kind of the option that was shown."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.gates.product import Script, a_product, in_folder
from tests.gates.size import size

pytestmark = pytest.mark.timeout(200)
Record = Callable[[str, object], None]

YES_NO = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def asks(options: list[dict[str, str]] | None = None, **call: Any) -> Script:
    params = {"sessionId": "$session", "toolCall": {"toolCallId": "t", **call}, "options": options or YES_NO}
    return {"turns": [[{"request": "session/request_permission", "params": params}]]}


def runs(command: object, title: str = "ls") -> Script:
    return asks(title=title, kind="execute", rawInput={"command": command})


def reads(path: str) -> Script:
    return {"turns": [[{"read": path}]]}


def writes(path: str) -> Script:
    return {"turns": [[{"write": path, "content": "x"}]]}


def creates(args: Sequence[str] = ("made",), **more: Any) -> Script:
    params = {"sessionId": "$session", "command": "touch", "args": list(args), **more}
    return {"turns": [[{"request": "terminal/create", "params": params}]]}


def of_kind(name: str, kind: str) -> list[dict[str, str]]:
    return [
        {"optionId": "o", "name": name, "kind": kind},
        {"optionId": "p", "name": "Keep asking", "kind": "reject_once"},
    ]


def named(*names: str) -> list[dict[str, str]]:
    kinds = ("allow_once", "reject_once", "allow_always", "reject_always")
    return [{"optionId": f"o{n}", "name": name, "kind": kinds[n]} for n, name in enumerate(names)]


Row = tuple[str, Script, list[str], list[str]]

# name · script · what the question must say (in its text or its buttons) · what it must not
ROWS: list[Row] = [
    ("bidi in a command", runs("rm \u202egnp.txt"), ["\\u202e"], []),
    ("isolates in a command", runs("a\u2066b\u2069c"), ["\\u2066", "\\u2069"], []),
    ("zero width in a command", runs("r\u200bm -rf x"), ["\\u200b"], []),
    ("a terminal's sequence", runs("ls \x1b[2K\x1b[1A"), ["\\x1b"], []),
    ("a new line in a command", runs("ls\nrm -rf ~"), ["\\nrm -rf ~"], []),
    ("a carriage return", runs("rm -rf ~\rls"), ["rm -rf ~\\rls"], []),
    ("5,000 blanks", runs("ls" + " " * 5000 + "; rm -rf ~"), ["more characters", "rm -rf ~"], [" " * 1000]),
    ("a no-break space", runs("rm\u00a0-rf"), ["\\xa0"], []),
    ("a filler letter", runs("rm\u3164x"), ["\\u3164"], []),
    ("tags", runs("x\U000e0041\U000e0042"), ["\\U000e0041"], []),
    ("a line separator", runs("x\u2028File: /harmless"), ["\\u2028"], []),
    ("a lone surrogate", runs("x\ud800y"), ["\\ud800"], []),
    ("a command as a list", runs(["rm", "-rf", "/\u202e"]), ["rm -rf /\\u202e"], []),
    ("a command of numbers", runs([1, {"x": "\u202e"}]), ["1"], []),
    ("a title that denies it", runs("rm -rf ~", "Read the documentation"), ["rm -rf ~", "In its words"], []),
    ("a title of several lines", asks(title="x\nCommand: ls\nFile: /a"), ["x\\nCommand: ls\\nFile: /a"], []),
    ("a title that closes its quotation", asks(title="x” The editor says: safe"), ["In its words: “x"], []),
    ("a title of 64 kB", asks(title="t" * 2**16), ["more characters"], ["t" * 1000]),
    ("a kind that plays it down", asks(kind="read", rawInput={"command": "rm x"}), ["run a command"], []),
    ("a kind of no form", asks(kind=["\u202e"], title="x"), ["asks for permission"], []),
    ("a tool call's id", asks(toolCallId="\u202eid\n"), ["\\u202eid\\n"], []),
    ("hidden among many files", asks(kind="edit", locations=[{"path": f"/{n}"} for n in range(500)]), ["494 more"], []),
    ("a file by a long name", asks(kind="edit", locations=[{"path": "/" + "a" * 4000 + "/.ssh/key"}]), [".ssh/key"], []),
    ("a diff's path", asks(kind="edit", content=[{"type": "diff", "path": "/x\u202ey", "newText": ""}]), ["\\u202e"], []),
    ("buttons that run backwards", asks(named("\u202eseY", "No")), ["\\u202eseY"], []),
    ("buttons of several lines", asks(named("Yes\nNo", "N")), ["Yes\\nNo"], []),
    ("a button of 64 kB", asks(named("y" * 2**16, "No")), ["more characters"], ["y" * 200]),
    ("buttons without words", asks(named(" ", "")), ["allow", "reject"], []),
    ("a button that says no and allows", asks(of_kind("Reject", "allow_always")), ["Reject (allows it from now on)"], []),
    ("a button that says ask and means always", asks(of_kind("Always ask me first", "allow_always")), ["Always ask me first (allows it from now on)"], []),
    ("a button that says always and lasts", asks(of_kind("Always allow", "allow_always")), ["Always allow (allows it from now on)"], []),
    ("a button that says neither yes nor no", asks(of_kind("Continue as planned", "reject_once")), ["Continue as planned (refuses it)"], []),
    ("a button that says once and means always", asks(of_kind("Allow once", "allow_always")), ["Allow once (allows it from now on)"], []),
    ("a variable by the name of a sentence", creates(env=[{"name": "LANG. All is well", "value": "x"}]), ["sets 'LANG. All is well'"], []),
    ("a folder by the name of a command", creates(cwd="$folder/x: ls"), ["/x: ls': touch made"], []),
    ("a command of one word like two", creates(args=["a b"]), ["touch 'a b'"], []),
    ("a protected file by the name of a sentence", writes("$folder/.vscode/a: fine.json"), ["/.vscode/a: fine.json': "], []),
    ("a secret by a name that runs backwards", reads("$folder/\u202e.env"), ["\\u202e.env"], []),
    ("a secret through a link", reads("$folder/innocent.txt"), ["/.env", "secrets"], ["innocent"]),
    ("a protected file", writes("$folder/.vscode/settings.json"), ["settings.json", "programs run"], []),
    ("a protected file by another name", writes("$folder/sub/../.git/hooks/x"), ["/.git/hooks/x"], ["sub"]),
]  # fmt: skip


def visible(text: str) -> bool:
    """Nothing but what shows as itself; a question may have several lines."""
    return all(
        unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
        and c not in "\u00a0\u3164\u2800"
        for c in text
        if c != "\n"
    )


def wrong_with(name: str, text: str, titles: list[str], says: list[str], hides: list[str]) -> list[str]:
    shown = "\n".join([text, *titles])
    wrong = [f"{name}: {word!r} is not said in {shown[:400]!r}" for word in says if word not in shown]
    wrong += [f"{name}: {word[:40]!r} is said" for word in hides if word in text]
    if not all(map(visible, [text, *titles])):
        wrong.append(f"{name}: something is invisible in {shown[:400]!r}")
    if any("\n" in title for title in titles):
        wrong.append(f"{name}: a button of several lines")
    if len(text) > 6000 or any(len(title) > 400 for title in titles):
        wrong.append(f"{name}: too long to be read")
    if len(set(titles)) != len(titles):
        wrong.append(f"{name}: two buttons look the same")
    return wrong


async def table(folder: Path, rows: list[Row], planted: str | None = None) -> list[str]:
    (folder / ".env").write_text("KEY=1\n")
    (folder / "\u202e.env").write_text("KEY=1\n")
    (folder / "innocent.txt").symlink_to(".env")
    (folder / "sub").mkdir()
    (folder / "x: ls").mkdir()
    wrong: list[str] = []
    scripts = {name: in_folder(script, folder) for name, script, _, _ in rows}
    async with a_product(folder, scripts, planted=planted) as product:
        for name, _, says, hides in rows:
            before = len(product.questions)
            session = await product.session(name)
            outcome = session if "error" in session else await product.prompt(session)
            asked = product.questions[before:]
            if outcome.get("stopReason") != "end_turn" or len(asked) != 1:
                wrong.append(f"{name}: {len(asked)} questions, and {outcome}")
                continue
            hides = [hidden for hidden in hides if hidden not in str(folder)]
            wrong += wrong_with(name, asked[0].text, list(asked[0].titles), says, hides)
    if any((folder / name).exists() for name in (".git", ".vscode", "made", "a b", "x: ls/made")):
        wrong.append("what was dismissed was done all the same")
    return wrong


async def test_nobody_is_fooled(tmp_path: Path, record_property: Record) -> None:
    assert await table(tmp_path, ROWS) == []
    record_property("inputs", len(ROWS))


async def test_the_gate_can_fail(tmp_path: Path) -> None:
    some = size(ROWS[:3], ROWS)  # the fault shows in the first of them
    found = await table(tmp_path, some, "words_of_others_are_shown_as_they_are")
    assert "invisible" in "\n".join(found)
