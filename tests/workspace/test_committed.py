"""A commit by the user keeps the changes in it; one that an agent makes keeps nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sidecar.core.file_state import FileState
from sidecar.core.ledger import Author
from sidecar.core.uri import from_path
from tests.lsp.fakes import until
from tests.support.repositories import git, with_git
from tests.support.workspaces import Bench, IdleAgents, MemoryJournal, QuietEditor, a_workspace
from tests.workspace.test_review import ALL
from tests.workspace.test_writes import done

pytestmark = with_git
BASE = "".join(f"line {n}\n" for n in range(9))
FIRST = BASE.replace("line 1\n", "first\n")
BOTH = FIRST.replace("line 7\n", "seventh\n")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(BASE)
    git(folder, "init", "--quiet")
    commits(folder)
    return folder


def commits(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "more")


async def agent_wrote(bench: Bench, **texts: str) -> None:
    """Writes of a turn that is over, all listed once."""
    for name, text in texts.items():
        await bench.read(f"{name}.txt")
        done(await bench.write(f"{name}.txt", text))
    stops(bench)
    await listed(bench)


def stops(bench: Bench) -> None:
    session = bench.workspace.state.sessions.get(bench.session)
    assert session is not None
    session.end_turn()


async def listed(bench: Bench) -> list[tuple[str, object]]:
    rows = await bench.workspace.review.listed(ALL)
    return [(str(row["uri"]).rpartition("/")[2], row.get("newText")) for row in rows]


async def test_what_is_committed_leaves_the_review(repository: Path) -> None:
    journal = MemoryJournal()
    async with a_workspace(repository, QuietEditor(), journal=journal) as bench:
        await agent_wrote(bench, a=FIRST, b=FIRST)
        git(repository, "add", "a.txt")
        git(repository, "commit", "--quiet", "--message", "only a")
        assert await listed(bench) == [("b.txt", "first")]
        commits(repository)
        assert await listed(bench) == []
        async with asyncio.timeout(60):
            while set(journal.states.values()) != {"kept"}:  # noqa: ASYNC110 - a dict tells nobody
                await asyncio.sleep(0.01)


async def test_a_part_of_a_file_is_committed(repository: Path) -> None:
    async with a_workspace(repository, QuietEditor()) as bench:
        await agent_wrote(bench, a=BOTH)
        (repository / "a.txt").write_text(FIRST)
        git(repository, "add", "a.txt")
        (repository / "a.txt").write_text(BOTH)
        git(repository, "commit", "--quiet", "--message", "a part")
        assert await listed(bench) == [("a.txt", "seventh")]


async def test_the_editors_watcher_tells_of_it(repository: Path) -> None:
    async with a_workspace(repository, QuietEditor()) as bench:
        await agent_wrote(bench, a=FIRST)
        commits(repository)
        kept = asyncio.Event()
        bench.workspace.state.ledgers.on_moved.append(lambda reviewed: kept.set())
        bench.workspace.files_changed([from_path(str(repository / ".git" / "HEAD.lock"))])
        await asyncio.wait_for(kept.wait(), 30)
        assert bench.workspace.review.changes(ALL) == []


@pytest.mark.parametrize("kind", ["branch", "worktree", "packed", "detached"])
async def test_the_look_that_comes_in_the_middle_of_a_commit(
    repository: Path, tmp_path: Path, kind: str
) -> None:
    """git writes the index and the log first, and then where the branch is. A watcher tells of the first."""
    if kind == "worktree":
        git(repository, "worktree", "add", "--quiet", str(tmp_path / "other"))
        repository = tmp_path / "other"
    elif kind == "packed":
        git(repository, "pack-refs", "--all")
    elif kind == "detached":
        git(repository, "checkout", "--quiet", "--detach")
    async with a_workspace(repository, QuietEditor()) as bench:
        await agent_wrote(bench, a=FIRST)
        git(repository, "add", "--all")
        tree, was = git(repository, "write-tree"), git(repository, "rev-parse", "HEAD")
        made = git(repository, "commit-tree", "-p", was, "-m", "more", tree)
        log = repository / git(repository, "rev-parse", "--git-path", "logs/HEAD")
        log.write_text(f"{log.read_text()}{was} {made} n <n@localhost> 1700000000 +0000\tcommit: more\n")
        assert await listed(bench) == [("a.txt", "first")]
        name = "HEAD" if kind == "detached" else git(repository, "symbolic-ref", "HEAD")
        (repository / git(repository, "rev-parse", "--git-path", name)).write_text(f"{made}\n")
        assert git(repository, "rev-parse", "HEAD") == made
        assert await listed(bench) == []


async def test_a_commit_is_seen_though_git_could_not_say_it_before(repository: Path) -> None:
    async with a_workspace(repository, QuietEditor()) as bench:
        await agent_wrote(bench, a=FIRST)
        head = repository / ".git" / "HEAD"
        head.rename(repository / "HEAD")
        assert await listed(bench) == [("a.txt", "first")]
        (repository / "HEAD").rename(head)
        commits(repository)
        assert await listed(bench) == []


@pytest.mark.parametrize("seen", [True, False])
async def test_what_an_agent_commits_stays_under_review(repository: Path, seen: bool) -> None:
    """Whether or not anybody looked before its turn was over; and also after the user's next commit."""
    async with a_workspace(repository, QuietEditor()) as bench:
        await bench.read("a.txt")
        done(await bench.write("a.txt", FIRST))
        assert len(await listed(bench)) == 1
        commits(repository)
        if seen:
            assert len(await listed(bench)) == 1
        stops(bench)
        await bench.workspace.review.committed.look(is_users=False)
        assert len(await listed(bench)) == 1
        (repository / "b.txt").write_text("the user's\n")
        commits(repository)
        assert await listed(bench) == [("a.txt", "first")]


