"""The VS Code panel: 95th percentile of the time between two frames, the page's own bundle in chromium. Less than 16.7 ms does not occur.

Messages come as the extension sends them: what an agent said in about 32 ms is one. The page is drawn without a graphics card.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from benchmarks._common import Case, Missing, Seconds, have

LINES = 5_000
UPDATES = 10_000
SCROLL_MS = 4_000
FRAMES = """async ({ ops, every, perMessage, scroll, scrollMs }) => {
  const deltas = [];
  let last = performance.now(), on = true;
  const frame = (now) => { deltas.push(now - last); last = now; if (scroll) scroll_(); if (on) requestAnimationFrame(frame); };
  const log = document.querySelector('.log');
  let down = 1;
  const scroll_ = () => {
    if (log.scrollTop <= 0) down = 1;
    if (log.scrollTop + log.clientHeight >= log.scrollHeight - 1) down = -1;
    log.scrollTop += down * 600;
  };
  requestAnimationFrame((now) => { last = now; requestAnimationFrame(frame); });
  if (scroll) await new Promise((done) => setTimeout(done, scrollMs));
  for (let at = 0; at < ops.length; at += perMessage) {
    window.postMessage({ type: 'ops', sessionId: 's', ops: ops.slice(at, at + perMessage) }, '*');
    await new Promise((done) => setTimeout(done, every));
  }
  while (deltas.length === 0) await new Promise(requestAnimationFrame);
  on = false;
  deltas.sort((a, b) => a - b);
  const part = (share) => deltas[Math.min(deltas.length - 1, Math.floor(deltas.length * share))];
  return { p50: part(0.5), p95: part(0.95), worst: deltas.at(-1), frames: deltas.length,
           rows: document.querySelectorAll('.row').length, nodes: document.querySelectorAll('*').length };
}"""


def cases() -> Iterator[Case]:
    why = [one.why for one in (have("playwright"), have("pytest")) if isinstance(one, Missing)]
    if why:
        print(f"panel: LEFT OUT: {', '.join(why)}", file=sys.stderr)
        return
    from tests.extension.node import NoNode, find_node
    from tests.panel.panel import Panel, Site, Tabs
    from tests.support.tools import Tool, find
    from tests.vscode.browser import Browser

    chromium = find("chromium")
    if not isinstance(chromium, Tool):
        print(f"panel: LEFT OUT: chromium: {chromium}", file=sys.stderr)
        return
    try:
        node = find_node()
    except NoNode as why:
        print(f"panel: LEFT OUT: node: {why}", file=sys.stderr)
        return
    with ExitStack() as stack:
        site, browser = Site(), Browser()
        site.start(node)
        stack.callback(site.stop)
        browser.start(chromium)
        stack.callback(browser.close)

        def case(name: str, entries: list[Any], ops: list[Any], per_message: int, *, scroll: bool) -> Case:
            facts: dict[str, float | str] = {}

            def run() -> Seconds:
                panel = Panel(Tabs(browser.chromium), site)
                panel.send(*_talk(entries))
                cdp = panel.context.new_cdp_session(panel.page)
                cdp.send("Performance.enable", {"timeDomain": "threadTicks"})
                before = _busy(cdp)
                told = panel.page.evaluate(
                    FRAMES,
                    {
                        "ops": ops,
                        "every": 32,
                        "perMessage": per_message,
                        "scroll": scroll,
                        "scrollMs": SCROLL_MS,
                    },
                )
                cpu = _busy(cdp) - before
                panel.context.close()
                facts["CPU ms per frame"] = round(1000 * cpu / told["frames"], 1)
                facts.update({name: round(told[name], 1) for name in ("p50", "worst")})
                facts.update({name: told[name] for name in ("frames", "rows", "nodes")})
                return Seconds(told["p95"] / 1000)

            return Case(name, run, {}, "p95 ≤ 32 ms", facts)

        yield case(f"{UPDATES} updates in a turn", [], list(_updates()), 40, scroll=False)
        yield case(f"an answer of {LINES} lines, streamed", [_open()], _lines(), 1, scroll=False)
        whole = {**_open(), "text": "".join(op["text"] for op in _lines()), "done": True}
        yield case(f"scrolling through {LINES} lines", [whole], [], 1, scroll=True)


def _busy(cdp: Any) -> float:
    """Seconds of CPU that the page's thread has worked: what a loaded machine does not change."""
    metrics = cdp.send("Performance.getMetrics")["metrics"]
    return next(one["value"] for one in metrics if one["name"] == "TaskDuration")


def _talk(entries: list[Any]) -> list[Any]:
    from tests.panel.panel import talk

    return talk(*entries, state="running")


def _open() -> dict[str, Any]:
    return {"id": "a", "kind": "agent", "text": "", "done": False}


def _updates() -> Iterator[dict[str, Any]]:
    """Messages, thoughts and tool calls as an agent mixes them: 10 chunks, then a call that is announced, begun and done."""
    from tests.panel.panel import tool

    for number in range(UPDATES):
        turn, step = divmod(number, 14)
        if step == 0:
            yield {"op": "put", "entry": {**_open(), "id": f"a{turn}", "text": f"Step {turn}: "}}
        elif step < 11:
            yield {"op": "append", "id": f"a{turn}", "text": f"words **{number}** and `code`, "}
        else:
            status = ("pending", "in_progress", "completed")[step - 11]
            yield {"op": "put", "entry": tool(id=f"t{turn}", title=f"Read file {turn}.py", status=status)}


def _lines() -> list[dict[str, Any]]:
    """Paragraphs, lists and code in turn, 20 lines a message."""
    lines: list[str] = []
    while len(lines) < LINES:
        part = len(lines)
        lines += [
            f"## Part {part}",
            "",
            *(f"- item {number} with `code` and *words*" for number in range(8)),
            "",
        ]
        lines += [
            f"A paragraph of part {part} that says what is done and why, in a line of common length.",
            "",
        ]
        lines += [
            "```python",
            *(f"value_{number} = compute({number}, 'text')" for number in range(40)),
            "```",
            "",
        ]
    lines = lines[:LINES]
    return [
        {"op": "append", "id": "a", "text": "".join(f"{line}\n" for line in lines[at : at + 20])}
        for at in range(0, LINES, 20)
    ]
