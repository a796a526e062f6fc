"""Account: which tokens must be in the text at the end, by what the people, agents and programs of a run did.

The user's own steps are seen by comparing the text before and after them: what such a step takes away is no loss, what it brings
(an undo brings much) has to stay. An agent may take away what it saw and left out; nobody else's write excuses anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from tests.inflight.tokens import counted, tokens

Answer = Literal["open", "done", "refused", "unknown"]


@dataclass(slots=True)
class Intent:
    """One write of an agent's, as the agent means it."""

    number: int
    agent: str
    name: str
    content: str
    token: str
    removes: frozenset[str]
    """What the agent saw and left out on purpose."""
    not_yet: frozenset[str] = frozenset()
    """What the user took away, of that, when the write was done on the disk and had not come into the buffer: bringing it back only undoes that."""
    answer: Answer = "open"
    said: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that must not be. `characters`: of the user's, lost."""

    kind: Literal[
        "lost",
        "twice",
        "unreviewed",
        "missing",
        "phantom",
        "mirror",
        "ledger",
        "undo",
        "journal",
        "stale read",
        "crash",
    ]
    what: str
    characters: int = 0

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}"


@dataclass(slots=True)
class File:
    """One file's account."""

    required: set[str] = field(default_factory=set[str])
    """Tokens of the user's (L, U) that were there."""
    taken_by_user: set[str] = field(default_factory=set[str])
    taken_by_others: set[str] = field(default_factory=set[str])
    """By programs that changed the disk."""
    put: set[str] = field(default_factory=set[str])
    """Tokens that programs put on the disk."""
    doubled_by_user: set[str] = field(default_factory=set[str])
    doubled_by_agents: set[str] = field(default_factory=set[str])
    """Copied by an agent: it put lines it was shown where its own, outdated line numbers say they are, beside where they really are."""
    typed_into: set[str] = field(default_factory=set[str])
    """In lines in which the user typed, or which a program changed."""
    typed_on: set[str] = field(default_factory=set[str])
    """What the user typed at the caret, wherever an edit of ours had moved that: perhaps into the middle of a token."""
    writes: list[Intent] = field(default_factory=list[Intent])


class Account:
    def __init__(self) -> None:
        self._files: dict[str, File] = {}
        self.writes: list[Intent] = []
        self.sent: set[str] = set()
        """Every token in a text that an agent sent, or put on the disk."""

    def file(self, name: str) -> File:
        return self._files.setdefault(name, File())

    def names(self) -> Iterable[str]:
        return self._files

    def user(self, name: str, before: set[str], after: set[str]) -> None:
        """The user did something that led from these tokens to those."""
        file = self.file(name)
        file.taken_by_user |= before - after
        came = after - before
        file.taken_by_user -= came
        file.put |= came  # an agent's, too: undoing what put a misplaced edit right brings it back
        file.required |= {token for token in came if token[0] in "LU"}
        for write in file.writes:
            if write.answer in ("done", "refused"):
                write.removes -= came - write.not_yet
            if write.answer == "done":
                write.not_yet |= write.removes & (before - after)

    def takes(self, name: str, taken: set[str]) -> None:
        """The user knowingly took these tokens away, in another way than seen by comparing texts."""
        self.file(name).taken_by_user |= taken

    def program(self, name: str, before: set[str], after: set[str]) -> None:
        """Something changed the file on the disk so."""
        self.file(name).taken_by_others |= before - after
        self.file(name).put |= after - before

    def begins(self, agent: str, name: str, content: str, token: str, removes: Iterable[str]) -> Intent:
        write = Intent(len(self.writes) + 1, agent, name, content, token, frozenset(removes))
        self.writes.append(write)
        self.sent |= tokens(content)
        self.file(name).writes.append(write)
        return write

    def missing(self, name: str, text: str | None, *, answered: bool = False) -> set[str]:
        """Tokens of the user's that should be in the text and are not. `answered`: writes without an answer yet may remove nothing: it may be that they
        are refused."""
        file = self.file(name)
        excused = file.taken_by_user | file.taken_by_others
        for write in file.writes:
            if write.answer != "refused" and not (answered and write.answer == "open"):
                excused |= write.removes
        lost = file.required - excused - tokens(text)
        for piece in file.typed_on if lost else ():  # what the user's own typing tore apart is not lost
            lost -= tokens((text or "").replace(piece, "", 1))
        return lost

    def is_awaited(self, name: str) -> bool:
        """Whether a write of the file has no answer yet: what it does may still be put right."""
        return any(write.answer == "open" for write in self.file(name).writes)

    def verdict(self, name: str, text: str | None, disk: str | None) -> list[Problem]:
        """What is wrong with a file that says `text` at the end (the buffer when it is open) and `disk` on the disk."""
        file = self.file(name)
        found, anywhere = counted(text), tokens(text) | tokens(disk)
        problems = [
            Problem("twice", f"{token} is {count} times in {name}")
            for token, count in found.items()
            if count > 1 and token not in file.doubled_by_user | file.doubled_by_agents
        ]
        excused = file.taken_by_user | file.taken_by_others
        for write in file.writes:
            if write.answer != "refused":
                excused |= write.removes
        problems += [
            Problem("lost", f"{token} of the user's is not in {name}", len(token))
            for token in sorted(self.missing(name, text))
        ]
        for write in file.writes:
            token = write.token
            if write.answer == "done" and token not in anywhere | excused:
                problems.append(
                    Problem("missing", f"{token} of {write.agent}, answered {write.said}, is not in {name}")
                )
        meant = {t for write in file.writes if write.answer != "refused" for t in tokens(write.content)}
        problems += [
            Problem("phantom", f"{token} is in {name}, though that write was refused")
            for token in sorted(anywhere - meant - file.put)
            if token[0] == "A"
        ]
        return problems
