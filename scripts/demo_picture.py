"""Draws docs/images/demo.svg: the demo as a terminal shows it, from a real run. Usage: python scripts/demo_picture.py [FILE]"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme

from sidecar.demo import run
from sidecar.demo.present import WIDTH, Stage

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "demo.svg"
NORMAL = [(55, 59, 65), (224, 108, 117), (152, 195, 121), (229, 192, 123), (97, 175, 239), (198, 120, 221)]
NORMAL += [(86, 182, 194), (197, 200, 198)]
THEME = TerminalTheme((30, 32, 38), (216, 219, 226), NORMAL, NORMAL)


def draw() -> str | None:
    """The picture; None when the demo did not hold."""
    console = Console(
        record=True,
        file=io.StringIO(),
        width=WIDTH,
        force_terminal=True,
        highlight=False,
        emoji=False,
        markup=False,
    )
    if not run.perform(Stage(console, animate=False), None, None):
        return None
    svg = console.export_svg(title="acp-sidecar demo", theme=THEME, unique_id="demo")
    # no font from elsewhere: a README's pictures may load nothing, and any monospace one will do
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


def main() -> int:
    picture = draw()
    if picture is None:
        sys.stderr.write("the demo did not hold; no picture\n")
        return 1
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(picture, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
