"""User: types, replaces, deletes, undoes, redoes, saves, closes and opens again."""

from __future__ import annotations

import asyncio
import re

from sidecar.demo.buffer import Step
from sidecar.workspace.ports.ports import Level, Opens
from tests.inflight.scene import Scene
from tests.inflight.texts import end_of, lines_of
from tests.inflight.tokens import counted, tokens

PAUSES = (0, 0, 0.001, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 1.0, 3.0, 10.0, 65.0)
_UNDO = re.compile("undo (once|\\d+ times)")
"""What is said of an edit at a wrong place."""
_COMPARE = "which was saved and closed"
"""The same, of a file in which only a person can take it out."""
_STEPS = {
    "types a line": 8,
    "types in a line": 5,
    "types slowly": 4,
    "replaces": 4,
    "deletes": 3,
    "undoes": 4,
    "redoes": 2,
    "saves": 4,
    "closes": 2,
}


class User:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._random = scene.random("user")
        self._told: dict[str, Step | None] = {}
        """Files of which an edit was said to be at a wrong place, each with what the next undo would have taken back then."""
        self._listen()

    async def work(self) -> None:
        random, scene = self._random, self._scene
        for name in scene.names:
            if random.random() < 0.85:
                self._open(name)
        for _ in range(random.choice([0, 2, 4, 8, 12])):
            await asyncio.sleep(random.choice(PAUSES))
            await self._obey()
            name = random.choice(scene.names)
            if not scene.is_open(name):
                if random.random() < 0.5:
                    self._open(name)
                continue
            step = random.choices(list(_STEPS), list(_STEPS.values()))[0]
            await self._step(name, step)
        await asyncio.sleep(150)
        await self._obey()

    async def _obey(self) -> None:
        """Told that an edit landed at a wrong place, the user undoes it, and more until everything of their own is back."""
        scene = self._scene
        for name in sorted(self._told):
            if not scene.is_open(name):
                continue  # it is seen when the document is
            last = self._told.pop(name)
            past = scene.editor.buffer(name).past
            # The very edit it is about: an agent's, or one that was to take that out
            if past and (past[-1].label.startswith("agent") or (past[-1] is last and _is_ours(past[-1]))):
                scene.undoes(name, "user, who was told,")
            while scene.account.missing(name, scene.truth(name)) and scene.editor.buffer(name).past:
                scene.undoes(name, "user, who was told,")

    def _listen(self) -> None:
        editor, show = self._scene.editor, self._scene.editor.show

        def shows(level: Level, message: str, opens: Opens | None = None) -> None:
            show(level, message, opens)
            for name in self._scene.names if _COMPARE in message else ():
                if f"{name}," in message:  # the user will see to what is there twice
                    found = counted(self._scene.disk.text(self._scene.path(name)))
                    self._scene.account.file(name).doubled_by_user |= {
                        one for one, n in found.items() if n > 1
                    }
            for name in self._scene.names if _UNDO.search(message) else ():
                if message.endswith(name) or f"{name}." in message:
                    buffer = editor.model.documents.get(editor.uri(name))
                    self._told[name] = buffer.past[-1] if buffer is not None and buffer.past else None

        editor.show = shows

    def _open(self, name: str) -> None:
        scene = self._scene
        if scene.disk.text(scene.path(name)) is None:
            return
        scene.say("user", f"opens {name}")
        scene.editor.opens(name)  # takes nothing away: an account of a hidden buffer stays as it is

    async def _step(self, name: str, step: str) -> None:
        scene, random, editor = self._scene, self._random, self._scene.editor
        text = editor.text(name)
        if step in ("types a line", "types slowly"):  # others go on while the user pauses
            await self._type_line(name, slowly=step == "types slowly")
            return
        if step == "undoes":
            for _ in range(random.choice([1, 1, 2, 3])):
                scene.undoes(name)
            scene.say("user", f"{name} is now {scene.truth(name)!r}")
            return
        with scene.user(name):
            match step:
                case "types in a line":
                    places = [i for i in range(len(text) + 1) if _between_tokens(text, i)]
                    token, at = scene.fresh.new("U"), random.choice(places)
                    scene.say("user", f"types {token} at {at}")
                    editor.types(name, token, at=at)
                    typed_into = [line for line in lines_of(editor.text(name)) if token in line]
                    scene.account.file(name).typed_into |= tokens("".join(typed_into))
                case "replaces" | "deletes":
                    lines = lines_of(text)
                    if not lines:
                        return
                    i = random.randrange(len(lines))
                    last = min(i + random.choice([0, 0, 0, 2]), len(lines) - 1)
                    old = "".join(lines[i : last + 1])
                    start = len("".join(lines[:i]))
                    new = f"{scene.fresh.new('U')} mine{end_of(text)}" if step == "replaces" else ""
                    scene.say("user", f"{step} {old!r} at {start} by {new!r}")
                    scene.deletes(name, old)
                    editor.model.replace(editor.uri(name), start, start + len(old), new)
                case "redoes":
                    scene.say("user", "redoes")
                    editor.redoes(name)
                case "saves":
                    self._save(name)
                case _:
                    if random.random() < 0.5:
                        self._save(name)
                    editor.closes(name)
        scene.say("user", f"{name} is now {scene.truth(name)!r}")

    def _save(self, name: str) -> None:
        """What the editor formats at the user's own save is the user's, as if they had typed in those lines."""
        scene, editor = self._scene, self._scene.editor
        known = {*lines_of(editor.text(name))}
        scene.say("user", f"saves: {editor.saves(name)}")
        formatted = [line for line in lines_of(editor.text(name)) if line not in known]
        scene.account.file(name).typed_into |= tokens("".join(formatted))

    async def _type_line(self, name: str, *, slowly: bool) -> None:
        scene, random, editor = self._scene, self._random, self._scene.editor
        text = editor.text(name)
        lines = lines_of(text)
        i = random.randint(0, len(lines))
        at = len("".join(lines[:i]))
        line = f"{scene.fresh.new('U')} typed{end_of(text)}"
        if i == len(lines) and lines and not lines[-1].endswith(("\n", "\r")):
            line = end_of(text) + line
        pieces = [line]
        if slowly:
            cut = random.randint(1, len(line) - 2)
            pieces = [line[:cut], line[cut:]]
        for number, piece in enumerate(pieces):
            if number:
                await asyncio.sleep(random.choice(PAUSES))
                if not scene.is_open(name):
                    return
            scene.say("user", f"types {piece!r}" + ("" if number else f" at {at}"))
            with scene.user(name):
                editor.types(name, piece, at=None if number else at)
            if number:
                scene.account.file(name).typed_on.add(piece)
        scene.say("user", f"{name} is now {scene.truth(name)!r}")


def _is_ours(step: Step) -> bool:
    """Whether the sidecar sent the edit, to take a misplaced one out."""
    return step.label.endswith("taken back")


def _between_tokens(text: str, at: int) -> bool:
    """Not inside a token, and not inside a line end."""
    if text[at - 1 : at + 1] == "\r\n":
        return False
    near = text[max(at - 8, 0) : at + 8]
    k = at - max(at - 8, 0)
    return tokens(near) <= tokens(near[:k]) | tokens(near[k:])
