"""What a text does not say all of (modes, links, bytes, removals) is journalled and taken back by the command line as well."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sidecar.core.file_state import FileState, link
from sidecar.journal import Store
from sidecar.recovery.revert import Outcome, revert
from tests.support.journals import entry

BYTES = FileState(b"\0\1", 0o644)
CASES: dict[str, tuple[FileState | None, FileState | None]] = {
    "bytes": (BYTES, FileState(b"\0\2", 0o644)),
    "mode": (FileState(b"a\n", 0o755), FileState(b"a\n", 0o600)),
    "link": (link("a"), link("b")),
    "link removed": (link("a"), None),
    "link for a file": (FileState(b"a\n", 0o644), link("b")),
    "removed": (BYTES, None),
    "made": (None, BYTES),
}


def put(path: Path, state: FileState | None) -> None:
    if os.path.lexists(path):
        path.unlink()
    if state is not None and state.is_link:
        path.symlink_to(state.data.decode())
    elif state is not None:
        path.write_bytes(state.data)
        path.chmod(state.mode)


def there(path: Path) -> FileState | None:
    if not os.path.lexists(path):
        return None
    if path.is_symlink():
        return link(os.readlink(path))
    return FileState(path.read_bytes(), path.stat().st_mode & 0o777)


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("edited", [False, True])
def test_taken_back(tmp_path: Path, before: FileState | None, after: FileState | None, edited: bool) -> None:
    folder = (tmp_path / "w").resolve()
    folder.mkdir()
    path = folder / "f"
    with Store(tmp_path / "journal") as store:
        done = store.begin(entry(None, None, str(path), root=str(folder), states=(before, after)))
        store.finish(done, "done")
        assert store.states(done) == (before, after)
        put(path, FileState(b"mine", 0o640) if edited else after)
        (result,) = revert(store, store.entries(), "r-1")
        if edited:
            # A mode is put back whatever the file holds by now; anything else of the user's stays.
            wanted = FileState(b"mine", 0o640)
            assert result.outcome is Outcome.STANDS
        else:
            wanted = before
            assert not result.outcome.is_failure
            assert [write.state for write in store.entries() if write.id == done] == ["undone"]
    assert there(path) == wanted
