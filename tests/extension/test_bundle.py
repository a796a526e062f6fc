"""The bundled server, as the extension starts it, on machines that lack everything or mean harm. No editor is needed here;
tests/vscode/test_install.py has the same through a real workbench."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support import raw_lsp, tools
from tests.support.read_only import read_only

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
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """`bundled/` for this machine, read-only."""
    folder = tmp_path_factory.mktemp("extension") / "bundled"
    folder.mkdir()
    shutil.copy(BUILD.EXTENSION / "boot.py", folder)
    try:
        BUILD.libraries(BUILD.TARGETS[BUILD.here()], folder)
    except BUILD.Problem as problem:
        tools.lacking("wheels", str(problem))
    with read_only(folder):
        yield folder


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


ELF, MACH_O, PE = "ELF", "Mach-O", "PE"
MACHINES = {
    ELF: {"x64": 0x3E, "arm64": 0xB7},
    MACH_O: {"x64": 0x1000007, "arm64": 0x100000C},
    PE: {"x64": 0x8664, "arm64": 0xAA64},
}
"""The numbers of processors in each kind of file."""


def machine_code(kind: str, processor: str) -> bytes:
    """The head of a file with machine code."""
    number = MACHINES[kind][processor]
    if kind == ELF:
        return b"\x7fELF\x02\x01\x01" + bytes(11) + number.to_bytes(2, "little") + bytes(44)
    if kind == MACH_O:
        return b"\xcf\xfa\xed\xfe" + number.to_bytes(4, "little") + bytes(24)
    return (
        b"MZ" + bytes(58) + (128).to_bytes(4, "little") + bytes(64) + b"PE\0\0" + number.to_bytes(2, "little")
    )


LINUX, MUSL = "cpython-{v}-{m}-linux-gnu.so", "cpython-{v}-{m}-linux-musl.so"
NAMES = {
    "linux-x64": (ELF, LINUX.replace("{m}", "x86_64"), "abi3.so"),
    "linux-arm64": (ELF, LINUX.replace("{m}", "aarch64"), "abi3.so"),
    "alpine-x64": (ELF, MUSL.replace("{m}", "x86_64"), "abi3.so"),
    "alpine-arm64": (ELF, MUSL.replace("{m}", "aarch64"), "abi3.so"),
    "darwin-x64": (MACH_O, "cpython-{v}-darwin.so", "abi3.so"),
    "darwin-arm64": (MACH_O, "cpython-{v}-darwin.so", "abi3.so"),
    "win32-x64": (PE, "cp{v}-win_amd64.pyd", "pyd"),
    "win32-arm64": (PE, "cp{v}-win_arm64.pyd", "pyd"),
}
"""What is in the wheels of the package index: the kind of file, and how the names of modules end, for one CPython and for all."""


def made_up(target: str, folder: Path) -> Path:
    kind, one, every = NAMES[target]
    for module in BUILD.NATIVE:
        for_all = module.startswith("watchfiles")
        for version in ("311", "312", "313", "314"):
            name = f"lib/{module}.{every}" if for_all else f"cp{version}/{module}.{one.format(v=version)}"
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(machine_code(kind, target.split("-")[1]))
    return folder


@pytest.mark.parametrize("target", NAMES)
def test_a_bundle_without_a_library_or_with_another_machines_is_not_packed(
    target: str, tmp_path: Path
) -> None:
    assert BUILD.wrong(target, made_up(target, tmp_path)) == []
    kind, one, every = NAMES[target]
    pydantic = f"pydantic_core/_pydantic_core.{one.format(v='312')}"
    kept = (tmp_path / "cp312" / pydantic).read_bytes()
    (tmp_path / "cp312" / pydantic).unlink()
    assert BUILD.wrong(target, tmp_path) == ["CPython 3.12 finds no pydantic_core/_pydantic_core"]
    (tmp_path / "cp311" / pydantic).write_bytes(kept)
    assert BUILD.wrong(target, tmp_path) == ["CPython 3.12 finds no pydantic_core/_pydantic_core"], (
        "not there"
    )
    (tmp_path / "cp312" / pydantic).write_bytes(kept)
    watchfiles = tmp_path / "lib" / f"watchfiles/_rust_notify.{every}"
    watchfiles.unlink()
    assert BUILD.wrong(target, tmp_path) == [
        f"CPython {python} finds no watchfiles/_rust_notify" for python in BUILD.PYTHONS
    ]
    other = {"x64": "arm64", "arm64": "x64"}[target.split("-")[1]]
    watchfiles.write_bytes(machine_code(kind, other))
    (said,) = BUILD.wrong(target, tmp_path)
    assert said.endswith(f"_rust_notify.{every} is for {BUILD.TARGETS[target].sys_platform} {other}")


def test_the_tables_are_of_all_targets_and_of_all_libraries_with_machine_code(bundle: Path) -> None:
    assert set(NAMES) == set(BUILD.TARGETS)
    here = BUILD.here()
    assert BUILD.wrong(here, bundle) == []
    native = {
        path.relative_to(folder).as_posix().split(".")[0]
        for folder in bundle.iterdir()
        for path in folder.rglob("*")
        if path.suffix in (".so", ".pyd")
    }
    assert native == set(BUILD.NATIVE)


def test_versions_are_the_same_everywhere() -> None:
    boot = (BUILD.EXTENSION / "boot.py").read_text()
    assert BUILD.PYTHONS[0] == "3.11"
    assert "OLDEST = (3, 11)" in boot
    assert BUILD.PYTHONS[-1] == "3.14"
    assert "NEWEST = (3, 14)" in boot
    search = (BUILD.EXTENSION / "src/server/python/candidates.ts").read_text()
    assert f"VERSIONS = [{', '.join(json.dumps(each) for each in reversed(BUILD.PYTHONS))}]" in search


def test_licences_of_the_libraries_are_told_and_none_may_lack(bundle: Path, tmp_path: Path) -> None:
    told = BUILD.notices(bundle)
    installed = {folder.name.rsplit("-", 1)[0] for folder in bundle.rglob("*.dist-info")}
    assert len(installed) >= 15
    assert len(re.findall(r"^----$", told, re.MULTILINE)) == len(installed)
    assert "\npygls " in told
    folder = tmp_path / "lib" / "free-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Name: free\nVersion: 1.0\n")
    with pytest.raises(BUILD.Problem, match=r"free-1\.0\.dist-info has no file with its licence"):
        BUILD.notices(tmp_path)


def test_permissions_are_the_same_whoever_built_it(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o700)
    (tmp_path / "a" / "b").touch(mode=0o600)
    BUILD.even(tmp_path)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == ({"a": 0o755, "b": 0o644} if os.name == "posix" else modes)


@pytest.mark.parametrize(("argument", "options"), [([], ()), (["--unsearched"], BUILD.UNSEARCHED)])
def test_only_a_test_leaves_out_the_search_for_secrets(
    argument: list[str], options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told: list[tuple[str, ...]] = []

    def build(target: str, *more: str) -> Path:
        told.append(more)
        return BUILD.ROOT / "pyproject.toml"

    monkeypatch.setattr(BUILD, "build", build)
    monkeypatch.setattr(BUILD, "run", lambda *_, **__: None)
    monkeypatch.setattr(BUILD, "EXTENSION", tmp_path)
    (tmp_path / "node_modules").mkdir()
    monkeypatch.setattr("shutil.which", lambda _: "node")
    monkeypatch.setattr("sys.argv", ["build_vsix.py", *argument])
    assert BUILD.main() == 0
    assert told == [options]
    for name in ("Makefile", "scripts/release.py", ".github/workflows"):
        path = BUILD.ROOT / name
        files = path.iterdir() if path.is_dir() else [path]
        assert not any("--unsearched" in file.read_text("utf-8") for file in files)
