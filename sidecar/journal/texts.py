"""Texts in the journal: each stored once under its hash; a later text of a file as changes of an earlier one where that is small."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff

MAX_DEPTH = 32
"""How many changes a text may be away from one that is stored whole."""


def put(connection: sqlite3.Connection, text: str, like: bytes | None = None) -> bytes:
    """Stores `text`, if it is not there, and returns its hash. `like`: the hash of a text that is probably similar."""
    raw = text.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(raw, digest_size=20).digest()
    if connection.execute("SELECT 1 FROM texts WHERE hash = ?", (digest,)).fetchone():
        return digest
    base, depth, data = None, 0, b""
    row = connection.execute("SELECT depth FROM texts WHERE hash = ?", (like,)).fetchone() if like else None
    if like is not None and row is not None and row[0] < MAX_DEPTH:
        changes = diff(get(connection, like), text)
        packed = zlib.compress(json.dumps([[e.start, e.end, e.new] for e in changes.edits]).encode(), 1)
        if len(packed) < len(raw) // 4:
            base, depth, data = like, row[0] + 1, packed
    if base is None:
        data = zlib.compress(raw, 1)
    connection.execute("INSERT INTO texts VALUES (?, ?, ?, ?)", (digest, base, depth, data))
    return digest


def get(connection: sqlite3.Connection, digest: bytes) -> str:
    """The text with that hash. Raises KeyError when it is not there."""
    deltas: list[bytes] = []
    while True:
        row = connection.execute("SELECT base, data FROM texts WHERE hash = ?", (digest,)).fetchone()
        if row is None:
            raise KeyError(digest.hex())
        base, data = row
        if base is None:
            text = zlib.decompress(data).decode("utf-8", "surrogatepass")
            break
        deltas.append(data)
        digest = base
    for data in reversed(deltas):
        edits = [Edit(start, end, new) for start, end, new in json.loads(zlib.decompress(data))]
        text = ChangeSet.of(len(text), edits).apply(text)
    return text
