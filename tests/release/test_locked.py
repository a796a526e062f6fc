"""locked.txt: every package that `make` installs, with hashes, in step with pyproject.toml and constraints.txt."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.scripts import script
from tests.support.tools import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
GROUPS: dict[str, list[str]] = PROJECT["dependency-groups"]


@pytest.fixture(scope="module")
def environment() -> ModuleType:
    return script("environment")


def names(environment: ModuleType, level: str, **more: bool) -> dict[str, str]:
    """Canonical name → version."""
    found = re.findall(
        r"^([a-z0-9-]+)==(\S+)", environment.requirements(level, node=True, **more), re.MULTILINE
    )
    return dict(found)


def test_every_package_has_hashes_and_no_address(environment: ModuleType) -> None:
    assert len(environment.locked()) > 60
    for one in environment.locked():
        assert re.fullmatch(
            rf"{one.name}==\S+( ; [^\n]+)? \\\n(    --hash=sha256:[0-9a-f]{{64}}( \\)?\n)+", one.lines
        ), one.name
    assert "//" not in (ROOT / "locked.txt").read_text()


def test_versions_are_those_of_the_constraints(environment: ModuleType) -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    assert {canonicalize_name(name): version for name, version in pinned.items()} == {
        one.name: one.lines.split("==")[1].split()[0] for one in environment.locked()
    }


@pytest.mark.parametrize("level", ["run", "dev", "bench", "release"])
def test_a_level_installs_what_it_names_and_all_that_needs(environment: ModuleType, level: str) -> None:
    found = names(environment, level)
    wanted = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]]
    wanted += [one for group in environment.LEVELS[level] for one in GROUPS[group]]
    for requirement in map(Requirement, wanted):
        assert requirement.specifier.contains(found[canonicalize_name(requirement.name)]), requirement
    assert names(environment, "run").items() <= found.items()
    others = {group for group in GROUPS if group not in environment.LEVELS[level]}
    for requirement in (Requirement(one) for group in others for one in GROUPS[group]):
        name = canonicalize_name(requirement.name)
        assert name not in found or name in environment.BUILD | {"packaging"}, f"{name} is not asked for"


def test_node_is_installed_only_where_there_is_none(environment: ModuleType) -> None:
    assert environment.WITHOUT_NODE in environment.requirements("dev", node=False)
    assert environment.WITHOUT_NODE not in environment.requirements("dev", node=True)
    assert environment.WITHOUT_NODE not in environment.requirements("run", node=False)


def test_another_file_of_the_same_name_is_not_installed(environment: ModuleType, tmp_path: Path) -> None:
    """A wheel with the name and the version that are wanted, from an index that somebody else filled."""
    build = tmp_path / "build" / "iniconfig"
    build.mkdir(parents=True)
    (build / "__init__.py").write_text("")
    version = names(environment, "dev")["iniconfig"]
    info = tmp_path / "build" / f"iniconfig-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: iniconfig\nVersion: {version}\n")
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    (info / "RECORD").write_text("")
    archive = shutil.make_archive(str(tmp_path / "x"), "zip", tmp_path / "build")
    (tmp_path / "index").mkdir()
    Path(archive).rename(tmp_path / "index" / f"iniconfig-{version}-py3-none-any.whl")
    wanted = next(one.lines for one in environment.locked() if one.name == "iniconfig")
    (tmp_path / "wanted.txt").write_text(wanted)
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--isolated",
        "--no-index",
        "--no-deps",
        "--require-hashes",
    ]
    command += ["--find-links", str(tmp_path / "index"), "--target", str(tmp_path / "into")]
    done = subprocess.run(
        [*command, "--requirement", str(tmp_path / "wanted.txt")], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr
    assert not (tmp_path / "into" / "iniconfig").exists()


def test_the_workflows_fetch_nothing_without_hashes() -> None:
    lines = [
        line
        for path in (ROOT / ".github/workflows").glob("*.yml")
        for line in path.read_text("utf-8").splitlines()
        if "pip install" in line
    ]
    assert lines, "there is one, in release.yml"
    assert [line for line in lines if "--require-hashes" not in line] == []
