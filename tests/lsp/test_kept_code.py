"""The byte code that is kept of what attrs compiles: taken for the same script only, and never the reason for a failure."""

from __future__ import annotations

import sys
from pathlib import Path

import attrs
import pytest

from sidecar.lsp.kept_code import kept_code


def made(default: int) -> int:
    """A class's default; attrs compiles the class now."""
    kind = attrs.make_class("Made", {"number": attrs.field(default=default)}, frozen=True)
    assert kind(3) == kind(3) != kind(4)
    return kind().number


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The scripts that are compiled and not taken from the file."""
    found: list[str] = []

    def noted(script: str, name: str, mode: str) -> object:
        found.append(script)
        return compile(script, name, mode)

    monkeypatch.setattr("sidecar.lsp.kept_code.compile", noted, raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return found


def test_the_second_time_nothing_is_compiled(compiled: list[str], tmp_path: Path) -> None:
    for times in range(3):
        with kept_code(str(tmp_path / "new" / "kept")):
            assert made(7) == 7
        assert bool(compiled) is (times == 0)
        compiled.clear()
    made(7)
    assert compiled == [], "afterwards attrs does as ever"


def test_what_is_used_no_more_is_not_kept(compiled: list[str], tmp_path: Path) -> None:
    path = tmp_path / "kept"
    with kept_code(str(path)):
        made(7)
        attrs.make_class("Other", ["a", "b", "c"])
    size = path.stat().st_size
    with kept_code(str(path)):
        made(7)
    assert path.stat().st_size < size
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kept", [b"", b"nonsense", "half"])
def test_a_file_that_is_damaged_is_replaced(compiled: list[str], tmp_path: Path, kept: bytes | str) -> None:
    path = tmp_path / "kept"
    with kept_code(str(path)):
        made(7)
    compiled.clear()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if isinstance(kept, str) else kept)
    with kept_code(str(path)):
        assert made(7) == 7
    assert compiled
    compiled.clear()
    with kept_code(str(path)):
        made(7)
    assert compiled == []


def test_an_attrs_without_that_module_compiles_as_it_likes(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "attr._make", None)
    with kept_code(str(tmp_path / "kept")):
        pass
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_kept_everything_works(compiled: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for _ in range(2):
        with kept_code(str(tmp_path / "file" / "kept")):
            assert made(7) == 7
        assert compiled
        compiled.clear()


def test_no_byte_code_is_written_where_python_is_told_not_to(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    with kept_code(str(tmp_path / "kept")):
        made(7)
    assert list(tmp_path.iterdir()) == []


def test_an_error_while_it_lasts_leaves_attrs_as_it_was(compiled: list[str], tmp_path: Path) -> None:
    with pytest.raises(ImportError), kept_code(str(tmp_path / "kept")):
        raise ImportError
    made(8)
    assert compiled == []
    assert list(tmp_path.iterdir()) == []
