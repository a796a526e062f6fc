"""Oracle: what must be in each file in the end, by what the person typed and what the agent saw and sent.

The person's own steps are seen by comparing what is shown before and after them: what an undo takes away is no loss, and what it brings
has to stay. An agent may take away what it was shown and left out. A rejection takes back agents' text and never the person's.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tests.hands.tokens import characters_lost, counted, is_persons, tokens

Fault = Literal["lost", "twice", "answer", "author", "not back", "mirror", "hung"]


@dataclass(frozen=True, slots=True)
class Problem:
    fault: Fault
    what: str
    count: int = 1
    """Characters where something was lost."""
    token: str = ""
    """What was lost."""

    def __str__(self) -> str:
        return f"{self.fault}: {self.what}"


@dataclass(slots=True)
class File:
    """One file's account."""

    required: set[str] = field(default_factory=set[str])
    """The person's tokens that were there."""
    taken: set[str] = field(default_factory=set[str])
    """By the person, or by programs of nobody's that changed the disk."""
    parts: Counter[str] = field(default_factory=Counter[str])
    """The same of tokens that were not whole then: how many of their characters."""
    pending: set[str] = field(default_factory=set[str])
    """What a program took from the disk: it goes from the editor with the next look at the disk, whatever the person undoes and redoes before that,
    also if it was not shown then."""
    unseen: set[str] = field(default_factory=set[str])
    """What the disk says of the person's that a close would bring back. It counts once it is shown: a document that the editor took for saved keeps
    its text, as VS Code does where an undo comes to the text of an earlier save."""
    shown: str | None = None
    """What the person saw last."""
    seen: str | None = None
    """What was shown after the person's last step there."""
    doubled: set[str] = field(default_factory=set[str])
    """By programs, or by the agent, which copied them knowingly."""
    brought: set[str] = field(default_factory=set[str])
    """The agent's tokens that the person brought back, by undoing or redoing. An agent that had read before makes the same change again."""
    rejected: set[str] = field(default_factory=set[str])
    """The agent's tokens that the person took back, by whatever means."""
    reviewed: set[str] = field(default_factory=set[str])
    """Those of them that were taken back by rejecting, and not brought back since: they go from the disk, too."""
    kept: set[str] = field(default_factory=set[str])


@dataclass(frozen=True, slots=True)
class Deed:
    """One line of the agent's log."""

    verb: str
    path: str
    before: str | None
    after: str | None
    answer: str | None
    """None: it was begun, and nothing is known of its end."""

    @property
    def removes(self) -> set[str]:
        return tokens(self.before) - tokens(self.after)

    @property
    def is_refused(self) -> bool:
        """Whether the answer says that nothing was written. Another says that the editor made the edit in the wrong place."""
        return self.answer not in (None, "done") and "editor_misapplied" not in (self.answer or "")

    @property
    def brings(self) -> set[str]:
        return {token for token in tokens(self.after) - tokens(self.before) if token[0] == "a"}


