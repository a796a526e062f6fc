"""exact: whether an editor puts exactly a text on the disk that it is given for a file that nobody has open.

Nobody looks at the file then, so nothing else of it may change: editors even out line ends (VS Code all of them, Neovim those of an edit), most
end the last line when they save, and to one whose buffers are lines (Neovim) no line and one empty line are the same.
"""

from __future__ import annotations

from sidecar.core.any_text import AnyText
from sidecar.core.lineends import has_one_kind
from sidecar.core.normal import normal
from sidecar.workspace.ports.ports import EditorCapabilities


def keeps(can: EditorCapabilities, before: str | None, after: AnyText) -> bool:
    """Whether the disk would say `after`, where the line ends of `before` count for all of it. Raw texts; `before`: None for a new file."""
    after = str(after)
    if can.keeps_lines and (before == "" or normal(after) == "\n"):
        return False
    ends = not can.adds_final_end or after.endswith("\n")
    return ends and has_one_kind(before or "") and ("\r" not in after or bool(before))


def keeps_line_ends(can: EditorCapabilities, before: str, after: str) -> bool:
    """As `keeps`, where those of `after` count."""
    same = "\n" not in after or "\n" not in before or ("\r" in after) == ("\r" in before)
    return same and has_one_kind(after) and keeps(can, before, after)
