"""Offers: what the editor can show for an agent. It is announced to the agent at `initialize`; what is not offered is not served."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Offers:
    elicitation: bool = False
    """Forms, and pages to open."""
    terminal_login: bool = False
    """A command in a terminal in which the user logs in."""

    def capabilities(self) -> dict[str, object]:
        """The part of ACP's `clientCapabilities` about what is shown. Options of type boolean can always be set. Compaction and
        notices are shown in every editor, in the conversation or as a message."""
        session: dict[str, object] = {"configOptions": {"boolean": {}}, "compaction": {}, "notices": {}}
        offered: dict[str, object] = {"session": session}
        if self.elicitation:
            offered["elicitation"] = {"form": {}, "url": {}}
        if self.terminal_login:
            offered["auth"] = {"terminal": True}
            offered["_meta"] = {
                "terminal-auth": True
            }  # as opencode expects it, from before ACP had a field for it
        return offered
