"""The journal's texts. Each text is stored once; a later text of a file is stored as changes to an earlier one if they are small.

A large text is encoded, hashed, compressed and compared in pieces, so that no further copy of it is made. Texts are found by the hash of their UTF-8
(lone surrogates included).

A wrong text is never returned: changes are applied and compared before they are stored, and every text is checked against its hash when it is read.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sidecar.core.any_text import AnyText, as_text
from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import refined
from sidecar.core.hunks import LineHunk, line_hunks
from sidecar.core.led_to import led_to
from sidecar.core.places import Places
from sidecar.core.text import Text
from sidecar.journal.recent_texts import RecentTexts

MAX_DEPTH = 32
"""The longest chain of changes from a text to one that is stored whole."""
WORTH_IT = 4
"""A text is stored as changes only if they take this many times less space."""
LEVEL = 1
"""zlib's level: 10 MB of source in 130 ms to 30 %; level 6 takes four times as long for 25 %."""
SOUND = 10_000
"""The most hashes of sound texts that are kept."""
PIECE = 256 * 1024
"""Characters that are encoded at a time: enough that the allocator returns their memory at once (glibc: from 128 KiB on)."""


class TextLost(Exception):
    """A text is missing or damaged."""


class Prepared(NamedTuple):
    """A text ready to be stored."""

    text: AnyText
    hash: bytes
    data: bytes | bytearray | None
    """None: already stored."""
    base: bytes | None = None
    """The hash of the text that `data` changes."""


