"""The journal's texts. Each is stored once; a later text of a file is stored as changes to an earlier one if that is
small.

Texts are found by the hash of their UTF-8 (lone surrogates included). Changes are applied and compared before they are
stored, and every text is checked against its hash when it is read. So a wrong text is never returned.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from sys import getsizeof
from typing import NamedTuple

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import refined
from sidecar.core.hunks import Hunk, line_hunks

MAX_DEPTH = 32
"""The longest chain of changes from a text to one that is stored whole."""
WORTH_IT = 4
"""A text is stored as changes only if they take this many times less space."""
LEVEL = 1
"""zlib's: 10 MB of source in 130 ms to 30 %; level 6 takes four times as long for 25 %."""
REMEMBERED = 4 * 1024 * 1024
"""Bytes of texts kept in memory, because a write usually starts from the text that the last one left: that one is kept whatever its size."""


class TextLost(Exception):
    """A text is missing or damaged."""


class Prepared(NamedTuple):
    """A text ready to be stored."""

    text: str
    hash: bytes
    data: bytes | None
    """None: already stored."""
    base: bytes | None = None
    """Hash of the text that `data` changes."""


class TextStore:
    """Reads and writes `texts` through one connection, and remembers recent texts."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._recent: OrderedDict[bytes, str] = OrderedDict()
        self._size = 0
        """Bytes of these texts, as Python stores them."""

    def find(self, digest: bytes) -> int | None:
        row = self._connection.execute("SELECT id FROM texts WHERE hash = ?", (digest,)).fetchone()
        return None if row is None else row[0]

    def hash_of(self, text_id: int) -> bytes | None:
        row = self._connection.execute("SELECT hash FROM texts WHERE id = ?", (text_id,)).fetchone()
        return None if row is None else row[0]

    def prepare(
        self,
        text: str,
        like: bytes | None = None,
        like_text: str | None = None,
        hunks: Sequence[Hunk] | None = None,
        *,
        one_of_many: bool = False,
    ) -> Prepared:
        """Prepares `text` for `put`. Changes nothing and needs no transaction, so nobody waits while a large text is
        compressed.

        `like`: the hash of a similar text that is stored, or will be stored first. In the second case pass `like_text`,
        and if known the `line_hunks` from it to `text`. `one_of_many`: skip the search among the remembered texts,
        because it is most likely not one of them.
        """
        if not one_of_many:
            for digest, known in self._recent.items():
                if known == text and self.find(digest) is not None:
                    return Prepared(text, digest, None)
        raw = encoded(text)
        digest = digest_of(raw)
        known_id = self.find(digest)
        if known_id is not None:
            if self._is_sound(known_id):
                return Prepared(text, digest, None)
        elif like is not None:
            data = self._as_changes(text, like, like_text, hunks)
            if data is not None:
                return Prepared(text, digest, data, like)
        return Prepared(text, digest, zlib.compress(raw, LEVEL))

    def put(self, prepared: Prepared) -> int | None:
        """Stores a prepared text within a transaction and returns its id. Returns None if the text it builds on was
        deleted meanwhile; then prepare it again.
        """
        self._remember(prepared.hash, prepared.text)
        known = self.find(prepared.hash)
        if prepared.data is None:
            return known
        if known is not None:
            if prepared.base is None:  # damaged, or stored by another process meanwhile; sound after this
                self._connection.execute(
                    "UPDATE texts SET base = NULL, depth = 0, data = ? WHERE id = ?", (prepared.data, known)
                )
            return known
        base, depth = None, 0
        if prepared.base is not None:
            row = self._connection.execute(
                "SELECT id, depth FROM texts WHERE hash = ?", (prepared.base,)
            ).fetchone()
            if row is None or row[1] >= MAX_DEPTH:
                return None
            base, depth = row[0], row[1] + 1
        cursor = self._connection.execute(
            "INSERT INTO texts (hash, base, depth, data) VALUES (?, ?, ?, ?)",
            (prepared.hash, base, depth, prepared.data),
        )
        return cursor.lastrowid

    def get(self, text_id: int) -> str:
        """The text with this id. Raises TextLost."""
        digest = self.hash_of(text_id)
        if digest is None:
            raise TextLost(text_id)
        known = self._recent.get(digest)
        if known is not None:
            self._recent.move_to_end(digest)
            return known
        text = self._rebuild(text_id)
        if digest_of(encoded(text)) != digest:
            raise TextLost(text_id)
        self._remember(digest, text)
        return text

    def store_whole(self, text_id: int) -> None:
        """Stores the text whole, so that it no longer depends on its base; within a transaction. Raises TextLost."""
        data = zlib.compress(encoded(self.get(text_id)), LEVEL)
        self._connection.execute(
            "UPDATE texts SET base = NULL, depth = 0, data = ? WHERE id = ?", (data, text_id)
        )

    def forget(self) -> None:
        """Clears the memory of recent texts."""
        self._recent.clear()
        self._size = 0

    def _is_sound(self, text_id: int) -> bool:
        """Whether the stored copy can be read. The only copy of a text before a change must not be a damaged one."""
        try:
            self.get(text_id)
        except TextLost:
            return False
        return True

    def _as_changes(
        self, text: str, like: bytes, like_text: str | None, hunks: Sequence[Hunk] | None
    ) -> bytes | None:
        """The text as changes to the one with hash `like`, or None if they are not small enough."""
        like_id = self.find(like)
        if like_id is not None and self._depth(like_id) >= MAX_DEPTH:
            return None
        if like_text is None:
            if like_id is None:
                return None
            try:
                like_text = self.get(like_id)
            except TextLost:
                return None
        hunks = line_hunks(like_text, text) if hunks is None else hunks
        changes = ChangeSet(len(like_text), refined(like_text, text, hunks))
        if 2 * sum(len(edit.new) for edit in changes.edits) > len(text):
            return None  # next to nothing of it is the other's
        data = pack(changes)
        if len(data) * WORTH_IT > len(text) or unpack(len(like_text), data).apply(like_text) != text:
            return None
        return data

    def _depth(self, text_id: int) -> int:
        row = self._connection.execute("SELECT depth FROM texts WHERE id = ?", (text_id,)).fetchone()
        return MAX_DEPTH if row is None else row[0]

    def _rebuild(self, text_id: int) -> str:
        changes: list[bytes] = []
        next_id: int | None = text_id
        text = ""
        try:
            while next_id is not None:
                row = self._connection.execute(
                    "SELECT base, data FROM texts WHERE id = ?", (next_id,)
                ).fetchone()
                if row is None or len(changes) > MAX_DEPTH:
                    raise TextLost(next_id)
                next_id, data = row
                if next_id is None:
                    text = _decoded(zlib.decompress(data))
                else:
                    changes.append(data)
            for data in reversed(changes):
                text = unpack(len(text), data).apply(text)
        except (zlib.error, ValueError) as error:
            raise TextLost(text_id) from error
        return text

    def _remember(self, digest: bytes, text: str) -> None:
        if digest not in self._recent:
            self._size += getsizeof(text)
        self._recent[digest] = text
        self._recent.move_to_end(digest)
        while len(self._recent) > 1 and self._size > REMEMBERED:
            self._size -= getsizeof(self._recent.popitem(last=False)[1])


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def digest_of(raw: bytes) -> bytes:
    return hashlib.blake2b(raw, digest_size=20).digest()


def pack(changes: ChangeSet) -> bytes:
    """Packs offsets and lengths as JSON, followed by all new texts. JSON itself would join surrogates that happen to
    stand side by side.
    """
    places = [[edit.start, edit.end, len(edit.new)] for edit in changes.edits]
    news = "".join(edit.new for edit in changes.edits)
    return zlib.compress(json.dumps(places, separators=(",", ":")).encode() + b"\n" + encoded(news), LEVEL)


def unpack(length: int, data: bytes) -> ChangeSet:
    """Reverses `pack`. Raises ValueError (or zlib.error) for data that `pack` did not make for a text of this length."""
    places, _, rest = zlib.decompress(data).partition(b"\n")
    news = _decoded(rest)
    edits: list[Edit] = []
    reached = 0
    for start, end, size in json.loads(places):
        edits.append(Edit(start, end, news[reached : reached + size]))
        reached += size
    return ChangeSet.of(length, edits)


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")
