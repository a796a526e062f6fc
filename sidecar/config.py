"""Settings: what the user configured, parsed once from `initializationOptions` or the `sidecar` section.

Nothing here raises. An unknown key or a wrong type becomes a sentence in `problems`, and the default stays in force: a typo must not disable the
sidecar. docs/settings.md describes names and meanings.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, cast
from urllib.parse import urlsplit

DEFAULT_MAX_FILE_BYTES = 10 * 1024 * 1024

Writes = Literal["review", "confirm", "ask", "deny"]
AfterWrite = Literal["save-if-was-clean", "always", "never"]
BeforePrompt = Literal["auto", "embed", "save", "nothing"]
OwnTools = Literal["live", "all", "off"]


WORKSPACE_FOLDER = "${workspaceFolder}"
"""In `Transport.folders`: the first folder that is open in the editor."""


SIDECAR = "acp-sidecar"
"""The default of `Transport.sidecar`."""


@dataclass(frozen=True, slots=True)
class Transport:
    """How to reach the place where an agent runs, if it is not here: a command (`ssh host --`, `docker exec -i box`), or a WebSocket's address."""

    command: tuple[str, ...] = ()
    """A program and its arguments, followed by the agent's own command; empty if there is a `url`."""
    folders: Mapping[str, str] = field(default_factory=dict[str, str])
    """Maps folders there to folders here. Absolute, or beginning with WORKSPACE_FOLDER."""
    shell: bool = False
    """The program passes the rest to a shell, in one line, as ssh does: each word is quoted for it."""
    sidecar: str = SIDECAR
    """The acp-sidecar there, through which our tools reach an agent: a name on the PATH there, or a path."""
    url: str = ""
    """`ws://` or `wss://`: the agent already runs and answers at this address. It then has no command."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """HTTP headers of the request that opens the WebSocket."""

    @property
    def words(self) -> tuple[str, ...]:
        """The command or address as a user would type it."""
        return (self.url,) if self.url else self.command


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """How an agent is started: a program and its arguments, never a shell line."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    fs: bool = True
    """False: the agent is not offered `fs/*`. Both methods or neither: with only one, several agents write to the disk (docs/clients.md)."""
    transport: Transport | None = None
    """None: it runs here."""
    protocol: Literal[1, 2] = 1
    """The version of ACP that is requested first. With an agent that knows only another version, that one is used."""

    @property
    def words(self) -> tuple[str, ...]:
        """The whole command that is run, or the address that is called, as a user would type it."""
        before = self.transport.words if self.transport else ()
        return before if self.address else (*before, self.command, *self.args)

    @property
    def address(self) -> str:
        """The WebSocket at which the agent answers; "" for an agent that is started."""
        return self.transport.url if self.transport else ""


@dataclass(frozen=True, slots=True)
class McpServer:
    """An MCP server that agents are offered: a program that they start, or a URL that they call."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    type: Literal["stdio", "http", "sse"] = "stdio"
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class ClientFlags:
    """The custom methods that this client handles. All are off until it announces them."""

    save: bool = False
    open: bool = False
    reload: bool = False
    session_updates: bool = False
    permissions: bool = False
    changes: bool = False
    conflicts: bool = False
    agent_state: bool = False
    activity: bool = False
    context: bool = False
    elicitation: bool = False
    terminal_login: bool = False
    """It runs a command in a terminal in which the user logs in (no method of its own)."""
    message_buttons: bool = False
    """`window/showMessageRequest` does not interrupt typing: the message appears beside the text until its button is pressed (no method of its own)."""
    name: str = ""
    """The client's name, if the editor does not send `clientInfo` (eglot 1.9)."""


@dataclass(frozen=True, slots=True)
class Settings:
    agents: Mapping[str, AgentCommand] = field(default_factory=dict[str, AgentCommand])
    default_agent: str | None = None
    writes: Writes = "review"
    after_write: AfterWrite = "save-if-was-clean"
    before_prompt: BeforePrompt = "auto"
    own_tools: OwnTools = "live"
    """live: agents get our tools in addition to their own, and in place of their own if they allow it."""
    mcp_servers: tuple[McpServer, ...] = ()
    allowed_roots: tuple[str, ...] = ()
    secret_patterns: tuple[str, ...] = ()
    protected_patterns: tuple[str, ...] = ()
    max_file_bytes: int = DEFAULT_MAX_FILE_BYTES
    client: ClientFlags = ClientFlags()


