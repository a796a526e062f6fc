"""`acp-sidecar connect` and `disconnect` on real files: what is shown, what is written, and what is refused."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from sidecar.cli import main
from sidecar.connect.agents import AGENTS

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no bridge on Windows yet")
Run = pytest.CaptureFixture[str]
FILES = {
    "claude": ".claude.json",
    "claude-hook": ".claude/settings.json",
    "codex": ".codex/config.toml",
    "codex-live": ".codex/environments.toml",
    "gemini": ".gemini/settings.json",
    "opencode": ".config/opencode/opencode.json",
    "vscode": "Library/Application Support/Code/User/mcp.json"
    if sys.platform == "darwin"
    else ".config/Code/User/mcp.json",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    for file in FILES.values():
        (home / file).parent.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(tmp_path / "state"))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "repository").mkdir()
    monkeypatch.chdir(tmp_path / "repository")
    return home


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file and link below it, with its mode and bytes."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes(),
        )
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (name, text)
        for name in AGENTS
        for text in (None, b"", b"\xef\xbb\xbf", "own")
        if (name, text) != ("codex-live", "own")
    ],
)
def test_there_and_back(home: Path, capfd: Run, name: str, text: bytes | str | None) -> None:
    file = home / FILES[name]
    own = (
        b'model = "x" # mine\r\n'
        if AGENTS[name].form == "toml"
        else b'{"a": 1,\r\n "' + AGENTS[name].container.encode() + b'": {} }'
    )
    if text is not None:
        file.write_bytes(own if text == "own" else text)
        file.chmod(0o640)
    before = tree(home)
    assert main(["connect", name, "--print"]) == 0
    shown = capfd.readouterr().out
    assert tree(home) == before
    assert main(["connect", name, "--yes"]) == 0
    out, err = capfd.readouterr()
    assert out == shown
    assert "+++ " + str(file) in out
    assert {"codex-live": '"codex-environment"', "claude-hook": '"mcp_tool"'}.get(name, '"--guest"') in out
    assert "is connected" in err
    assert file.stat().st_mode & 0o777 == (0o600 if text is None else 0o640)
    assert set(tree(home)) == {*before, FILES[name]}
    assert main(["connect", name, "--yes"]) == 0
    assert "already" in capfd.readouterr().err
    assert main(["disconnect", name, "--yes"]) == 0
    assert tree(home) == before
    assert main(["disconnect", name]) == 0
    assert "not connected" in capfd.readouterr().err


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1), ("\n", 1), ("", 1)])
def test_it_asks(home: Path, capfd: Run, monkeypatch: pytest.MonkeyPatch, answer: str, code: int) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal(answer))
    assert main(["connect", "claude"]) == code
    assert "Add this to" in capfd.readouterr().err
    assert (home / ".claude.json").exists() == (not code)


def test_with_nobody_there_nothing_is_written(
    home: Path, capfd: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert main(["connect", "claude"]) == 1
    assert "--yes" in capfd.readouterr().err
    assert not (home / ".claude.json").exists()


def test_the_command_that_is_written_runs_wherever_it_is_started(home: Path) -> None:
    assert main(["connect", "claude", "--yes"]) == 0
    entry = json.loads((home / ".claude.json").read_text())["mcpServers"]["acp-sidecar"]
    assert os.path.isabs(entry["command"])
    assert entry["args"][-3:] == ["mcp", "--guest", "claude"]


def test_after_another_installation_it_is_connected_anew(home: Path, capfd: Run) -> None:
    """The entry is ours by what it starts; where that lies may have changed."""
    file = home / ".claude.json"
    file.write_text('{"a": 1}')
    assert main(["connect", "claude", "--yes"]) == 0
    first = file.read_text()
    command = json.loads(first)["mcpServers"]["acp-sidecar"]["command"]
    file.write_text(first.replace(command, "/gone/acp-sidecar"))
    assert main(["connect", "claude", "--yes"]) == 0
    assert json.loads(file.read_text()) == json.loads(first)
    assert main(["disconnect", "claude", "--yes"]) == 0
    assert json.loads(file.read_text()) == {"a": 1}


def test_a_link_is_not_followed(home: Path, tmp_path: Path, capfd: Run) -> None:
    other = tmp_path / "dotfiles.json"
    other.write_text("{}")
    (home / ".claude.json").symlink_to(other)
    for command in ("connect", "disconnect"):
        assert main([command, "claude", "--yes"]) == 1
        assert "is a link" in capfd.readouterr().err
    assert other.read_text() == "{}"


def test_a_repository_leads_nowhere_else(home: Path, tmp_path: Path, capfd: Run) -> None:
    """`.vscode`, the file, or both are links, folders, devices; nothing outside is written, and nothing is made."""
    repository = tmp_path / "repository"
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "mcp.json").write_text("{}")
    before = tree(tmp_path)
    traps = [
        lambda: (repository / ".vscode").symlink_to(victim),
        lambda: (repository / ".vscode").symlink_to(tmp_path / "new"),
        lambda: (repository / ".vscode").write_text("no folder"),
        lambda: (
            (repository / ".vscode").mkdir(),
            (repository / ".vscode/mcp.json").symlink_to(victim / "mcp.json"),
        ),
        lambda: ((repository / ".vscode").mkdir(), (repository / ".vscode/mcp.json").mkdir()),
        lambda: ((repository / ".vscode").mkdir(), os.mkfifo(repository / ".vscode/mcp.json")),
    ]
    for number, trap in enumerate(traps):
        trap()
        made = tree(tmp_path)
        assert main(["connect", "vscode", "--workspace", "--yes"]) == 1, number
        assert "left alone" in capfd.readouterr().err, number
        assert tree(tmp_path) == made, number
        assert not (tmp_path / "new").exists()
        (repository / ".vscode").rename(tmp_path / f"trap-{number}") if number > 2 else (
            repository / ".vscode"
        ).unlink()
    assert {name: row for name, row in tree(tmp_path).items() if not name.startswith("trap-")} == before


def test_a_workspaces_file(home: Path, tmp_path: Path, capfd: Run) -> None:
    assert main(["connect", "vscode", "--workspace", "--yes"]) == 0
    assert "disconnect vscode --workspace" in capfd.readouterr().err
    assert "servers" in json.loads((tmp_path / "repository/.vscode/mcp.json").read_text())
    assert main(["disconnect", "vscode", "--workspace", "--yes"]) == 0
    assert not (tmp_path / "repository/.vscode").exists()
    assert main(["connect", "claude", "--workspace", "--yes"]) == 1
    assert "leave out --workspace" in capfd.readouterr().err


def test_what_a_file_says_cannot_command_the_terminal(home: Path, capfd: Run) -> None:
    file = home / FILES["vscode"]
    file.write_text('{\n"a": "\x9b2J\u202e", // \x1b[2J\n}')
    assert main(["connect", "vscode", "--print"]) == 0
    out = capfd.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "\\x1b[2J" in out


def test_an_agent_that_was_never_started(home: Path, capfd: Run) -> None:
    (home / ".codex").rmdir()
    assert main(["connect", "codex", "--yes"]) == 1
    assert "start the agent once" in capfd.readouterr().err


def test_codex_environments_of_the_users_stay_as_they_are(home: Path, capfd: Run) -> None:
    """Ours would have to be the default one."""
    file = home / FILES["codex-live"]
    file.write_text('default = "box"\n[[environments]]\nid = "box"\nurl = "ws://box"\n')
    before = tree(home)
    for command in ("connect", "disconnect"):
        assert main([command, "codex-live", "--yes"]) == 1
        assert "acp-sidecar did not write" in capfd.readouterr().err
    assert tree(home) == before


def test_codex_environments_go_also_without_a_note(home: Path, tmp_path: Path, capfd: Run) -> None:
    before = tree(home)
    assert main(["connect", "codex-live", "--yes"]) == 0
    (tmp_path / "state" / "connections.json").unlink()
    assert main(["disconnect", "codex-live", "--yes"]) == 0
    assert tree(home) == before


def test_codex_environments_that_were_changed_since_are_left_alone(home: Path, capfd: Run) -> None:
    file = home / FILES["codex-live"]
    assert main(["connect", "codex-live", "--yes"]) == 0
    file.write_text(file.read_text().replace("include_local = false", "include_local = true"))
    before = tree(home)
    assert main(["disconnect", "codex-live", "--yes"]) == 1
    assert "by hand" in capfd.readouterr().err
    assert tree(home) == before
