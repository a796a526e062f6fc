"""exact: whether an editor writes a text to the disk exactly as given, for a file that nobody has open.

Nobody looks at the file then, so nothing else in it may change. Editors unify line ends (VS Code all of them, Neovim those of an edit), and
most end the last line when they save. For an editor whose buffers are lists of lines (Neovim), no line and one empty line are the same.
"""

from __future__ import annotations

from sidecar.core.any_text import AnyText
from sidecar.core.lineends import has_one_kind
from sidecar.core.normal import normal
from sidecar.workspace.ports.ports import EditorCapabilities


def keeps(can: EditorCapabilities, before: str | None, after: AnyText) -> bool:
    """Whether the disk would hold exactly `after` if the line ends of `before` are used for the whole text. Raw texts; `before`: None for a
    new file."""
    after = str(after)
    if can.keeps_lines and (before == "" or normal(after) == "\n"):
        return False
    ends = not can.adds_final_end or after.endswith("\n")
    return ends and has_one_kind(before or "") and ("\r" not in after or bool(before))


def keeps_line_ends(can: EditorCapabilities, before: str, after: str) -> bool:
    """Like `keeps`, but the line ends of `after` are used."""
    same = "\n" not in after or "\n" not in before or ("\r" in after) == ("\r" in before)
    return same and has_one_kind(after) and keeps(can, before, after)
