"""Which editor a run has: one of those known, or one with a few bad habits of the seed's choice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from tests.support.editor_habits import EDITORS, NEVER, WELL_BEHAVED, Habits


def trimmed(text: str) -> str:
    """A save participant: no blanks at the ends of lines (spaces only: line ends of any kind stay)."""
    return "\n".join(line.rstrip(" ") for line in text.split("\n"))


def final_newline(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def spaced(text: str) -> str:
    return text.replace("_ ", "_  ").replace("_   ", "_  ")


SINGLES: dict[str, list[dict[str, Any]]] = {
    "lag": [{"lag": 0.15}, {"lag": 0.5}, {"lag": 0.5, "lag_restarts": True}, {"lag": 1.5}],
    "version when told": [
        {"lag": 0.5, "version_when_told": True},
        {"lag": 0.15, "version_when_told": True, "lag_restarts": True},
    ],
    "told before edit": [{"lag": 0.5, "version_when_told": True, "told_before_edit": True}],
    "versions": [{"version_step": 2}, {"first_version": 0}, {"first_version": 0, "version_step": 7}],
    "full text": [{"full_text": True}],
    "order": [{"order": "answer first"}, {"order": "either"}],
    "stale": [
        {"stale": "true"},
        {"stale": "true", "lag": 0.15},
        {"stale": "error"},
        {"stale": "misapplied"},
        {"stale": "misapplied", "lag": 0.5},
        {"stale_reason": "outdated"},
    ],
    "unchecked": [{"first_version": 0, "unchecked": frozenset({0})}],
    "newer is fine": [{"newer_is_fine": True}],
    "refuses": [{"refuses": True}],
    "thinks": [{"thinks": 0.2}, {"thinks": 3.0}, {"thinks": 61.0}, {"thinks": 120.0}, {"thinks": NEVER}],
    "answers after": [
        {"answers_after": 0.3},
        {"answers_after": 5.0},
        {"answers_after": 61.0},
        {"answers_after": 120.0},
        {"answers_after": NEVER},
    ],
    "closes first": [{"closes_first": True}, {"closes_first": True, "unopened": "refused"}],
    "undo joins": [{"undo_joins": "earlier"}, {"undo_joins": "later"}, {"undo_joins": "both"}],
    "end in two": [
        {"end_in_two": True},
        {"end_in_two": True, "final_end": "setting"},
        {"end_in_two": True, "full_text": True},
    ],
    "blank line": [{"blank_line_past_end": True}],
    "unopened": [
        {"unopened": "twice"},
        {"unopened": "change first"},
        {"unopened": "untold"},
        {"unopened": "refused"},
    ],
    "creates": [{"creates": "no"}, {"create_files": False}],
    "line ends": [{"line_ends": "majority"}, {"line_ends": "unanimous"}, {"line_ends": "lf"}],
    "bom": [{"keeps_bom": True}],
    "on save": [{"on_save": trimmed}, {"on_save": final_newline}, {"on_save": spaced}],
    "save fails": [
        {"save_fails": "always"},
        {"save_fails": "newer"},
        {"save_fails": "newer", "refused_save_told": True},
    ],
    "reloads": [{"reloads": 0.0}, {"reloads": 0.2}, {"reloads": 0.7}],
    "no versions": [{"document_changes": False}],
}


SAVES_TAKE = (0.0, 0.0, 0.001, 0.02, 0.3)
"""Seconds, of any editor; chosen apart from the other habits, so that a seed from before means what it did."""


def tells_too_little(habits: Habits) -> bool:
    """An editor that makes an edit on typing it has not told yet, and then tells both as one new text: what the edit took away was
    never told, so nobody can bring it back. No editor is known to do all of that (docs/editors.md). With changes told one by one,
    or told before the next edit, everything that was typed is known."""
    takes_outdated = (
        (habits.version_when_told and not habits.told_before_edit)
        or habits.stale == "misapplied"
        or (habits.first_version in habits.unchecked and habits.client != "Neovim")  # it is sent another
    )
    return habits.full_text and habits.lag > 0 and takes_outdated


RELOADS_TAKE = (0.0, 0.0, 0.001, 0.02, 0.3)
"""Seconds, of any editor with our extension; chosen apart, too."""


def reloading(random: Random, name: str, habits: Habits) -> tuple[str, Habits]:
    """The same editor, in which the user may type while it reloads a document. Those that reopen it do so at once."""
    takes = 0.0 if habits.reopens else random.choice(RELOADS_TAKE)
    return (
        (f"{name} + reloads take {takes}", replace(habits, reload_takes=takes)) if takes else (name, habits)
    )


JOURNAL_TAKES = (0.0, 0.0, 0.0, 0.05, 0.4)
"""Seconds until a write is journalled, which may begin before something and go on after it."""


def saving(random: Random, name: str, habits: Habits) -> tuple[str, Habits]:
    """The same editor, which may take its time to save."""
    takes = random.choice(SAVES_TAKE)
    return (f"{name} + saves take {takes}", replace(habits, save_takes=takes)) if takes else (name, habits)


def choose(random: Random) -> tuple[str, Habits]:
    """A name for people, and the habits."""
    if random.random() < 0.5:
        name = random.choice(list(EDITORS))
        habits, names = EDITORS[name], [name]
        extra = random.choice([0, 0, 1])
    else:
        habits, names = WELL_BEHAVED, []
        extra = random.choice([0, 1, 1, 2, 3])
    for one in random.sample(list(SINGLES), extra):
        habits = replace(habits, **random.choice(SINGLES[one]))
        names.append(one)
    if tells_too_little(habits):
        habits = replace(habits, full_text=False)
        names.append("changes one by one")
    return " + ".join(names) or "well behaved", habits


Sayer = Callable[[str], None]
