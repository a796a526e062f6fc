"""The state folder is the user's alone, and so is every folder above it that we make, whatever the umask."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from sidecar.lsp.transcript_folder import default_folder
from sidecar.state_folder import make_private

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")


def test_parents_are_private_too(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = make_private(tmp_path / "a" / "b" / "chats")
    finally:
        os.umask(before)
    for folder in (made, made.parent, made.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_chats_lie_in_the_folder_that_the_variable_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(tmp_path / "mine"))
    assert default_folder() == tmp_path / "mine" / "chats"
