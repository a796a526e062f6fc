"""present: shows changes and reverts on a terminal, for people.

Everything from agents and file names is escaped. Colours are used only on a terminal and without NO_COLOR (rich respects both). Symbols that the
terminal's encoding lacks are replaced by ASCII.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sidecar.core.escape import escape, plain
from sidecar.core.merge import ConflictHunk
from sidecar.journal.entry import Recorded, State, Texts
from sidecar.recovery.files import shown
from sidecar.recovery.revert import Reverted, RevertOutcome
from sidecar.recovery.unified import unified

PLACES_AT_MOST = 10
LINES_AT_MOST = 6
"""The number of lines shown of each text in a conflict."""
NARROW = 76
"""If the terminal has fewer columns, a file gets its own line."""
PROGRESS_FROM = 20
"""The number of files from which the progress is shown."""
PIPE_WIDTH = 10_000
"""The number of columns if stdout is not a terminal: nothing is wrapped for a program."""

_STATES: dict[State, tuple[str, str]] = {
    "intent": ("under way", "yellow"),
    "done": ("done", ""),
    "failed": ("not made", "dim"),
    "unknown": ("unclear", "yellow"),
    "kept": ("kept", "green"),
    "rejected": ("rejected", "dim"),
    "undone": ("taken back", "dim"),
}


class Screen:
    """Writes to stdout, using only characters that its encoding has."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or _console()
        self._unicode = self.console.encoding.lower().startswith("utf")

    def changes(self, writes: Sequence[Recorded], folder: str, running: Sequence[str], now: float) -> None:
        """Show a table of changes, newest first. `running`: processes that are still running; `folder`: the current folder."""
        if self.console.width < NARROW:
            for write in writes:
                *cells, file = self._cells(write, folder, running, now)
                self._print(Text("  ").join(cell for cell in cells if cell.plain))
                self._print(Text.assemble("    ", file))
            return
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for name in ("ID", "When", "Agent", "Turn", "Lines", "State"):
            table.add_column(name, no_wrap=True)
        table.add_column("File", overflow="fold")
        for write in writes:
            gone = write.state in ("failed", "rejected", "undone")
            table.add_row(*self._cells(write, folder, running, now), style="dim" if gone else "")
        self.console.print(table)

    def _cells(self, write: Recorded, folder: str, running: Sequence[str], now: float) -> list[Text]:
        """Return the cells of a row: id, when, agent, turn, lines, state, file."""
        words, style = _STATES[write.state]
        if write.state == "intent" and write.owner not in running:
            words = "interrupted"
        return [
            Text(write.short, "bold"),
            Text(when(write.created, now)),
            Text(plain(write.agent, 24), "magenta"),
            Text(turn_name(write), "dim"),
            self._lines(write.added, write.removed),
            Text(words, style),
            self._file(write, folder),
        ]

    def diff(self, texts: Texts, title: str = "") -> None:
        if title:
            self._print(Text(title, "bold"))
        for line in unified(*texts):
            style = {"+": "green", "-": "red", "@": "cyan", " ": ""}[line.mark]
            text = escape(line.text.replace("\t", "    "))
            self._print(Text(text if line.mark == "@" else f"{line.mark}{text}", style))
        self._print(Text())

    def reverted(self, result: Reverted, folder: str, *, dry_run: bool) -> None:
        """Show the result for one file."""
        sign = self._sign(result.outcome)
        name = plain(shown(result.path, folder), 400)
        self._print(Text.assemble(sign, " ", (name, "bold"), "  ", _words(result, dry_run=dry_run)))
        for place in result.places[:PLACES_AT_MOST]:
            self._place(place)
        if len(result.places) > PLACES_AT_MOST:
            self._print(Text(f"    and {len(result.places) - PLACES_AT_MOST} more places", "dim"))

    @contextmanager
    def progress(self, count: int) -> Generator[Callable[[int], None]]:
        """Show the progress on a terminal if there are many files. Call the yielded function with the number of files that are done."""
        if not self.console.is_terminal or count < PROGRESS_FROM:
            yield lambda done: None
            return
        with self.console.status(_progress(0, count)) as shown:
            yield lambda done: shown.update(_progress(done, count))

    def say(self, words: str, style: str = "") -> None:
        self.console.print(Text(words, style), soft_wrap=not self.console.is_terminal)

    def _place(self, place: ConflictHunk) -> None:
        self._print(Text(f"    line {place.start_line + 1}", "cyan"))
        for label, text, style in (
            ("now", place.ours, ""),
            ("the agent wrote", place.base, "dim"),
            ("before that", place.theirs, "dim"),
        ):
            lines = text.splitlines() or ["(nothing)"]
            for number, line in enumerate(lines[:LINES_AT_MOST]):
                head = label if number == 0 else ""
                row = Text.assemble(f"      {head:<17}", (escape(line.replace("\t", "    ")), style))
                row.truncate(self.console.width, overflow="ellipsis")
                self._print(row)
            if len(lines) > LINES_AT_MOST:
                self._print(Text(f"      {'':<17}({len(lines) - LINES_AT_MOST} more lines)", "dim"))

    def _sign(self, outcome: RevertOutcome) -> Text:
        if outcome.is_failure:
            return Text("✗" if self._unicode else "NO", "bold red")
        if outcome is RevertOutcome.ALREADY:
            return Text("=", "dim")
        return Text("✓" if self._unicode else "ok", "bold green")

    def _file(self, write: Recorded, folder: str) -> Text:
        name = Text(plain(shown(write.path, folder), 400))
        if not write.existed:
            name.append(" (new)", "green")
        elif not write.exists:
            name.append(" (removed)", "red")
        return name

    def _lines(self, added: int, removed: int) -> Text:
        minus = "−" if self._unicode else "-"
        return Text.assemble((f"+{added}", "green"), " ", (f"{minus}{removed}", "red"))

    def _print(self, text: Text) -> None:
        self.console.print(text, soft_wrap=True)


