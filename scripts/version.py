"""The version of a release stands in one place, sidecar/__init__.py; whatever else must name it follows.

    version.py            prints it; fails, naming the file, when another file says something else
    version.py --follow   makes the other files say the same
    version.py 0.2.0      sets it, there and everywhere (make version VERSION=0.2.0)

Standard library only.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "sidecar/__init__.py"
VERSION = r"\d+\.\d+\.\d+"

# Each pattern has two groups: what comes before the version, and the version.
DECLARED = re.compile(rf'(__version__ = ")({VERSION})(?=")')
_MANIFEST = re.compile(
    rf'(\A\{{\s*"name": "acp-sidecar",(?:\s*"(?:displayName|description)": "[^"]*",)*\s*"version": ")({VERSION})(?=")'
)
_LOCKED = re.compile(rf'("": \{{\s*"name": "acp-sidecar",\s*"version": ")({VERSION})(?=")')
_DOWNLOAD = re.compile(rf"(acp-sidecar-(?:[a-z0-9]+-[a-z0-9]+|PLATFORM)-)({VERSION})(?=\.vsix)")

FOLLOWERS: dict[str, tuple[re.Pattern[str], ...]] = {
    "editor-extension/package.json": (_MANIFEST,),
    "editor-extension/package-lock.json": (_MANIFEST, _LOCKED),
    "README.md": (_DOWNLOAD,),
    "editor-extension/README.md": (_DOWNLOAD,),
    "docs/editors.md": (_DOWNLOAD,),
}
MUST_NAME_IT = ("editor-extension/package.json", "editor-extension/package-lock.json")
"""Where a pattern that finds nothing is a mistake; a page need not name the version."""


def read(name: str, root: Path = ROOT) -> str:
    return (root / name).read_bytes().decode("utf-8")


def declared(root: Path = ROOT) -> str:
    found = DECLARED.search(read(SOURCE, root))
    if found is None:
        raise SystemExit(f'{SOURCE} has no line __version__ = "…"')
    return found[2]


def differing(root: Path = ROOT) -> list[str]:
    """A sentence for each file that names another version, or lacks one."""
    version, wrong = declared(root), list[str]()
    for name, patterns in FOLLOWERS.items():
        text = read(name, root)
        for pattern in patterns:
            found = [match[2] for match in pattern.finditer(text)]
            wrong += [f"{name} says {one}, {SOURCE} says {version}" for one in found if one != version]
            if not found and name in MUST_NAME_IT:
                wrong.append(f"{name} says no version where one is expected")
    return wrong


def follow(version: str, root: Path = ROOT) -> None:
    """Writes the version into every file. Bytes elsewhere stay as they are, line ends included."""
    for name, patterns in {SOURCE: (DECLARED,), **FOLLOWERS}.items():
        before = text = read(name, root)
        for pattern in patterns:
            text = pattern.sub(rf"\g<1>{version}", text)
        if text != before:
            (root / name).write_bytes(text.encode("utf-8"))


def main(words: list[str]) -> int:
    match words:
        case []:
            pass
        case ["--follow"]:
            follow(declared())
        case [version] if re.fullmatch(VERSION, version):
            follow(version)
        case _:
            sys.stderr.write(__doc__ or "")
            return 2
    if wrong := differing():
        sys.stderr.write("".join(f"{words}\n" for words in wrong) + "run: scripts/version.py --follow\n")
        return 1
    sys.stdout.write(f"{declared()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
