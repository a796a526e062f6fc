"""write_bytes: how much memory a write takes that is carried out: of every kind of text, for a new file, over one that is there, and in a document
that is open. Measured until it is compared, journalled, made, entered in the review and stored: the turn ends only then.

A process and a journal of its own for each, so that nothing is hidden by what an earlier one left. What counts is the bytes of the message, and of
the text that it replaces as UTF-8. Python keeps a text with a single emoji in four times as many, and one with a dash in twice (core/narrow.py,
which keeps it otherwise).
"""

from __future__ import annotations

import base64
import json
import random
import shutil
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest

from sidecar.core.lineends import fold, has_one_kind
from sidecar.workspace.files.writes import HELD_TIMES
from tests.gates.product import a_product
from tests.gates.size import size
from tests.support.memory import forget_peak, peak, resident

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc"),
]
MB = 1024 * 1024
FILE = 10 * MB
"""Bytes that a file may have (config.py)."""
MOST = size(5, 10) * MB - 2000
"""Bytes of a text."""
WIDE = HELD_TIMES * FILE // 4 - 2000
"""Characters of a text in which each takes four bytes."""
TIMES = 5.0
READING = 4
"""MB beside that: the pieces in which it is read, and the journal's pages."""
ENDS = ("\n", "\r\n", "\n", "\r\n", "\r")
LINE = "    return value + 1234567890  # remark\n"


