"""The rules of Windows paths, checked everywhere: they are text."""

from __future__ import annotations

import pytest

from sidecar.core.policy import check_request
from sidecar.disk import windows

REQUESTS = [
    # path, a word of why it is refused (empty: it is not)
    (r"C:\ws\a.py", ""),
    ("c:/ws/a.py", ""),
    (r"C:\ws\..\other\a", ""),
    (r"C:\ws\żółw 😋.txt", ""),
    (r"C:\ws\LONGNA~1.TXT", ""),  # the handle's final path tells
    (r"C:\ws\.git", ""),
    (r"C:\ws\console", ""),
    (r"C:\ws\com10", ""),
    (r"C:\ws\nulls.txt", ""),
    (r"\\host\share\a", "network"),
    ("//host/share/a", "network"),
    (r"\\?\C:\ws\a", "device"),
    ("//?/C:/ws/a", "device"),
    (r"\\?\UNC\host\share\a", "device"),
    (r"\\.\C:\ws\a", "device"),
    (r"\\.\pipe\x", "device"),
    ("//./pipe/x", "device"),
    (r"\??\C:\ws", "device"),
    (r"C:a", "absolute"),
    (r"\ws\a", "absolute"),
    ("a", "absolute"),
    (r"C:\ws\a.txt:secret", "stream"),
    (r"C:\ws\.git::$INDEX_ALLOCATION\config", "stream"),
    (r"C:\ws\a.txt::$DATA", "stream"),
    (r"C:\ws\C:\x", "stream"),
    (r"C:\ws\a?", "wildcard"),
    (r"C:\ws\*.py", "wildcard"),
    ('C:\\ws\\a"', "character"),
    (r"C:\ws\a|b", "character"),
    ("C:\\ws\\a\x1fb", "character"),
    (r"C:\ws\.git ", "blank"),
    (r"C:\ws\.git.", "dot"),
    (r"C:\ws\.vscode .\settings.json", "dot"),
    (r"C:\ws\...\a", "dot"),
    (r"C:\ws\CON", "device"),
    (r"C:\ws\con.txt", "device"),
    (r"C:\ws\aux .h", "device"),
    (r"C:\ws\nul\x", "device"),
    (r"C:\ws\PRN.tar.gz", "device"),
    (r"C:\ws\COM1", "device"),
    (r"C:\ws\lpt9.log", "device"),
    (r"C:\ws\COM¹", "device"),
    (r"C:\ws\CONIN$", "device"),
]


@pytest.mark.parametrize(("path", "why"), REQUESTS)
def test_requests(path: str, why: str) -> None:
    refused = windows.refused(path)
    if why == "absolute":
        assert check_request(path, windows=True) is not None
    assert (why in refused if why else False) if refused is not None else not why


def test_network_paths_where_a_root_is_one() -> None:
    assert windows.refused(r"\\host\share\ws\a", unc_allowed=True) is None
    assert windows.refused(r"\\?\UNC\host\share\ws\a", unc_allowed=True) is not None
    assert windows.refused(r"\\host\share\ws\con", unc_allowed=True) is not None


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (r"\\host\share", True),
        ("//host/share", True),
        (r"\\?\UNC\host\share", True),
        (r"\??\UNC\host\share", True),
        (r"\\?\C:\x", False),
        (r"C:\x", False),
        (r"..\x", False),
    ],
)
def test_what_talks_to_another_host(path: str, expected: bool) -> None:
    assert windows.is_unc(path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (r"\\?\C:\ws\a", r"C:\ws\a"),
        (r"\\?\UNC\host\share\a", r"\\host\share\a"),
        ("c:/ws//./a/../b", r"C:\ws\b"),
        (r"C:\..\..\x", r"C:\x"),
        (r"\\host\share\..\..\x", r"\\host\share\x"),
    ],
)
def test_one_form(path: str, expected: str) -> None:
    assert windows.plain(path) == expected


@pytest.mark.parametrize(
    ("path", "root", "expected"),
    [
        (r"C:\ws\a\b", r"C:\ws", r"a\b"),
        (r"c:\WS\A", r"C:\ws", "A"),
        (r"C:\ws-secret\a", r"C:\ws", None),
        (r"C:\ws", r"C:\ws", None),
        (r"D:\ws\a", r"C:\ws", None),
        (r"C:\a", "C:\\", "a"),
        (r"\\host\share\ws\a", r"\\HOST\share\ws", "a"),
        (r"\\other\share\ws\a", r"\\host\share\ws", None),
    ],
)
def test_what_is_beneath_what(path: str, root: str, expected: str | None) -> None:
    assert windows.relative(path, root) == expected
