"""The agent panel of a window, as a user uses it. Its page is a frame inside a frame of the workbench."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Frame, Locator, expect

from tests.support.waiting import eventually
from tests.vscode.window import Window

# milliseconds for any expectation; on a busy machine, five seconds pass quickly
expect.set_options(timeout=60_000)


class Panel:
    def __init__(self, window: Window) -> None:
        """Shows the panel."""
        self._window = window
        window.command("acpSidecar.panel.focus")

    @property
    def page(self) -> Frame:
        """The current page. It is created again whenever the panel was hidden."""

        def look() -> Frame | None:
            for frame in self._window.page.frames:
                try:
                    if frame != self._window.page.main_frame and frame.query_selector(
                        "#app .app[data-place=side]"
                    ):
                        return frame
                except PlaywrightError:
                    continue  # the old page is going away
            self._window.page.wait_for_timeout(20)  # lets the browser process its events
            return None

        return eventually(look, "the panel's page", within=60, otherwise=self._window.server.last_words)

    @staticmethod
    def words(window: Window) -> str:
        """All text in the pages of the current panels."""
        found: list[str] = []
        for frame in window.page.frames:
            try:
                if page := frame.query_selector("#app .app"):
                    found.append(page.inner_text())
            except PlaywrightError as problem:
                found.append(str(problem))
        return "\n---\n".join(found) or "nothing"

    @property
    def box(self) -> Locator:
        return self.page.get_by_label("Message to the agent")

    def ready(self) -> None:
        """A conversation is shown, its agent has started, and no turn is running."""
        expect(self.page.locator("header .codicon-comment")).to_be_visible(timeout=60_000)

    def prompt(self, text: str) -> None:
        self.box.fill(text)
        self.box.press("Enter")

    def type(self, text: str) -> None:
        """Types into the focused element as if pasted, which is quicker than key by key."""
        self._window.page.keyboard.insert_text(text)

    def walk_to(self, name: str) -> None:
        """Presses Tab until the element with this name has the focus."""
        look = "() => { const it = document.activeElement; return [it.getAttribute('aria-label'), it.textContent.trim()]; }"
        seen: list[object] = []
        for _ in range(80):
            seen.append(self.page.evaluate(look))
            if name in seen[-1]:
                return
            self._window.page.keyboard.press("Tab")
        raise AssertionError(f"Tab never came to {name}: {seen}")

    def button(self, name: str, **how: Any) -> Locator:
        return self.page.get_by_role("button", name=name, **how)

    def answers(self, words: str) -> Locator:
        """Waits until the agent has said this. Only its own rendered words count, not those of the prompt."""
        found = self.page.locator(".markdown").filter(has_text=words).last
        expect(found).to_be_visible()
        return found

    def says(self, words: str, *, within: float = 60, exact: bool = False) -> Locator:
        """Waits until these words are visible, those of a prompt among them. `exact`: as a whole text, in these letters."""
        found = self.page.get_by_text(words, exact=exact).last
        expect(found).to_be_visible(timeout=within * 1000)
        return found