def of(unit: str) -> str:
    return unit * (MOST // len(unit.encode()))


def wide(unit: str) -> str:
    """As `of`, of a text in which each character takes four bytes; whole units."""
    return unit * min((WIDE - 50) // len(unit), (MOST - 50) // len(unit.encode()))


def noise() -> str:
    """What nothing can compress."""
    letters = base64.b64encode(random.Random(1).randbytes(MOST * 5 // 7)).decode()
    return "\n".join(letters[at : at + 76] for at in range(0, len(letters), 76))


TEXTS: dict[str, Callable[[], str]] = {
    "code": lambda: of(LINE),
    "accents": lambda: of("    return wért + 1234567890  # rémark\n"),
    "line ends": lambda: of("\n"),
    "CRLF": lambda: of(LINE[:-1] + "\r\n"),
    "accents and CRLF": lambda: of("é\r\n"),
    "one long line": lambda: of("x"),
    "Cyrillic": lambda: of("    привет мир, это строка текста\n"),
    "Chinese": lambda: of("中文字符串\n"),
    "emoji": lambda: of("\U0001f600"),
    "short lines": lambda: "".join(f"{n}\n" for n in range(MOST // 8)),
    "noise": noise,
    "an emoji in code": lambda: of(LINE)[: WIDE - 5] + "\U0001f600\n",
    "one long line with an emoji": lambda: of("x")[: WIDE - 5] + "\U0001f600",
    "an emoji in each line": lambda: of(LINE[:-1] + "\U0001f600\n")[:WIDE],
    "a dash in code": lambda: of(LINE)[:-5] + "\u2014\n",
    "a dash in each line": lambda: of(LINE[:-1] + "\u2014\n"),
    "a dash in code, CRLF": lambda: of(LINE[:-1] + "\r\n")[: MOST - 50] + "\u2014\r\n",
    "a dash in each line, CRLF": lambda: of(LINE[:-1] + "\u2014\r\n"),
    "Cyrillic and CRLF": lambda: of("    привет мир, это строка текста\r\n"),
    "emoji first, CRLF": lambda: "\U0001f600\r\n" + wide(LINE[:-1] + "\r\n"),
    "an emoji in code, CRLF": lambda: wide(LINE[:-1] + "\r\n") + "\U0001f600\r\n",
    "an emoji in each line, CRLF": lambda: wide(LINE[:-1] + "\U0001f600\r\n"),
    "emoji and CRLF": lambda: wide("\U0001f600\r\n"),
    "lines of emoji and CRLF": lambda: wide("\U0001f600" * 40 + "\r\n"),
    "an emoji in code, mixed line ends": lambda: (
        wide("".join(LINE[:-1] + end for end in ENDS)) + "\U0001f600\n"
    ),
}


def word(text: str) -> str:
    middle = len(text) // 2
    while "\r" in text[middle - 1 : middle + 8]:  # no line end is cut
        middle += 9
    return text[:middle] + "changed" + text[middle + 7 :]


def both_ends(text: str) -> str:
    end = len(text.rstrip("\r\n")) or len(text)
    return "A" + text[1 : end - 1] + "Z" + text[end:]


def other(text: str) -> str:
    """Nearly nothing of it is the same; as long in bytes."""
    found = text.translate({ord(a): b for a, b in zip("xrе1é中\U0001f600", "yqи2è国\U0001f601", strict=True)})
    return found if "\r" in text else found[::-1]


CHANGES: dict[str, Callable[[str], str] | None] = {
    "a new file": None,
    "a word": word,
    "both ends": both_ends,
    "all of it": other,
    "all but its ends": lambda text: text[:50] + other(text[50:-50]) + text[-50:],
    "a quarter of it": lambda text: text[: len(text) * 76 // 100] + other(text[len(text) * 76 // 100 :]),
}
Row: TypeAlias = tuple[str, str, bool]
ROWS: list[Row] = [
    (text, change, is_open)
    for text in TEXTS
    for change in CHANGES
    for is_open in ((False,) if CHANGES[change] is None else (False, True))
]
SMALL: list[Row] = [
    ("Cyrillic", "a new file", False),
    ("an emoji in each line", "a new file", False),
    ("an emoji in code", "all of it", True),
    ("code", "all of it", False),
    ("CRLF", "all of it", False),
    ("Cyrillic", "all of it", True),
    ("an emoji in each line, CRLF", "all of it", True),
    ("a dash in each line, CRLF", "all of it", False),
]


class Taken(NamedTuple):
    megabytes: float
    """More than before, at the most, without READING."""
    of_its_bytes: float
    """For each byte of the message, and of the text that it replaces as UTF-8."""


async def taken(base: Path, text: str, change: str, *, is_open: bool, planted: str | None = None) -> Taken:
    folder = base / "ws"
    folder.mkdir(parents=True)
    make, before = CHANGES[change], TEXTS[text]()
    content = before if make is None else make(before)
    file, small = folder / "large.txt", folder / "small.txt"
    small.write_text("small\n")
    if make is not None:
        file.write_bytes(before.encode())

    def write(path: Path, content: str) -> bytes:
        params = {"sessionId": "s1", "path": str(path), "content": content}
        message = {"jsonrpc": "2.0", "id": path.name, "method": "fs/write_text_file", "params": params}
        return json.dumps(message, ensure_ascii=False).encode() + b"\n"

    line, first = base / "line", base / "first"
    line.write_bytes(write(file, content))
    first.write_bytes(write(small, "other\n" * 100))
    async with a_product(folder, {"fake": {"prompted": True}}, client=(), planted=planted) as product:
        session = await product.session("fake")

        async def run(*steps: dict[str, object]) -> None:
            outcome = await product.prompt(session, json.dumps(steps))
            assert outcome.get("stopReason") == "end_turn", outcome

        if is_open:
            product.open(small)
        await run(
            {"lines": str(first)}, {"await": small.name}
        )  # what is loaded at the first use is not the message's
        if make is not None:
            if is_open:
                product.open(file)
            read = {"sessionId": "$session", "path": str(file)}
            await run({"request": "fs/read_text_file", "params": read, "as": "read"})
        at_first = resident(product.pid)
        forget_peak(product.pid)
        await run({"lines": str(line)}, {"await": file.name})
        more = peak(product.pid) - at_first - READING
        assert_says(product.document(file).text if is_open else file.read_bytes().decode(), content)
    texts = [content] if make is None else [content, before]
    bytes_ = line.stat().st_size - len(content.encode()) + sum(len(one.encode()) for one in texts)
    return Taken(more, more * MB / bytes_)


def assert_says(said: str, content: str) -> None:
    """In a text with line ends of several kinds, new lines have that of most lines."""
    if has_one_kind(content):
        assert said == content
    else:
        assert fold(said) == fold(content)


@pytest.fixture(autouse=True)
def what_is_free_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, to the system: glibc keeps up to 64 MB of it, which would hide as much of what a write takes."""
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", str(128 * 1024))
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", str(128 * 1024))


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """A folder of this write's own, gone after it: a few hundred of them take 10 GB."""
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(tmp_path / "base" / "state"))
    yield tmp_path / "base"
    shutil.rmtree(tmp_path / "base")


def named(row: Row) -> str:
    text, change, is_open = row
    return f"{change} of {text}{', open' if is_open else ''}"


@pytest.mark.parametrize(("text", "change", "is_open"), size(SMALL, ROWS), ids=map(named, size(SMALL, ROWS)))
async def test_a_write_takes_a_few_times_its_bytes(
    base: Path, text: str, change: str, is_open: bool, record_property: Callable[[str, object], None]
) -> None:
    found = await taken(base, text, change, is_open=is_open)
    record_property("writes", 1)
    record_property("times its bytes", round(found.of_its_bytes, 2))
    record_property("MB more", round(found.megabytes, 1))
    assert found.of_its_bytes < TIMES, found
    # whatever is in it: what the largest text without an emoji may take
    assert found.megabytes <= TIMES * 2 * FILE / MB, found


async def test_the_gate_can_fail(base: Path) -> None:
    found = await taken(base, "Cyrillic", "a new file", is_open=False, planted="texts_are_copied")
    assert found.of_its_bytes > TIMES, found
