"""Stage: shows the steps of the demo in a terminal. It is given texts and shows where they differ; it checks nothing.

Colours are used only on a terminal and without NO_COLOR (rich respects both). Symbols that the terminal's encoding lacks are replaced by ASCII.
Control characters in files' texts are escaped.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.syntax import Syntax
from rich.text import Text

from sidecar.core.escape import escape
from sidecar.demo.buffer import lines_of

WIDTH = 92
"""The number of columns that are used: wider lines are harder to follow."""
LINES_AT_MOST = 14
CONTEXT = 2
_THEME = "ansi_dark"
"""Palette colours are readable on both light and dark terminals."""


Who = Literal["you", "agent"]


@dataclass(frozen=True, slots=True)
class Line:
    mark: str
    """"+" new, "-" removed, " " unchanged, "…" for omitted lines."""
    number: int
    """From 1, in the text that contains the line."""
    text: str


def differences(old: str, new: str, context: int = CONTEXT) -> list[Line]:
    """Return the changed lines with `context` lines around them, in order."""
    before, after = ([line.rstrip("\r\n") for line in lines_of(text)] for text in (old, new))
    out: list[Line] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for group in matcher.get_grouped_opcodes(context):
        if out:
            out.append(Line("…", 0, ""))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                out += [Line(" ", j + 1, after[j]) for j in range(j1, j2)]
            else:
                out += [Line("-", i + 1, before[i]) for i in range(i1, i2)]
                out += [Line("+", j + 1, after[j]) for j in range(j1, j2)]
    return out


class Stage:
    def __init__(self, console: Console, *, animate: bool) -> None:
        """`animate`: texts may be redrawn while they grow."""
        self.console = console
        self.animate = animate
        self._number = 0
        plain = console.encoding.lower().startswith("utf")
        self._signs = {True: "✓", False: "✗"} if plain else {True: "ok", False: "NO"}
        self._bar, self._dots = ("▌", "…") if plain else ("|", "...")

    def title(self, parts: str, words: str) -> None:
        self._paragraph(Text.assemble(("acp-sidecar demo", "bold"), "   ", escape(parts)), 0)
        self._paragraph(Text(escape(words), "dim"), 0)

    def step(self, who: Who, heading: str, wire: str = "") -> None:
        """Show a numbered heading in the colour of the user or the agent. `wire` names the messages behind it."""
        self._number += 1
        self._print()
        self._print(
            self._line(
                Text.assemble((f"{self._number}  ", "bold " + _COLOURS[who]), (heading, "bold")), wire, "dim"
            )
        )

    def say(self, words: str) -> None:
        self._paragraph(Text(escape(words)))

    def quote(self, words: str) -> None:
        """Show what the agent said."""
        quoted = Text(escape(words.strip(), keep_newlines=True), "italic " + _COLOURS["agent"])
        quoted.truncate(self.console.width * 3, overflow="ellipsis")
        self._paragraph(quoted)

    def lines(self, name: str, lines: Sequence[Line], who: Who, label: str) -> None:
        """Show code. `label` appears beside the first new line (or the first removed one, if none is new)."""
        self._print(self._code(name, lines, who, label))

    @contextmanager
    def growing(self, name: str, who: Who, label: str) -> Generator[Callable[[Sequence[Line]], None]]:
        """Show lines repeatedly while they grow. The last state stays."""
        if self.animate:
            with Live(console=self.console, auto_refresh=False) as live:
                yield lambda lines: live.update(self._code(name, lines, who, label), refresh=True)
        else:
            shown: list[Sequence[Line]] = []
            yield shown.append
            if shown:
                self.lines(name, shown[-1], who, label)

    def checks(self, checks: Sequence[tuple[bool, str]]) -> None:
        self._print()
        for held, words in checks:
            style = "bold green" if held else "bold red"
            row = Text.assemble((self._signs[held] + " ", style), (words, "" if held else "red"))
            self._paragraph(row, 0)

    def end(self, words: str, *, good: bool, next_steps: str = "") -> None:
        self._print()
        self._print(Text(words, "bold green" if good else "bold red"))
        if next_steps:
            self._print(Text(next_steps, "dim"))

    def _code(self, name: str, lines: Sequence[Line], who: Who, label: str) -> RenderableType:
        """Return the line number, a bar in the author's colour, the line, the label."""
        shown = lines[:LINES_AT_MOST]
        candidates = [one for mark in "+-" for one in shown if one.mark == mark]
        labelled = next(
            (one for one in candidates if one.text.strip()), candidates[0] if candidates else None
        )
        paint = Syntax("", Syntax.guess_lexer(name), theme=_THEME, background_color="default")
        rows: list[Text] = []
        for line in shown:
            colour = "red" if line.mark == "-" else _COLOURS[who]
            code = paint.highlight(escape(line.text.replace("\t", "    ")))
            code.rstrip()
            if line.mark == "-":
                code.stylize("dim strike")
            elif line.mark == " ":
                code.stylize("dim")
            number = str(line.number) if line.number else self._dots
            bar = {"+": self._bar, "-": "-"}.get(line.mark, " ")
            row = Text.assemble((f"{number:>6} ", "dim"), (bar, colour), " ", code)
            rows.append(self._line(row, label if line is labelled else "", colour))
        if len(lines) > len(shown):
            rows.append(Text(f"{self._dots:>6}   {len(lines) - len(shown)} more lines", "dim"))
        return Group(*rows)

    def _paragraph(self, text: Text, indent: int = 3) -> None:
        for line in text.wrap(self.console, self.console.width - indent):
            line.rstrip()
            self._print(Text.assemble(" " * indent, line))

    def _line(self, left: Text, right: str, style: str) -> Text:
        """Return one line, cut to fit, with `right` at its right end if there is room."""
        room = self.console.width - cell_len(right) - 2
        if right and room >= min(left.cell_len, 20):
            left.truncate(room, overflow="ellipsis", pad=True)
            left.append("  ")
            left.append(right, style)
        else:
            left.truncate(self.console.width, overflow="ellipsis")
        left.no_wrap = True
        left.overflow = "ellipsis"
        left.rstrip()
        return left

    def _print(self, what: RenderableType = "") -> None:
        self.console.print(what)


_COLOURS: dict[Who, str] = {"you": "cyan", "agent": "magenta"}


def console() -> Console:
    """Return a console on stdout that never fails on a character that its encoding lacks."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    console = Console(highlight=False, emoji=False, markup=False)
    console.width = min(WIDTH, console.width)
    return console
