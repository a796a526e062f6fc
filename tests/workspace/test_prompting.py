"""What the user has not saved travels with a prompt; an agent's question about such a file says so."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.overlay import Modification, Notified
from sidecar.core.refusal import Refusal
from sidecar.core.uri import normalise
from sidecar.workspace.ports.ports import OpenedSession, Option, Question, SessionRequest
from sidecar.workspace.sessions.prompting import MAX_TEXT, MAX_TOGETHER
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE, WELL_BEHAVED
from tests.support.editor_time import run
from tests.support.workspaces import Bench, IdleAgents, a_workspace, agent_may_act

Blocks = Sequence[Mapping[str, Any]]
ASKED = {"type": "text", "text": "do it"}


class Listening(IdleAgents):
    """Agents that end each turn at once and keep what they were sent."""

    def __init__(self, *, embedded: bool = True) -> None:
        super().__init__()
        self.embedded = embedded
        self.heard: list[Blocks] = []

    async def open_session(self, request: SessionRequest) -> OpenedSession:
        return OpenedSession(request.session_id, request.agent, embedded_context=self.embedded)

    async def prompt(self, session_id: str, blocks: Blocks) -> str:
        self.heard.append(blocks)
        return "end_turn"


def lines(editor: FakeEditor) -> list[str]:
    """In the conversation; but for what is said of a turn in which, as in these tests, the agent says nothing."""
    return [words for _, words in editor.notices if "without an answer" not in words]


def prompt(
    folder: Path, case: Any, policy: str = "embed", *, embedded: bool = True, **editor: Any
) -> tuple[list[str], FakeEditor]:
    """Names and texts of what went along, and the editor, after a prompt."""
    agents = Listening(embedded=embedded)

    async def main() -> FakeEditor:
        fake = FakeEditor(VSCODE, folder, **editor)
        async with a_workspace(folder, fake, agents, {"beforePrompt": policy}) as bench:
            fake.attach(bench.workspace.apply)
            await case(bench, fake)
            await bench.workspace.start_prompt(bench.session, [ASKED])[2]
        return fake

    fake = run(main())
    (heard,) = agents.heard
    assert heard[0] == ASKED
    assert all(b["type"] == "resource" for b in heard[1:])
    return [b["resource"]["uri"].rpartition("/")[2] + ": " + b["resource"]["text"] for b in heard[1:]], fake


async def dirty(bench: Bench, editor: FakeEditor) -> None:
    for name in ("a.txt", "b.txt", "clean.txt", ".env", "secrets.txt"):
        (bench.folder / name).write_text("disk\n")
        editor.opens(name)
    await asyncio.sleep(1)
    for name in ("a.txt", ".env", "secrets.txt"):
        editor.types(name, "typed ", at=0)


def test_unsaved_text_goes_along_and_secrets_do_not(tmp_path: Path) -> None:
    sent, editor = prompt(tmp_path, dirty)
    assert sent == ["a.txt: typed disk\n"]
    assert lines(editor) == ["Your unsaved text of a.txt was sent with the prompt."]
    assert editor.shown == []


def test_that_text_goes_along_is_shown_once_a_file_then_logged(tmp_path: Path) -> None:
    agents = Listening(embedded=True)
    session_ids: list[str] = []

    async def main() -> FakeEditor:
        fake = FakeEditor(VSCODE, tmp_path)
        async with a_workspace(tmp_path, fake, agents) as bench:
            fake.attach(bench.workspace.apply)
            await dirty(bench, fake)
            session_ids.append(bench.session)
            for typed in ("", "", "b.txt"):
                if typed:
                    fake.types(typed, "typed ", at=0)
                await bench.workspace.start_prompt(bench.session, [ASKED])[2]
        return fake

    editor = run(main())
    assert [len(heard) for heard in agents.heard] == [2, 2, 3]
    assert {session for session, _ in editor.notices} == set(session_ids)
    assert lines(editor) == [
        "Your unsaved text of a.txt was sent with the prompt.",
        "Your unsaved text of a.txt, b.txt was sent with the prompt.",
    ]
    assert [words for _, words in editor.logged if "was sent with" in words] == lines(editor)[:1]


def test_nothing_goes_along(tmp_path: Path) -> None:
    sent, editor = prompt(tmp_path, dirty, "nothing")
    assert (sent, editor.shown) == ([], [])
    assert (tmp_path / "a.txt").read_text() == "disk\n"


def test_what_can_be_saved_is_saved_first(tmp_path: Path) -> None:
    sent, _ = prompt(tmp_path, dirty, "save")
    assert sent == []
    assert (tmp_path / "a.txt").read_text() == "typed disk\n"
    assert (tmp_path / ".env").read_text() == "disk\n"


def test_what_cannot_be_saved_goes_along(tmp_path: Path) -> None:
    sent, _ = prompt(tmp_path, dirty, "save", custom=False)
    assert sent == ["a.txt: typed disk\n"]


@pytest.mark.parametrize("policy", ["embed", "save"])
def test_a_buffer_without_a_file_goes_along_unless_it_is_empty(tmp_path: Path, policy: str) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        for uri, text in (("untitled:Untitled-1", "my notes\n"), ("untitled:Untitled-2", "")):
            bench.workspace.apply(Modification(normalise(uri), Notified.OPEN, 1, text=text, client_uri=uri))

    sent, _ = prompt(tmp_path, case, policy)
    assert len(sent) == 1
    assert sent[0].endswith(": my notes\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("my notes\n", "```\nmy notes\n```"),
        ("no end", "```\nno end\n```"),
        ("a ```fence```\n", "````\na ```fence```\n````"),
    ],
)
def test_to_an_agent_that_takes_only_words_unsaved_text_goes_along_as_words(
    tmp_path: Path, text: str, said: str
) -> None:
    agents = Listening(embedded=False)
    uri = "untitled:Untitled-1"

    async def main() -> FakeEditor:
        fake = FakeEditor(VSCODE, tmp_path)
        async with a_workspace(tmp_path, fake, agents) as bench:
            fake.attach(bench.workspace.apply)
            await dirty(bench, fake)
            bench.workspace.apply(Modification(normalise(uri), Notified.OPEN, 1, text=text, client_uri=uri))
            await bench.workspace.start_prompt(bench.session, [ASKED])[2]
        return fake

    editor = run(main())
    words = [f"Unsaved text of {tmp_path}/a.txt:\n```\ntyped disk\n```", f"Unsaved text of {uri}:\n{said}"]
    assert agents.heard == [[ASKED, *({"type": "text", "text": text} for text in words)]]
    assert lines(editor) == [f"Your unsaved text of a.txt, {uri} was sent with the prompt."]


def test_outside_the_session_s_folders_nothing_is_taken(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "out.txt").write_text("disk\n")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens(tmp_path / "out.txt")
        await asyncio.sleep(1)
        editor.types(tmp_path / "out.txt", "typed ", at=0)

    sent, _ = prompt(tmp_path / "ws", case)
    assert sent == []


def test_large_texts_stay_behind_and_that_is_said(tmp_path: Path) -> None:
    count = MAX_TOGETHER // MAX_TEXT + 1

    async def case(bench: Bench, editor: FakeEditor) -> None:
        for name, size in [("large", MAX_TEXT), *((f"f{i}", MAX_TEXT - 2) for i in range(count))]:
            (tmp_path / name).write_text("x" * size)
            editor.opens(name)
            await asyncio.sleep(1)
            editor.types(name, "é", at=0)

    sent, editor = prompt(tmp_path, case)
    assert len(sent) == count - 1
    ((level, words),) = editor.shown
    assert level == "warning"
    assert f"large, f{count - 1}: too large to send with the prompt" in words


def test_a_write_based_on_what_went_along_keeps_later_typing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    agents = Listening()

    async def main() -> None:
        editor = FakeEditor(VSCODE, tmp_path)
        async with a_workspace(tmp_path, editor, agents) as bench:
            editor.attach(bench.workspace.apply)
            editor.opens("a.txt")
            await asyncio.sleep(1)
            editor.replaces("a.txt", "one", "ONE")
            await bench.workspace.start_prompt(bench.session, [ASKED])[2]
            editor.types("a.txt", "later\n", at=0)
            given = agents.heard[0][1]["resource"]["text"]
            agent_may_act(bench.workspace, bench.session)
            answer = await bench.write("a.txt", given.replace("three", "THREE"))
            assert not isinstance(answer, Refusal)
            assert editor.text("a.txt") == "later\nONE\ntwo\nTHREE\n"

    run(main())


@pytest.mark.parametrize(
    ("settings", "custom", "saved"),
    [
        ({}, True, False),
        ({"beforePrompt": "save"}, True, True),
        ({"afterWrite": "always"}, True, True),
        ({"afterWrite": "always"}, False, False),
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "./link.txt"])
def test_a_question_about_a_file_with_unsaved_text(
    tmp_path: Path, name: str, settings: dict[str, object], custom: bool, saved: bool
) -> None:
    async def main() -> None:
        editor = FakeEditor(WELL_BEHAVED, tmp_path, custom=custom, answer=lambda _: "yes")
        async with a_workspace(tmp_path, editor, settings=settings) as bench:
            editor.attach(bench.workspace.apply)
            await dirty(bench, editor)
            option = Option("yes", "allow_once", "Yes")
            (tmp_path / "link.txt").symlink_to("a.txt")
            for paths in (["b.txt", "no/such", "a\0.txt"], [name, "b.txt"]):
                question = Question(
                    "q", bench.session, "write", "It wants to.", (option,), "", {"paths": paths}, behind=True
                )
                assert await bench.workspace.ask(question) == "yes"
        assert editor.asked[0].text == "It wants to."
        told = "a.txt: you have unsaved changes there" in editor.asked[1].text
        assert told is not saved
        assert (tmp_path / "a.txt").read_text() == ("typed disk\n" if saved else "disk\n")
        assert editor.text("a.txt") == "typed disk\n"

    run(main())
