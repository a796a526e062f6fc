"""bridge_auth: nobody but this user's processes that can read the entry gets anything, and no client gives itself away."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sidecar.bridge import peer, proof
from sidecar.bridge.finding import find
from tests.bridge.attacks import ANOTHER_USER, ATTACKS, FOR_NOTHING_BUT_THE_PROOF, Scene

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no bridge on Windows yet")


@pytest.fixture
def passable(tmp_path: Path) -> Path:
    """A folder that every user can enter: what stops others is to be ours."""
    tmp_path.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("name", ATTACKS)
def test_bridge_auth(passable: Path, name: str) -> None:
    if name in ANOTHER_USER and os.geteuid() != 0:
        pytest.skip("NOT TESTED HERE: only root can become another user to try")
    assert ATTACKS[name](Scene(passable)) == ""


def test_who_knows_the_secret_gets_in(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    with (
        scene.served() as running,
        find(str(scene.project), running.env) or pytest.fail("not found") as client,
    ):
        assert client.call("echo", {"text": "\ud800 é\n"}) == {"text": "\ud800 é\n"}


# Planted defects: the table is only worth something if it reports them.


@pytest.mark.parametrize("name", FOR_NOTHING_BUT_THE_PROOF)
def test_without_the_proof_the_table_reports_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(proof, "is_proof", lambda given, expected: True)
    assert ATTACKS[name](Scene(tmp_path)) != ""


def test_without_peer_credentials_the_table_reports_it(
    passable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED HERE: only root can become another user to try")
    monkeypatch.setattr(peer, "is_same_user", lambda connection: True)
    assert ATTACKS["another user who knows the secret"](Scene(passable)) != ""
