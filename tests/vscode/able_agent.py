"""An agent with modes, models, options and commands, which takes unsaved text along and conversations up again: `python able_agent.py TRACE`.

As scripted as the others (tests/support/fake_agent.py); TRACE gets every line it received. It refuses whatever is called "locked".
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from fake_agent import FakeAgent

NAME = "able"
RECEIVED = "able.received"
"""In a code-server's folder: its TRACE."""
ABOUT = {
    "protocolVersion": 1,
    "agentInfo": {"name": "able", "version": "1"},
    "agentCapabilities": {
        "loadSession": True,
        "promptCapabilities": {"embeddedContext": True},
        "sessionCapabilities": {"fork": {}},
    },
}
MODES = {
    "currentModeId": "code",
    "availableModes": [{"id": one, "name": one.title()} for one in ("code", "ask", "locked")],
}
MODELS = {
    "currentModelId": "small",
    "availableModels": [{"modelId": one, "name": one.title()} for one in ("small", "large", "locked")],
}
REFUSED = {"code": -32602, "message": "locked is not for you"}


def options(effort: str = "low", web: bool = False) -> list[dict]:
    efforts = [{"value": one, "name": one.title()} for one in ("low", "high", "locked")]
    return [
        {"id": "effort", "name": "Effort", "type": "select", "currentValue": effort, "options": efforts},
        {"id": "web", "name": "Web search", "type": "boolean", "currentValue": web},
    ]


class AbleAgent(FakeAgent):
    effort = "low"

    def steps_for(self, message: dict) -> list[dict]:
        params = message.get("params") or {}
        match message["method"]:
            case "initialize":
                return [{"reply": ABOUT}]
            case "session/new" | "session/fork":
                self.sessions += 1
                told = {"modes": MODES, "models": MODELS, "configOptions": options()}
                return [{"reply": {"sessionId": f"able {self.sessions}", **told}}]
            case "session/load":
                return [{"reply": {"modes": MODES, "models": MODELS, "configOptions": options(self.effort)}}]
            case "session/set_mode" | "session/set_model" | "session/set_config_option":
                if "locked" in params.values():
                    return [{"fail": REFUSED}]
                if params.get("configId") == "effort":
                    self.effort = params["value"]
                # it searches the web only when it makes an effort, and says so
                now = options(self.effort, self.effort == "high")
                return [{"reply": {"configOptions": now} if "configId" in params else {}}]
        return super().steps_for(message)


if __name__ == "__main__":
    AbleAgent({"prompted": True}, sys.argv[1]).main()
