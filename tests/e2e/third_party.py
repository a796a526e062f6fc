"""Third-party agents as their users run them, with a scripted model on loopback and dummy keys: how each is started, what its model calls
its tools, and a scene: the real sidecar behind a headless editor with one of them.

`make agents` installs them (scripts/install_agents.py; fast-agent is one of `make tools`) and names their launchers in the environment.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sidecar.acp.own_tools.row import OwnTools
from sidecar.acp.own_tools.table import own_tools_of
from sidecar.approvals import Approvals
from sidecar.config import AgentCommand
from sidecar.core.json_types import JsonDict
from sidecar.demo.editor import ALL_CUSTOM
from tests.e2e.model_server import ModelServer, script
from tests.gates.product import COMMAND, Product
from tests.support import tools

Step = dict[str, Any]
BRIEF = "Be brief.\n"
BASE = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"


@dataclass(frozen=True)
class Kind:
    """One agent. The steps are for the model's script (model_server.py)."""

    tool: str
    args: tuple[str, ...]
    environment: Callable[[Path, str], dict[str, str]]
    """Beside a home of its own; of (home, the model's address)."""
    read: Callable[[Path], Step]
    edit: Callable[[Path, str, str], Step]
    """(path, old, new), of a file that was read in the step before; `old` is a whole line"""
    run: Callable[[str], Step]
    """A line for a shell."""
    delegate: Callable[[str], Step] | None = None
    """To a sub-agent, with this prompt."""
    asks_nothing: Mapping[str, str] = field(default_factory=dict[str, str])
    """Environment with which it has no questions of its own."""
    ours: Callable[[str, JsonDict], Step] | None = None
    """A tool of ours that it was given beside its own, with these arguments; None: not tested."""
    reviewed: bool = False
    """Its model, and not its user, is asked about tools that are not its own."""
    settings: str = ""
    """Its settings' folder, below its home; where that is not `config` and its name."""
    users: Mapping[str, str] = field(default_factory=dict[str, str])
    """Files that its user has below their home: instructions that say BRIEF, and settings."""
    allows: Mapping[str, str] = field(default_factory=dict[str, str])
    """Files below its user's home, with settings that let it do everything."""
    leaves: tuple[str, ...] = ()
    """Beginnings of the names below its user's home of what it removes at its end if it has the time, with our tools and without."""
    agent: str = ""
    """The name under which its user has it, where that is not the tool's."""
    protocol: int = 1
    """The version of ACP that it is asked for."""
    rereads: bool = False
    """Its edits are made in the text that the sidecar gives it at that moment, so they never overlap with the user's."""

    @property
    def name(self) -> str:
        return self.agent or self.tool


def _opencode(home: Path, url: str) -> dict[str, str]:
    _installed(home / "config" / "opencode", "@opencode-ai/plugin")
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(_opencode_settings(url)),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }


def _kilo(home: Path, url: str) -> dict[str, str]:
    """opencode by another name."""
    _installed(home / "config" / "kilo", "@kilocode/plugin")
    return {"KILO_CONFIG_CONTENT": json.dumps(_opencode_settings(url)), "KILO_DISABLE_MODELS_FETCH": "1"}


def _opencode_settings(url: str) -> JsonDict:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "fake",
        "options": {"baseURL": f"{url}/v1", "apiKey": "dummy"},
        "models": {
            "m": {
                "name": "m",
                "tool_call": True,
                "attachment": True,
                "modalities": {"input": ["text", "image", "pdf"], "output": ["text"]},
                "limit": {"context": 100000, "output": 4096},
            }
        },
    }
    return {
        "model": "fake/m",
        "small_model": "fake/m",
        "autoupdate": False,
        "share": "disabled",
        "provider": {"fake": provider},
        "permission": {"edit": "ask"},
    }


def _pi(home: Path, url: str) -> dict[str, str]:
    folder = home / ".pi" / "agent"
    folder.mkdir(parents=True, exist_ok=True)
    model = {"id": "m", "input": ["text", "image"], "contextWindow": 100000, "maxTokens": 4096}
    provider = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "dummy", "models": [model]}
    (folder / "models.json").write_text(json.dumps({"providers": {"fake": provider}}))
    settings = {"defaultProvider": "fake", "defaultModel": "m", "quietStartup": True}
    (folder / "settings.json").write_text(json.dumps(settings))
    path = os.pathsep.join((str(Path(tools.require("pi").command).parent), os.environ["PATH"]))
    return {"PATH": path, "PI_OFFLINE": "1"}