def parse(raw: object) -> tuple[Settings, list[str]]:
    """Return settings from a JSON value, and one sentence for each part of it that was not understood."""
    problems: list[str] = []
    if raw is None:
        return Settings(), problems
    table = _object("settings", raw, problems)
    if table is None:
        return Settings(), problems
    known = _read(table, _TOP, "", problems)
    settings = Settings(**known)  # type: ignore[arg-type]  # each reader returns its field's type; _TOP maps names to them
    if settings.default_agent is not None and settings.default_agent not in {*settings.agents, "demo"}:
        names = ", ".join(sorted(settings.agents)) or "none is configured"
        problems.append(
            f'defaultAgent "{settings.default_agent}" is not among the configured agents ({names})'
        )
    return settings, problems


Reader = Callable[[str, object, list[str]], object]


class _Wrong(Exception):
    pass


def _read(
    table: Mapping[str, object], fields: Mapping[str, tuple[str, Reader]], prefix: str, problems: list[str]
) -> dict[str, object]:
    out: dict[str, object] = {}
    for key, value in table.items():
        if key not in fields:
            problems.append(f'unknown setting "{prefix}{key}" (known: {", ".join(sorted(fields))})')
            continue
        name, reader = fields[key]
        try:
            out[name] = reader(prefix + key, value, problems)
        except _Wrong as wrong:
            problems.append(f'setting "{prefix}{key}" should be {wrong}; the default is used')
    return out


def _object(key: str, value: object, problems: list[str]) -> Mapping[str, object] | None:
    if isinstance(value, dict):
        return cast("dict[str, object]", value)
    problems.append(f"{key} should be an object; the defaults are used")
    return None


def _one_of(*words: str) -> Reader:
    def read(key: str, value: object, problems: list[str]) -> object:
        if value in words:
            return value
        raise _Wrong("one of " + ", ".join(words))

    return read


def _boolean(key: str, value: object, problems: list[str]) -> bool:
    if isinstance(value, bool):
        return value
    raise _Wrong("true or false")


def _protocol(key: str, value: object, problems: list[str]) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value in (1, 2):
        return value
    raise _Wrong("1 or 2")


def _text(key: str, value: object, problems: list[str]) -> str:
    if isinstance(value, str) and value:
        return value
    raise _Wrong("a text")


def _texts(key: str, value: object, problems: list[str]) -> tuple[str, ...]:
    if isinstance(value, list):
        items = cast("list[object]", value)
        if all(isinstance(item, str) for item in items):
            return tuple(cast("list[str]", items))
    raise _Wrong("a list of texts")


def _bytes(key: str, value: object, problems: list[str]) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise _Wrong("a positive number of bytes")


def _env(key: str, value: object, problems: list[str]) -> Mapping[str, str]:
    if isinstance(value, dict):
        items = cast("dict[object, object]", value)
        if all(isinstance(k, str) and isinstance(v, str) for k, v in items.items()):
            return cast("dict[str, str]", items)
    raise _Wrong("an object of texts")


def _agents(key: str, value: object, problems: list[str]) -> Mapping[str, AgentCommand]:
    if not isinstance(value, dict):
        raise _Wrong('an object like {"name": {"command": "program", "args": []}}')
    agents: dict[str, AgentCommand] = {}
    for name, entry in cast("dict[str, object]", value).items():
        table = _object(f'setting "{key}.{name}"', entry, problems)
        if table is None:
            continue
        known = _read(table, _AGENT, f"{key}.{name}.", problems)
        if "transport" in table and "transport" not in known:  # without its transport, it would run here
            problems.append(f'agent "{name}" is left out: its "transport" was not understood')
            continue
        agent = AgentCommand(**{"command": "", **known})  # type: ignore[arg-type]  # as above
        if agent.address and (agent.command or agent.args):
            problems.append(
                f'agent "{name}" is left out: an agent at a "url" runs already, so it takes no "command" and no "args"'
            )
        elif not agent.command and not agent.address:
            problems.append(f'agent "{name}" has no "command"; it is left out')
        else:
            agents[name] = agent
    return agents


def _transport(key: str, value: object, problems: list[str]) -> Transport:
    raw = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    table = _read(raw, _TRANSPORT, f"{key}.", problems)
    transport = Transport(**table)  # type: ignore[arg-type]  # as above
    if not raw.keys() <= table.keys() or not _reaches(transport, raw):
        raise _Wrong(
            'an object like {"command": ["ssh", "host", "--"], "folders": {"/folder/there": "${workspaceFolder}"}},'
            ' or like {"url": "wss://host/acp", "folders": …}'
        )
    if transport.url or "shell" in table:
        return transport
    name = transport.command[0].replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")
    return replace(transport, shell=name == "ssh")


def _reaches(transport: Transport, raw: Mapping[str, object]) -> bool:
    """Whether the transport has either a command or an address."""
    if transport.url:
        return not raw.keys() & {"command", "shell", "sidecar"}
    return bool(transport.command and transport.command[0]) and "headers" not in raw


