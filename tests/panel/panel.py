"""The panel's page in a browser: a stand-in for the extension at the other end, and a record of every request by
the page.
"""

from __future__ import annotations

import http.server
import json
import subprocess
import tempfile
import threading
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect

from tests.support.tools import ROOT
from tests.support.waiting import eventually

EXTENSION = ROOT / "editor-extension"
TYPES = {".js": "text/javascript", ".css": "text/css", ".ttf": "font/ttf"}
THEMES: Mapping[str, Any] = json.loads(Path(__file__).with_name("themes.json").read_text())
"""By name: the body's classes, and VS Code's variables."""
WEAR = """(look) => {
  const style = document.documentElement.style;
  for (const name of [...style].filter((one) => one.startsWith('--'))) style.removeProperty(name);
  for (const [name, value] of Object.entries(look.variables)) style.setProperty(name, value);
  document.body.className = look.classes;
}"""
"""Shows the page in a look of THEMES, as VS Code does also while the page is shown."""
Json = dict[str, Any]

# milliseconds for any expectation; on a busy machine, five seconds pass quickly
expect.set_options(timeout=30_000)


class Site:
    """Serves the bundle and the page on loopback."""

    def __init__(self) -> None:
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.split("?")[0].strip("/")
                if name == "":
                    self._give("text/html; charset=utf-8", site.html)
                    return
                path = site.built / name
                kind = TYPES.get(path.suffix)
                if kind is None or path.parent != site.built or not path.is_file():
                    self.send_error(404)
                    return
                self._give(kind, path.read_bytes())

            def _give(self, kind: str, body: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                # the browser then keeps the compiled script, too
                self.send_header("Cache-Control", "max-age=3600")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.html = b""
        # only this process's own folder: others may be building, or packing dist, at the same time
        self._folder = tempfile.TemporaryDirectory(prefix="acp-panel-")
        self.built = Path(self._folder.name)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def start(self, node: str) -> None:
        build(node, self.built)
        done = subprocess.run(
            [node, str(self.built / "page.js"), self.origin], capture_output=True, timeout=60, check=True
        )
        self.html = done.stdout
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._folder.cleanup()


def build(node: str, folder: Path) -> None:
    """Builds the page's bundle, and the script that prints the page, into `folder`. Takes about a second."""
    done = subprocess.run(
        [node, "esbuild.mjs", f"--page={folder}"],
        cwd=EXTENSION,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]


class Tab:
    """A page of the browser that shows one panel after the other: a new page costs four times as much as loading one anew."""

    def __init__(self, browser: Browser, theme: str, how: Mapping[str, Any]) -> None:
        """`how` are options of the browser's context."""
        self.shown: Panel | None = None
        """Who is told what happens in it; between two panels nobody is."""
        self.context = browser.new_context(**how)
        self.page: Page = self.context.new_page()
        self.page.on("request", lambda request: self.shown and self.shown.requests.append(request.url))
        self.page.on("requestfailed", self._failed)
        self.page.on("pageerror", lambda error: self.shown and self.shown.errors.append(str(error)))
        self.page.on("console", self._said)
        self.page.expose_function("__post", lambda message: self.shown and self.shown.sent.append(message))
        look = THEMES[theme]
        self.page.add_init_script(
            "window.acquireVsCodeApi = () => ({ postMessage: (message) => window.__post(message), setState: (state) => { window.__state = state; } });\n"
            f"document.addEventListener('DOMContentLoaded', () => ({WEAR})({json.dumps(look)}));"
        )

    def _failed(self, request: Request) -> None:
        if self.shown and request.failure == "csp":
            self.shown.refused.append(request.url)

    def _said(self, said: ConsoleMessage) -> None:
        if self.shown and said.type in ("error", "warning"):
            self.shown.errors.append(said.text)

    def clear(self) -> None:
        """As if it were new: nothing is loaded, and no pointer is on it."""
        self.shown = None
        self.page.mouse.move(-10, -10)
        self.page.goto("about:blank")


class Tabs:
    """The tabs of one browser, those that show nothing now to be used again."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: dict[str, list[Tab]] = {}

    @contextmanager
    def tab(self, theme: str, **how: Any) -> Generator[Tab]:
        free = self._free.setdefault(json.dumps([theme, how], sort_keys=True), [])
        tab = free.pop() if free else Tab(self._browser, theme, how)
        yield tab
        tab.clear()
        free.append(tab)


class Panel:
    """One page, opened and asked to start."""

    def __init__(self, tabs: Tabs, site: Site, theme: str = "dark", **how: Any) -> None:
        """`width` and `height` are in pixels of CSS; other options are the browser context's."""
        size = {"width": how.pop("width", 420), "height": how.pop("height", 800)}
        self.requests: list[str] = []
        """Addresses that were asked for, those that the policy refused too."""
        self.refused: list[str] = []
        self.told: list[Json] = []
        """Messages of the extension to the page."""
        self.sent: list[Json] = []
        """Messages of the page to the extension."""
        self.errors: list[str] = []
        self._stack = ExitStack()
        tab = self._stack.enter_context(tabs.tab(theme, viewport=size, **how))
        self.context, self.page = tab.context, tab.page
        tab.shown = self
        self.page.goto(site.origin)
        self.got("ready")

    def send(self, *messages: Json) -> None:
        """Sends a message from the extension; returns when it is rendered."""
        self.told.extend(messages)
        self.page.evaluate("all => all.forEach((one) => window.postMessage(one, '*'))", list(messages))
        self.settle()

    def settle(self) -> None:
        """Messages are rendered in the next frame. Heights that are measured then take effect in the one after."""
        self.page.evaluate(
            "() => new Promise((done) => { let left = 4; const next = () => --left ? requestAnimationFrame(next) : done(); next(); })"
        )

    def wear(self, theme: str) -> None:
        """Changes the theme of the page that is shown."""
        self.page.evaluate(WEAR, THEMES[theme])
        self.settle()

    def of(self, kind: str) -> list[Json]:
        return [one for one in self.sent if one.get("type") == kind]

    def got(self, kind: str, count: int = 1) -> list[Json]:
        """Waits for at least this many messages of this type."""

        def look() -> list[Json] | None:
            self.page.evaluate("0")  # lets Playwright hear what the page posted
            found = self.of(kind)
            return found if len(found) >= count else None

        return eventually(look, f"{count} × {kind}", within=30, otherwise=lambda: repr(self.sent[-5:]))

    def close(self) -> None:
        """May be called twice."""
        self._stack.close()


# --- Messages from the extension


def overview(**more: Any) -> Json:
    plain: Json = {
        "place": "side",
        "agents": [],
        "sessions": [],
        "connected": True,
        "following": False,
        "history": [],
        "draftKey": "s",
        "draft": "",
        "attachments": [],
    }
    return {"type": "overview", "overview": {**plain, **more}}


def current(**more: Any) -> Json:
    plain: Json = {
        "sessionId": "s",
        "title": "Rain",
        "agent": "fast-agent",
        "agentId": "fast-agent",
        "state": "idle",
        "recorded": False,
        "unseen": False,
        "forks": False,
        "pickers": [],
        "slashes": [],
        "queue": [],
        "resumable": False,
        "images": False,
        "stopping": False,
    }
    return {**plain, **more}


def talk(*entries: Json, **more: Any) -> list[Json]:
    """Shows a conversation with these entries."""
    return [
        {"type": "conversation", "sessionId": "s", "entries": list(entries)},
        overview(current=current(**more), defaultAgent="fast-agent"),
    ]


def put(*entries: Json) -> Json:
    return {"type": "ops", "sessionId": "s", "ops": [{"op": "put", "entry": one} for one in entries]}


def append(entry_id: str, text: str) -> Json:
    return {"type": "ops", "sessionId": "s", "ops": [{"op": "append", "id": entry_id, "text": text}]}


def user(text: str, **more: Any) -> Json:
    return {"id": "u", "kind": "user", "text": text, "attachments": [], "undo": "yes", "turn": 1, **more}


def agent(text: str, **more: Any) -> Json:
    return {"id": "a", "kind": "agent", "text": text, "done": True, **more}


def tool(**more: Any) -> Json:
    return {
        "id": "t",
        "kind": "tool",
        "title": "Read weather.py",
        "toolKind": "read",
        "status": "completed",
        "locations": [],
        "diffs": [],
        "text": "",
        "output": "",
        **more,
    }


def question(**more: Any) -> Json:
    asked = {
        "requestId": "q",
        "action": "execute",
        "text": "fast-agent wants to run a command in '/home/me/rain': pytest -q",
        "reason": "not yet allowed in this session",
        "options": [
            {"optionId": "no", "kind": "reject_once", "label": "Reject"},
            {"optionId": "yes", "kind": "allow_once", "label": "Allow"},
            {"optionId": "always", "kind": "allow_always", "label": "Allow for this session"},
        ],
        "argv": ["pytest", "-q"],
        "cwd": "/home/me/rain",
    }
    entry_id = more.pop("id", "q")
    return {"id": entry_id, "kind": "question", "state": "open", "question": {**asked, **more}}
