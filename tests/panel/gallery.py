"""Pictures of the panel for the documentation: `python -m tests.panel.gallery [FOLDER]` writes docs/images/panel-*.png."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.panel.panel import Panel, Site, Tabs, agent, current, overview, put, question, talk, tool, user
from tests.support.tools import ROOT, require
from tests.vscode.browser import Browser

ANSWER = """The loop leaves out the **last** reading, so `rainfall()` is too low on every day with rain in the evening.

```python
def rainfall(mm: list[float]) -> float:
    total = 0.0
    for i in range(len(mm)):
        total += mm[i]
    return total
```

- The sum now has all readings.
- Your docstring, which is not saved yet, stayed as it is. See the [style guide](https://docs.example/style).
"""
DIFF = {
    "index": 0,
    "path": "/home/me/rain/weather.py",
    "added": 1,
    "removed": 1,
    "created": False,
    "lines": [
        {"mark": " ", "text": "    total = 0.0"},
        {"mark": "-", "text": "    for i in range(len(mm) - 1):"},
        {"mark": "+", "text": "    for i in range(len(mm)):"},
        {"mark": " ", "text": "        total += mm[i]"},
    ],
    "more": 0,
}
FILE = {"id": "f", "kind": "file", "label": "weather.py", "uri": "file:///home/me/rain/weather.py"}
CHANGES = [
    {"uri": "file:///home/me/rain/weather.py", "label": "weather.py", "added": 1, "removed": 1},
    {
        "uri": "file:///home/me/rain/tests/test_weather.py",
        "label": "tests/test_weather.py",
        "added": 6,
        "removed": 0,
    },
]
PLAN = {
    "id": "p",
    "kind": "plan",
    "items": [
        {"text": "Find why the sum is wrong", "state": "completed"},
        {"text": "Mend it", "state": "completed"},
        {"text": "Run the tests", "state": "in_progress"},
    ],
}
END = {
    "id": "e",
    "kind": "end",
    "turn": 1,
    "reason": "end_turn",
    "changes": CHANGES,
    "reviewed": False,
    "kept": 2,
    "rejected": 1,
}
MODE = {
    "id": "$mode",
    "label": "Mode",
    "category": "mode",
    "current": "code",
    "choices": [{"id": "code", "name": "Code"}, {"id": "ask", "name": "Ask"}],
}
MODEL = {
    "id": "model",
    "label": "Model",
    "category": "model",
    "current": "large",
    "choices": [{"id": "large", "name": "Large"}],
}
AROUND = {"pickers": [MODE, MODEL], "usage": {"used": 31_000, "size": 128_000}, "title": "The sum is wrong"}
AGENTS = [
    {"id": "fast-agent", "name": "fast-agent", "source": "found", "installed": True, "version": "0.10.46"},
    {"id": "opencode", "name": "opencode", "source": "configured", "installed": True},
    {
        "id": "claude-code",
        "name": "Claude Code",
        "source": "configured",
        "installed": False,
        "needs": "Node.js was not found on this machine.",
        "remedy": {"id": "node", "label": "Get Node.js"},
    },
]


def ended(panel: Panel) -> None:
    panel.send(
        *talk(
            user(
                "The sum in rainfall(), in @weather.py, is wrong. Please fix it.",
                attachments=[FILE],
            ),
            {"id": "th", "kind": "thought", "text": "…", "done": True},
            tool(id="t1", locations=[{"path": "/home/me/rain/weather.py", "line": 11}]),
            tool(id="t2", title="Mend the sum", toolKind="edit", diffs=[DIFF]),
            agent(ANSWER),
            END,
            **AROUND,
        )
    )


def asking(panel: Panel) -> None:
    panel.send(
        *talk(
            user("Mend rainfall() and run the tests.", attachments=[FILE]),
            PLAN,
            tool(id="t2", title="Mend the sum", toolKind="edit", diffs=[DIFF]),
            tool(id="t3", title="Run the tests", toolKind="execute", status="in_progress"),
            state="waiting",
            queue=[{"id": "q", "text": "Then add a test for an empty day"}],
            **AROUND,
        ),
        put(question()),
    )
    panel.page.wait_for_function("() => document.querySelector('.question button[aria-disabled=false]')")


def start(panel: Panel) -> None:
    sessions = [
        {**current(title=title, state=state, unseen=unseen, recorded=recorded), "sessionId": title}
        for title, state, unseen, recorded in (
            ("The sum is wrong", "waiting", False, False),
            ("Read the readings in one pass", "idle", True, False),
            ("What does mean() do for an empty day?", "idle", False, True),
        )
    ]
    panel.send(
        {"type": "conversation", "sessionId": None, "entries": []},
        overview(agents=AGENTS, sessions=sessions, defaultAgent="fast-agent", draftKey=""),
    )


SCENES = {"conversation": ended, "question": asking, "start": start}


def main(folder: Path) -> None:
    browser, site = Browser(), Site()
    site.start()
    browser.start(require("chromium"))
    tabs = Tabs(browser.chromium)
    for theme in ("dark", "light", "hc-dark"):
        for name, play in SCENES.items():
            panel = Panel(tabs, site, theme, width=420, height=860, device_scale_factor=2)
            play(panel)
            panel.settle()
            panel.page.screenshot(path=folder / f"panel-{name}-{theme}.png")
            panel.close()
    browser.close()
    site.stop()


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    target.mkdir(parents=True, exist_ok=True)
    main(target)
