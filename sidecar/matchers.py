"""Matchers: pattern lists in gitignore syntax, compiled for `core.policy` (which may not import pathspec).

`compile_matchers` adds the user's own patterns after the defaults, so a `!name` of theirs cancels a default.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from unicodedata import normalize

from pathspec import GitIgnoreSpec

from sidecar.core.guarded_names import PROTECTED_PATTERNS, SECRET_PATTERNS
from sidecar.core.policy import Matcher, Matchers


def compile_matchers(
    secret: Sequence[str] = (),
    protected: Sequence[str] = (),
    *,
    home: str | None = None,
    own: Iterable[str | os.PathLike[str]] = (),
) -> tuple[Matchers, list[str]]:
    """Return the matchers and, as messages, every pattern that could not be compiled (it is left out). `home`: the home folder, for patterns that
    begin with `~/`; by default the user's, resolved. `own`: the sidecar's folders."""
    problems: list[str] = []
    if home is None:
        home = os.path.realpath(os.path.expanduser("~"))
    matchers = Matchers(
        secret=_compile([*SECRET_PATTERNS, *secret], problems),
        protected=_compile([*PROTECTED_PATTERNS, *protected], problems),
        home="" if home == "/" else home,
        own=tuple(os.path.realpath(os.fspath(folder)) for folder in own),
    )
    return matchers, problems


def _compile(patterns: Iterable[str], problems: list[str]) -> Matcher:
    below_root: list[str] = []
    below_home: list[str] = []
    for pattern in patterns:
        negated = pattern.startswith("!")
        body = pattern[1:] if negated else pattern
        at_home = body.startswith("~/")
        if at_home:
            body = body[1:]  # the slash stays and anchors it at the home folder
        # Names are matched folded, so the pattern's letters are too; its *, ?, [ and \ must stay as they are.
        line = ("!" if negated else "") + normalize("NFKC", normalize("NFKC", body).casefold())
        try:
            GitIgnoreSpec.from_lines([line])
        except (ValueError, TypeError) as error:
            problems.append(f"pattern {pattern!r} is not valid: {error}")
            continue
        (below_home if at_home else below_root).append(line)
    root_spec = GitIgnoreSpec.from_lines(below_root)
    home_spec = GitIgnoreSpec.from_lines(below_home)

    @lru_cache(maxsize=8192)
    def matches(name: str) -> bool:
        if name.startswith("~/"):
            return home_spec.match_file(name[2:])
        return root_spec.match_file(name)

    return matches
