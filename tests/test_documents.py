"""The pages that people read: every link between them leads somewhere, and README stays short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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
