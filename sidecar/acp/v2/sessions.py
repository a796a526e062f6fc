"""Sessions: what a session is opened with, and its options (ACP v2, "Session Setup", "Session Config Options").

Version 2 has no modes: a mode is the option of category `mode`. Inside, it is both a mode and an option, as with many agents
of version 1.
"""

from __future__ import annotations

from sidecar.acp.v2.fields import object_of, objects, renamed
from sidecar.core.json_types import Json


def place(params: Json, *, programs: bool) -> Json:
    """The params of a request that opens a session. `programs`: whether the agent starts MCP servers; if not, those are left
    out."""
    if "mcpServers" not in params:
        return params
    servers = [{"type": "stdio", **server} for server in objects(params["mcpServers"])]
    return {**params, "mcpServers": [one for one in servers if programs or one["type"] != "stdio"]}


def chosen(params: Json) -> Json:
    """The params that set an option."""
    return params if "type" in params else {**params, "type": "id"}


def answer(result: Json) -> Json:
    """The answer to a request that opens a session or sets an option. It includes `modes` if one of the options is the mode."""
    if not isinstance(result.get("configOptions"), list):
        return {name: value for name, value in result.items() if name != "configOptions"}
    told = options(result["configOptions"])
    return {**result, "configOptions": told, **modes(told)}


def options(value: object) -> list[Json]:
    return [_option(one) for one in objects(value)]


def _option(option: Json) -> Json:
    told = renamed(option, "configId", "id")
    if "options" not in told:
        return told
    return {**told, "options": [renamed(choice, "groupId", "group") for choice in objects(told["options"])]}


def mode_option(told: list[Json]) -> Json | None:
    """The option, as translated, that is the session's mode. None without one."""
    found = (one for one in told if one.get("category") == "mode" and one.get("type") == "select")
    return next(found, None)


def modes(told: list[Json]) -> Json:
    """`modes` as in version 1. Empty if there is no mode."""
    option = mode_option(told)
    if option is None or not isinstance(option.get("currentValue"), str):
        return {}
    choices = [
        choice
        for one in objects(option.get("options"))
        for choice in (objects(one["options"]) if "options" in one else [one])
    ]
    available = [
        {key: choice[name] for key, name in _MODE.items() if name in choice}
        for choice in choices
        if isinstance(choice.get("value"), str)
    ]
    return {"modes": {"currentModeId": option["currentValue"], "availableModes": available}}


_MODE = {"id": "value", "name": "name", "description": "description"}


def commands(value: object) -> list[Json]:
    """Slash commands. Their input is a text, or something of a later version, which is left out."""
    found: list[Json] = []
    for one in objects(value):
        command = {name: field for name, field in one.items() if name not in ("type", "input")}
        given = object_of(one.get("input"))
        if given.get("type") == "text":
            command["input"] = {name: field for name, field in given.items() if name != "type"}
        found.append(command)
    return found
