"""Checks: what has to hold once everything has come to rest, beside the account."""

from __future__ import annotations

import asyncio

from sidecar.core.normal import normal
from sidecar.core.refusal import Kind, Refusal
from sidecar.core.uri import from_path
from sidecar.workspace.edits.write_task import WriteDone
from tests.inflight.account import Problem
from tests.inflight.scene import Scene
from tests.inflight.texts import lines_of
from tests.inflight.tokens import tokens
from tests.support.editor_habits import NEVER


def mirror(scene: Scene) -> list[Problem]:
    """The mirror is the editor's text, for every document the editor told of."""
    problems: list[Problem] = []
    for name in scene.names:
        buffer = scene.editor.model.documents.get(scene.editor.uri(name))
        document = scene.bench.workspace.state.overlay.get(from_path(scene.path(name)))
        if buffer is None:
            if document is not None:
                problems.append(Problem("mirror", f"{name} is closed in the editor and open in the mirror"))
        elif document is None:
            if not buffer.hidden:
                problems.append(Problem("mirror", f"{name} is open in the editor and not in the mirror"))
        elif str(document.snapshot()) != buffer.text:
            problems.append(Problem("mirror", f"{name}: {str(document.snapshot())!r} is not {buffer.text!r}"))
    return problems


def ledgers(scene: Scene) -> list[Problem]:
    """Hunks lie in order, say what the text says, and hold nothing of the user's that rejecting them would take away. What they hold
    both before and after stays: a formatter that changes everything when an agent's work is saved goes with that, in one hunk."""
    problems: list[Problem] = []
    state = scene.bench.workspace.state
    for reviewed in state.ledgers:
        tracked = state.documents.get(reviewed.uri)
        if tracked is not None and tracked.flight is not None:
            continue
        text = str(tracked.document.snapshot() if reviewed.live and tracked is not None else reviewed.text)
        at = 0
        for hunk in reviewed.ledger.hunks:
            if not at <= hunk.start <= hunk.end <= len(text) or text[hunk.start : hunk.end] != hunk.text:
                problems.append(Problem("ledger", f"{hunk} does not lie in {text!r}"))
                break
            at = hunk.end
            strange = {t for t in tokens(hunk.text) if t[0] == "U"} - scene.account.sent - tokens(hunk.old)
            if strange:
                problems.append(Problem("ledger", f"{sorted(strange)} of the user's in {hunk}"))
    return problems


def reviewed(scene: Scene) -> list[Problem]:
    """What agents wrote through us, were told is done, and is in an open document, is under review there: nobody here keeps anything. But not the
    lines in which the user has typed: those are the user's. Nor where the editor formats a document while it saves an agent's work and the user types:
    nobody can say which of the edits told then are the user's."""
    problems: list[Problem] = []
    state = scene.bench.workspace.state
    for name in scene.names:
        tracked = state.documents.get(from_path(scene.path(name)))
        if tracked is None or tracked.flight is not None:
            continue
        if scene.habits.on_save is not None and scene.editor.uri(name) in scene.editor.typed_while_saved:
            continue
        file, text = scene.account.file(name), str(tracked.document.snapshot())
        ledger = state.ledgers.get(tracked.document.uri)
        hunks = () if ledger is None else ledger.ledger.hunks
        users = (
            file.taken_by_user
            | file.put
            | file.typed_into
            | {
                token
                for line in lines_of(text)
                if any(piece.strip() in line for piece in file.typed_on)
                or "U" in {t[0] for t in tokens(line)}
                for token in tokens(line)
            }
        )
        mine = {write.token for write in file.writes if write.answer == "done"} & tokens(text)
        for token in sorted(mine - users - file.taken_by_others):
            start = text.index(token)
            if not any(hunk.start < start + len(token) and start < hunk.end for hunk in hunks):
                problems.append(Problem("unreviewed", f"{name}: {token} of {text!r}"))
    return problems


def journal(scene: Scene, states: dict[str, str]) -> list[Problem]:
    if NEVER in (scene.habits.thinks, scene.habits.answers_after):
        return []
    return [
        Problem("journal", f"{entry} is still {state}")
        for entry, state in states.items()
        if state == "intent"
    ]


async def last_step(scene: Scene, session: str) -> list[Problem]:
    """When all is quiet a read gives the truth, and undoing a write gives exactly the text before it."""
    problems: list[Problem] = []
    for name in scene.names:
        answer = await scene.bench.read(name, session=session)
        scene.say("at the end", f"reads {name}: {answer if isinstance(answer, Refusal) else repr(answer)}")
        if isinstance(answer, Refusal):
            if answer.kind not in (Kind.NOT_FOUND, Kind.DESYNCHRONISED, Kind.OUTCOME_UNKNOWN, Kind.DELETED):
                problems.append(Problem("stale read", f"{name}: {answer}"))
            continue
        document = scene.bench.workspace.state.overlay.get(from_path(scene.path(name)))
        told = document is not None
        buffer = scene.editor.model.documents.get(scene.editor.uri(name)) if told else None
        truth = buffer.text if buffer is not None else scene.disk.text(scene.path(name))
        if normal(answer) != normal(truth or ""):
            problems.append(Problem("stale read", f"{name}: {answer!r} is not {truth!r}"))
            continue
        if not scene.is_open(name) or scene.habits.undo_joins or scene.habits.on_save:
            continue
        assert buffer is not None
        before, steps = buffer.text, len(buffer.past)
        token = scene.fresh.new("A")
        wrote = await scene.bench.write(name, f"{token} last\n{answer}", session)
        await asyncio.sleep(10)
        if not isinstance(wrote, WriteDone) or not scene.is_open(name) or len(buffer.past) != steps + 1:
            scene.say("at the end", f"write: {wrote}")
            continue
        if token not in buffer.text:
            problems.append(Problem("missing", f"{token}, written at the end: {wrote}"))
        scene.editor.undoes(name)
        await asyncio.sleep(10)
        if buffer.text != before:
            problems.append(Problem("undo", f"{name}: {buffer.text!r} is not {before!r}"))
        hunks = [h for r in scene.bench.workspace.state.ledgers for h in r.ledger.hunks if token in h.text]
        if hunks:
            problems.append(Problem("undo", f"{name}: undone, and still under review: {hunks}"))
    return problems
