"""Story: what is typed in the demo, where, and the prompt for the agent. Plain text in, plain text out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import msgspec

from sidecar.demo.buffer import lines_of
from sidecar.demo.edits import comment


@dataclass(frozen=True, slots=True)
class Typing:
    """`text`, to be inserted at the offset `at` (code points from 0) of the text at that moment."""

    at: int
    text: str

    @property
    def keystrokes(self) -> list[str]:
        return re.findall(r"\r\n|.", self.text, re.DOTALL)

    def into(self, text: str, count: int | None = None) -> str:
        """Insert the first `count` code points, or all, into `text`."""
        return text[: self.at] + self.text[:count] + text[self.at :]


@dataclass(frozen=True, slots=True)
class Story:
    name: str
    on_disk: str
    first: Typing
    """Typed before the agent is asked."""
    meanwhile: Typing
    """Typed while it works, into the text that contains `first`."""
    prompt: str

    @property
    def unsaved(self) -> str:
        """The text when the agent is asked."""
        return self.first.into(self.on_disk)

    @property
    def possible_ends(self) -> set[str]:
        """The user's own text after each number of keystrokes made meanwhile."""
        return {self.meanwhile.into(self.unsaved, count) for count in range(len(self.meanwhile.text) + 1)}


class _Meanwhile(msgspec.Struct, frozen=True):
    before: str
    """A part of the unsaved text; the typing goes before it."""
    text: str


class Script(msgspec.Struct, frozen=True):
    """`script.json`: the demo of the sample. VS Code's *Try it* plays the same file, with the user in the role of
    `meanwhile`.
    """

    file: str
    unsaved: str
    """Typed at the end of the file, and not saved."""
    prompt: str
    mended: str
    """The text that the agent's edit inserts."""
    meanwhile: _Meanwhile


SCRIPT = msgspec.json.decode(Path(__file__).with_name("script.json").read_bytes(), type=Script)


def of_sample(text: str) -> Story:
    """Type a function with a bug, and its docstring while the agent fixes the bug. `text`: the sample as it is on disk."""
    at = len(text) + SCRIPT.unsaved.index(SCRIPT.meanwhile.before)
    first, meanwhile = Typing(len(text), SCRIPT.unsaved), Typing(at, SCRIPT.meanwhile.text)
    return Story(SCRIPT.file, text, first, meanwhile, SCRIPT.prompt)


def of_file(name: str, text: str) -> Story:
    """For any file: type a remark in a new line below the first one, and then another between the two."""
    end = "\r\n" if "\r\n" in text else "\n"
    at = len(lines_of(text)[0].rstrip("\r\n")) if text else 0
    first, meanwhile = (
        end + (comment(name, words) or words) for words in ("Typed, not saved.", "Typed meanwhile.")
    )
    prompt = f"Please make one small, harmless improvement in {name} and write it back."
    return Story(name, text, Typing(at, first), Typing(at, meanwhile), prompt)
