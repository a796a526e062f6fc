"""Updates: what an agent reports about one session (ACP v2, `session/update`), as updates of version 1."""

from __future__ import annotations

from collections import OrderedDict

from sidecar.acp.v2 import sessions
from sidecar.acp.v2.calls import SessionCalls
from sidecar.acp.v2.displays import Displays
from sidecar.acp.v2.fields import id_of, object_of, objects, text_of
from sidecar.acp.v2.messages import WHOLE, Messages
from sidecar.core.json_size import size_of
from sidecar.core.json_types import Json

_MOST_PLANS, _MOST_ENTRIES, _LARGEST_PLAN = 16, 100, 64 * 1024
"""The most plans that are remembered for each session, to be reported together; the most entries of one plan, and its most bytes as kept.
A larger plan is reported alone."""


class SessionUpdates:
    """The updates of one session."""

    def __init__(self) -> None:
        self.calls = SessionCalls()
        self.displays = Displays()
        self.mode_option = ""
        """The id of the option that is the session's mode. "" without one."""
        self._messages = Messages()
        self._plans: OrderedDict[str, list[Json]] = OrderedDict()

    def told(self, update: Json, *, ours: bool) -> list[Json]:
        """Translate an update. `ours`: a prompt of ours is under way, so messages of the user came from us and are shown already."""
        kind = update.get("sessionUpdate")
        match kind:
            case "user_message" | "user_message_chunk" if ours:
                return []
            case "agent_message_chunk" | "agent_thought_chunk" | "user_message_chunk":
                return self._messages.chunk(update)
            case str() if kind in WHOLE:
                return self._messages.whole(update)
            case "tool_call_update":
                return self.calls.update(update)
            case "tool_call_content_chunk":
                return self.calls.chunk(update)
            case "terminal_update":
                return self.displays.update(update)
            case "terminal_output_chunk":
                return self.displays.chunk(update)
            case "plan_update":
                return self._plan(object_of(update.get("plan")))
            case "plan_removed":
                self._plans.pop(text_of(update, "planId") or "", None)
                return [self._entries()]
            case "available_commands_update":
                return [{**update, "availableCommands": sessions.commands(update.get("availableCommands"))}]
            case "config_option_update":
                return self.options(sessions.options(update.get("configOptions")))
            case "terminal_output" | "terminal_ended" | "tool_call" | "plan" | "current_mode_update":
                return []  # updates of version 1, and our own
            case "session_message" | "session_message_chunk":
                return []  # between sessions: messages to and from a sub-agent
            case _:
                return [update]

    def options(self, told: list[Json]) -> list[Json]:
        """The updates for the session's options, as translated: the options, and the mode if one of them is the mode."""
        modes = object_of(self.opened(told).get("modes"))
        found: list[Json] = [{"sessionUpdate": "config_option_update", "configOptions": told}]
        if modes:
            found.append({"sessionUpdate": "current_mode_update", "currentModeId": modes["currentModeId"]})
        return found

    def opened(self, told: list[Json]) -> Json:
        """Remember which of the options is the mode. Returns `modes`."""
        option = sessions.mode_option(told)
        self.mode_option = "" if option is None else id_of(option, "id") or ""
        return sessions.modes(told)

    def _plan(self, plan: Json) -> list[Json]:
        name = id_of(plan, "planId") or ""
        match plan.get("type"):
            case "items":
                entries = [one for one in objects(plan.get("entries")) if one.get("status") != "cancelled"]
                if len(entries) > _MOST_ENTRIES or size_of(entries) > _LARGEST_PLAN:
                    return [{"sessionUpdate": "plan", "entries": entries}]
                self._plans[name] = entries
                if len(self._plans) > _MOST_PLANS:
                    self._plans.popitem(last=False)
                return [self._entries()]
            case "markdown":
                content: Json = {"type": "text", "text": text_of(plan, "content") or ""}
                whole = {"sessionUpdate": "agent_message", "messageId": f"plan:{name}", "content": [content]}
                return self._messages.whole(whole)
            case "file" if (uri := text_of(plan, "uri")) is not None:
                link: Json = {"type": "resource_link", "uri": uri, "name": uri.rpartition("/")[2] or uri}
                whole = {"sessionUpdate": "agent_message", "messageId": f"plan:{name}", "content": [link]}
                return self._messages.whole(whole)
            case _:
                return []

    def _entries(self) -> Json:
        """One plan with the entries of all plans: version 1 has only one."""
        return {"sessionUpdate": "plan", "entries": [one for plan in self._plans.values() for one in plan]}