def turn_name(write: Recorded) -> str:
    """Return the argument for `revert --turn`, with the start of the session's id."""
    return f"{plain(write.session[:8])}:{write.turn}" if write.session else ""


def when(created: float, now: float) -> str:
    """Return a time as people say it. Both times are in seconds since the epoch."""
    then, today = datetime.fromtimestamp(created), datetime.fromtimestamp(now)
    seconds = max(now - created, 0)
    days = (today.date() - then.date()).days
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    if days <= 0:
        return f"{then:%H:%M}"
    if days == 1:
        return f"yesterday {then:%H:%M}"
    return f"{then:%Y-%m-%d %H:%M}"


def _progress(done: int, count: int) -> str:
    return f"{done} of {count} files; Ctrl-C stops before the next ones"


def _words(result: Reverted, *, dry_run: bool) -> Text:
    match result.outcome:
        case RevertOutcome.PUT_BACK:
            words, style = "would be taken back" if dry_run else "taken back", ""
        case RevertOutcome.REMOVED:
            words = (
                "would be removed; the agent created it" if dry_run else "removed; the agent had created it"
            )
            style = ""
        case RevertOutcome.MADE_AGAIN:
            words, style = "would be created again" if dry_run else "created again", ""
        case RevertOutcome.ALREADY:
            words, style = "nothing to do: the file already has this text", "dim"
        case RevertOutcome.CONFLICT:
            count = len(result.places)
            places = "one place was" if count == 1 else f"{count} places were"
            words, style = f"nothing changed: {places} edited since", "red"
        case RevertOutcome.STANDS:
            return Text(f"nothing changed: {escape(result.why)}", "red")
    if result.not_there:
        words = f"{words}, on the disk; in your editor, {escape(result.not_there)}"
    return Text(f"{words} {result.why}".rstrip(), style)


def _console() -> Console:
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return Console(highlight=False, emoji=False, markup=False, width=width)
