"""Selection: selects writes and builds the query for them."""

from __future__ import annotations

import os
import sqlite3
from typing import Any, NamedTuple

from sidecar.journal.entry import Recorded, State


class Selection(NamedTuple):
    """Selects writes that match every given field. With no field given, selects all writes."""

    ids: tuple[str, ...] | None = None
    session: str | None = None
    turn: int | None = None
    paths: tuple[str, ...] | None = None
    """Canonical paths of files, or of folders with everything below them."""
    without: tuple[State, ...] = ()
    """States to leave out."""
    limit: int | None = None


_EXISTED = "coalesce((SELECT kind != 'none' FROM states WHERE write = id AND side = 0), before IS NOT NULL)"
EXISTS = "coalesce((SELECT kind != 'none' FROM states WHERE write = id AND side = 1), after IS NOT NULL)"
"""Whether the file existed after a write."""
_COLUMNS = (
    "id, created, owner, session, agent, turn, tool_call, root, path, "
    f"{_EXISTED}, {EXISTS}, encoding, bom, via, state, added, removed"
)


def entries(connection: sqlite3.Connection, selection: Selection) -> list[Recorded]:
    """Return the selected writes, newest first."""
    where, values = condition(selection)
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM writes WHERE {where} ORDER BY id DESC LIMIT ?",
        (*values, -1 if selection.limit is None else selection.limit),
    )
    return [recorded(row) for row in rows]


def count(connection: sqlite3.Connection, selection: Selection) -> int:
    where, values = condition(selection)
    return connection.execute(f"SELECT count(*) FROM writes WHERE {where}", values).fetchone()[0]


def named(connection: sqlite3.Connection, name: str) -> list[Recorded]:
    name = name.lower()
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM writes WHERE substr(id, 1, ?1) = ?2 OR substr(id, -?1) = ?2 ORDER BY id DESC",
        (max(len(name), 1), name),
    )
    return [recorded(row) for row in rows]


def sessions_named(connection: sqlite3.Connection, name: str) -> list[str]:
    found = [
        row[0]
        for row in connection.execute(
            "SELECT DISTINCT session FROM writes WHERE substr(session, 1, ?) = ? AND session != ''",
            (len(name), name),
        )
    ]
    return [name] if name in found else found


def condition(selection: Selection) -> tuple[str, list[Any]]:
    """Return a WHERE clause on `writes`, and its parameters."""
    parts, values = ["1"], list[Any]()
    if selection.ids is not None:
        parts.append(f"id IN ({', '.join('?' * len(selection.ids))})")
        values += selection.ids
    if selection.session is not None:
        parts.append("session = ?")
        values.append(as_words(selection.session))
    if selection.turn is not None:
        parts.append("turn = ?")
        values.append(selection.turn)
    if selection.paths is not None:
        # For a folder: from its name plus separator up to its name plus the character after the separator.
        below = [path.rstrip(os.sep) for path in selection.paths]
        parts.append(f"({' OR '.join(['path = ? OR (path > ? AND path < ?)'] * len(below)) or '0'})")
        for path in below:
            values += [
                as_blob(path),
                as_blob(path + os.sep),
                as_blob(path + chr(ord(os.sep) + 1)),
            ]
    if selection.without:
        parts.append(f"state NOT IN ({', '.join('?' * len(selection.without))})")
        values += selection.without
    return " AND ".join(parts), values


def recorded(row: tuple[Any, ...]) -> Recorded:
    values = list(row)
    values[7:11] = as_path(row[7]), as_path(row[8]), bool(row[9]), bool(row[10])
    return Recorded(*values)


def as_blob(path: str) -> bytes:
    """Encode a path. File names may not be valid Unicode; Python represents the invalid bytes as lone surrogates."""
    return path.encode("utf-8", "surrogatepass")


def as_path(blob: bytes) -> str:
    return blob.decode("utf-8", "surrogatepass")


def as_words(text: str) -> str:
    """Return an agent's string in a form that can be stored. Equal strings give equal results."""
    return text.encode("utf-8", "backslashreplace").decode()
