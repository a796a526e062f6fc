"""play: the sidecar's main job, step by step, shown and checked.

It shows and checks the editor's own buffer, undo steps and bytes, and what went over the agent's wire (`wiretap.py`).
It never relies on what the sidecar or an agent says about them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sidecar.core.json_types import JsonDict
from sidecar.demo.buffer import Buffer, Step, lines_of
from sidecar.demo.editor import HeadlessEditor, Name
from sidecar.demo.present import Stage, differences
from sidecar.demo.story import Story, Typing
from sidecar.demo.wire import ErrorAnswer, Gone, Silence
from sidecar.demo.wiretap import Read, Tap

TURN_AT_MOST = 300.0
"""Seconds. A real agent thinks, and may ask its model many times."""
KEYSTROKE = 0.02
"""Seconds per keystroke if somebody watches."""

Check = tuple[bool, str]


class DemoEditor(HeadlessEditor):
    """Says yes to what the user requested by starting the demo with this agent and this file, and no to everything else."""

    def __init__(
        self, command: Sequence[str], folder: Name, options: JsonDict, environment: Mapping[str, str]
    ) -> None:
        super().__init__(command, folder, options=options, environment=environment)
        self.answered: list[tuple[str, bool]] = []
        """The agent's questions, and whether they were answered with yes."""

    def permit(self, params: JsonDict) -> str | None:
        inside = os.path.realpath(str(params.get("target", "/"))).startswith(
            os.path.realpath(self.folder) + os.sep
        )
        yes = params["action"] == "start" or (params["action"] in ("read", "write") and inside)
        if params["action"] != "start":
            self.answered.append((params["text"], yes))
        kinds = ("allow_once", "allow_always") if yes else ("reject_once", "reject_always")
        return next(
            (one["optionId"] for kind in kinds for one in params["options"] if one["kind"] == kind), None
        )


@dataclass(frozen=True, slots=True)
class Seen:
    """The text of the file that the agent was given."""

    text: str
    wire: str
    check: Check


async def play(stage: Stage, story: Story, editor: DemoEditor, agent: str, tap: Tap) -> list[Check]:
    """Play the demo. `agent` is its name in the settings. Raises what the editor's wire raises."""
    uri = editor.open(os.path.join(editor.folder, story.name)).uri
    buffer = editor.document(uri)

    stage.step("you", "You type, and do not save", "textDocument/didChange")
    stage.say(f"On the disk {story.name} has {counted(story.on_disk)}.")
    await _type(stage, editor, uri, story.first, "only in your buffer", KEYSTROKE / 2)

    stage.step("you", "You ask the agent", "session/prompt")
    stage.say(f"“{story.prompt}”")
    turn = asyncio.create_task(_turn(editor, agent, story.prompt, uri))
    try:
        await _until_served(tap, turn)
        seen = what_was_served(tap, story)
        if seen.wire:
            stage.step("agent", "It reads the file through the sidecar", seen.wire)
            stage.lines(story.name, differences(story.on_disk, seen.text, 1), "you", "your unsaved lines")
        else:
            stage.step("agent", "It does not ask for the file")

        stage.step("you", "You keep typing while it works", "textDocument/didChange")
        await _type(stage, editor, uri, story.meanwhile, "typed after it had read", KEYSTROKE)
        await turn
    finally:
        turn.cancel()
        with suppress(asyncio.CancelledError, Gone, Silence, ErrorAnswer):
            await turn
    tap.poll()
    steps = agents_steps(buffer)
    if steps:
        stage.step("agent", "It writes; the edit arrives in your buffer", "→ workspace/applyEdit")
    else:
        stage.step("agent", "Its turn ends, and no edit arrived")
    _show_arrival(stage, story, editor, tap, steps)
    if not steps:
        return [seen.check, (False, "no edit arrived, so the demo cannot continue")]
    written = sum(write.answered and not write.error for write in tap.writes)
    kept = story.meanwhile.text in buffer.text
    single = "the edit is one undo step" if written == 1 else f"{written} edits, one undo step each"
    checks = [
        seen.check,
        (kept, "what you typed meanwhile is still there: the edit went around it"),
        (len(steps) == written, single),
    ]

    edited, presses = buffer.text, 0
    while agents_steps(buffer):
        editor.undo(uri)
        presses += 1
    times = "once" if presses == 1 else f"{presses} times"
    stage.step("you", f"You undo, {times}", "textDocument/didChange")
    stage.lines(story.name, differences(edited, buffer.text, 1), "you", "as you had it")
    await editor.execute("sidecar.status")  # by now, all of the sidecar's reactions to the undo have arrived
    back = buffer.text in story.possible_ends
    checks.append((back, "undo gave back your own text, character for character"))
    return checks