class Oracle:
    def __init__(self, folder: Path, log: Path) -> None:
        self._folder = folder
        self._log = log
        self._files: dict[str, File] = {}

    def file(self, name: str) -> File:
        return self._files.setdefault(name, File())

    def starts(self, name: str, text: str) -> None:
        self.file(name).required |= tokens(text)

    def typed(self, name: str, text: str) -> None:
        self.file(name).required |= tokens(text)

    def settled(self) -> int:
        """How many deeds have an answer: those after them are under way, or to come."""
        deeds = self.deeds()
        return len(deeds) - bool(deeds and deeds[-1].answer is None)

    def _meanwhile(self, name: str, since: int | None, after: str | None) -> set[str]:
        """The agent's tokens that may have come after the person's step began and have gone with it: its text `before` does not have them."""
        path = str(self._folder / name)
        late = [] if since is None else self.deeds()[since:]
        return {token for deed in late if deed.path == path for token in deed.brings} - tokens(after)

    def stepped(self, name: str, before: str | None, after: str | None, since: int | None = None) -> None:
        """The person did something (an undo, say) that led from one text to the other. `since`: what was `settled` when they began."""
        file = self.file(name)
        file.pending -= tokens(file.shown) - tokens(before)  # it has gone
        file.shown = after
        self._changed(name, before, after, since)

    def closed(self, name: str, before: str | None, disk: str | None, since: int | None = None) -> None:
        """The person closed the document. What they had not saved is gone, also what was out of sight in that moment, because the editor was taking what
        the disk says; what they had rejected does not come back with the disk."""
        file = self.file(name)
        reviewed, taken = set(file.reviewed), set(file.taken)
        self.stepped(name, before, disk, since)
        file.unseen = taken - file.taken
        file.taken |= {one for one in tokens(file.seen) if is_persons(one)} - self._all_of(name, disk)
        file.rejected |= reviewed
        file.reviewed = reviewed

    def sees(self, name: str, text: str | None) -> None:
        """What is shown after a step of the person's."""
        file = self.file(name)
        file.seen = text
        file.taken |= file.unseen - self._all_of(name, text)
        file.unseen = set()

    def put(self, name: str, before: str, after: str, shown: str | None) -> None:
        """A program put `after` on the disk, which said `before`, while the person saw `shown`."""
        file = self.file(name)
        file.shown = shown
        self._changed(name, before, after, None)
        file.pending = (file.pending | tokens(before)) - tokens(after)

    def _changed(self, name: str, before: str | None, after: str | None, since: int | None) -> None:
        file, was, now = self.file(name), self._all_of(name, before), self._all_of(name, after)
        file.taken |= was - now
        for token in file.required - was:
            taken = characters_lost(token, after) - characters_lost(token, before)
            file.parts[token] = max(0, file.parts[token] + taken)
        file.rejected |= {token for token in was - now if token[0] == "a"} | self._meanwhile(
            name, since, after
        )
        came = tokens(after) - tokens(before)
        file.taken -= came - file.pending
        file.rejected -= came - file.pending
        file.reviewed -= came
        file.brought |= {token for token in came if token[0] == "a"}
        file.required |= {token for token in came if is_persons(token)}

    def _all_of(self, name: str, text: str | None) -> set[str]:
        """The tokens of which nothing is missing in this text: whole ones, and those that somebody typed into."""
        brought = {
            token for deed in self.deeds() for token in deed.brings if deed.path == str(self._folder / name)
        }
        known = self.file(name).required | brought
        return tokens(text) | {token for token in known if not characters_lost(token, text)}

    def rejected(self, name: str, before: str | None, after: str | None, since: int | None = None) -> None:
        """The person took the agent's work back: that takes nothing of their own. `since` is as in `stepped`."""
        file, was, now = self.file(name), tokens(before), tokens(after)
        file.reviewed |= {token for token in was - now if token[0] == "a"}
        file.rejected |= file.reviewed | self._meanwhile(name, since, after)
        file.taken -= {token for token in now - was if is_persons(token)}

    def kept(self, name: str, text: str | None) -> None:
        """The person keeps everything, and with it what the agent has itself written over since: undoing that turn brings it back."""
        path = str(self._folder / name)
        over = {token for deed in self.deeds() if deed.path == path for token in deed.removes}
        self.file(name).kept |= {token for token in tokens(text) | over if token[0] == "a"}

    def deeds(self) -> list[Deed]:
        """What the agent did, oldest first, each once: with its answer where that is known."""
        if not self._log.exists():
            return []
        found: list[Deed] = []
        for line in self._log.read_text().splitlines():
            said: dict[str, Any] = json.loads(line)
            deed = Deed(**said)
            if (
                deed.answer is not None
                and found
                and found[-1].answer is None
                and found[-1].after == deed.after
            ):
                found.pop()
            found.append(deed)
        return found

    def verdict(self, name: str, text: str | None) -> list[Problem]:
        """What is wrong with a file that says `text`, as the person sees it."""
        file = self.file(name)
        deeds = [deed for deed in self.deeds() if deed.path == str(self._folder / name)]
        done = [deed for deed in deeds if deed.answer is None or deed.answer == "done"]
        removed = {token for deed in done for token in deed.removes}
        made = Counter(token for deed in done if deed.answer == "done" for token in deed.brings)
        problems = [
            Problem("twice", f"{token} is {number} times in {name}")
            for token, number in counted(text).items()
            if number > 1 and token not in file.doubled and not (token in file.brought and made[token] > 1)
        ]
        gone = {
            token: characters_lost(token, text, in_order=not _was_taken_away(token, done))
            for token in sorted(file.required - file.taken - removed)
        }
        gone = {token: max(0, lost - file.parts[token]) for token, lost in gone.items()}
        gone = {token: lost for token, lost in gone.items() if not _was_begun(token[:lost], done)}
        problems += [
            Problem("lost", f"{lost} of {token} in {name}", lost, token)
            for token, lost in gone.items()
            if lost
        ]
        problems += self._answers(name, deeds, file.taken | file.rejected | removed, text)
        return problems

    def was_written_over(self, name: str, token: str, text: str | None) -> bool:
        """Whether a tool of the agent's has written over the token, not knowing of it because it was saved in that moment, and it is in `text`
        again, which the file says after everything was rejected."""
        path = str(self._folder / name)
        tools = [deed for deed in self.deeds() if deed.verb in ("put", "run") and deed.path == path]
        return token in tokens(text) and any(
            token not in tokens(deed.before) | tokens(deed.after) for deed in tools
        )

    def _answers(
        self, name: str, deeds: Iterable[Deed], accounted: set[str], text: str | None
    ) -> list[Problem]:
        """Writes that were answered otherwise than done. `accounted`: tokens that need not be there. The person may have typed into one."""
        changes = [deed for deed in deeds if deed.verb == "change" and deed.answer is not None]
        done = {token for deed in deeds if deed.verb in ("put", "run", "create") for token in deed.brings}
        done |= {token for deed in changes if deed.answer == "done" for token in deed.brings}
        problems = [
            Problem("answer", f"{token} was answered with success and is not in {name}")
            for token in sorted(
                {t for deed in changes if deed.answer == "done" for t in deed.brings} - accounted
            )
            if characters_lost(token, text)
        ]
        refused = {token for deed in changes if deed.is_refused for token in deed.brings} - done
        problems += [
            Problem("answer", f"{token} was refused and is in {name}")
            for token in sorted(refused & tokens(text))
        ]
        return problems


def _was_taken_away(token: str, done: Iterable[Deed]) -> bool:
    """The same for any beginning of the token. What the person typed next stands where their cursor was then, also if they reject that."""
    deeds = list(done)
    return any(_was_begun(token[:end], deeds) for end in range(1, len(token)))


def _was_begun(begun: str, done: Iterable[Deed]) -> bool:
    """Whether the agent took away what it was shown of a token that the person was typing."""
    alone = re.compile(
        rf"(?<![a-wyz0-9]){begun}(?:(?![a-z0-9])|(?=[luad]\d+x))"
    )  # or before or behind a token
    return bool(begun) and any(
        len(alone.findall(deed.before or "")) > len(alone.findall(deed.after or "")) for deed in done
    )