def _websocket(key: str, value: object, problems: list[str]) -> str:
    """Refuse a name and password, which would be shown and logged: those belong in a header."""
    if isinstance(value, str):
        try:
            address = urlsplit(value)
            plain = value.isprintable() and " " not in value
            if address.scheme in ("ws", "wss") and address.hostname and "@" not in address.netloc and plain:
                return value
        except ValueError:
            pass
    raise _Wrong("an address that begins with ws:// or wss://, without a password")


def _folders(key: str, value: object, problems: list[str]) -> Mapping[str, str]:
    pairs = _env(key, value, problems)
    for there, here in pairs.items():
        if not _usable(there, posix=True) or not _usable(here, posix=False):
            raise _Wrong(
                f"an object of absolute paths, each beginning with / or {WORKSPACE_FOLDER}, and without .."
            )
    return pairs


def _usable(folder: str, *, posix: bool) -> bool:
    """Whether a transport's folder is usable. `posix`: it is a folder there, where paths begin with a slash."""
    rest = folder.removeprefix(WORKSPACE_FOLDER)
    absolute = (folder.startswith("/") if posix else os.path.isabs(folder)) or folder != rest
    plain = "${" not in rest and "\0" not in rest and ".." not in rest.replace("\\", "/").split("/")
    return absolute and plain and (folder == rest or not rest or rest[0] in "/\\")


def _mcp_servers(key: str, value: object, problems: list[str]) -> tuple[McpServer, ...]:
    if not isinstance(value, dict):
        raise _Wrong('an object like {"name": {"command": "program", "args": []}}')
    servers: list[McpServer] = []
    for name, entry in cast("dict[str, object]", value).items():
        table = _object(f'setting "{key}.{name}"', entry, problems)
        if table is None:
            continue
        server = McpServer(name, **_read(table, _MCP_SERVER, f"{key}.{name}.", problems))  # type: ignore[arg-type]  # as above
        if server.url and server.type == "stdio":
            server = replace(server, type="http")
        if bool(server.url) is bool(server.command):
            problems.append(f'MCP server "{name}" needs either a "command" or a "url"; it is left out')
        else:
            servers.append(server)
    return tuple(servers)


def _client(key: str, value: object, problems: list[str]) -> ClientFlags:
    table = _object(f'setting "{key}"', value, problems)
    if table is None:
        return ClientFlags()
    return ClientFlags(**_read(table, _CLIENT, f"{key}.", problems))  # type: ignore[arg-type]  # as above


_AGENT: Mapping[str, tuple[str, Reader]] = {
    "command": ("command", _text),
    "args": ("args", _texts),
    "env": ("env", _env),
    "fs": ("fs", _boolean),
    "transport": ("transport", _transport),
    "protocol": ("protocol", _protocol),
}

_TRANSPORT: Mapping[str, tuple[str, Reader]] = {
    "command": ("command", _texts),
    "folders": ("folders", _folders),
    "shell": ("shell", _boolean),
    "sidecar": ("sidecar", _text),
    "url": ("url", _websocket),
    "headers": ("headers", _env),
}

_MCP_SERVER: Mapping[str, tuple[str, Reader]] = {
    "command": ("command", _text),
    "args": ("args", _texts),
    "env": ("env", _env),
    "type": ("type", _one_of("stdio", "http", "sse")),
    "url": ("url", _text),
    "headers": ("headers", _env),
}

_CLIENT: Mapping[str, tuple[str, Reader]] = {
    "save": ("save", _boolean),
    "open": ("open", _boolean),
    "reload": ("reload", _boolean),
    "sessionUpdates": ("session_updates", _boolean),
    "permissions": ("permissions", _boolean),
    "changes": ("changes", _boolean),
    "conflicts": ("conflicts", _boolean),
    "agentState": ("agent_state", _boolean),
    "activity": ("activity", _boolean),
    "context": ("context", _boolean),
    "elicitation": ("elicitation", _boolean),
    "terminalLogin": ("terminal_login", _boolean),
    "messageButtons": ("message_buttons", _boolean),
    "name": ("name", _text),
}

_TOP: Mapping[str, tuple[str, Reader]] = {
    "agents": ("agents", _agents),
    "defaultAgent": ("default_agent", _text),
    "writes": ("writes", _one_of("review", "confirm", "ask", "deny")),
    "afterWrite": ("after_write", _one_of("save-if-was-clean", "always", "never")),
    "beforePrompt": ("before_prompt", _one_of("auto", "embed", "save", "nothing")),
    "ownTools": ("own_tools", _one_of("live", "all", "off")),
    "mcpServers": ("mcp_servers", _mcp_servers),
    "allowedRoots": ("allowed_roots", _texts),
    "secretPatterns": ("secret_patterns", _texts),
    "protectedPatterns": ("protected_patterns", _texts),
    "maxFileBytes": ("max_file_bytes", _bytes),
    "client": ("client", _client),
}
