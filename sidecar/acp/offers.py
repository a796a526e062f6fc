"""Offers: what the editor can show for an agent, announced to it at `initialize`. What is not offered is not served."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Offers:
    elicitation: bool = False
    """Forms, and pages to open."""
    terminal_login: bool = False
    """A command run in a terminal, for a person to log in."""

    def capabilities(self) -> dict[str, object]:
        """The part of ACP's `clientCapabilities` that is about what is shown. Options of type boolean can always be set; compaction and
        notices are shown in every editor, in the conversation or in words."""
        session: dict[str, object] = {"configOptions": {"boolean": {}}, "compaction": {}, "notices": {}}
        offered: dict[str, object] = {"session": session}
        if self.elicitation:
            offered["elicitation"] = {"form": {}, "url": {}}
        if self.terminal_login:
            offered["auth"] = {"terminal": True}
            offered["_meta"] = {
                "terminal-auth": True
            }  # how opencode wants to hear it, from before ACP had a word for it
        return offered
