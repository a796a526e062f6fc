"""States of the panel's page, for pictures (gallery.py) and for what must hold in each of them (test_accessibility.py).

What they click and wait for is found by its class, not by its words: they play in any language.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect

from tests.panel.panel import Json, Panel, agent, current, overview, put, question, talk, tool, user

BOX = ".prompt textarea"
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
MARKDOWN = """## What I found

- [x] find why the sum is wrong, in `src/weather.py:12`
- [x] mend it
- [ ] run the tests

| File | Lines | State |
|:-----|------:|:-----:|
| src/weather.py | 1,204 | done |
| tests/measurements/test_precipitation_by_the_hour.py | 7 | to do |

> The mean of an empty day is $\\bar{x} = 0$, not an error.

$$
\\bar{x} = \\frac{1}{n} \\sum_{i=1}^{n} x_i
$$

```mermaid
graph LR; gauge --> readings --> sum
```

סכום המשקעים נכון עכשיו, ראו `weather.py`.
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
SEARCH_WEB = {
    "id": "web",
    "label": "Web search",
    "category": "other",
    "current": "true",
    "choices": [],
    "toggle": True,
}
AROUND: Json = {
    "pickers": [MODE, MODEL],
    "usage": {"used": 31_000, "size": 128_000},
    "title": "The sum is wrong",
}
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
DEMO = {"id": "demo", "name": "Demo", "source": "demo", "installed": True}
NO_CONVERSATION: Json = {"type": "conversation", "sessionId": None, "entries": []}


def notice(level: str, text: str, **more: Any) -> Json:
    return {"id": f"n-{level}", "kind": "notice", "level": level, "text": text, **more}


# --- A conversation


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
    until_armed(panel)


def markdown(panel: Panel) -> None:
    panel.send(*talk(user("What did you find?"), agent(MARKDOWN), **AROUND))
    expect(panel.page.locator(".language").first).to_be_attached()
    panel.page.locator(".log").evaluate("(log) => { log.scrollTop = 0; }")
    expect(panel.page.locator(".markdown h2")).to_be_visible()


def looks(panel: Panel) -> None:
    """A run of reads and searches that goes on, and one that is over and unfolded."""
    done = [
        tool(id="t1", title="Read weather.py", locations=[{"path": "/home/me/rain/weather.py", "line": 11}]),
        tool(id="t2", title="Find rainfall(", toolKind="search"),
        tool(id="t3", title="Read readings.csv", status="failed"),
    ]
    going = [
        tool(id="t5", title="Read test_weather.py"),
        tool(id="t6", title="Find mean(", toolKind="search", status="in_progress"),
    ]
    panel.send(
        *talk(
            user("Who uses rainfall()?"),
            *done,
            agent("And the tests:", id="a1"),
            *going,
            state="running",
            **AROUND,
        )
    )
    panel.page.locator(".run .fold").first.click()
    expect(panel.page.locator(".run-body")).to_be_visible()


def told(panel: Panel) -> None:
    """What is said beside the agent's words: what went along, what was decided, an error, an undone turn."""
    panel.send(
        *talk(
            user("Mend the sum.", undo="no"),
            notice("info", "Your unsaved text of weather.py was sent with the prompt."),
            agent("It was right already.", id="a1"),
            {**END, "id": "e1", "changes": [], "kept": 0, "rejected": 0},
            user("Then add a test.", id="u2", turn=2, undo="done"),
            agent("There is one now.", id="a2"),
            {**END, "id": "e2", "turn": 2, "reviewed": True, "kept": 0, "rejected": 1},
            {**question(id="q1"), "state": "answered", "answer": "Allow"},
            {**question(id="q2", action="write"), "state": "withdrawn"},
            user("Go on.", id="u3", turn=3),
            notice(
                "warning",
                "fast-agent wants you to sign in first.",
                action={"id": "signIn:fast-agent", "label": "Sign in"},
            ),
            {
                **END,
                "id": "e3",
                "turn": 3,
                "reason": "failed",
                "error": "The agent has ended: out of memory",
                "changes": [],
                "kept": 0,
                "rejected": 0,
            },
            **AROUND,
        )
    )


def editing(panel: Panel) -> None:
    """A message that is being edited, to be sent again."""
    ended(panel)
    panel.page.locator(".log").evaluate("(log) => { log.scrollTop = 0; }")
    panel.page.locator(".user .codicon-edit").click()
    expect(panel.page.locator(".user textarea")).to_be_visible()


