"""The bundled server, as the extension starts it, on machines that lack everything or mean harm. No editor is needed here;
tests/vscode/test_install.py has the same through a real workbench."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support import raw_lsp, tools

pytestmark = pytest.mark.timeout(300)

HOSTILE = (
    "anyio",
    "sidecar",
    "json",
    "pygls",
    "sitecustomize",
    "usercustomize",
    "typing_extensions",
    "reaper",
)
"""Modules that a repository may bring along."""


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_vsix", tools.ROOT / "scripts" / "build_vsix.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look there
    spec.loader.exec_module(module)
    return module


BUILD = script()


def pythons() -> list[str]:
    """Whatever CPythons this machine has, by version; at least the one of the tests."""
    folders = [Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"]
    found = {str(path) for folder in folders for path in folder.glob("*/bin/python")}
    return [sys.executable, *sorted(found)]


PYTHONS = pythons()


def version(python: str) -> tuple[int, int]:
    code = "import sys; print('%d %d' % sys.version_info[:2])"
    said = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout
    major, minor = said.split()
    return int(major), int(minor)


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`bundled/` for this machine, read-only."""
    folder = tmp_path_factory.mktemp("extension") / "bundled"
    folder.mkdir()
    shutil.copy(BUILD.EXTENSION / "boot.py", folder)
    try:
        BUILD.libraries(BUILD.TARGETS[BUILD.here()], folder)
    except BUILD.Problem as problem:
        words = f"{tools.MISSING}wheels: {problem}"
        if tools.may_skip("wheels"):
            pytest.skip(words)
        pytest.fail(words, pytrace=False)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    return folder


def contents(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def alone() -> list[str]:
    """What makes a command run without a network and, for root, without the right to write what is read-only. Empty where the
    system does not permit it."""
    ways = (
        ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override", "--"],
        ["unshare", "--map-root-user", "--net", "--"],
    )
    prefix: list[str] = []
    for way in ways:
        if (
            shutil.which(way[0])
            and subprocess.run([*way, *prefix, "true"], capture_output=True, check=False).returncode == 0
        ):
            prefix = [*way, *prefix]
    return prefix


def hostile(workspace: Path) -> Path:
    """Files in the workspace that leave a mark when Python runs them; returns where the mark would be."""
    mark = workspace.parent / "was run"
    for name in HOSTILE:
        (workspace / f"{name}.py").write_text(f"open({str(mark)!r}, 'a').write('{name} ')\n")
    return mark


@pytest.mark.parametrize("python", PYTHONS)
def test_the_probe_says_what_a_python_is_good_for(bundle: Path, python: str, tmp_path: Path) -> None:
    own = version(python)
    isolated = ["-I", "-S", "-B"] if own >= (3, 4) else ["-B"]
    said = subprocess.run(
        [python, *isolated, str(bundle / "boot.py"), "--probe"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    answer = json.loads(said.stdout)
    assert answer["version"].startswith(f"{own[0]}.{own[1]}.")
    assert os.path.isabs(answer["executable"])
    fits = (3, 11) <= own <= (3, 14)
    assert (answer["problem"], answer["detail"]) == ((None, None) if fits else ("version", ""))


def test_of_a_virtual_environment_only_the_python_beneath_is_used(bundle: Path, tmp_path: Path) -> None:
    """Such as the workspace's own `.venv`, which the Python extension chooses by itself."""
    venv, mark = tmp_path / ".venv", tmp_path / "was run"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    python = next(path for path in venv.glob("*/*") if path.name in ("python", "python.exe"))
    packages = next(path for path in venv.glob("**/site-packages"))
    (packages / "evil.pth").write_text(f"import os; open({str(mark)!r}, 'w')\n")
    subprocess.run([python, "-c", ""], check=True)
    assert mark.exists(), "the trap works"
    mark.unlink()
    said = subprocess.run(
        [python, "-I", "-S", "-B", str(bundle / "boot.py"), "--probe"],
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(said.stdout)
    assert answer["problem"] is None
    assert not Path(answer["executable"]).is_relative_to(tmp_path)
    subprocess.run([answer["executable"], "-I", str(bundle / "boot.py"), "--version"], check=True)
    assert not mark.exists()


def test_libraries_of_another_machine_are_noticed(bundle: Path, tmp_path: Path) -> None:
    """As with an x64 Python on an arm64 machine, or one for which there are no libraries."""
    shutil.copy(bundle / "boot.py", tmp_path)
    (tmp_path / "lib").mkdir()
    said = subprocess.run(
        [sys.executable, "-I", "-B", "-S", str(tmp_path / "boot.py"), "--probe"],
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(said.stdout)
    assert answer["problem"] == "library"
    assert "msgspec" in answer["detail"]


@pytest.mark.skipif(sys.platform == "win32", reason="the raw client uses pipes of Unix")
@pytest.mark.parametrize("python", [python for python in PYTHONS if (3, 11) <= version(python) <= (3, 14)])
async def test_it_works_without_network_pip_or_writable_folder_next_to_hostile_files(
    bundle: Path, python: str, tmp_path: Path
) -> None:
    workspace, storage = tmp_path / "ws", tmp_path / "storage"
    workspace.mkdir()
    storage.mkdir()
    mark = hostile(workspace)
    file = workspace / "a.txt"
    file.write_text("one\ntwo\n")
    before = contents(bundle)
    command = [
        *alone(),
        *(python, "-I", "-X", f"pycache_prefix={storage / 'pycache'}", str(bundle / "boot.py"), "lsp"),
    ]
    # PYTHONPATH as a shell or a repository's tool may have set it
    env = {**os.environ, "PYTHONPATH": str(workspace)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    async with raw_lsp.as_process(*command, cwd=storage, env=env) as client:
        uri = workspace.as_uri()
        result = await client.initialize(rootUri=uri, workspaceFolders=[{"uri": uri, "name": "ws"}])
        assert result["serverInfo"]["name"] == "acp-sidecar"
        made = await client.command("sidecar.newSession", {"agent": "demo"})
        ended = await client.command(
            "sidecar.prompt", {"sessionId": made["sessionId"], "prompt": f"Look at {file}", "wait": True}
        )
        assert ended["stopReason"] == "end_turn"
        await client.request("shutdown")
        client.notify("exit")
        assert (await client.exit_code())[0] == 0
    assert not mark.exists(), mark.read_text()
    assert contents(bundle) == before
    assert list((storage / "pycache").rglob("*.pyc")), "byte code is kept, beside the extension"


REQUIREMENTS = [
    pytest.param(target, python, id=f"{name}-{python}")
    for name, target in BUILD.TARGETS.items()
    for python in BUILD.PYTHONS
]


@pytest.mark.parametrize(("target", "python"), REQUIREMENTS)
def test_every_library_is_pinned(target: Any, python: str) -> None:
    assert BUILD.needed(target, python) <= set(BUILD.pins())
    assert "pydantic-core" in BUILD.needed(target, python)


def test_versions_are_the_same_everywhere() -> None:
    boot = (BUILD.EXTENSION / "boot.py").read_text()
    assert BUILD.PYTHONS[0] == "3.11"
    assert "OLDEST = (3, 11)" in boot
    assert BUILD.PYTHONS[-1] == "3.14"
    assert "NEWEST = (3, 14)" in boot
    search = (BUILD.EXTENSION / "src/server/python/candidates.ts").read_text()
    assert f"VERSIONS = [{', '.join(json.dumps(each) for each in reversed(BUILD.PYTHONS))}]" in search
