"""Proofs: each side shows the other that it knows the secret of the entry, without ever sending it.

    client → server   {"v": 1, "nonce": c}
    server → client   {"v": 1, "nonce": s, "proof": HMAC(secret, "server", c, s, socket)}
    client → server   {"proof": HMAC(secret, "client", c, s, socket)}
    server → client   {"ok": true, …}

The server proves itself first, so a program that took its place at the socket learns nothing that it could use
elsewhere. Each proof contains both nonces, so none can be used twice; the role, so none can be sent back to its maker;
and the socket's path, so none made for one sidecar is valid for another.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from typing import Literal

Role = Literal["server", "client"]
VERSION = 1
_NONCE = re.compile(r"[0-9a-f]{64}")


def new_nonce() -> str:
    return secrets.token_hex(32)


def is_nonce(value: object) -> bool:
    return isinstance(value, str) and _NONCE.fullmatch(value) is not None


def prove(secret: bytes, role: Role, client_nonce: str, server_nonce: str, socket: str) -> str:
    """HMAC-SHA256 as hex. Nonces have a fixed length and the path comes last, so different inputs never give the same
    message."""
    said = b"\0".join(
        (
            b"acp-sidecar bridge 1",
            role.encode(),
            client_nonce.encode(),
            server_nonce.encode(),
            os.fsencode(socket),
        )
    )
    return hmac.new(secret, said, "sha256").hexdigest()


def is_proof(given: object, expected: str) -> bool:
    """Whether a proof is the expected one. Compares in constant time."""
    return isinstance(given, str) and hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
