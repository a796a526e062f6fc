"""What the manifest of the VS Code extension must and must not say. The workbench of the tests enables every proposed API and would
hide the use of one; a command of the server's with the name of one of the extension's would keep the client from starting."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sidecar import __version__
from sidecar.config import _AGENT, _TOP
from sidecar.lsp import ext

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "editor-extension"
MANIFEST: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text())
STRINGS: dict[str, str] = json.loads((EXTENSION / "package.nls.json").read_text())
CONTRIBUTES: dict[str, Any] = MANIFEST["contributes"]
SETTINGS: dict[str, dict[str, Any]] = CONTRIBUTES["configuration"]["properties"]
SOURCES = {
    path.relative_to(EXTENSION): path.read_text()
    for folder in ("src", "test")
    for path in sorted((EXTENSION / folder).rglob("*.ts*"))
}

LOOKS = re.compile(r"acpSidecar\.(panel|review|trace)\.\w+")
"""Settings that only change how something looks here: any scope will do."""


def lines(pattern: str, *, besides: str = "") -> list[str]:
    """Where the sources have it, as `file: line`."""
    return [
        f"{path}: {line.strip()}"
        for path, text in SOURCES.items()
        if path.as_posix() != besides
        for line in text.splitlines()
        if re.search(pattern, line)
    ]


def test_no_proposed_api() -> None:
    assert "enabledApiProposals" not in MANIFEST
    assert lines(r"\bvscode\s+as\b|<\w+>\s*vscode\b|as\s+typeof\s+vscode|vscode\.proposed") == []
    assert list((EXTENSION / "src").rglob("vscode*.d.ts")) == []


def test_compiled_against_the_oldest_vscode_it_runs_in() -> None:
    engine = re.fullmatch(r"\^(\d+\.\d+)\.\d+", MANIFEST["engines"]["vscode"])
    types = re.fullmatch(r"(\d+\.\d+)\.\d+", MANIFEST["devDependencies"]["@types/vscode"])
    assert engine
    assert types
    assert engine[1] == types[1]


def test_version_is_the_servers() -> None:
    assert MANIFEST["version"] == __version__


def test_names_do_not_clash_with_the_servers() -> None:
    commands = {command["command"] for command in CONTRIBUTES["commands"]}
    assert all(name.startswith("acpSidecar.") for name in commands)
    assert all(name.startswith("acpSidecar.") for name in SETTINGS)
    assert all(name.startswith("sidecar.") for name in ext.COMMANDS)
    registered = {
        name
        for text in SOURCES.values()
        for name in re.findall(r"registerCommand\(\s*[\"'`]([^\"'`]+)", text)
    }
    assert registered, "the pattern finds nothing any more"
    assert not registered & set(ext.COMMANDS)


def test_every_command_that_is_used_in_a_menu_or_key_is_one() -> None:
    commands = {command["command"] for command in CONTRIBUTES["commands"]}
    used = {
        item["command"]
        for menu in CONTRIBUTES.get("menus", {}).values()
        for item in menu
        if "command" in item
    }
    used |= {key["command"] for key in CONTRIBUTES.get("keybindings", [])}
    assert used <= commands


@pytest.mark.parametrize("name", sorted(name for name in SETTINGS if not LOOKS.fullmatch(name)))
def test_a_workspace_cannot_change_a_setting(name: str) -> None:
    assert (
        SETTINGS[name]["scope"] == "machine"
    )  # machine-overridable ones are taken from .vscode/settings.json


def test_settings_are_the_servers() -> None:
    names = {name.removeprefix("acpSidecar.") for name in SETTINGS}
    assert set(_TOP) - {"client"} <= names
    agent = SETTINGS["acpSidecar.agents"]["additionalProperties"]["properties"]
    assert set(agent) == set(_AGENT)


def test_nothing_runs_where_nothing_is_trusted_or_nothing_is_on_the_disk() -> None:
    for kind in ("untrustedWorkspaces", "virtualWorkspaces"):
        capability = MANIFEST["capabilities"][kind]
        assert capability["supported"] is False
        assert capability["description"]
    assert MANIFEST["extensionKind"] == ["workspace"]


def test_strings_are_in_the_nls_file_and_all_of_them_are_used() -> None:
    used = set(re.findall(r'"%([\w.]+)%"', (EXTENSION / "package.json").read_text()))
    assert used == set(STRINGS)


@pytest.mark.parametrize(
    "part", ["commands", "configuration", "views", "viewsWelcome", "walkthroughs", "viewsContainers"]
)
def test_what_a_person_reads_is_translatable(part: str) -> None:
    def texts(value: object) -> list[str]:
        if isinstance(value, list):
            return [text for each in value for text in texts(each)]
        if isinstance(value, dict):
            own = [
                text
                for name in ("title", "label", "name", "contents", "description", "markdownDescription")
                if isinstance(text := value.get(name), str)
            ]
            return own + [text for each in value.values() for text in texts(each)]
        return []

    plain = [text for text in texts(CONTRIBUTES.get(part, [])) if not re.fullmatch(r"%[\w.]+%", text)]
    assert set(plain) <= {"ACP Sidecar"}


def test_messages_go_through_l10n() -> None:
    assert lines(r"show(Error|Warning|Information)Message\(\s*[\"'`]") == []


def test_messages_are_literals() -> None:
    """Only these are found when translations are made."""
    assert lines(r"l10n\.t\(\s*[^\s\")]") == []


def test_no_request_of_our_own_but_for_a_python() -> None:
    besides = "src/server/python/uv.ts"
    assert lines(r"\bfetch\(|XMLHttpRequest|WebSocket|node:(https?|net|tls|dgram)\"", besides=besides) == [
        line for line in lines(r"node:http\"|node:net\"") if line.startswith("test/")
    ]
    assert lines(r"createTelemetryLogger|TelemetryReporter|applicationinsights") == []


def test_the_lock_file_names_no_registry() -> None:
    packages = json.loads((EXTENSION / "package-lock.json").read_text())["packages"]
    assert len(packages) > 50
    assert [name for name, package in packages.items() if "resolved" in package] == []


def test_what_is_published_leaves_the_rest_out() -> None:
    patterns = (EXTENSION / ".vscodeignore").read_text().split()
    assert patterns[0] == "**"
    assert not [
        pattern for pattern in patterns if re.search(r"nvim|helix|emacs|test|src|node_modules", pattern)
    ]
