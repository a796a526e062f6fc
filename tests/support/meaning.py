"""meaning: texts made of places with one value each, so that the meaning of one change for another text is obvious.

Between two places are lines that nobody touches, so the agent's intent can be computed for each place without a diff.
If the agent changed a place, its value counts; if somebody else did, theirs counts; if both did, differently, the
result is undefined.
"""

from __future__ import annotations

import re

PLACES = 4
Values = tuple[str, ...]
"""One value for each place; "" is an empty place."""

_PLACE = re.compile(r"<<\d\n(.*?)\n?>>\d\n", re.DOTALL)


def text_of(values: Values) -> str:
    """Each place takes eight lines, and one for its value if it has one."""
    return "".join(
        f"above {i}\nnear above {i}\n\n<<{i}\n{value}{value and chr(10)}>>{i}\n\nnear below {i}\nbelow {i}\n"
        for i, value in enumerate(values)
    )


def values_of(text: str) -> Values:
    values = tuple(_PLACE.findall(text))
    assert text_of(values) == text, text
    return values


def meant(saw: Values, now: Values, sent: Values) -> Values | None:
    """The expected text after an agent that saw one text sent another; None: a conflict."""
    found: list[str] = []
    for before, theirs, its in zip(saw, now, sent, strict=True):
        if before not in (theirs, its) and theirs != its:
            return None
        found.append(its if its != before else theirs)
    return tuple(found)


def changed(values: Values, place: int, value: str) -> Values:
    return (*values[:place], value, *values[place + 1 :])