async def _turn(editor: DemoEditor, agent: str, words: str, uri: str) -> None:
    session = await editor.execute("sidecar.newSession", {"agent": agent, "cwd": editor.folder}, timeout=60)
    link = {"type": "resource_link", "uri": uri, "name": uri.rsplit("/", 1)[-1]}
    prompt = [{"type": "text", "text": words}, link]
    arguments = {"sessionId": session["sessionId"], "prompt": prompt, "wait": True}
    await editor.execute("sidecar.prompt", arguments, timeout=TURN_AT_MOST)


async def _type(
    stage: Stage, editor: DemoEditor, uri: str, typing: Typing, label: str, seconds: float
) -> None:
    """Type one character at a time. An edit that arrives meanwhile gets its own step, so it is not shown here."""
    buffer = editor.document(uri)
    start, foreign = buffer.text, 0
    buffer.caret, buffer.joinable = typing.at, False
    with stage.growing(buffer.uri.rsplit("/", 1)[-1], "you", label) as show:
        for keystroke in typing.keystrokes:
            editor.type(uri, keystroke)
            steps = agents_steps(buffer)
            start, foreign = (start, foreign) if len(steps) == foreign else (steps[-1].after, len(steps))
            if stage.animate:
                show(differences(start, buffer.text))
            await asyncio.sleep(seconds if stage.animate else 0)
        show(differences(start, buffer.text))


def counted(text: str) -> str:
    count = len(lines_of(text))
    return "1 line" if count == 1 else f"{count} lines"


def agents_steps(buffer: Buffer) -> list[Step]:
    return [step for step in buffer.past if step.label != "typing"]


async def _until_served(tap: Tap, turn: asyncio.Task[None]) -> None:
    """Wait until the agent was given the file, wrote, or ended without either."""
    while not turn.done():
        tap.poll()
        if tap.writes or any(read.text is not None for read in tap.reads):
            return
        await asyncio.wait([turn], timeout=0.02)
    tap.poll()
    if turn.exception() is not None:
        await turn


def what_was_served(tap: Tap, story: Story) -> Seen:
    """Return what the agent's own reads returned; otherwise what came with the prompt."""
    for read in tap.reads:
        if read.text is not None and os.path.basename(read.path) == story.name:
            right = read.text == served(story.unsaved, read) != served(story.on_disk, read)
            words = "the agent was served your unsaved text, character for character"
            return Seen(read.text, "fs/read_text_file", (right, words))
    for uri, text in tap.embedded:
        if uri.endswith("/" + story.name):
            words = "the agent was given your unsaved text with the prompt, character for character"
            return Seen(text, "a resource in session/prompt", (text == story.unsaved != story.on_disk, words))
    words = "the agent did not ask for the file; if it read the file, then from disk, without your lines"
    return Seen(story.on_disk, "", (False, words))


def served(text: str, read: Read) -> str:
    """Return the expected answer to `read` for a file with this `text`: whole lines, counted from 1."""
    if read.line is None and read.limit is None:
        return text
    first = max((read.line or 1) - 1, 0)
    return "".join(lines_of(text)[first : None if read.limit is None else first + read.limit])


def _show_arrival(stage: Stage, story: Story, editor: DemoEditor, tap: Tap, steps: Sequence[Step]) -> None:
    for text in last_words(editor):
        stage.quote(text)
    for step in steps:
        stage.lines(story.name, differences(step.before, step.after), "agent", "the agent's edit")
    for text, yes in editor.answered:
        stage.say(f"It asked: {text} The demo said {'yes' if yes else 'no'}.")
    for write in tap.writes:
        if write.error:
            stage.say(f"A write was not accepted: {write.error}")


def last_words(editor: HeadlessEditor, paragraphs: int = 2) -> list[str]:
    """Return the end of what the agent said in its turn."""
    said = ""
    for _, update in editor.updates:
        match update:
            case {"sessionUpdate": "agent_message_chunk", "content": {"text": str(text)}}:
                said += text
            case _:
                pass
    return [part for part in said.split("\n\n") if part.strip()][-paragraphs:]
