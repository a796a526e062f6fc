"""Pairing: who may connect to the port that `acp-sidecar acp --listen` opens.

Other users and pages in a browser can reach a port, too. So a client must send a code that the editor shows its user. The code is valid once.
The client that sent it gets a token with which it may connect again for as long as the port is open.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Sequence
from enum import Enum, auto

LENGTH = 8
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Without letters that look like another one."""
VALID_SECONDS = 120.0
MOST_TRIES = 5
"""The number of wrong codes after which the shown one is no longer valid."""
PAUSE_SECONDS = 15.0
"""The least seconds between two codes: a client that connects without a code cannot fill the editor with them."""


class PairingVerdict(Enum):
    LET_IN = auto()
    PAIRED = auto()
    """The client sent the code, and must get `token`."""
    REFUSED = auto()


class Pairing:
    def __init__(self, show: Callable[[str], None], now: Callable[[], float]) -> None:
        """`show`: shows a new code to the user. `now`: seconds of a clock that only goes forward."""
        self._show = show
        self._now = now
        self._code: str | None = None
        self._shown = float("-inf")
        self._tries = 0
        self.token = secrets.token_urlsafe(32)

    def judge(self, *brought: str) -> PairingVerdict:
        """Decide about a client. `brought`: a code as a user types it, the token, or several of them. If the client is refused, the user is
        shown a code, unless one was shown a moment ago."""
        if any(hmac.compare_digest(one.encode(), self.token.encode()) for one in brought):
            return PairingVerdict.LET_IN
        if any(brought) and self._is_the_code(brought):
            self._code = None
            return PairingVerdict.PAIRED
        self._knocked()
        return PairingVerdict.REFUSED

    def _is_the_code(self, brought: Sequence[str]) -> bool:
        if self._code is None or self._now() - self._shown > VALID_SECONDS:
            return False
        code = plain(self._code).encode()
        right = any(hmac.compare_digest(plain(one).encode(), code) for one in brought)
        self._tries += not right
        if self._tries >= MOST_TRIES:
            self._code = None
        return right

    def _knocked(self) -> None:
        since = self._now() - self._shown
        if since < PAUSE_SECONDS or (self._code is not None and since <= VALID_SECONDS):
            return
        letters = "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
        self._code = f"{letters[: LENGTH // 2]}-{letters[LENGTH // 2 :]}"
        self._shown, self._tries = self._now(), 0
        self._show(self._code)


def plain(code: str) -> str:
    """A code as users type it: in any case, with or without the hyphen."""
    return code.upper().replace("-", "").strip()
