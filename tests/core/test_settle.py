"""A decided conflict: what the decider chose stands where both clashed, everything else of both sides stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.merge import Conflict, merge
from sidecar.core.settle import Side, settle

BASE = "one\ntwo\nthree\nfour\nfive\nsix\n"


def settled(base: str, ours: str, theirs: str, take: Side) -> str:
    changes = settle(base, ours, theirs, take)
    assert changes is not None
    return changes.apply(ours)


@pytest.mark.parametrize(
    ("ours", "theirs", "with_ours", "with_theirs"),
    [
        # one line changed by both, and each another one elsewhere
        (
            "ONE\nmine\nthree\nfour\nfive\nsix\n",
            "one\nagent\nthree\nfour\nfive\nSIX\n",
            "ONE\nmine\nthree\nfour\nfive\nSIX\n",
            "ONE\nagent\nthree\nfour\nfive\nSIX\n",
        ),
        # deleted by one, changed by the other
        (
            "one\nthree\nfour\nfive\nsix\n",
            "one\nTWO\nthree\nfour\nfive\nsix\n",
            "one\nthree\nfour\nfive\nsix\n",
            "one\nTWO\nthree\nfour\nfive\nsix\n",
        ),
        # both added at the end
        (
            BASE + "mine\n",
            BASE + "agent\n",
            BASE + "mine\n",
            BASE + "agent\n",
        ),
        # two clashes
        (
            "A\ntwo\nthree\nfour\nfive\nB\n",
            "x\ntwo\nthree\nfour\nfive\ny\n",
            "A\ntwo\nthree\nfour\nfive\nB\n",
            "x\ntwo\nthree\nfour\nfive\ny\n",
        ),
        # no final line end
        ("one\ntwo", "one\n2", "one\ntwo", "one\n2"),
        # everything rewritten by the agent
        ("one\ntwo\nmine\nfour\nfive\nsix\n", "new\n", "one\ntwo\nmine\nfour\nfive\nsix\n", "new\n"),
    ],
)
def test_who_decides(ours: str, theirs: str, with_ours: str, with_theirs: str) -> None:
    assert settled(BASE, ours, theirs, "ours") == with_ours
    assert settled(BASE, ours, theirs, "theirs") == with_theirs


def test_without_a_clash_both_decisions_are_the_merge() -> None:
    ours, theirs = BASE.replace("one", "ONE"), BASE.replace("six", "SIX")
    both = "ONE\ntwo\nthree\nfour\nfive\nSIX\n"
    assert settled(BASE, ours, theirs, "ours") == settled(BASE, ours, theirs, "theirs") == both


_TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n", "e"]), max_size=8).map("".join)


@given(_TEXTS, _TEXTS, _TEXTS)
def test_the_two_decisions_mirror_each_other(base: str, ours: str, theirs: str) -> None:
    mine, agents = settle(base, ours, theirs, "ours"), settle(base, ours, theirs, "theirs")
    turned = settle(base, theirs, ours, "theirs"), settle(base, theirs, ours, "ours")
    if mine is None or agents is None or turned[0] is None or turned[1] is None:
        return  # nothing is promised then, and nothing changed
    if isinstance(merge(base, ours, theirs), Conflict):
        assert mine.apply(ours) == turned[0].apply(theirs)
        assert agents.apply(ours) == turned[1].apply(theirs)
