"""The pages that people read: every link between them leads somewhere, and README stays short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sidecar import __version__
from sidecar.cli import main

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    path
    for pattern in (
        "*.md",
        "docs/*.md",
        "editor-extension/*.md",
        "benchmarks/*.md",
        "tests/*/*.md",
        ".github/**/*.md",
    )
    for path in ROOT.glob(pattern)
)
FENCE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub names them in links."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> list[str]:
    found: list[str] = []
    for link in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_a_broken_link_is_reported(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("# One head – line\n[yes](#one-head--line) [no](#two) [gone](b.md)\n")
    assert broken(page) == ["#two", "b.md"]


def test_readme_has_at_most_150_lines() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_readme_opens_with_what_it_does_a_picture_install_and_first_use() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = [*re.findall(r"^(?:## .+|!\[)", text, re.MULTILINE)][:4]
    assert first == ["![", "## Try it", "## Install", "## First use"]


CITED = re.compile(r"(?<![\w/.-])((?:[\w-]+/)*[\w-]+\.md)\b")
NOT_OURS = {"AGENTS.md"}
"""Pages that other programs read, in the user's folders."""


def test_a_page_that_code_cites_is_there() -> None:
    """Whoever reads a module's reasons can read what they rest on, in this repository."""
    cited = {
        (name, path.relative_to(ROOT).as_posix())
        for folder, kinds in {
            "sidecar": (".py",),
            "scripts": (".py", ".sh"),
            "editor-extension/src": (".ts", ".tsx"),
        }.items()
        for path in (ROOT / folder).rglob("*")
        if path.suffix in kinds
        for name in CITED.findall(path.read_text(encoding="utf-8"))
    }
    assert len({name for name, _ in cited}) > 5
    gone = [one for one in sorted(cited) if one[0] not in NOT_OURS and not (ROOT / one[0]).is_file()]
    assert gone == []


def test_the_changelog_has_a_section_for_the_version_and_says_what_was_added_first() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert sections[0] == "Unreleased"
    assert sections[-1].split(" ")[0] == "0.1.0"
    assert __version__ in {one.split(" ")[0] for one in sections}
    assert re.search(r"^### Added$", text.partition("\n## 0.1.0")[2], re.MULTILINE)


def test_the_changelog_is_short_enough_to_be_read() -> None:
    """One sentence a line. What a fuzzer found is in the commits (CONTRIBUTING.md)."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if len(line) > 200] == []
    lengths = {one.partition("\n")[0]: len(one.splitlines()) for one in text.split("\n## ")[1:]}
    assert "Unreleased" in lengths
    assert [name for name, lines in lengths.items() if lines > 150] == []


RIDDLES = [
    "what is mended is",
    "takes no edits",
    "what is not unsaved",
    "files that are asked for before",
    "is as expected because",
    "keep all 1 ",
    "nobody is there to say yes",
    "in no folder that stands for",
    "it is kept to that by",
    "goes past the sidecar",
]
"""Ways to say things that readers did not understand; in lower case."""
STRINGS = ["package.nls.json", "package.json"]


@pytest.mark.parametrize("riddle", RIDDLES)
def test_nobody_is_told_riddles(riddle: str) -> None:
    pages = [*PAGES, *(ROOT / "editor-extension" / name for name in STRINGS)]
    pages += (ROOT / "sidecar").rglob("*.py")
    said = [page.name for page in pages if riddle in page.read_text(encoding="utf-8").lower()]
    assert said == []


FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
COMMAND = re.compile(r"(?:`|^\$ |^  )(?:npx |uvx )?acp-sidecar ([a-z][\w-]*)", re.MULTILINE)
TARGET = re.compile(r"(?:`|^\$ )(?:\w+=\S+ )*make ([a-z][\w-]*(?: [a-z][\w-]*)*)(?=[`\s])", re.MULTILINE)


@pytest.mark.parametrize("page", [*PAGES, *FORMS], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_command_that_a_page_names_is_there(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = page.read_text(encoding="utf-8")
    for name in sorted(set(COMMAND.findall(text))):
        with pytest.raises(SystemExit) as left:
            main([name, "--help"])
        assert left.value.code == 0, f"{name}: {capsys.readouterr().err}"
    targets = set(
        re.findall(r"^([\w-]+(?: [\w-]+)*):(?!=)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    )
    there = {name for names in targets for name in names.split()} | {"help"}
    assert {name for names in TARGET.findall(text) for name in names.split()} - there == set()


def test_pages_name_commands() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert {"setup", "doctor", "audit", "changes", "revert", "proxy", "connect"} <= set(COMMAND.findall(text))
    assert {"demo", "test", "vsix", "release"} <= {
        name for names in TARGET.findall(text) for name in names.split()
    }


def test_whoever_files_an_issue_says_what_is_needed_to_look_into_it() -> None:
    """A bug: what happened, with which editor and agent, and the doctor's report. A vulnerability is not reported in public."""
    bug = next(form.read_text(encoding="utf-8") for form in FORMS if form.name == "bug.yml")
    fields = re.split(r"^  - type: ", bug, flags=re.MULTILINE)[1:]
    required = {
        match[1]
        for field in fields
        if (match := re.search(r"id: (\w+)", field)) and "required: true" in field
    }
    assert required == {"what", "editor", "agent", "doctor"}
    config = (ROOT / ".github/ISSUE_TEMPLATE/config.yml").read_text(encoding="utf-8")
    address = re.search(r"https://\S+/security/advisories/new", (ROOT / "SECURITY.md").read_text("utf-8"))
    assert address is not None
    assert address[0].strip("<>.") in config
    for form in FORMS:
        ids = re.findall(r"^    id: (\w+)$", form.read_text(encoding="utf-8"), re.MULTILINE)
        assert len(ids) == len(set(ids))
