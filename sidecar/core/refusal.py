"""Refusal: the one form of "no", which every door translates. It is an expected outcome, so it is a value and not an exception."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """Why a read or a write was refused. The value is what agents see as `data.errorKind`."""

    NOT_FOUND = "not_found"
    OUTSIDE = "path_outside_workspace"
    SYMLINK_ESCAPE = "symlink_escape"
    BAD_PATH = "bad_path"
    BAD_RANGE = "bad_range"
    BAD_PARAMS = "bad_params"
    NOT_A_FILE = "not_a_file"
    BINARY = "binary"
    UNDECODABLE = "undecodable"
    UNENCODABLE = "unencodable"
    TOO_LARGE = "too_large"
    READ_ONLY = "read_only"
    NO_SPACE = "no_space"
    DENIED_BY_POLICY = "denied_by_policy"
    DENIED_BY_USER = "denied_by_user"
    CONFLICT = "conflict"
    NO_MATCH = "no_match"
    SEVERAL_MATCHES = "several_matches"
    DELETED = "deleted"
    AMBIGUOUS = "ambiguous_document"
    DESYNCHRONISED = "desynchronised"
    EDITOR_REFUSED = "editor_refused"
    EDITOR_MISAPPLIED = "editor_misapplied"
    OUTCOME_UNKNOWN = "outcome_unknown"
    OPEN_ELSEWHERE = "open_elsewhere"
    JOURNAL_FAILED = "journal_failed"
    CHANGED_ON_DISK = "changed_on_disk"
    UNKNOWN_SESSION = "unknown_session"
    WITHDRAWN = "withdrawn"
    REJECTED = "rejected"
    """The change was made, and the user has taken it out again."""
    IO_ERROR = "io_error"


@dataclass(frozen=True, slots=True)
class Refusal:
    """`message` is fixed text plus the requested path. It never contains a resolved path or the system's own message."""

    kind: Kind
    message: str
    data: Mapping[str, object] = field(default_factory=dict[str, object])
