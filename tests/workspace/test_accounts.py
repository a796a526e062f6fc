"""Accounts: what a file is known to say is there once, however often it is told."""

from __future__ import annotations

import pytest

from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.workspace.behind.accounts import Accounts

URI = DocumentUri("file:///a.txt")
SAID = "".join(f"line {number}\n" for number in range(10_000))


def test_what_is_told_again_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = Accounts()
    accounts.open = True
    text = Text.of(SAID)
    accounts.wrote(URI, text)
    monkeypatch.setattr(Text, "of", lambda text: pytest.fail("the text was divided again"))
    accounts.wrote(URI, SAID)
    accounts.wrote(URI, SAID.replace("\n", "\r\n"))
    known = accounts.get(URI)
    assert known is not None
    assert known.text is text


def test_what_is_told_anew_shares_what_is_equal() -> None:
    accounts = Accounts()
    accounts.open = True
    text = Text.of(SAID)
    accounts.wrote(URI, text)
    accounts.wrote(URI, "x" + SAID)
    known = accounts.get(URI)
    assert known is not None
    assert known.text == "x" + SAID
    chunks, were = known.text.chunks, text.chunks
    assert len(set(map(id, chunks)) - set(map(id, were))) == 1
