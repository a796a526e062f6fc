"""An agent that wants its user to sign in first: `python signing_agent.py STATE [login]`. STATE is the file that a sign-in leaves.

With `login` it is what a person runs in a terminal: it asks for a word. Without, it speaks ACP, as scripted as the other.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from fake_agent import FakeAgent

TERMINAL = {"id": "tui", "type": "terminal", "name": "In a terminal", "args": ["login"]}
ABOUT = {
    "protocolVersion": 1,
    "agentInfo": {"name": "signing", "version": "1"},
    "authMethods": [TERMINAL],
    "agentCapabilities": {"promptCapabilities": {"image": True}},
}
MODES = {
    "currentModeId": "code",
    "availableModes": [{"id": "code", "name": "Code"}, {"id": "ask", "name": "Ask"}],
}
COMMANDS = [{"name": "forecast", "description": "Says how it will be"}]
FIRST = {"code": -32000, "message": "Authentication required"}


class SigningAgent(FakeAgent):
    def steps_for(self, message: dict) -> list[dict]:
        if message["method"] == "initialize":
            return [{"reply": ABOUT}]
        if message["method"] == "session/new" and not Path(sys.argv[1]).exists():
            return [{"fail": FIRST}]
        if message["method"] == "session/new":
            told = {"sessionUpdate": "available_commands_update", "availableCommands": COMMANDS}
            update = {
                "jsonrpc": "2.0",
                "method": "session/update",
                "params": {"sessionId": "s1", "update": told},
            }
            return [{"reply": {"sessionId": "s1", "modes": MODES}}, {"send": update}]
        if message["method"] == "session/set_mode":
            return [{"reply": {}}, {"say": f"mode {message['params']['modeId']}"}]
        return super().steps_for(message)


if __name__ == "__main__":
    if sys.argv[-1] == "login":
        Path(sys.argv[1]).write_text(input("What is the word? "))
    else:
        SigningAgent({"prompted": True}, None).main()
