"""`acp-sidecar setup`: the file alone on stdout, where it belongs on stderr, and `--write`, which changes nothing that is there."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from sidecar.cli import main
from sidecar.config import parse
from sidecar.setup import file as file_module
from sidecar.setup.editors import EDITORS, place
from tests.support.tools import ROOT

EXTENSION = ROOT / "editor-extension"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    for name in ("APPDATA", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / ".config"))
    return tmp_path


@pytest.mark.parametrize("name", EDITORS)
def test_the_file_on_stdout_and_the_rest_on_stderr(
    home: Path, capfdbinary: pytest.CaptureFixture[bytes], name: str
) -> None:
    assert main(["setup", name]) == 0
    out, err = capfdbinary.readouterr()
    assert out == (EXTENSION / EDITORS[name].file).read_bytes()
    where = place(name, {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}, "linux")
    assert str(where or "").encode() in err
    assert EDITORS[name].then.splitlines()[-1].encode() in err


@pytest.mark.parametrize(
    ("name", "platform", "expected"),
    [
        ("nvim", "linux", "xdg/nvim/lua/acp-sidecar.lua"),
        ("nvim", "darwin", "xdg/nvim/lua/acp-sidecar.lua"),
        ("nvim", "win32", "local/nvim/lua/acp-sidecar.lua"),
        ("helix", "linux", "xdg/helix/languages.toml"),
        ("helix", "win32", "roaming/helix/languages.toml"),
        ("emacs", "linux", ".emacs.d/lisp/acp-sidecar.el"),
        ("emacs", "win32", "roaming/.emacs.d/lisp/acp-sidecar.el"),
        ("kate", "linux", "xdg/kate/lspclient/settings.json"),
        ("kate", "win32", "local/kate/lspclient/settings.json"),
        ("vscode", "linux", None),
        ("other", "linux", None),
    ],
)
def test_where_it_belongs(tmp_path: Path, name: str, platform: str, expected: str | None) -> None:
    environment = {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "xdg"),
        "APPDATA": str(tmp_path / "roaming"),
        "LOCALAPPDATA": str(tmp_path / "local"),
    }
    assert place(name, environment, platform) == (tmp_path / expected if expected else None)


def test_emacs_with_a_folder_of_xdg(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path)}
    (tmp_path / ".config" / "emacs").mkdir(parents=True)
    assert place("emacs", environment, "linux") == tmp_path / ".config/emacs/lisp/acp-sidecar.el"
    (tmp_path / ".emacs.d").mkdir()
    assert place("emacs", environment, "linux") == tmp_path / ".emacs.d/lisp/acp-sidecar.el"


@pytest.mark.parametrize("name", [name for name in EDITORS if EDITORS[name].place])
def test_write_puts_it_there_and_never_changes_what_is_there(
    home: Path, capfdbinary: pytest.CaptureFixture[bytes], name: str
) -> None:
    for _ in range(2):  # the second time it is in place already
        assert main(["setup", name, "--write"]) == 0
    (written,) = [path for path in home.rglob("*") if path.is_file()]
    assert written.read_bytes() == (EXTENSION / EDITORS[name].file).read_bytes()
    assert str(written).encode() in capfdbinary.readouterr().err
    written.write_text("mine")
    assert main(["setup", name, "--write"]) == 1
    assert b"left as it is" in capfdbinary.readouterr().err
    assert written.read_text() == "mine"
    assert main(["setup", name]) == 0
    assert (b"merge the file above into it" in capfdbinary.readouterr().err) == EDITORS[name].merged


@pytest.mark.parametrize("words", [["vscode", "--write"], ["other", "--write"], ["--write"], ["vi"]])
def test_wrong_use(home: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    try:
        code = main(["setup", *words])
    except SystemExit as left:
        code = left.code
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err
    assert list(home.iterdir()) == []


def test_a_folder_that_cannot_be_made(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / ".config").write_text("")
    assert main(["setup", "nvim", "--write"]) == 1
    assert "cannot be written (" in capsys.readouterr().err


def test_without_a_name_the_editors_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["setup"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(EDITORS)


def test_an_installation_without_the_files_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(file_module, "_PACKAGE", tmp_path / "sidecar" / "setup")
    assert main(["setup", "nvim"]) == 1
    assert "lacks the file for nvim" in capsys.readouterr().err


def settings(name: str) -> dict[str, object]:
    """What an editor with that file as it is sends to the sidecar."""
    text = (EXTENSION / EDITORS[name].file).read_text()
    if name == "helix":
        commented = text.replace("# defaultAgent", "defaultAgent").replace("# agents.", "agents.")
        return tomllib.loads(commented)["language-server"]["acp-sidecar"]["config"]
    found = json.loads(text)
    if name == "kate":
        return found["servers"]["acp-sidecar"]["initializationOptions"]
    return {key.removeprefix("acpSidecar."): value for key, value in found.items()}


@pytest.mark.parametrize("name", ["helix", "vscode", "kate", "other"])
def test_the_sidecar_understands_the_settings(name: str) -> None:
    config, problems = parse(settings(name))
    assert problems == []
    assert config.default_agent == "fast-agent"
    assert config.agents["fast-agent"].command == "fast-agent-acp"
