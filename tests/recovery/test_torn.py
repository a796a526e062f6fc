"""Half-written files are told from what somebody else wrote, at every byte."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.recovery.torn import is_torn

BYTES = st.binary(max_size=12) | st.text("ab", max_size=12).map(str.encode)


def cut_off(old: bytes, new: bytes, *, reserved: bool) -> list[bytes]:
    """Every state a write in place can leave, byte by byte."""
    start = old + bytes(max(0, len(new) - len(old))) if reserved else old
    return [new[:reached] + start[reached:] for reached in range(len(new) + 1)]


@given(BYTES, BYTES, st.booleans())
def test_every_state_of_a_write_in_place_is_torn_or_one_of_both(
    old: bytes, new: bytes, reserved: bool
) -> None:
    for state in cut_off(old, new, reserved=reserved):
        assert state in (old, new) or is_torn(state, old, new), state


@given(BYTES, BYTES, BYTES)
def test_anything_else_is_not(old: bytes, new: bytes, data: bytes) -> None:
    possible = cut_off(old, new, reserved=True) + cut_off(old, new, reserved=False)
    assert is_torn(data, old, new) == (data in possible and data not in (old, new))