def _installed(folder: Path, package: str) -> None:
    """opencode installs a package from the network into its user's folder, unless it seems to be there."""
    (folder / "node_modules").mkdir(parents=True, exist_ok=True)
    lock = {"packages": {"": {"dependencies": {package: "*"}}}}
    (folder / "package-lock.json").write_text(json.dumps(lock))


def _claude(home: Path, url: str) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
    }


def _claude_asking(home: Path, url: str) -> dict[str, str]:
    """Otherwise a model decides from 0.101.0 on what is asked about ("auto mode"), by a request that the scripted model cannot answer."""
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    if not settings.exists():
        settings.write_text(json.dumps({"permissions": {"defaultMode": "default"}}))
    return _claude(home, url)


def _codex(home: Path, url: str) -> dict[str, str]:
    """Its sandbox does not start when its folder lies in the temporary folder."""
    folder = home / ".codex"
    for part in (folder, home / "tmp"):
        part.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(_CODEX.format(url=url))
    return {"CODEX_HOME": str(folder), "TMPDIR": str(home / "tmp"), "DUMMY_KEY": "dummy", "NO_BROWSER": "1"}


_CODEX = """\
model = "gpt-6.1-sol"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
env_key = "DUMMY_KEY"
wire_api = "responses"
"""
"""Its tools depend on the model's name."""


def _patch(path: Path, old: str, new: str) -> Step:
    change = (
        f"*** Update File: {path}\n@@\n-{old}\n+{new}" if old else f"*** Add File: {path}\n+{new.rstrip()}"
    )
    return {"tool": "apply_patch", "text": f"*** Begin Patch\n{change}\n*** End Patch\n"}


def _by_script(tool: str, arguments: JsonDict) -> Step:
    """Its models call tools in JavaScript."""
    call = f"tools.mcp__sidecar__{tool}({json.dumps(arguments)})"
    return {"tool": "exec", "text": f"text(JSON.stringify(await {call}))"}


def _gemini(home: Path, url: str) -> dict[str, str]:
    folder = home / ".gemini"
    folder.mkdir(exist_ok=True)
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False},
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    return {
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_API_KEY": "dummy",
        "GEMINI_MODEL": "gemini-3-pro-preview",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",  # in other folders it starts no MCP server
    }


def _copilot(home: Path, url: str) -> dict[str, str]:
    """It unpacks itself, 235 MB, into the cache: once for all tests of a run."""
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": "dummy",
        "COPILOT_MODEL": "m",
        "XDG_CACHE_HOME": str(home.parent.parent / "copilot-cache"),
    }


def _fast_agent(home: Path, url: str) -> dict[str, str]:
    return {"GENERIC_BASE_URL": f"{url}/v1", "GENERIC_API_KEY": "dummy"}


_OPENCODE = Kind(
    "opencode",
    ("acp",),
    _opencode,
    lambda path: {"tool": "read", "args": {"filePath": str(path)}},
    lambda path, old, new: {
        "tool": "edit",
        "args": {"filePath": str(path), "oldString": old, "newString": new},
    },
    lambda line: {"tool": "bash", "args": {"command": line, "description": "run it"}},
    lambda prompt: {
        "tool": "task",
        "args": {"description": "edit", "prompt": prompt, "subagent_type": "general"},
    },
    {"OPENCODE_PERMISSION": json.dumps({"edit": "allow"})},
    users={
        "config/opencode/AGENTS.md": BRIEF,
        "config/opencode/opencode.json": '{"$schema": "x", "username": "me"}',
    },
    allows={
        "config/opencode/opencode.json": json.dumps(
            {
                "agent": {
                    name: {"permission": {"edit": "allow", "bash": "allow"}} for name in ("build", "code")
                }
            }
        )
    },
)


