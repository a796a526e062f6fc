"""The reference page names every command and custom method, the settings page every setting, and no others."""

from __future__ import annotations

import re
from pathlib import Path

from sidecar.config import _AGENT, _CLIENT, _MCP_SERVER, _TOP, _TRANSPORT
from sidecar.lsp import ext

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference.md").read_text()
SETTINGS = (ROOT / "docs/settings.md").read_text()


def test_commands() -> None:
    assert set(re.findall(r"`(sidecar\.\w+)`", PAGE)) == set(ext.COMMANDS)


def test_custom_methods() -> None:
    methods = {
        value for value in vars(ext).values() if isinstance(value, str) and value.startswith("sidecar/")
    }
    assert set(re.findall(r"`(sidecar/\w+)`", PAGE)) == methods


def test_announced_names_are_settings() -> None:
    rows = re.findall(r"^\| `sidecar/\w+` \| `(\w+)` \|", PAGE, re.MULTILINE)
    assert {*rows, "name", "terminalLogin", "messageButtons"} == set(_CLIENT)
    assert "`client.name`" in PAGE, "it announces no method; it says who the client is"
    assert "`client.terminalLogin`" in PAGE, "it announces no method either"
    assert "`client.messageButtons`" in PAGE, "nor does this"


def test_every_setting_is_on_the_settings_page() -> None:
    for name in {**_TOP, **_AGENT, **_MCP_SERVER}:
        assert f'"{name}"' in SETTINGS, name


def test_every_setting_has_a_row() -> None:
    top, agent = SETTINGS.split("Each entry in `agents` has:")
    assert set(re.findall(r'^\| `"(\w+)"` \|', top, re.MULTILINE)) == set(_TOP)
    agent, transport = agent.split("### Agents that run elsewhere")
    assert set(re.findall(r'^\| `"(\w+)"` \|', agent, re.MULTILINE)) == set(_AGENT)
    assert set(re.findall(r'^\| `"(\w+)"` \|', transport, re.MULTILINE)) == set(_TRANSPORT)