async def test_the_end_of_a_turn_notes_what_was_committed_in_it(repository: Path) -> None:
    agents = IdleAgents()
    async with a_workspace(repository, QuietEditor(), agents) as bench:
        _, _, outcome = bench.workspace.start_prompt(bench.session, [{"type": "text", "text": "go"}])
        ending = asyncio.ensure_future(outcome)
        await until(lambda: agents.stop)
        assert agents.stop is not None
        await bench.read("a.txt")
        done(await bench.write("a.txt", FIRST))
        assert len(await listed(bench)) == 1
        commits(repository)
        agents.stop.set_result("end_turn")
        await ending
        assert await listed(bench) == [("a.txt", "first")]


async def test_what_is_not_saved_is_not_committed(repository: Path) -> None:
    async with a_workspace(repository, QuietEditor()) as bench:
        await agent_wrote(bench, a=FIRST)
        bench.open("a.txt", FIRST)
        bench.type("a.txt", 2, 0, 0, "typed ")
        commits(repository)
        assert await listed(bench) == [("a.txt", "first")], "the file says more than was committed"


async def test_a_checkout_of_the_same_text_is_no_commit_of_it(repository: Path) -> None:
    """Another branch has the file as it was: its blob is what it was before."""
    async with a_workspace(repository, QuietEditor()) as bench:
        await agent_wrote(bench, a=FIRST)
        git(repository, "checkout", "--quiet", "-b", "other")
        git(repository, "commit", "--quiet", "--allow-empty", "--message", "empty")
        assert await listed(bench) == [("a.txt", "first")]


async def test_a_repository_within_has_commits_of_its_own(repository: Path) -> None:
    inner = repository / "inner"
    inner.mkdir()
    (inner / "c.txt").write_text(BASE)
    git(inner, "init", "--quiet")
    commits(inner)
    async with a_workspace(repository, QuietEditor()) as bench:
        await bench.read("inner/c.txt")
        done(await bench.write("inner/c.txt", FIRST))
        await agent_wrote(bench, a=FIRST)
        commits(inner)
        assert await listed(bench) == [("a.txt", "first")]


async def test_a_file_deep_in_the_folder(repository: Path) -> None:
    """An agent may make folders as deep as the system lets it."""
    deep = "d/" * 1_200
    async with a_workspace(repository, QuietEditor()) as bench:
        done(await bench.write(f"{deep}a.txt", FIRST))
        await agent_wrote(bench, a=FIRST)
        commits(repository)
        assert await listed(bench) == []


async def test_without_a_repository_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    async with a_workspace(tmp_path, QuietEditor()) as bench:
        await agent_wrote(bench, a=FIRST)
        assert await listed(bench) == [("a.txt", "first")]


async def test_whole_files(repository: Path) -> None:
    """Removed, not text, made executable."""
    author = Author("s", 1, "w")
    picture = repository / "p.png"
    picture.write_bytes(b"\0before")
    commits(repository)
    async with a_workspace(repository, QuietEditor()) as bench:
        stops(bench)
        files = bench.workspace.review.files
        (repository / "a.txt").unlink()
        picture.write_bytes(b"\0after")
        (repository / "b.txt").chmod(0o755)
        base = BASE.encode()
        files.enter(str(repository / "a.txt"), FileState(base), None, author)
        files.enter(str(picture), FileState(b"\0before"), FileState(b"\0after"), author)
        files.enter(str(repository / "b.txt"), FileState(base), FileState(base, 0o755), author)
        assert len(await listed(bench)) == 3
        git(repository, "add", "a.txt", "b.txt")
        git(repository, "commit", "--quiet", "--message", "two of them")
        assert [name for name, _ in await listed(bench)] == ["p.png"]
        commits(repository)
        assert await listed(bench) == []
