"""The lists of names that ask: every group has a source, every known agent its settings, and what matters is in them."""

from __future__ import annotations

import pytest

from sidecar.acp.known import KNOWN
from sidecar.core.guarded_names import AGENT_SETTINGS, PROTECTED, SECRETS
from tests.core.test_policy import verdict

CREATED = [
    ".helix/languages.toml",
    ".qwen/settings.json",
    ".opencode/plugin/x.ts",
    "opencode.json",
    "opencode.jsonc",
    ".vibe/config.toml",
    ".kimi/config.json",
    ".goose/config.yaml",
    "fastagent.config.yaml",
    ".gitlab-ci.yml",
    ".circleci/config.yml",
    ".devcontainer/devcontainer.json",
    ".devcontainer.json",
    "sub/.devcontainer/Dockerfile",
    "SUB/.QWEN/settings.json",
    ".ｑwen/settings.json",
    ".nvim.lua",
    ".exrc",
    ".dir-locals.el",
    "Jenkinsfile",
    "lefthook.yml",
    ".cargo/config.toml",
    ".kiro/hooks/x.json",
    ".clinerules/hooks/x",
    ".github/actions/x/action.yml",
    "HELIX~1/languages.toml",
    "OPENCO~1",
]
READ = [
    "id_ecdsa",
    "id_ecdsa.pub",
    "id_dsa",
    "release.jks",
    "AuthKey.p8",
    "server.crt",
    "prod.env",
    "PROD.ENV",
    "prod.env.local",
    ".secret",
    "my.secret",
    "password.txt",
    "passwords.csv",
    "my-password-list.txt",
    "private_key.txt",
    "PRIVATE_KEY.TXT",
    "private-key.json",
    ".dev.vars",
    "terraform.tfstate",
    ".pgpass",
    "secrets.py",
    "credentials.py",
]
ORDINARY = [
    "password.py",
    "src/reset_password.ts",
    "private_key.rs",
    "example.env",
    "environment.yml",
    "vite.env.d.ts",
    "secretary.txt",
    "keystore.py",
    "opencode.md",
    "helix.toml",
    "mistral.py",
    "kimi.txt",
    ".gitignore",
    "Makefile",
    "package.json",
    "certificate.py",
    "docs/devcontainer.md",
]


@pytest.mark.parametrize("name", CREATED)
def test_what_other_programs_run_is_asked_before_it_is_created(name: str) -> None:
    assert verdict(name, "write") == "ask: protected"
    assert verdict(name, "read") == "allow"


@pytest.mark.parametrize("name", READ)
def test_secrets_are_asked_before_they_are_read(name: str) -> None:
    assert verdict(name, "read") == "ask: secret"


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_files_are_not_asked_about(name: str) -> None:
    assert (verdict(name, "read"), verdict(name, "write")) == ("allow", "allow")


@pytest.mark.parametrize("agent", [agent.id for agent in KNOWN])
def test_a_known_agent_brings_its_settings(agent: str) -> None:
    assert AGENT_SETTINGS[agent], "say in core/guarded_names.py where it keeps what it runs and obeys"
    for pattern in AGENT_SETTINGS[agent]:
        if not pattern.startswith("~/"):
            name = pattern.removeprefix("**/").replace("*", "x")
            assert verdict(name, "write").startswith("ask"), name


def test_every_group_has_a_source_and_no_name_stands_twice() -> None:
    for groups in (SECRETS, PROTECTED):
        assert all(len(source) > 10 for source in groups)
    for lists in (SECRETS, {**PROTECTED, **AGENT_SETTINGS}):
        names = [name for group in lists.values() for name in group]
        assert len(names) == len(set(names))
