"""Ids of writes: 10 characters of time and 6 random ones in Crockford's base 32. They sort by time and can be typed."""

from __future__ import annotations

import secrets

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_TIME = 10
_CHANCE = 6


def next_id(last: str | None, now: float) -> str:
    """Return an id greater than `last`, even if the clock went back. `now`: seconds since the epoch."""
    millis = int(now * 1000)
    if last is not None:
        millis = max(millis, _number(last[:_TIME]) + 1)
    return _written(millis, _TIME) + _written(secrets.randbits(5 * _CHANCE), _CHANCE)


def first_id(at: float) -> str:
    """Return an id that is not greater than any made at this time or later (seconds since the epoch)."""
    return _written(int(at * 1000), _TIME)


def _written(number: int, length: int) -> str:
    return "".join(_DIGITS[number >> 5 * place & 31] for place in reversed(range(length)))


def _number(digits: str) -> int:
    number = 0
    for digit in digits:
        number = number << 5 | _DIGITS.index(digit)
    return number