KINDS = {
    "fast-agent": Kind(
        "fast-agent",
        ("--model", "generic.fake-model", "-x"),
        _fast_agent,
        lambda path: {"tool": "read_text_file", "args": {"path": str(path)}},
        lambda path, old, new: {
            "tool": "write_text_file",
            "args": {"path": str(path)},
            "fill": "content",
            "old": old,
            "new": new,
        },
        lambda line: {"tool": "execute", "args": {"command": line}},
    ),
    "opencode": _OPENCODE,
    "kilo": replace(
        _OPENCODE,
        tool="kilo",
        environment=_kilo,
        asks_nothing={"KILO_PERMISSION": _OPENCODE.asks_nothing["OPENCODE_PERMISSION"]},
        users={name.replace("opencode", "kilo"): text for name, text in _OPENCODE.users.items()},
        allows={name.replace("opencode", "kilo"): text for name, text in _OPENCODE.allows.items()},
    ),
    "pi-acp": Kind(
        "pi-acp",
        (),
        _pi,
        lambda path: {"tool": "read", "args": {"path": str(path)}},
        lambda path, old, new: (
            {"tool": "edit", "args": {"path": str(path), "edits": [{"oldText": old, "newText": new}]}}
            if old
            else {"tool": "write", "args": {"path": str(path), "content": new}}
        ),
        lambda line: {"tool": "bash", "args": {"command": line}},
        settings=".pi/agent",
        users={".pi/agent/AGENTS.md": BRIEF},
    ),
    "claude-agent-acp": Kind(
        "claude-agent-acp",
        (),
        _claude,
        lambda path: {"tool": "Read", "args": {"file_path": str(path)}},
        lambda path, old, new: {
            "tool": "Edit",
            "args": {"file_path": str(path), "old_string": old, "new_string": new},
        },
        lambda line: {"tool": "Bash", "args": {"command": line, "description": "run it"}},
        lambda prompt: {
            "tool": "Agent",
            "args": {"description": "edit", "prompt": prompt, "subagent_type": "general-purpose"},
        },
        leaves=(".claude/sessions/",),
        users={".claude/CLAUDE.md": BRIEF, ".claude/settings.json": '{"includeCoAuthoredBy": false}'},
        allows={
            ".claude/settings.json": json.dumps(
                {"permissions": {"allow": ["Bash", "Edit", "Write"], "defaultMode": "acceptEdits"}}
            )
        },
    ),
    "codex-acp": Kind(
        "codex-acp",
        (),
        _codex,
        lambda path: {"tool": "exec_command", "args": {"cmd": shlex.join(("cat", str(path)))}},
        _patch,
        lambda line: {"tool": "exec_command", "args": {"cmd": line}},
        lambda prompt: {
            "tool": "spawn_agent",
            "namespace": "collaboration",
            "args": {"task_name": "edit", "message": prompt, "fork_turns": "none"},
        },
        ours=_by_script,
        reviewed=True,
        users={
            ".codex/AGENTS.md": BRIEF,
            ".codex/auth.json": '{"auth_mode": "apikey", "OPENAI_API_KEY": "dummy"}',
        },
    ),
    "gemini": Kind(
        "gemini",
        ("--acp",),
        _gemini,
        lambda path: {"tool": "read_file", "args": {"file_path": str(path)}},
        lambda path, old, new: {
            "tool": "replace",
            "args": {"file_path": str(path), "old_string": old, "new_string": new, "instruction": "edit"},
        },
        lambda line: {"tool": "run_shell_command", "args": {"command": line, "description": "run it"}},
        lambda prompt: {
            "tool": "invoke_agent",
            "args": {"agent_name": "codebase_investigator", "prompt": prompt},
        },
        ours=lambda tool, arguments: {"tool": f"mcp_sidecar_{tool}", "args": arguments},
        users={".gemini/GEMINI.md": BRIEF},
        rereads=True,
    ),
    "copilot": Kind(
        "copilot",
        ("--acp",),
        _copilot,
        lambda path: {"tool": "view", "args": {"path": str(path)}},
        lambda path, old, new: (
            {"tool": "edit", "args": {"path": str(path), "old_str": old, "new_str": new}}
            if old
            else {"tool": "create", "args": {"path": str(path), "file_text": new}}
        ),
        lambda line: {"tool": "bash", "args": {"command": line, "description": "run it"}},
        ours=lambda tool, arguments: {"tool": f"sidecar-{tool}", "args": arguments},
        users={".copilot/copilot-instructions.md": BRIEF, ".copilot/mcp-config.json": '{"mcpServers": {}}'},
    ),
}

KINDS["claude-agent-acp-v2"] = replace(
    KINDS["claude-agent-acp"],
    tool="claude-agent-acp-v2",
    agent="claude-agent-acp",
    environment=_claude_asking,
    protocol=2,
)


def _own_tools(kind: Kind) -> OwnTools:
    return own_tools_of(kind.name, AgentCommand(f"/x/{kind.tool}"))