class TextStore:
    """Reads and writes `texts` through one connection, and remembers recent texts."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._recent = RecentTexts()
        """A write usually starts from the text that the last one left, and a rejection leads to an earlier one: these are not read back, and large ones not
        hashed."""
        self._sound: set[bytes] = set()
        """The hashes of texts that were read here: whether they can be read is not tried again."""

    def find(self, digest: bytes) -> int | None:
        row = self._connection.execute("SELECT id FROM texts WHERE hash = ?", (digest,)).fetchone()
        return None if row is None else row[0]

    def hash_of(self, text_id: int) -> bytes | None:
        row = self._connection.execute("SELECT hash FROM texts WHERE id = ?", (text_id,)).fetchone()
        return None if row is None else row[0]

    def prepare(
        self,
        text: AnyText,
        like: bytes | None = None,
        like_text: AnyText | None = None,
        hunks: Sequence[LineHunk] | ChangeSet | Places | None = None,
        *,
        kept: Text | None = None,
    ) -> Prepared:
        """Prepare `text` for `put`. Changes nothing and needs no transaction, so nobody waits while a large text is compressed.

        `like`: the hash of a similar text that is stored, or will be stored first. In the second case pass `like_text`, and if known the `line_hunks`
        from it to `text`, or the changes. `kept`: the same text, if it stays in memory anyway: it is remembered without a copy.
        """
        whole = text if kept is None else kept
        digest = self._recent.hash_of(whole) or digest_of(encoded(text))
        known_id = self.find(digest)
        if known_id is not None:
            if self._recent.get(digest) is not None or self._is_sound(known_id, digest):
                return Prepared(whole, digest, None)
        elif like is not None:
            data = self._as_changes(text, like, like_text, hunks)
            if data is not None:
                return Prepared(whole, digest, data, like)
        return Prepared(whole, digest, compressed(encoded(text)))

    def put(self, prepared: Prepared) -> int | None:
        """Store a prepared text within a transaction and return its id. Returns None if the text it builds on was deleted meanwhile; then prepare it again."""
        self._recent.add(prepared.hash, prepared.text)
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
        """Return the text with this id. Raises TextLost."""
        return str(self._get(text_id))

    def _get(self, text_id: int) -> AnyText:
        digest = self.hash_of(text_id)
        if digest is None:
            raise TextLost(text_id)
        known = self._recent.get(digest)
        if known is not None:
            return known if known.is_narrow else str(known)
        self._sound.discard(digest)
        text = self._rebuild(text_id)
        if digest_of(encoded(text)) != digest:
            raise TextLost(text_id)
        self._is_known_sound(digest)
        self._recent.add(digest, text)
        return text

    def store_whole(self, text_id: int) -> None:
        """Store the text whole, so that it no longer depends on its base; within a transaction. Raises TextLost."""
        data = compressed(encoded(self.get(text_id)))
        self._connection.execute(
            "UPDATE texts SET base = NULL, depth = 0, data = ? WHERE id = ?", (data, text_id)
        )

    def forget(self) -> None:
        """Clear the memory of recent texts."""
        self._recent.clear()

    def _is_sound(self, text_id: int, digest: bytes) -> bool:
        """Whether the stored copy can be read. The only copy of a text before a change must not be a damaged one; it is tried once, not at each write."""
        if digest in self._sound:
            return True
        base, data = self._connection.execute(
            "SELECT base, data FROM texts WHERE id = ?", (text_id,)
        ).fetchone()
        try:
            if base is not None:
                self._get(text_id)
            elif digest_of(_decompressed(data)) != digest:
                return False
        except (TextLost, zlib.error):
            return False
        self._is_known_sound(digest)
        return True

    def _is_known_sound(self, digest: bytes) -> None:
        if len(self._sound) >= SOUND:
            self._sound.clear()
        self._sound.add(digest)

    def _as_changes(
        self,
        text: AnyText,
        like: bytes,
        like_text: AnyText | None,
        hunks: Sequence[LineHunk] | ChangeSet | Places | None,
    ) -> bytes | bytearray | None:
        """Return the text as changes to the one with hash `like`, or None if they are not small enough."""
        like_id = self.find(like)
        if like_id is not None and self._depth(like_id) >= MAX_DEPTH:
            return None
        if like_text is None:
            if like_id is None:
                return None
            try:
                like_text = self._get(like_id)
            except TextLost:
                return None
        if isinstance(hunks, ChangeSet):
            changes = hunks
        elif isinstance(hunks, Places) or isinstance(text, Text) or isinstance(like_text, Text):
            places = hunks if isinstance(hunks, Places) else Places.between(as_text(like_text), as_text(text))
            if 2 * places.added > len(text):
                return None
            changes = places.changes()
        else:
            hunks = line_hunks(like_text, text) if hunks is None else hunks
            changes = ChangeSet(len(like_text), refined(like_text, text, hunks))
        if 2 * sum(len(edit.new) for edit in changes.edits) > len(text):
            return None  # next to nothing of it is in the other text
        data = pack(changes)
        if len(data) * WORTH_IT > len(text) or not leads_to(unpack(len(like_text), data), like_text, text):
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


def encoded(text: AnyText) -> Iterator[bytes]:
    """Yield the UTF-8 of the text in pieces, lone surrogates included."""
    if isinstance(text, Text):
        return text.utf_8()
    pieces = (text,) if len(text) <= PIECE else (text[at : at + PIECE] for at in range(0, len(text), PIECE))
    return (piece.encode("utf-8", "surrogatepass") for piece in pieces)


def digest_of(raw: Iterable[bytes]) -> bytes:
    digest = hashlib.blake2b(digest_size=20)
    for piece in raw:
        digest.update(piece)
    return digest.digest()


def compressed(raw: Iterable[bytes]) -> bytes | bytearray:
    zipped, data = zlib.compressobj(LEVEL), bytearray()
    for piece in raw:
        data += zipped.compress(piece)
    data += zipped.flush()
    return data


def _decompressed(data: bytes) -> Iterator[bytes]:
    """Yield the data in pieces. Raises zlib.error."""
    zipped, view = zlib.decompressobj(), memoryview(data)
    for at in range(0, len(view), PIECE):
        yield zipped.decompress(view[at : at + PIECE], PIECE)
        while zipped.unconsumed_tail:
            yield zipped.decompress(zipped.unconsumed_tail, PIECE)
    yield zipped.flush()
    if not zipped.eof:
        raise zlib.error("it ends too early")


def leads_to(changes: ChangeSet, before: AnyText, after: AnyText) -> bool:
    """Whether `changes` turn `before` into `after`. Builds neither text."""
    if changes.new_length != len(after):
        return False
    if isinstance(before, Text):
        return led_to(before, changes) == after
    after = str(after)
    reached = at = 0
    for edit in (*changes.edits, Edit(len(before), len(before), "")):
        for start in range(reached, edit.start, PIECE):
            piece = before[start : min(start + PIECE, edit.start)]
            if not after.startswith(piece, at):
                return False
            at += len(piece)
        if not after.startswith(edit.new, at):
            return False
        at += len(edit.new)
        reached = edit.end
    return True


def pack(changes: ChangeSet) -> bytes | bytearray:
    """Pack offsets and lengths as JSON, followed by all new texts. The texts are not in the JSON, which would join adjacent surrogates."""
    places = [[edit.start, edit.end, len(edit.new)] for edit in changes.edits]
    head = json.dumps(places, separators=(",", ":")).encode() + b"\n"
    news = (piece for edit in changes.edits for piece in encoded(edit.new))
    return compressed(itertools.chain((head,), news))


def unpack(length: int, data: bytes | bytearray) -> ChangeSet:
    """Reverse `pack`. Raises ValueError (or zlib.error) for data that `pack` did not make for a text of this length."""
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