def form(panel: Panel) -> None:
    fields = [
        {"name": "n", "label": "Name", "type": "text", "required": True, "hint": "As in the passport"},
        {"name": "c", "label": "Copies", "type": "integer", "required": False, "minimum": 1},
        {"name": "s", "label": "Send it", "type": "boolean", "required": False},
    ]
    asked = {
        "id": "f",
        "kind": "form",
        "requestId": "r",
        "message": "Who?",
        "fields": fields,
        "state": "open",
    }
    panel.send(*talk(user("Register the gauge."), asked, state="waiting", **AROUND))
    until_armed(panel)


def address(panel: Panel) -> None:
    """A page that the agent wants to have opened."""
    asked = {
        "id": "f",
        "kind": "form",
        "requestId": "r",
        "message": "Sign in at the weather service",
        "fields": [],
        "url": "https://weather.example/sign-in?next=readings",
        "state": "open",
    }
    panel.send(*talk(user("Fetch the readings."), asked, state="waiting", **AROUND))
    until_armed(panel)


def recorded(panel: Panel) -> None:
    panel.send(
        *talk(
            user("What does mean() do for an empty day?"),
            agent("It returns `0.0`."),
            END,
            recorded=True,
            resumable=True,
        )
    )


# --- Commands


def command(**more: Any) -> Json:
    return tool(title="pytest -q", toolKind="execute", **more)


PROGRESS = (
    "collecting 48 items\n"
    "\x1b[32m..................\x1b[0m\x1b[31mF\x1b[0m\x1b[33ms\x1b[0m\x1b[32m...........\x1b[0m\n"
    "\x1b[1mtests/test_weather.py\x1b[0m:12: \x1b[31mAssertionError\x1b[0m\n"
    "  0%|          |\r 50%|█████     |\r 75%|███████▌  | \x1b[36m36/48\x1b[0m"
)


def terminal(panel: Panel) -> None:
    """A command that runs, with colours and a progress line."""
    panel.send(
        *talk(
            user("Run the tests."),
            command(status="in_progress", output=PROGRESS, commands=[{"id": "c1"}]),
            state="running",
            **AROUND,
        )
    )
    expect(panel.page.locator(".output")).to_contain_text("75%")


def terminals_done(panel: Panel) -> None:
    """Commands that are over: folded, and how they ended."""
    ends: list[Json] = [
        {"code": 0},
        {"code": 3},
        {"signal": "SIGKILL"},
        {"signal": "SIGTERM", "stopped": True},
    ]
    cards = [
        command(
            id=f"t{at}",
            status="completed" if end.get("code") == 0 else "failed",
            output=PROGRESS,
            commands=[{"id": f"c{at}", "end": end}],
        )
        for at, end in enumerate(ends)
    ]
    panel.send(*talk(user("Run the tests."), *cards, agent("One of them fails."), **AROUND))
    panel.page.locator(".tool .fold").nth(1).click()
    expect(panel.page.locator(".output")).to_contain_text("AssertionError")


def colours(panel: Panel) -> None:
    """Every colour of a terminal: as text, bright, as a background and reversed."""
    codes = [
        *range(30, 38),
        *range(90, 98),
        *range(40, 48),
        *(f"7;{one}" for one in range(30, 38)),
        "38;5;208",
    ]
    output = "".join(f"\x1b[{code}mtext {code}\x1b[0m\n" for code in codes)
    panel.send(*talk(user("go"), command(status="in_progress", output=output), state="running"))
    expect(panel.page.locator(".output")).to_contain_text("text 30")


# --- The prompt box

OFFERS = [
    ("Selection", "weather.py:3-9", "selection"),
    ("Open files", "3 files", "files"),
    ("Problems", "2 problems", "warning"),
    ("Terminal output", "pytest -q", "terminal"),
    ("Changes under review", "4 changes", "diff-multiple"),
    ("weather.py", "src/weather.py", "file"),
    ("Untitled-1", "not saved to a file yet", "new-file"),
    ("rain.ipynb", "notebooks/rain.ipynb", "notebook"),
    ("weather/", "tests/weather", "folder"),
    ("rainfall", "src/weather.py:11", "symbol-method"),
]


