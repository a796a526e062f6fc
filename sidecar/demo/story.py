"""Story: what is typed in the demo, where, and what the agent is asked. Plain text in, plain text out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sidecar.demo.buffer import lines_of
from sidecar.demo.edits import comment


@dataclass(frozen=True, slots=True)
class Typing:
    """`text`, inserted at the code point `at` of the text as it is then."""

    at: int
    text: str

    @property
    def keystrokes(self) -> list[str]:
        return re.findall(r"\r\n|.", self.text, re.DOTALL)

    def into(self, text: str, count: int | None = None) -> str:
        """`text` with the first `count` characters of it typed, or all."""
        return text[: self.at] + self.text[:count] + text[self.at :]


@dataclass(frozen=True, slots=True)
class Story:
    name: str
    on_disk: str
    first: Typing
    """Before the agent is asked."""
    meanwhile: Typing
    """While it works: in the text with `first` in it."""
    prompt: str

    @property
    def unsaved(self) -> str:
        """The text when the agent is asked."""
        return self.first.into(self.on_disk)

    @property
    def possible_ends(self) -> set[str]:
        """The user's own text after any number of the keystrokes made meanwhile."""
        return {self.meanwhile.into(self.unsaved, count) for count in range(len(self.meanwhile.text) + 1)}


_RAINFALL = """

def rainfall(mm: list[float]) -> float:
    total = 0.0
    for i in range(len(mm) - 1):
        total += mm[i]
    return total
"""
_DOCSTRING = '\n    """The rain of the day, in millimetres."""'


def of_sample(name: str, text: str) -> Story:
    """A function with a bug is typed; while the agent mends it, it gets its docstring."""
    at = len(text) + _RAINFALL.index("\n    total = 0.0")
    prompt = f"The sum in rainfall(), in {name}, is wrong. Please fix it."
    return Story(name, text, Typing(len(text), _RAINFALL), Typing(at, _DOCSTRING), prompt)


def of_file(name: str, text: str) -> Story:
    """Any file: a remark in a new line below its first one, and then another between the two."""
    end = "\r\n" if "\r\n" in text else "\n"
    at = len(lines_of(text)[0].rstrip("\r\n")) if text else 0
    first, meanwhile = (
        end + (comment(name, words) or words) for words in ("Typed, not saved.", "Typed meanwhile.")
    )
    prompt = f"Please make one small, harmless improvement in {name} and write it back."
    return Story(name, text, Typing(at, first), Typing(at, meanwhile), prompt)
