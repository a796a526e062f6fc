"""Known vulnerabilities in what is installed: `make advisories`. Asks PyPI (through pip-audit) and the npm registry.

"No vulnerability was found" is only said of what the registry answered for. A package that it did not answer for counts as a failure, for
pip-audit alone would pass. Exits with 0 when nothing is known, 1 when something is vulnerable, 2 when not everything could be asked.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1]
AUDIT = "pip-audit@2.10.1"
NAMED = 5
"""Packages that are named where many could not be asked about."""


@dataclass
class Told:
    """What one registry said. `unasked`: reasons, with the packages each holds for."""

    asked: int = 0
    vulnerable: list[str] = field(default_factory=list[str])
    unasked: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def not_asked(self, why: str, package: str) -> None:
        self.unasked.setdefault(why, []).append(package)


def of_python(answer: Any) -> Told:
    """`answer`: pip-audit's, as JSON."""
    told = Told()
    for package in answer["dependencies"]:
        name = package["name"]
        if "skip_reason" in package:
            # its words name the package again; the reason is what is the same for all
            told.not_asked(str(package["skip_reason"]).partition(": ")[0], name)
            continue
        told.asked += 1
        for found in package["vulns"]:
            fixed = ", ".join(found["fix_versions"]) or "no version yet"
            told.vulnerable.append(f"{name} {package['version']}: {found['id']}, fixed in {fixed}")
    return told


def of_npm(answer: Any) -> Told:
    """`answer`: npm audit's, as JSON."""
    told = Told()
    if "vulnerabilities" not in answer:
        error = answer.get("error") or answer
        words = error.get("summary") or error.get("message") or answer.get("message") or "it gave no reason"
        told.not_asked(str(words).strip().partition("\n")[0], "what package-lock.json names")
        return told
    told.asked = answer["metadata"]["dependencies"]["total"]
    for name, found in answer["vulnerabilities"].items():
        ids = [one["url"] for one in found["via"] if isinstance(one, dict)] or found["via"]
        told.vulnerable.append(f"{name} {found['range']}: {', '.join(ids)}")
    return told


def words(what: str, told: Told) -> list[str]:
    lines = [f"{what}: {told.asked} packages asked about, {len(told.vulnerable)} vulnerable"]
    lines += [f"  {one}" for one in told.vulnerable]
    for why, packages in told.unasked.items():
        more = f" and {len(packages) - NAMED} more" if len(packages) > NAMED else ""
        lines.append(f"  NOT ASKED ABOUT: {', '.join(packages[:NAMED])}{more}: {why}")
    return lines


def main() -> int:
    audit = ["uv", "tool", "run", AUDIT, "--requirement", "locked.txt", "--require-hashes", "--disable-pip"]
    audit[0] = str(Path(sys.executable).with_name("uv"))
    audit += ["--progress-spinner", "off", "--format", "json"]
    npm = ["npm", "audit", "--omit=dev", "--json"]
    every = (
        ("Python (locked.txt, asked at pypi.org)", told_by(audit, PROJECT, of_python)),
        (
            "JavaScript (package-lock.json, asked at npm's registry)",
            told_by(npm, PROJECT / "editor-extension", of_npm),
        ),
    )
    for what, told in every:
        sys.stdout.write("\n".join(words(what, told)) + "\n")
    if any(told.vulnerable for _, told in every):
        sys.stdout.write(
            "advisories: update what is vulnerable in pyproject.toml or package.json, then `make lock`\n"
        )
        return 1
    if any(told.unasked for _, told in every):
        sys.stdout.write(
            "advisories: nothing is known of what was asked about, but not everything was. Run it where both registries answer "
            "such questions; a mirror often serves packages only\n"
        )
        return 2
    return 0


def told_by(command: Sequence[str], folder: Path, understood: Callable[[Any], Told]) -> Told:
    """Both tools exit with 1 when they find something, so only their JSON counts."""
    told = Told()
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        return understood(json.loads(done.stdout))
    except OSError as error:
        told.not_asked(f"{command[0]} cannot be run: {error.strerror}", "everything")
    except (ValueError, KeyError, TypeError, AttributeError):
        last = done.stderr.strip().splitlines()[-1:] or [f"it ended with {done.returncode} and no words"]
        told.not_asked(f"{Path(command[0]).name} failed: {last[0]}", "everything")
    return told


if __name__ == "__main__":
    sys.exit(main())