def mentions(panel: Panel) -> None:
    """Every kind of row that `@` offers, and every kind of attachment."""
    panel.send(*talk(user("hi"), agent("hello"), **AROUND))
    kinds = {
        "file": "weather.py",
        "folder": "tests",
        "selection": "weather.py:3-9",
        "symbol": "rainfall (weather.py:11)",
        "problem": "2 problems",
        "terminal": "pytest -q",
        "changes": "4 changes",
        "image": "sky.png",
        "conversation": "The conversation so far",
    }
    attachments = [
        {
            "id": kind,
            "kind": kind,
            "label": label,
            "uri": "",
            **({"text": "AAAA", "mimeType": "image/png"} if kind == "image" else {}),
        }
        for kind, label in kinds.items()
    ]
    panel.send({"type": "compose", "text": "", "attachments": attachments, "focus": True})
    box = panel.page.locator(BOX)
    box.press_sequentially("Look at @")
    asked = panel.got("complete")[-1]
    rows = [
        {"label": label, "detail": detail, "icon": icon, "insert": f"@{label} "}
        for label, detail, icon in OFFERS
    ]
    panel.send({"type": "candidates", "request": asked["request"], "candidates": rows})
    expect(panel.page.locator(".menu li")).to_have_count(len(OFFERS))


def slashes(panel: Panel) -> None:
    commands = [("plan", "Makes a plan"), ("status", "Says what is going on"), ("test", "")]
    panel.send(*talk(slashes=[{"name": name, "description": words} for name, words in commands], **AROUND))
    panel.page.locator(BOX).press_sequentially("/")
    expect(panel.page.locator(".menu li")).to_have_count(len(commands))


def choosing(panel: Panel) -> None:
    """A message was sent without an agent to send it to."""
    panel.send(NO_CONVERSATION, overview(agents=[*AGENTS, DEMO], draftKey=""))
    panel.page.locator(BOX).fill("Mend the sum in weather.py")
    panel.page.keyboard.press("Enter")
    expect(panel.page.locator(".unsent")).to_be_visible()


def stopping(panel: Panel) -> None:
    panel.send(*talk(user("Mend the sum."), agent("I look at it…", done=False), state="running", **AROUND))
    panel.page.locator(BOX).press("Escape")
    expect(panel.page.locator(".stopping")).to_be_visible()


def dragging(panel: Panel) -> None:
    """Something is dragged over the prompt box."""
    panel.send(*talk(user("Mend the sum."), agent("Done."), **AROUND))
    panel.page.locator(".prompt .box").dispatch_event("dragover")
    expect(panel.page.locator(".box.dragged")).to_be_visible()


def pickers(panel: Panel) -> None:
    """All that stands below the prompt, in a conversation that has just begun and can be followed."""
    effort = {**MODE, "id": "effort", "label": "Effort", "category": "thought_level", "current": "code"}
    panel.send(
        *talk(pickers=[MODE, MODEL, effort, SEARCH_WEB], usage={"used": 121_000, "size": 128_000}, forks=True)
    )
    panel.send(
        overview(
            following=True,
            current=current(
                pickers=[MODE, MODEL, effort, SEARCH_WEB],
                usage={"used": 121_000, "size": 128_000},
                forks=True,
            ),
        )
    )


# --- Conversations


def nested(panel: Panel) -> None:
    """A sub-agent at work, a compaction, notices, and tools by their names."""
    task = tool(id="task", title="Look for the rain", name="Task", toolKind="think", status="in_progress")
    steps = [
        tool(id="t1", title="Read the readings", name="read_file", parent="task"),
        tool(id="t2", title="Find rain", toolKind="search", parent="task", status="failed"),
        tool(id="t3", title="Run it", toolKind="execute", parent="task", status="in_progress"),
        agent("It rains in **a.py**, see [there](https://x.example).", id="w", parent="task"),
    ]
    kept = {"id": "c", "kind": "compaction", "status": "completed", "summary": "You want **rain**."}
    failed = {"id": "d", "kind": "compaction", "status": "failed", "summary": "", "error": "no room"}
    going = {"id": "g", "kind": "compaction", "status": "in_progress", "summary": ""}
    notices = [
        notice(level, "No server", detail="Going on without it.") for level in ("info", "warning", "error")
    ]
    panel.send(*talk(user("hi"), kept, failed, *notices, task, *steps, going, state="running", forks=True))
    panel.page.locator(".below > .fold").click()
    panel.page.locator(".compaction button").click()
    expect(panel.page.locator(".below-body")).to_be_visible()


def forked(panel: Panel) -> None:
    words = "Forked from “The sum is wrong”. Both conversations contain the messages above; from here on they are separate."
    panel.send(
        *talk(
            user("Mend the sum."),
            agent("Done."),
            notice("info", words),
            forks=True,
            **{**AROUND, "title": "The sum is wrong (fork)"},
        )
    )


