"""What a removed file comes back with, after random histories: agents write, the user rejects parts of that and saves lines, the file is removed, and more
is taken back while it is gone."""

from __future__ import annotations

from itertools import count, pairwise
from pathlib import Path
from random import Random

import pytest

from sidecar.core.file_state import FileState
from sidecar.disk.states import less_gone, text_of
from sidecar.journal import Store
from tests.support.journals import entry

PATH = "/w/a.txt"
PLACES = 5
USER = "user"
Line = tuple[str, str]
"""Who wrote it (the id of a write, or USER), and what it says."""


class History:
    """Each place has the lines written there, one upon the other; the topmost is in the text, between lines that nobody changes."""

    def __init__(self, random: Random, store: Store) -> None:
        self._random = random
        self._store = store
        self._words = count(1)
        self.places: list[list[Line]] = [[(USER, f"base {i}")] for i in range(PLACES)]
        self.writes: list[str] = []

    def text(self) -> str:
        return "".join(f"above {i}\n{lines[-1][1]}\nbelow {i}\n\n" for i, lines in enumerate(self.places))

    def some(self, numbers: list[int], at_most: int = PLACES) -> list[int]:
        return self._random.sample(numbers, self._random.randint(1, min(at_most, len(numbers))))

    def agent_writes(self) -> None:
        before = self.text()
        chosen = self.some(list(range(PLACES)), 2)
        for number in chosen:
            self.places[number].append(("", f"word {next(self._words)}"))
        write = self._store.begin(entry(before, self.text(), PATH))
        self._store.finish(write, "done")
        for number in chosen:
            self.places[number][-1] = write, self.places[number][-1][1]
        self.writes.append(write)

    def user_saves(self) -> None:
        self.places[self._random.randrange(PLACES)] = [(USER, f"word {next(self._words)}")]

    def user_rejects(self) -> None:
        tops = [number for number, lines in enumerate(self.places) if lines[-1][0] != USER]
        if not tops:
            return
        before, chosen = self.text(), self.some(tops)
        writes = {self.places[number].pop()[0] for number in chosen}
        self._store.finish(self._store.begin(entry(before, self.text(), PATH, agent="reject")), "done")
        for write in writes - self.there():
            self._store.finish(write, "rejected")

    def there(self) -> set[str]:
        return {write for lines in self.places for write, _ in lines}

    def takes_back_while_it_is_gone(self) -> None:
        """Some of the writes, each with all that lies upon it."""
        out = {write for write in self.writes if write in self.there() and self._random.random() < 0.5}
        while beneath := out & {
            write for lines in self.places for (write, _), (above, _) in pairwise(lines) if above not in out
        }:
            out -= beneath
        for write in out:
            self._store.finish(write, self._random.choice(["undone", "rejected"]))
        self.places = [[line for line in lines if line[0] not in out] for lines in self.places]


@pytest.mark.parametrize("saves", [0.0, 0.2, 0.5])
@pytest.mark.parametrize("first", range(0, 300, 100))
def test_a_removed_file_comes_back_without_what_was_taken_back_while_it_was_gone(
    tmp_path: Path, first: int, saves: float
) -> None:
    for seed in range(first, first + 100):
        random = Random(f"{seed} {saves}")
        with Store(tmp_path / str(seed)) as store:
            history = History(random, store)
            for _ in range(random.randrange(2, 8)):
                if random.random() < 0.55:
                    history.agent_writes()
                elif random.random() < saves:
                    history.user_saves()
                else:
                    history.user_rejects()
            was = history.text()
            removed = store.begin(entry(was, None, PATH))
            store.finish(removed, "done")
            history.takes_back_while_it_is_gone()
            found = less_gone(FileState(was.encode(), 0o644), store.gone_before(removed), PATH)
        assert text_of(found) == history.text(), seed
