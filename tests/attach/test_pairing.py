"""A port's clients bring a code that the user was shown: once, for a while, and with few tries."""

from __future__ import annotations

import pytest

from sidecar.attach.pairing import LETTERS, MOST_TRIES, PAUSE_SECONDS, VALID_SECONDS, Pairing, PairingVerdict


class Door:
    def __init__(self) -> None:
        self.shown: list[str] = []
        self.time = 1000.0
        self.pairing = Pairing(self.shown.append, lambda: self.time)

    def judge(self, *brought: str) -> PairingVerdict:
        return self.pairing.judge(*brought)


def test_a_code_is_shown_to_the_user_and_counts_once() -> None:
    door = Door()
    assert door.judge() is PairingVerdict.REFUSED
    (code,) = door.shown
    assert set(code) <= {*LETTERS, "-"}
    assert door.judge(code) is PairingVerdict.PAIRED
    assert door.judge(code) is PairingVerdict.REFUSED, "it was used"
    assert door.judge(door.pairing.token) is PairingVerdict.LET_IN
    assert door.judge(door.pairing.token) is PairingVerdict.LET_IN


def test_as_people_type_it() -> None:
    door = Door()
    door.judge()
    assert door.judge(f" {door.shown[0].lower().replace('-', '')} ") is PairingVerdict.PAIRED


@pytest.mark.parametrize("brought", ["", " ", "-", "ABCD-EFGH", "é", "x" * 100_000])
def test_nothing_counts_before_a_code_was_shown(brought: str) -> None:
    door = Door()
    assert door.judge(brought) is PairingVerdict.REFUSED


def test_a_code_counts_for_a_while() -> None:
    door = Door()
    door.judge()
    door.time += VALID_SECONDS + 1
    assert door.judge(door.shown[0]) is PairingVerdict.REFUSED
    assert len(door.shown) == 2
    assert door.shown[0] != door.shown[1]
    assert door.judge(door.shown[1]) is PairingVerdict.PAIRED


def test_few_wrong_tries_end_it() -> None:
    door = Door()
    door.judge()
    right = door.shown[0]
    for _ in range(MOST_TRIES - 1):
        assert door.judge("AAAA-AAAA") is PairingVerdict.REFUSED
    assert door.shown == [right], "it may be mistyped"
    assert door.judge("AAAA-AAAA") is PairingVerdict.REFUSED
    assert door.judge(right) is PairingVerdict.REFUSED


def test_whoever_knocks_cannot_fill_the_editor() -> None:
    door = Door()
    for _ in range(10_000):
        door.time += 0.01
        door.judge("AAAA-AAAA")
    assert len(door.shown) <= 100 / PAUSE_SECONDS + 1


def test_each_port_has_a_token_of_its_own() -> None:
    assert Door().pairing.token != Door().pairing.token


def test_one_right_thing_is_enough_and_wrong_ones_beside_it_do_not_count() -> None:
    """A client that has its code in its address goes on to send it, beside the cookie that it got for it."""
    door = Door()
    door.judge()
    (code,) = door.shown
    assert door.judge("an old token", code) is PairingVerdict.PAIRED
    assert door.judge(code, door.pairing.token) is PairingVerdict.LET_IN
    assert door.judge(code, "an old token") is PairingVerdict.REFUSED
    assert door.judge("", "") is PairingVerdict.REFUSED