def _sessions() -> list[Json]:
    return [
        {
            **current(title=title, state=state, unseen=unseen, recorded=recorded, forks=forks),
            "sessionId": title,
        }
        for title, state, unseen, recorded, forks in (
            ("The sum is wrong", "waiting", False, False, False),
            ("Read the readings in one pass", "idle", True, False, True),
            ("What does mean() do for an empty day?", "idle", False, True, False),
        )
    ]


def start(panel: Panel) -> None:
    panel.send(
        NO_CONVERSATION,
        overview(agents=AGENTS, sessions=_sessions(), defaultAgent="fast-agent", draftKey=""),
    )


def sessions(panel: Panel) -> None:
    """The list, the pointer over a row."""
    start(panel)
    panel.send({"type": "show", "what": "sessions"})
    row = panel.page.locator(".sessions li").nth(1)
    row.hover()
    expect(row.locator(".codicon-repo-forked")).to_be_visible()


def searching(panel: Panel) -> None:
    """Conversations that were found by words in them."""
    start(panel)
    panel.send({"type": "show", "what": "sessions"})
    panel.page.locator(".search").fill("gauge")
    panel.got("search")
    found = [
        {
            "sessionId": one["sessionId"],
            "excerpt": "…of the two, the gauge at the mill counts drizzle twice, so…",
        }
        for one in _sessions()[1:]
    ]
    panel.send({"type": "found", "query": "gauge", "found": found})
    expect(panel.page.locator(".excerpt")).to_have_count(2)


def tab(panel: Panel) -> None:
    """A conversation in an editor."""
    ended(panel)
    panel.send(overview(place="tab", current=current(forks=True, **AROUND)))
    expect(panel.page.locator("h1 .heading")).to_be_visible()


def tab_opening(panel: Panel) -> None:
    """A tab of before a reload."""
    panel.send(overview(place="tab", vacant="opening", draftKey=""))
    expect(panel.page.locator(".loading")).to_be_visible()


def tab_new(panel: Panel) -> None:
    """A tab for a new conversation."""
    panel.send(NO_CONVERSATION, overview(place="tab", vacant="choosing", agents=[*AGENTS, DEMO], draftKey=""))
    expect(panel.page.locator(".agents li")).to_have_count(len(AGENTS) + 1)


# --- Without an agent, or without the sidecar


def starting(panel: Panel) -> None:
    """The sidecar starts."""
    panel.send(NO_CONVERSATION, overview(connected=False, draftKey=""))
    expect(panel.page.locator(".start")).to_be_visible()


def agent_starting(panel: Panel) -> None:
    panel.send(*talk(state="starting", title=""))
    expect(panel.page.locator(".empty")).to_be_visible()


def no_agent(panel: Panel) -> None:
    panel.send(NO_CONVERSATION, overview(agents=[DEMO], draftKey=""))
    expect(panel.page.locator(".start")).to_be_visible()


def trouble(panel: Panel) -> None:
    """The sidecar has ended, during the tour."""
    panel.send(
        overview(
            trouble={
                "text": "acp-sidecar is not running.",
                "action": {"id": "restart", "label": "Start again"},
            },
            tour={"step": 1, "steps": ["One", "Two", "Three"]},
            connected=False,
            draftKey="",
        )
    )


def until_armed(panel: Panel) -> None:
    expect(panel.page.locator(".question button[aria-disabled=false]").first).to_be_attached()


SCENES: dict[str, Callable[[Panel], None]] = {
    "conversation": ended,
    "question": asking,
    "start": start,
    "markdown": markdown,
    "looks": looks,
    "told": told,
    "editing": editing,
    "form": form,
    "address": address,
    "recorded": recorded,
    "terminal": terminal,
    "terminals-done": terminals_done,
    "colours": colours,
    "mentions": mentions,
    "slashes": slashes,
    "choosing": choosing,
    "stopping": stopping,
    "dragging": dragging,
    "pickers": pickers,
    "nested": nested,
    "forked": forked,
    "sessions": sessions,
    "searching": searching,
    "tab": tab,
    "tab-opening": tab_opening,
    "tab-new": tab_new,
    "starting": starting,
    "agent-starting": agent_starting,
    "no-agent": no_agent,
    "trouble": trouble,
}
IN_THE_DOCUMENTATION = ("conversation", "question", "start")
"""Of these, docs/images has pictures."""
