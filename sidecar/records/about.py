"""About: the facts about a recorded session, without its conversation. A separate small file makes listing cheap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast


@dataclass(frozen=True, slots=True)
class About:
    """Facts about one session. Times are ISO 8601 in UTC."""

    session_id: str
    agent: str
    cwd: str
    additional_directories: tuple[str, ...] = ()
    reference: str = ""
    """The agent's own id for the session."""
    title: str = ""
    created: str = ""
    updated: str = ""
    turn: int = 0
    """The number of the last turn. Numbers continue from it, because changes are identified by them."""
    loads: bool = False
    """The agent said that it can resume conversations."""
    forks: bool = False
    """The agent said that it can fork conversations."""
    granted: tuple[str, ...] = ()
    """The real paths that the user granted, if the agent named the folders and not the user."""

    def to_json(self) -> dict[str, object]:
        return {
            "v": 1,
            "sessionId": self.session_id,
            "agent": self.agent,
            "cwd": self.cwd,
            "additionalDirectories": list(self.additional_directories),
            "reference": self.reference,
            "title": self.title,
            "created": self.created,
            "updated": self.updated,
            "turn": self.turn,
            "loads": self.loads,
            "forks": self.forks,
            "granted": list(self.granted),
        }

    @staticmethod
    def of_json(value: object) -> About | None:
        """Read the JSON form. Returns None if it is not ours or from a later version."""
        if not isinstance(value, dict):
            return None
        fields = cast("Mapping[str, object]", value)
        texts = {
            name: fields.get(name)
            for name in ("sessionId", "agent", "cwd", "reference", "title", "created", "updated")
        }
        turn, more, granted = fields.get("turn"), fields.get("additionalDirectories"), fields.get("granted")
        if fields.get("v") != 1 or not isinstance(turn, int) or not isinstance(more, list):
            return None
        if not all(isinstance(text, str) for text in texts.values()):
            return None
        return About(
            str(texts["sessionId"]),
            str(texts["agent"]),
            str(texts["cwd"]),
            _strings(cast("object", more)),
            str(texts["reference"]),
            str(texts["title"]),
            str(texts["created"]),
            str(texts["updated"]),
            turn,
            fields.get("loads") is True,
            fields.get("forks") is True,
            _strings(granted),
        )


def _strings(value: object) -> tuple[str, ...]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(item for item in items if isinstance(item, str))
