"""Pairing: who may connect to the port that `acp-sidecar acp --listen` opens.

Other users and pages of a browser reach a port, too. So a client has to bring a code that the editor shows its user. It counts once; who brought it
gets a token, with which it may come back for as long as the port is open.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Sequence
from enum import Enum, auto

LENGTH = 8
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""None that looks like another one."""
VALID_SECONDS = 120.0
MOST_TRIES = 5
"""Wrong codes until the shown one counts no longer."""
PAUSE_SECONDS = 15.0
"""Between two codes: whoever knocks without one cannot fill the editor with them."""


class Verdict(Enum):
    LET_IN = auto()
    PAIRED = auto()
    """It brought the code, and is to get `token`."""
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

    def judge(self, *brought: str) -> Verdict:
        """`brought`: a code as a person types it, the token, or several of them. Refused, the user sees a code unless one was shown a moment
        ago."""
        if any(hmac.compare_digest(one.encode(), self.token.encode()) for one in brought):
            return Verdict.LET_IN
        if any(brought) and self._is_the_code(brought):
            self._code = None
            return Verdict.PAIRED
        self._knocked()
        return Verdict.REFUSED

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
    """As people type it: in any case, with or without the hyphen."""
    return code.upper().replace("-", "").strip()
