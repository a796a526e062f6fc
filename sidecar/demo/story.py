"""Story: what is typed in the demo, where, and what the agent is asked. Plain text in, plain text out."""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.demo.edits import comment


@dataclass(frozen=True, slots=True)
class Typing:
    """`text`, inserted at the code point `at` of the text as it is then."""

    at: int
    text: str

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
_DOCSTRING = '    """The rain of the day, in millimetres."""\n'


def of_sample(name: str, text: str) -> Story:
    """A function with a bug is typed; while the agent mends it, it gets its docstring."""
    at = len(text) + _RAINFALL.index("    total = 0.0")
    prompt = f"The sum in rainfall(), in {name}, is wrong. Please fix it."
    return Story(name, text, Typing(len(text), _RAINFALL), Typing(at, _DOCSTRING), prompt)


def of_file(name: str, text: str) -> Story:
    """Any file: a remark below its first line, and then another one above that."""
    end = "\r\n" if "\r\n" in text else "\n"
    at = text.find("\n") + 1
    if not at and text:
        text_before, at = end, len(text)
    else:
        text_before = ""
    first, meanwhile = (
        (comment(name, words) or words) + end for words in ("Typed, not saved.", "Typed meanwhile.")
    )
    prompt = f"Please make one small, harmless improvement in {name} and write it back."
    return Story(
        name, text, Typing(at, text_before + first), Typing(at + len(text_before), meanwhile), prompt
    )
