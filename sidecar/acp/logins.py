"""Logins: an agent's login methods (ACP, "Authentication"), and what each of them requires.

`agent`: the agent logs in when told to (`authenticate`) · `terminal`: the user runs the agent's program in a terminal · `env_var`: the
user sets variables in the settings. Keys never pass through commands, so no log contains them.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from sidecar.acp.command import Command, environment, resolve
from sidecar.acp.facts import at
from sidecar.acp.starting_folder import starting_folder
from sidecar.config import AgentCommand
from sidecar.core.escape import plain
from sidecar.core.json_types import Json
from sidecar.workspace.ports.ports import AgentFailed

ASKS: Final = "asks"
"""A key in the answer of `by_person`: the user must confirm the command before it is handed out. The value lists the names of the
variables that the agent sets. Only the command that the user configured, with further arguments after it and no variables, runs without
confirmation."""
_LOGIN: Final = re.compile(
    r"\b(?:un|o)?auth(?:enticat|oriz|oris|\b|_)|\b(?:log|sign)(?:ged|ged-|ging|ed|ing)?[ -]?(?:in|on)\b|/login\b|credential|\bapi[ _-]?key",
    re.IGNORECASE,
)
"""Words that refer to a login."""
_NOTHING_SAID: Final = re.compile(r"(?:(?:(?:server|internal) )*error)?\.?", re.IGNORECASE)
_OLDER: Final = ("_meta", "terminal-auth")
"""The field in which agents named a command for the terminal before ACP defined one (opencode still does)."""


def shown(methods: Sequence[Json]) -> list[Json]:
    """`{id, name, description?, type}` of each method, for the user to choose from."""
    return [
        {
            "id": method["id"],
            "name": _words(method.get("name"), 80) or _words(method["id"], 80),
            **({"description": words} if (words := _words(method.get("description"), 400)) else {}),
            "type": _type(method),
        }
        for method in methods
    ]


def is_meant(words: str, methods: Sequence[Json]) -> bool:
    """Whether an error with the code -32000 asks for a login. ACP uses the code for that, and JSON-RPC for any error of a server, so the
    agent's message decides. An error without a message means a login if the agent has a login method."""
    said = words.strip()
    return _LOGIN.search(said) is not None or (bool(methods) and _NOTHING_SAID.fullmatch(said) is not None)


def required(agent: str, methods: Sequence[Json]) -> AgentFailed:
    """The failure for an agent that requires a login first."""
    names = [str(method["name"]) for method in shown(methods)]
    ways = f" It offers: {', '.join(names)}." if names else ""
    return AgentFailed(
        "auth_required",
        f"{agent} wants you to log in first.{ways} Log in here (sidecar.authenticate), with its own command in a"
        " terminal, or put its key under `env` in the settings; then try again.",
        {"agent": agent, "methods": shown(methods)},
    )


def choose(agent: str, methods: Sequence[Json], method_id: str | None) -> Json | None:
    """The method to use. None if the user must choose. Raises AgentFailed."""
    if not methods:
        raise AgentFailed(
            "refused",
            f"{agent} offers no way to log in from here. Log in with its own command in a terminal, or put its key"
            " under `env` in the settings.",
        )
    if method_id is None:
        return methods[0] if len(methods) == 1 else None
    for method in methods:
        if method["id"] == method_id:
            return method
    known = ", ".join(plain(str(method["id"]), 60) for method in methods)
    raise AgentFailed("refused", f'{agent} has no login method "{plain(method_id, 60)}" ({known}).')


def by_person(agent: str, command: Command, method: Json) -> Json | None:
    """The answer if the user must act. None if the agent logs in by itself."""
    match _type(method):
        case "terminal":
            return _terminal(agent, command, method)
        case "env_var":
            return _variables(agent, method)
        case _:
            return None


def _terminal(agent: str, command: Command, method: Json) -> Json:
    """ACP: `args` are appended to the agent's command, and `env` is added to its environment. opencode sends a whole command in `_meta`
    instead."""
    if command.transport is not None:  # it may have no terminal, or none that a user can see
        if command.address:
            raise AgentFailed("refused", f"{agent} runs elsewhere: log in there; then try again.")
        raise AgentFailed(
            "refused",
            f"{agent} runs elsewhere, so log in there: in a terminal, run its own command with the arguments it names"
            f" ({plain(shlex.join([command.command, *_items(method.get('args'))]), 600)}); then try again.",
        )
    if method.get("type") == "terminal":
        program, *args = resolve(agent, command, environment(command.env))
        args += _items(method.get("args"))
        more = method.get("env")
    else:
        told = at(method, *_OLDER)
        wanted = AgentCommand(str(at(told, "command")), tuple(_items(at(told, "args"))), command.env)
        if os.path.basename(wanted.command) == os.path.basename(command.command):
            wanted = replace(
                wanted, command=command.command
            )  # the program that the user configured, not another one on PATH
        program, *args = resolve(agent, wanted, environment(command.env))
        more = at(told, "env")
    added = _texts(more)
    env = {**command.env, **added}
    own = [program, *args][: 1 + len(command.args)] == resolve(agent, command, environment(command.env))
    line = plain(shlex.join([program, *args]), 600)
    terminal: dict[str, object] = {"command": program, "args": args, "env": env}
    if folder := starting_folder([program, *args], ""):
        terminal["cwd"] = folder
    return {
        "agent": agent,
        "state": "terminal",
        "terminal": terminal,
        "message": f"Log in to {agent} in a terminal, with: {line}",
        **({} if own and not added else {ASKS: sorted(added)}),
    }


def _variables(agent: str, method: Json) -> Json:
    given = method.get("vars")
    found: list[Json] = []
    for item in cast("list[object]", given if isinstance(given, list) else []):
        entry = cast("dict[str, object]", item) if isinstance(item, dict) else {}
        if isinstance(entry.get("name"), str):
            label = _words(entry.get("label"), 80)
            found.append(
                {
                    "name": plain(str(entry["name"]), 120),
                    **({"label": label} if label else {}),
                    "secret": entry.get("secret") is not False,
                    "optional": entry.get("optional") is True,
                }
            )
    names = ", ".join(str(one["name"]) for one in found if not one["optional"]) or "what it names"
    answer: dict[str, object] = {
        "agent": agent,
        "state": "env",
        "vars": found,
        "message": f'{agent} takes its login from the environment: set {names} under "env" of the agent in the settings,'
        " and start the language server again.",
    }
    link = method.get("link")
    if isinstance(link, str) and link.startswith("https://"):
        answer["link"] = plain(link, 2000)
    return answer


def _type(method: Json) -> str:
    kind = method.get("type")
    if kind in ("terminal", "env_var"):
        return kind
    return "terminal" if isinstance(at(method, *_OLDER, "command"), str) else "agent"


def _items(value: object) -> list[str]:
    return [
        item
        for item in cast("list[object]", value if isinstance(value, list) else [])
        if isinstance(item, str)
    ]


def _texts(value: object) -> Mapping[str, str]:
    """An object, as in ACP, or a list of `{name, value}`."""
    if isinstance(value, dict):
        items = cast("dict[object, object]", value).items()
        return {k: v for k, v in items if isinstance(k, str) and isinstance(v, str)}
    found: dict[str, str] = {}
    for item in cast("list[object]", value if isinstance(value, list) else []):
        entry = cast("dict[str, object]", item) if isinstance(item, dict) else {}
        name, text = entry.get("name"), entry.get("value")
        if isinstance(name, str) and isinstance(text, str):
            found[name] = text
    return found


def _words(value: object, limit: int) -> str:
    return plain(value, limit) if isinstance(value, str) else ""
