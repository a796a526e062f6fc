"""What saves that were cut off left behind goes at the next start, in folders where agents wrote, and nothing else does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sidecar.disk.temporaries import make_temporary
from sidecar.journal import SqliteJournal, Store
from sidecar.recovery.leftovers import sweep_at_start
from tests.gates.product import a_product
from tests.support.journals import entry

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there temporaries go by their age")
LEFT = f".acp-sidecar-{'0' * 16}.tmp"


async def test_in_folders_of_the_journal(tmp_path: Path) -> None:
    for name in ("wrote", "wrote/below", "elsewhere"):
        (tmp_path / name).mkdir()
        (tmp_path / name / LEFT).touch()
    (tmp_path / "wrote" / "mine.tmp").touch()
    folder = os.open(tmp_path / "wrote", os.O_RDONLY)
    living, lock = make_temporary(folder, 0o600)
    with Store(tmp_path / "j") as store:
        store.begin(entry("a", "b", str(tmp_path / "wrote/a.txt")))
        store.begin(entry("a", "b", str(tmp_path / "gone/a.txt")))
    async with SqliteJournal.opened(tmp_path / "j") as journal:
        await sweep_at_start(journal)
    assert sorted(os.listdir(tmp_path / "wrote")) == sorted([living, "below", "mine.tmp"])
    assert os.listdir(tmp_path / "elsewhere") == [LEFT]
    assert os.listdir(tmp_path / "wrote/below") == [LEFT]
    os.close(lock)
    os.close(folder)


async def test_a_journal_that_cannot_be_read_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    async with SqliteJournal.opened(tmp_path / "file" / "j") as journal:
        await sweep_at_start(journal)


async def test_at_the_start_of_the_real_process(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    script = {"turns": [[{"write": str(tmp_path / "a.txt"), "content": "b\n"}]]}
    async with a_product(tmp_path, {"it": script}) as product:
        await product.prompt(await product.session("it"))
    assert (tmp_path / "a.txt").read_text() == "b\n"
    (tmp_path / LEFT).touch()
    async with a_product(tmp_path, {"it": script}) as product:
        for _ in range(500):  # asked until it is seen: each answer is a moment in which others run
            await product.tried("sidecar.status")
            if not (tmp_path / LEFT).exists():
                break
    assert not (tmp_path / LEFT).exists()