CHOSEN = os.environ.get("ACP_SIDECAR_AGENTS", "").split() or list(KINDS)
LIVE = [name for name in CHOSEN if _own_tools(KINDS[name]).live]
"""Those whose own tools are led to ours."""
PLUGINS = [name for name in LIVE if _own_tools(KINDS[name]).plugin]
"""Those that load a program of ours for it."""
GIVEN = [name for name in CHOSEN if KINDS[name].ours is not None]
"""Those that are given ours beside their own."""


def allow(text: str, titles: Sequence[str]) -> str | None:
    """A person who lets everything happen, once."""
    once = [title for title in titles if title.lower() in ("allow once", "allow", "yes")]
    return once[0] if once else next((t for t in titles if t.startswith(("Allow", "Yes"))), None)


def allow_its_own(text: str, titles: Sequence[str]) -> str | None:
    """A person who lets happen what the agent asks about by itself, and nothing else."""
    return allow(text, titles) if "the agent asks before it does this itself" in text else None


def allow_none(text: str, titles: Sequence[str]) -> str | None:
    return None


def put(home: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)


@asynccontextmanager
async def a_scene(
    kind: Kind,
    tmp_path: Path,
    workspace: Path,
    model: ModelServer,
    *,
    session: bool = True,
    env: Mapping[str, str] | None = None,
    **options: Any,
) -> AsyncIterator[tuple[Product, Any]]:
    """An editor, its sidecar, and (with `session`) a session of the agent's; everything ends in order. `env`: more of the agent's."""
    tool = tools.require(kind.tool)
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)  # a second scene goes on where the first ended
    environment = {"HOME": str(home)} | {
        f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CACHE", "CONFIG", "DATA", "STATE")
    }
    environment |= kind.environment(home, model.url) | dict(env or {})
    Approvals().remember(AgentCommand(tool.command, kind.args, environment))
    agent = {"command": tool.command, "args": list(kind.args), "env": environment}
    if kind.protocol != 1:
        agent["protocol"] = kind.protocol
    told = {"agents": {kind.name: agent}, "defaultAgent": kind.name, "client": dict(ALL_CUSTOM), **options}
    async with Product(COMMAND, workspace, options=told, answer=allow) as product:
        opened = await product.session(kind.name) if session else {}
        assert "error" not in opened, opened
        yield product, opened
        assert await product.stop() == 0


async def ended(product: Product, session: Any, *steps: Step) -> JsonDict:
    turn = await product.prompt(session, script(*steps))
    assert turn.get("stopReason") == "end_turn", turn
    return turn


async def held(
    product: Product, session: Any, model: ModelServer, meanwhile: Callable[[], None], *steps: Step
) -> JsonDict:
    """The outcome of a turn in which `meanwhile` happens at the step that is held."""
    turn = asyncio.ensure_future(product.prompt(session, script(*steps)))
    assert await asyncio.to_thread(model.held.wait, 60)
    meanwhile()
    model.go.set()
    return await turn


def results(model: ModelServer) -> str:
    """What the agent's tools answered, as its model was told in all requests so far."""
    return json.dumps([m for body in model.requests for m in body["messages"] if _is_result(m)])


def delegated(kind: Kind, *steps: Step, then: Sequence[Step] = ()) -> str:
    """A prompt: a sub-agent does this, and the agent itself goes on with `then`."""
    assert kind.delegate is not None
    outer = script(kind.delegate(script(*steps)), *then, {"say": "done"})
    # the inner script must not end the outer one
    head, tail = outer.index(" "), outer.rindex(" ")
    return (
        outer[:head]
        + outer[head:tail].replace("<<", "\\u003c\\u003c").replace(">>", "\\u003e\\u003e")
        + outer[tail:]
    )


def first_result(model: ModelServer) -> str:
    """What the first tool answered."""
    return next(json.dumps(m) for body in model.requests for m in body["messages"] if _is_result(m))


def _is_result(message: JsonDict) -> bool:
    content = message.get("content")
    parts: list[Any] = content if isinstance(content, list) else []
    return message.get("role") == "tool" or any(
        isinstance(part, dict) and part.get("type") == "tool_result" for part in parts
    )


def undone(product: Product, path: Path, text: str) -> int:
    """How many undo steps lead back to `text`; 0: none of the next four."""
    for steps in range(1, 5):
        product.undo(path)
        if product.document(path).text == text:
            return steps
    return 0
