"""write_bytes: how much memory a write takes that is carried out: of every kind of text, for a new file, over one that is there, and in a document
that is open. Measured until it is compared, journalled, made, entered in the review and stored: the turn ends only then.

A process and a journal of its own for each, so that nothing is hidden by what an earlier one left. What counts is the message's bytes, and those
of the text that it replaces.
"""

from __future__ import annotations

import base64
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gates.product import a_product
from tests.gates.size import size
from tests.gates.test_loop_steps import slowest
from tests.support.memory import forget_peak, peak, resident

pytestmark = [
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc"),
]
MB = 1024 * 1024
MOST = size(5, 10) * MB - 2000
"""Bytes of a text: up to what a file may have (config.py)."""
TIMES = 5.0
READING = 4
"""MB beside that: the pieces in which it is read, and the journal's pages."""
LINE = "    return value + 1234567890  # remark\n"


def of(unit: str) -> str:
    return unit * (MOST // len(unit.encode()))


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
    "an emoji in code": lambda: of(LINE)[:-5] + "\U0001f600\n",
}
"""A Python string has as many bytes for each character as its widest one needs: a single emoji makes it four times as large."""
WIDE = {"an emoji in code"}


def bound(text: str, change: str, *, is_open: bool) -> float:
    """TIMES where it is met; else what is, so that it does not get worse. docs/security.md says which parts these are."""
    if change == "a new file":
        return TIMES
    if text in WIDE:
        return 15.0 if change == "all of it" else 10.0
    if "CRLF" in text:  # beside the texts, there is the form in which they are compared
        return 7.5
    if change != "all of it":
        return TIMES
    if is_open:  # the editor is sent nearly all of it, in ASCII, and tells it back
        return 7.0 if text in ("Cyrillic", "emoji", "noise") else 5.5
    return 5.5 if text == "noise" else TIMES


def word(text: str) -> str:
    middle = len(text) // 2
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
}
ROWS = [
    (text, change, is_open)
    for text in TEXTS
    for change in CHANGES
    for is_open in ((False,) if CHANGES[change] is None else (False, True))
]
SMALL = [
    ("Cyrillic", "a new file", False),
    ("an emoji in code", "a new file", False),
    ("code", "all of it", False),
    ("CRLF", "a word", True),
]


async def taken(base: Path, text: str, change: str, *, is_open: bool, planted: str | None = None) -> float:
    """MB more than before at the most, without READING, for each MB of the message and of the text it replaces."""
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
        if is_open:
            assert product.document(file).text == content
        else:
            assert file.read_bytes() == content.encode()
    return more / ((len(line.read_bytes()) + (0 if make is None else len(before.encode()))) / MB)


@pytest.fixture(autouse=True)
def what_is_free_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, to the system: glibc keeps up to 64 MB of it, which would hide as much of what a write takes."""
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", str(128 * 1024))
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", str(128 * 1024))


async def test_a_write_takes_a_few_times_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    found: dict[str, float] = {}
    worse: list[str] = []
    rows = size(SMALL, ROWS)
    for number, (text, change, is_open) in enumerate(rows):
        base = tmp_path / str(number)
        monkeypatch.setenv("ACP_SIDECAR_STATE", str(base / "state"))
        name = f"{change} of {text}{', open' if is_open else ''}"
        found[name] = await taken(base, text, change, is_open=is_open)
        if found[name] >= bound(text, change, is_open=is_open):
            worse.append(f"{found[name]:.1f} {name}")
    new = [times for name, times in found.items() if name.startswith("a new file")]
    wide = [found[name] for name in found if any(text in name for text in WIDE)]
    record_property("writes", len(found))
    record_property("times a new file's bytes", round(max(new), 2))
    record_property("times a write's bytes", round(max(set(found.values()).difference(wide)), 2))
    record_property("times a wide write's bytes", round(max(wide), 2))
    assert not worse, "\n".join([*worse, "", slowest(found)])


async def test_the_gate_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(tmp_path / "state"))
    found = await taken(
        tmp_path / "base", "Cyrillic", "a new file", is_open=False, planted="texts_are_copied"
    )
    assert found > TIMES, found
